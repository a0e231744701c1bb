import { field } from './parse-json.ts';
import type { UpstreamHeaders } from './upstream-message.ts';

/** Longer waits are cut to this: nobody is helped by a key that rests for days over one odd header. */
const WAIT_MAX_MS = 3_600_000;

/**
 * How long the vendor asks us to wait: `retry-after-ms`, else `retry-after` (seconds, or an HTTP date as of RFC 9110),
 * else `google.rpc.RetryInfo` in an error body.
 *
 * @returns milliseconds from 0 to one hour; null where nothing usable is said
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
  return Math.min(Math.max(Math.ceil(ms), 0), WAIT_MAX_MS);
}

/** The first value of a header; null where it is missing. */
export function header(headers: UpstreamHeaders, name: string): string | null {
  const value = headers[name];
  return (Array.isArray(value) ? value[0] : value) ?? null;
}
