import type { Secret } from '../secret.ts';
import type { UpstreamRequest } from './upstream-message.ts';

/** Create a POST request with a JSON body, omitting `undefined` members. */
export function postJson(path: string, headers: Record<string, string>, body: object): UpstreamRequest {
  return { method: 'POST', path, headers, body: JSON.stringify(body) };
}

export function bearer(apiKey: Secret | null): Record<string, string> {
  return apiKey === null ? {} : { authorization: `Bearer ${apiKey.reveal()}` };
}

/**
 * Replace lone surrogates by U+FFFD, as encoding to UTF-8 does. A vendor that refuses them would refuse the whole call,
 * including the texts of other callers.
 */
export function wellFormed(texts: readonly string[]): string[] {
  return texts.map((text) => text.toWellFormed());
}
