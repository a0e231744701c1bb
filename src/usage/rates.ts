import { AppError } from '../platform/errors.ts';
import type { Logger } from '../platform/logger.ts';
import type { RedisConnection } from '../platform/redis.ts';
import { type Account, keyIdOf } from './account.ts';
import type { PlanSettings } from './quotas.ts';
import { openMemoryRateWindow, type RateState, type RateWindow, toRateState } from './rate-window.ts';
import { openRedisRateWindow } from './redis-rate-window.ts';
import { openRedisRequestLog } from './redis-request-log.ts';
import { LOGGED_LIMIT_MAX, logRateState, openMemoryRequestLog, type RequestLog } from './request-log.ts';
import type { RateAxis } from './schema.ts';

export type { RateState } from './rate-window.ts';

type RatedAccount = Account & Required<Pick<Account, 'plan'>>;

export interface RateLimiter {
  /**
   * Count a request of the organization and its key on the axis, if it is allowed. Return the tighter of the two rates,
   * or null if neither the plan nor the key limits the axis. This is synchronous without Redis, and never rejects.
   */
  take(account: RatedAccount, axis: RateAxis): RateState | null | Promise<RateState>;
}

/**
 * Count one request of the organization on the axis, for work that does not arrive as a request.
 *
 * @throws AppError `rate_limited` (429)
 */
export async function takeRequest(rates: RateLimiter, account: RatedAccount, axis: RateAxis): Promise<void> {
  const state = await rates.take(account, axis);
  if (state !== null && !state.allowed) throw rateLimited(axis, state);
}

/** Create the error for a request beyond the rate of its organization or of its key. */
export function rateLimited(axis: RateAxis, { limit, resetSeconds }: RateState): AppError {
  return new AppError({
    code: 'rate_limited',
    status: 429,
    message: `more than ${limit} requests a minute were sent on the axis "${axis}"; wait ${resetSeconds} s`,
    retryable: true,
    retryAfterSeconds: resetSeconds,
  });
}

/** Maximum time to wait for Redis. */
const REDIS_MS = 50;
/** Pause after Redis failed to respond. */
const REDIS_PAUSE_MS = 1000;

/** Request counts: exact times for small rates, a sliding window for large ones. */
interface Counts {
  readonly log: RequestLog;
  readonly window: RateWindow;
}

function take({ log, window }: Counts, key: string, limit: number): RateState | Promise<RateState> {
  if (limit <= LOGGED_LIMIT_MAX) return map(log.take(key, limit), (answer) => logRateState(answer, limit));
  return map(window.take(key, limit), (answer) => toRateState(answer, limit));
}

function map<T, U>(value: T | Promise<T>, change: (value: T) => U | Promise<U>): U | Promise<U> {
  return value instanceof Promise ? value.then(change) : change(value);
}

/**
 * Open the limiter of request rates by plan, over a sliding minute. With Redis all processes share the counts. While
 * Redis is unreachable, each process counts by itself from zero, so that at worst each allows the full limit once more.
 */
export function openRateLimiter(settings: {
  plans: PlanSettings;
  redis: RedisConnection | null;
  logger: Logger;
  /** Clock in milliseconds since 1970; Redis has its own clock. */
  now?: () => number;
}): RateLimiter {
  const { plans, redis, logger, now = Date.now } = settings;
  const memory: Counts = { log: openMemoryRequestLog({ now }), window: openMemoryRateWindow({ now }) };
  const shared: Counts | null =
    redis === null ? null : { log: openRedisRequestLog(redis.client), window: openRedisRateWindow(redis.client) };
  let pausedUntilMs = 0;
  let isDown = false;

  function noteOutage(): void {
    if (!isDown) logger.warn('request rates are counted per process until Redis answers again');
    isDown = true;
  }

  function noteAnswer(): void {
    if (isDown) logger.info('request rates are shared through Redis again');
    isDown = false;
  }

  async function takeShared(counts: Counts, key: string, limit: number): Promise<RateState> {
    try {
      const state = await withTimeout(take(counts, key, limit));
      noteAnswer();
      return state;
    } catch {
      pausedUntilMs = performance.now() + REDIS_PAUSE_MS;
      noteOutage();
      return take(memory, key, limit);
    }
  }

  function takeOne(key: string, limit: number): RateState | Promise<RateState> {
    if (shared !== null && redis !== null) {
      if (redis.isReady && performance.now() >= pausedUntilMs) return takeShared(shared, key, limit);
      noteOutage();
    }
    return take(memory, key, limit);
  }

  return {
    take(account, axis) {
      const { orgId, plan, limits } = account;
      const ofPlan = plans[plan]?.requestsPerMinute[axis];
      const takeOfPlan = () => (ofPlan === undefined ? null : takeOne(`${orgId}:${axis}`, ofPlan));
      const ofKey = limits?.requests_per_minute?.[axis];
      if (ofKey === undefined) return takeOfPlan();
      // A request beyond the key's limit doesn't count against the organization.
      return map(takeOne(`${orgId}:${keyIdOf(account)}:${axis}`, ofKey), (own) =>
        own.allowed ? tighterOf(own, takeOfPlan()) : own,
      );
    },
  };
}

function tighterOf(own: RateState, other: RateState | null | Promise<RateState>): RateState | Promise<RateState> {
  if (other === null) return own;
  return map(other, (all) => (all.allowed && own.remaining <= all.remaining ? own : all));
}

/** Wait for the answer for `REDIS_MS`. Accept an answer that has arrived in time but wasn't read yet. */
function withTimeout(answer: RateState | Promise<RateState>): Promise<RateState> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      // After a pause of the event loop, timers run first, and sockets are read before `setImmediate` callbacks.
      setImmediate(() => reject(new Error(`Redis did not answer within ${REDIS_MS} ms`)));
    }, REDIS_MS);
    Promise.resolve(answer)
      .then(resolve, reject)
      .finally(() => clearTimeout(timer));
  });
}
