import { LRUCache } from 'lru-cache';
import { type RateState, WINDOW_MS } from './rate-window.ts';

/**
 * Largest rate, in requests a minute, that is counted by the times of its requests. That is exact, and its memory is in
 * proportion to the rate. The sliding window of larger rates errs by a small share of them.
 */
export const LOGGED_LIMIT_MAX = 60;

/** State of a log after a request, whose time was added only if it was allowed. */
export interface LogAnswer {
  readonly allowed: boolean;
  /** Requests that were allowed in the last minute. */
  readonly count: number;
  /** Time until one more request is allowed, or could be if the limit were used up. */
  readonly waitMs: number;
}

/** Storage of the times of requests: in this process, or in Redis for all processes. */
export interface RequestLog {
  take(key: string, limit: number): LogAnswer | Promise<LogAnswer>;
}

export function logRateState({ allowed, count, waitMs }: LogAnswer, limit: number): RateState {
  const remaining = Math.max(0, limit - count);
  return { limit, remaining, resetSeconds: Math.max(1, Math.ceil(waitMs / 1000)), allowed };
}

const KEYS_MAX = 20_000;

/**
 * Open a log of the requests of this process alone.
 *
 * @param options.now clock in milliseconds since 1970
 */
export function openMemoryRequestLog(options: { now?: () => number; keysMax?: number } = {}): {
  take(key: string, limit: number): LogAnswer;
} {
  const { now = Date.now, keysMax = KEYS_MAX } = options;
  // The bound is `maxSize` with size 1 per key: `max` would allocate the memory for all keys at once.
  const logs = new LRUCache<string, number[]>({ maxSize: keysMax });

  return {
    take(key, limit) {
      const nowMs = now();
      const times = (logs.get(key) ?? []).filter((time) => time > nowMs - WINDOW_MS);
      const allowed = times.length < limit;
      if (allowed) times.push(nowMs);
      logs.set(key, times, { size: 1 });
      // After the time of this request has left the last minute, fewer than `limit` are left in it.
      const oldestMs = times[Math.max(0, times.length - limit)] ?? nowMs - WINDOW_MS;
      return { allowed, count: times.length, waitMs: oldestMs + WINDOW_MS - nowMs };
    },
  };
}
