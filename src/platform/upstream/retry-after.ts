import { field } from './parse-json.ts';
import type { UpstreamHeaders } from './upstream-message.ts';

/**
 * Maximum wait to believe: one wrong header must not disable a key for days. `RETRY_DEFAULTS` limits the wait within a
 * call.
 */
const BELIEVED_MAX_MS = 3_600_000;

/**
 * Read the wait that the vendor asks for: `retry-after-ms`, else `retry-after` (seconds, or an HTTP date of RFC 9110),
 * else `google.rpc.RetryInfo` in an error body.
 * @returns milliseconds from 0 to one hour; null if there is no usable value
 */
export function retryAfterMs(headers: UpstreamHeaders, error: unknown, nowMs = Date.now()): number | null {
  const millis = decimal(header(headers, 'retry-after-ms'));
  if (millis !== null) return bounded(millis);
  const after = header(headers, 'retry-after');
  const seconds = decimal(after);
  if (seconds !== null) return bounded(seconds * 1000);
  if (after !== null && /[a-z]/i.test(after)) {
    const date = Date.parse(after);
    if (Number.isFinite(date)) return bounded(date - nowMs);
  }
  return retryInfo(error);
}

function retryInfo(error: unknown): number | null {
  const details = field(error, 'details');
  if (!Array.isArray(details)) return null;
  for (const detail of details) {
    const type = field(detail, '@type');
    const delay = field(detail, 'retryDelay');
    if (typeof type !== 'string' || !type.endsWith('google.rpc.RetryInfo') || typeof delay !== 'string') continue;
    // A protobuf Duration in JSON is decimal seconds with an "s".
    const seconds = delay.endsWith('s') ? decimal(delay.slice(0, -1)) : null;
    if (seconds !== null) return bounded(seconds * 1000);
  }
  return null;
}

function decimal(text: string | null): number | null {
  return text !== null && /^\s*\d{1,12}(\.\d{1,12})?\s*$/.test(text) ? Number(text) : null;
}

function bounded(ms: number): number {
  return Math.min(Math.max(Math.ceil(ms), 0), BELIEVED_MAX_MS);
}

/** Return the first value of a header; null if it is missing. */
export function header(headers: UpstreamHeaders, name: string): string | null {
  const value = headers[name];
  return (Array.isArray(value) ? value[0] : value) ?? null;
}
