import { LRUCache } from 'lru-cache';

export const WINDOW_MS = 60_000;

/** Requests of one organization and axis in this window of a minute and in the one before. */
export interface WindowCounts {
  readonly previous: number;
  readonly current: number;
  /** Since this window began; 0 to 59,999. */
  readonly elapsedMs: number;
}

/** Counts of a window after one request was let through, or was not and is not counted. */
export interface WindowAnswer extends WindowCounts {
  readonly allowed: boolean;
}

/** Where the counts are kept: in this process, or in Redis for all of them. */
export interface RateWindow {
  take(key: string, limit: number): WindowAnswer | Promise<WindowAnswer>;
}

export interface RateState {
  /** Requests a minute. */
  readonly limit: number;
  readonly remaining: number;
  /** At least 1: until the next request fits where `remaining` is 0, else until this window of a minute ends. */
  readonly resetSeconds: number;
  readonly allowed: boolean;
}

/**
 * Requests in the last minute, by the sliding window counter: those of this window, and of the one before the share
 * that the last minute still covers, as if they had come evenly.
 */
export function inLastMinute({ previous, current, elapsedMs }: WindowCounts): number {
  return current + previous * (1 - elapsedMs / WINDOW_MS);
}

export function hasRoom(counts: WindowCounts, limit: number): boolean {
  return inLastMinute(counts) + 1 <= limit;
}

export function toRateState(answer: WindowAnswer, limit: number): RateState {
  const remaining = Math.max(0, Math.floor(limit - inLastMinute(answer)));
  const waitMs = remaining > 0 ? WINDOW_MS - answer.elapsedMs : roomInMs(answer, limit);
  return { limit, remaining, resetSeconds: Math.max(1, Math.ceil(waitMs / 1000)), allowed: answer.allowed };
}

/** When the next request will fit, if none comes until then. */
function roomInMs({ previous, current, elapsedMs }: WindowCounts, limit: number): number {
  /** How far into a window the one before, of `count` requests, leaves room for one more beside `others`. */
  const roomAtMs = (count: number, others: number) =>
    count === 0 ? 0 : Math.max(0, WINDOW_MS * (1 - (limit - 1 - others) / count));
  if (current <= limit - 1) return roomAtMs(previous, current) - elapsedMs;
  return WINDOW_MS - elapsedMs + roomAtMs(current, 0);
}

const KEYS_MAX = 100_000;

/**
 * Counts of this process alone.
 *
 * @param options.now milliseconds since 1970
 */
export function openMemoryRateWindow(options: { now?: () => number; keysMax?: number } = {}): {
  take(key: string, limit: number): WindowAnswer;
} {
  const { now = Date.now, keysMax = KEYS_MAX } = options;
  // Bounded by size, a key being 1: room for the keys of `max` would be allocated at once, 2.8 MB.
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
      const allowed = hasRoom({ previous, current: window.current, elapsedMs }, limit);
      if (allowed) window.current++;
      return { allowed, previous, current: window.current, elapsedMs };
    },
  };
}
