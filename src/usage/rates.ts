import type { Logger } from '../platform/logger.ts';
import type { RedisConnection } from '../platform/redis.ts';
import type { Account } from './meter.ts';
import type { PlanSettings } from './quotas.ts';
import {
  openMemoryRateWindow,
  type RateState,
  type RateWindow,
  toRateState,
  type WindowAnswer,
} from './rate-window.ts';
import { openRedisRateWindow } from './redis-rate-window.ts';
import type { Axis } from './schema.ts';

export type { RateState } from './rate-window.ts';

export interface RateLimiter {
  /**
   * Count one request of the organization on the axis; one that is not allowed is not counted. Null: the plan has no
   * limit there. Synchronous unless Redis is asked; never rejects.
   */
  take(account: Required<Account>, axis: Axis): RateState | null | Promise<RateState>;
}

/** What a request waits for Redis at most. */
const REDIS_MS = 50;
/** How long Redis is left alone after it failed to answer. */
const REST_MS = 1000;

/**
 * Request rates by plan, over a sliding minute. With Redis the count is shared by all processes; while Redis is away
 * each process counts for itself, from zero, so that at worst each lets the limit through once more.
 */
export function openRateLimiter(settings: {
  plans: PlanSettings;
  redis: RedisConnection | null;
  logger: Logger;
  /** Milliseconds since 1970; Redis has its own clock. */
  now?: () => number;
}): RateLimiter {
  const { plans, redis, logger, now = Date.now } = settings;
  const memory = openMemoryRateWindow({ now });
  const shared = redis === null ? null : openRedisRateWindow(redis.client);
  let restUntilMs = 0;
  let isDown = false;

  function noteOutage(): void {
    if (!isDown) logger.warn('request rates are counted per process until Redis answers again');
    isDown = true;
  }

  function noteAnswer(): void {
    if (isDown) logger.info('request rates are shared through Redis again');
    isDown = false;
  }

  async function takeShared(window: RateWindow, key: string, limit: number): Promise<RateState> {
    try {
      const answer = await inTime(window.take(key, limit));
      noteAnswer();
      return toRateState(answer, limit);
    } catch {
      restUntilMs = performance.now() + REST_MS;
      noteOutage();
      return toRateState(memory.take(key, limit), limit);
    }
  }

  return {
    take(account, axis) {
      const limit = plans[account.plan]?.requestsPerMinute[axis];
      if (limit === undefined) return null;
      const key = `${account.orgId}:${axis}`;
      if (shared !== null && redis !== null) {
        if (redis.isReady && performance.now() >= restUntilMs) return takeShared(shared, key, limit);
        noteOutage();
      }
      return toRateState(memory.take(key, limit), limit);
    },
  };
}

/** The answer, if it comes within `REDIS_MS`. An answer that has come but was not read yet is in time. */
function inTime(answer: WindowAnswer | Promise<WindowAnswer>): Promise<WindowAnswer> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      // After a pause of the event loop timers run first; the sockets are read before this.
      setImmediate(() => reject(new Error(`Redis did not answer within ${REDIS_MS} ms`)));
    }, REDIS_MS);
    Promise.resolve(answer)
      .then(resolve, reject)
      .finally(() => clearTimeout(timer));
  });
}
