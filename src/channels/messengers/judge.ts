import { field } from '../../platform/upstream/parse-json.ts';
import { retryAfterMs } from '../../platform/upstream/retry-after.ts';
import type { HttpReply } from '../../platform/upstream/transport.ts';
import type { Verdict } from './messenger.ts';

/** Judge a response as retryable, if the platform certainly doesn't have the reply. */
export function repeatable({ status, headers }: HttpReply): Verdict {
  return { kind: 'again', reason: `http_${status}`, afterMs: retryAfterMs(headers, null) };
}

/** Parse the body of a response. Return null if it isn't JSON. */
export function jsonOf({ body }: HttpReply): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    return null;
  }
}

export function stringField(json: unknown, name: string): string | null {
  const value = field(json, name);
  return typeof value === 'string' ? value : null;
}
