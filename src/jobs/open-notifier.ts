import type { Logger } from '../platform/logger.ts';
import type { Sql } from '../platform/postgres.ts';
import type { RedisConnection } from '../platform/redis.ts';
import { type JobNotifier, openPostgresNotifier } from './notifier.ts';

/** Open the notifier over Redis if configured, otherwise over PostgreSQL. */
export async function openNotifier(context: {
  readonly sql: Sql;
  readonly direct: Sql;
  readonly redis: RedisConnection | null;
  readonly logger: Logger;
}): Promise<JobNotifier> {
  const { sql, direct, redis, logger } = context;
  if (redis === null) return openPostgresNotifier(sql, direct);
  const { openRedisNotifier } = await import('./redis-notifier.ts'); // the queue library loads slowly
  return openRedisNotifier({ redis, logger });
}
