import { LRUCache } from 'lru-cache';
import { type RateState, WINDOW_MS } from './rate-window.ts';

/**
 * Largest rate, in requests per minute, that is counted exactly by request times. The memory grows with the rate. For
 * larger rates, the sliding window has a small relative error.
 */
export const LOGGED_LIMIT_MAX = 60;

/** State of a log after a request. Only an allowed request is logged. */
export interface LogAnswer {
  readonly allowed: boolean;
  /** Requests allowed in the last minute. */
  readonly count: number;
  /** Time until one more request is allowed, assuming the limit is used up. */
  readonly waitMs: number;
}

/** Store of request times: in this process, or in Redis for all processes. */
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
  // Bound by `maxSize` with size 1 per key, because `max` would allocate memory for all keys at once.
  const logs = new LRUCache<string, number[]>({ maxSize: keysMax });

  return {
    take(key, limit) {
      const nowMs = now();
      const times = (logs.get(key) ?? []).filter((time) => time > nowMs - WINDOW_MS);
      const allowed = times.length < limit;
      if (allowed) times.push(nowMs);
      logs.set(key, times, { size: 1 });
      // Once this request is older than a minute, fewer than `limit` remain.
      const oldestMs = times[Math.max(0, times.length - limit)] ?? nowMs - WINDOW_MS;
      return { allowed, count: times.length, waitMs: oldestMs + WINDOW_MS - nowMs };
    },
  };
}
