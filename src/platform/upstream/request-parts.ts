import type { Secret } from '../secret.ts';
import type { UpstreamRequest } from './upstream-message.ts';

/** A POST of JSON. Members that are `undefined` are left out. */
export function postJson(path: string, headers: Record<string, string>, body: object): UpstreamRequest {
  return { method: 'POST', path, headers, body: JSON.stringify(body) };
}

export function bearer(apiKey: Secret | null): Record<string, string> {
  return apiKey === null ? {} : { authorization: `Bearer ${apiKey.reveal()}` };
}

/**
 * Lone surrogates become U+FFFD, as they would in any UTF-8: a vendor that refuses them would refuse the whole call,
 * and with it the texts of others.
 */
export function wellFormed(texts: readonly string[]): string[] {
  return texts.map((text) => text.toWellFormed());
}
