import type { Logger } from '../platform/logger.ts';
import type { Sql } from '../platform/postgres.ts';
import type { RedisConnection } from '../platform/redis.ts';
import { takeCall } from './call-store.ts';
import { openRedisCalls } from './redis-call-log.ts';

/** Rate limit for verified calls of one bot (contract 4.10). */
export const CALL_LIMIT = { callsMax: 30, windowMs: 60_000 } as const;

/** Time after a failure during which Redis is bypassed. */
const REDIS_RETRY_MS = 1000;

/** Exact log of each bot's calls, shared by all processes. */
export interface CallLog {
  /** Log a call and return true, or return false if the limit is reached. */
  take(orgId: string, botId: string): Promise<boolean>;
}

/**
 * Open the log in Redis if configured, otherwise in PostgreSQL. While Redis is unavailable, log calls in PostgreSQL.
 * That log starts empty, so a bot gets at most twice the limit.
 */
export function openCallLog(settings: {
  readonly sql: Sql;
  readonly redis: RedisConnection | null;
  readonly logger: Logger;
  readonly limit?: { readonly callsMax: number; readonly windowMs: number };
}): CallLog {
  const { sql, redis, logger, limit = CALL_LIMIT } = settings;
  const takeInRedis = redis === null ? null : openRedisCalls(redis.client);
  let redisRetryAtMs = 0;
  return {
    async take(orgId, botId) {
      if (takeInRedis !== null && redis?.isReady && performance.now() >= redisRetryAtMs) {
        try {
          return await takeInRedis(`${orgId}:${botId}`, limit);
        } catch {
          redisRetryAtMs = performance.now() + REDIS_RETRY_MS;
          logger.warn('calls of channels are logged in PostgreSQL until Redis answers again');
        }
      }
      return takeCall(sql, { orgId, botId }, limit);
    },
  };
}
