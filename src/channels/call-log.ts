import type { Logger } from '../platform/logger.ts';
import type { Sql } from '../platform/postgres.ts';
import type { RedisConnection } from '../platform/redis.ts';
import { takeCall } from './call-store.ts';
import { openRedisCalls } from './redis-call-log.ts';

/** Contract 4.10: verified calls of one bot. */
export const CALL_LIMIT = { callsMax: 30, windowMs: 60_000 } as const;

/** Time after a failure during which Redis is not asked. */
const REST_MS = 1000;

/** Exact log of the calls of each bot, shared by all processes of the installation. */
export interface CallLog {
  /** Log a call. False: the limit is reached, and the call is not logged. */
  take(orgId: string, botId: string): Promise<boolean>;
}

/**
 * Open the log: in Redis where it is configured, else in PostgreSQL. While Redis is away the calls are logged in
 * PostgreSQL, from zero, so that at worst the limit is let through once more.
 */
export function openCallLog(settings: {
  readonly sql: Sql;
  readonly redis: RedisConnection | null;
  readonly logger: Logger;
  readonly limit?: { readonly callsMax: number; readonly windowMs: number };
}): CallLog {
  const { sql, redis, logger, limit = CALL_LIMIT } = settings;
  const takeInRedis = redis === null ? null : openRedisCalls(redis.client);
  let restUntilMs = 0;
  return {
    async take(orgId, botId) {
      if (takeInRedis !== null && redis?.isReady && performance.now() >= restUntilMs) {
        try {
          return await takeInRedis(`${orgId}:${botId}`, limit);
        } catch {
          restUntilMs = performance.now() + REST_MS;
          logger.warn('calls of channels are logged in PostgreSQL until Redis answers again');
        }
      }
      return takeCall(sql, { orgId, botId }, limit);
    },
  };
}
