import { LRUCache } from 'lru-cache';
import { type RateState, WINDOW_MS } from './rate-window.ts';

/**
 * Largest rate, in requests per minute, to count exactly by the times of its requests. The memory grows with the rate.
 * The sliding window for larger rates has a small relative error.
 */
export const LOGGED_LIMIT_MAX = 60;

/** State of a log after a request, whose time is added only if it was allowed. */
export interface LogAnswer {
  readonly allowed: boolean;
  /** Requests that were allowed in the last minute. */
  readonly count: number;
  /** Time until one more request is allowed, or would be if the limit were used up. */
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

/** Open a log of the requests of this process. @param options.now clock in milliseconds since 1970 */
export function openMemoryRequestLog(options: { now?: () => number; keysMax?: number } = {}): {
  take(key: string, limit: number): LogAnswer;
} {
  const { now = Date.now, keysMax = KEYS_MAX } = options;
  // Bound by `maxSize` with size 1 per key, because `max` would allocate the memory for all keys at once.
  const logs = new LRUCache<string, number[]>({ maxSize: keysMax });

  return {
    take(key, limit) {
      const nowMs = now();
      const times = (logs.get(key) ?? []).filter((time) => time > nowMs - WINDOW_MS);
      const allowed = times.length < limit;
      if (allowed) times.push(nowMs);
      logs.set(key, times, { size: 1 });
      // Once the time of this request leaves the last minute, fewer than `limit` remain in it.
      const oldestMs = times[Math.max(0, times.length - limit)] ?? nowMs - WINDOW_MS;
      return { allowed, count: times.length, waitMs: oldestMs + WINDOW_MS - nowMs };
    },
  };
}
