import { LRUCache } from 'lru-cache';

export const WINDOW_MS = 60_000;

/** Request counts of one organization and axis in the current one-minute window and the previous one. */
export interface WindowCounts {
  readonly previous: number;
  readonly current: number;
  /** Time since the start of the current window, 0 to 59,999. */
  readonly elapsedMs: number;
}

/** Counts of a window after a request. Only an allowed request counts. */
export interface WindowAnswer extends WindowCounts {
  readonly allowed: boolean;
}

/** Store of the counts: in this process, or in Redis for all processes. */
export interface RateWindow {
  take(key: string, limit: number): WindowAnswer | Promise<WindowAnswer>;
}

export interface RateState {
  /** Requests per minute. */
  readonly limit: number;
  readonly remaining: number;
  /** Seconds, at least 1, until the next request is allowed if `remaining` is 0, else until this window ends. */
  readonly resetSeconds: number;
  readonly allowed: boolean;
}

/**
 * Estimate the requests in the last minute by the sliding window counter: those of this window, and the share of the
 * previous window that the last minute still covers, assuming an even distribution.
 */
export function inLastMinute({ previous, current, elapsedMs }: WindowCounts): number {
  return current + previous * (1 - elapsedMs / WINDOW_MS);
}

export function isWithinLimit(counts: WindowCounts, limit: number): boolean {
  return inLastMinute(counts) + 1 <= limit;
}

export function toRateState(answer: WindowAnswer, limit: number): RateState {
  const remaining = Math.max(0, Math.floor(limit - inLastMinute(answer)));
  const waitMs = remaining > 0 ? WINDOW_MS - answer.elapsedMs : nextAllowedInMs(answer, limit);
  return { limit, remaining, resetSeconds: Math.max(1, Math.ceil(waitMs / 1000)), allowed: answer.allowed };
}

/** Compute the time until the next request is allowed, assuming no other arrives before. */
function nextAllowedInMs({ previous, current, elapsedMs }: WindowCounts, limit: number): number {
  /** Compute the offset at which one more request fits, after `count` in the previous window and `others` here. */
  const allowedAtMs = (count: number, others: number) =>
    count === 0 ? 0 : Math.max(0, WINDOW_MS * (1 - (limit - 1 - others) / count));
  if (current <= limit - 1) return allowedAtMs(previous, current) - elapsedMs;
  return WINDOW_MS - elapsedMs + allowedAtMs(current, 0);
}

const KEYS_MAX = 100_000;

/** Open a window that counts only the requests of this process. @param options.now clock in milliseconds since 1970 */
export function openMemoryRateWindow(options: { now?: () => number; keysMax?: number } = {}): {
  take(key: string, limit: number): WindowAnswer;
} {
  const { now = Date.now, keysMax = KEYS_MAX } = options;
  // Bound by `maxSize` with size 1 per key, because `max` would allocate memory for all keys at once, 2.8 MB.
  const windows = new LRUCache<string, { number: number; previous: number; current: number }>({ maxSize: keysMax });

  return {
    take(key, limit) {
      const nowMs = now();
      const number = Math.floor(nowMs / WINDOW_MS);
      let window = windows.get(key);
      if (window === undefined) {
        window = { number, previous: 0, current: 0 };
        windows.set(key, window, { size: 1 });
      } else if (window.number !== number) {
        window.previous = window.number === number - 1 ? window.current : 0;
        window.current = 0;
        window.number = number;
      }
      const elapsedMs = nowMs - number * WINDOW_MS;
      const { previous } = window;
      const allowed = isWithinLimit({ previous, current: window.current, elapsedMs }, limit);
      if (allowed) window.current++;
      return { allowed, previous, current: window.current, elapsedMs };
    },
  };
}
