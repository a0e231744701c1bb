import { field } from '../../platform/upstream/parse-json.ts';
import { retryAfterMs } from '../../platform/upstream/retry-after.ts';
import type { HttpReply } from '../../platform/upstream/transport.ts';
import type { Verdict } from './messenger.ts';

/** Judge an answer after which the platform certainly has no reply, as one that may be repeated. */
export function repeatable({ status, headers }: HttpReply): Verdict {
  return { kind: 'again', reason: `http_${status}`, afterMs: retryAfterMs(headers, null) };
}

/** Parse the body of an answer; null if it is not JSON. */
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
