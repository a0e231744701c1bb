import type { Caller } from '../access/caller.ts';
import type { Config } from '../platform/config.ts';
import type { Logger } from '../platform/logger.ts';
import { QUERY_MS, type Sql } from '../platform/postgres.ts';
import type { RedisConnection } from '../platform/redis.ts';
import type { Account } from './account.ts';
import { bookingDay } from './calendar.ts';
import { listUsage, listUsageByKey, type UsageByKey, type UsageGroup, type UsageList } from './list-usage.ts';
import { type Meter, openMeter } from './meter.ts';
import { openRateLimiter, type RateLimiter } from './rates.ts';
import type { Axis, UsageSummary } from './schema.ts';
import { selectKeyCounters } from './store.ts';
import { summarizeUsage } from './summarize-usage.ts';

/** Metering, quotas and request rates of organizations. */
export interface Usage {
  readonly meter: Meter;
  readonly rates: RateLimiter;
  /** Summarize the usage of an organization in a period, by default this month. */
  summarize(
    account: Account,
    period: { from?: string | undefined; to?: string | undefined },
    signal?: AbortSignal,
  ): Promise<UsageSummary>;
  /** Sum the usage of an organization in a period, by default this month, by some fields. */
  list(
    orgId: string,
    request: { from?: string | undefined; to?: string | undefined; by: readonly UsageGroup[] },
    signal?: AbortSignal,
  ): Promise<UsageList>;
  /** Sum the usage of the caller's organization by key and user. */
  listByKey(
    caller: Caller,
    period: { from?: string | undefined; to?: string | undefined },
    signal?: AbortSignal,
  ): Promise<UsageByKey>;
  /** Read the units that an API key used or reserved this month, by axis. */
  ofKey(orgId: string, keyId: string, signal?: AbortSignal): Promise<Partial<Record<Axis, number>>>;
  close(): Promise<void>;
}

export async function openUsage(context: {
  readonly config: Pick<Config, 'plans' | 'answers'>;
  readonly sql: Sql;
  readonly redis: RedisConnection | null;
  readonly logger: Logger;
}): Promise<Usage> {
  const { config, sql, redis, logger } = context;
  const { plans } = config;
  const meter = openMeter({ sql, plans, logger });
  await meter.service.start(new AbortController().signal);
  return {
    meter,
    rates: openRateLimiter({ plans, redis, logger }),
    summarize: (account, period, signal) =>
      summarizeUsage(sql.limited({ ms: QUERY_MS.report, signal }), meter, config, account, period),
    list: (orgId, request, signal) => listUsage(sql.limited({ ms: QUERY_MS.report, signal }), meter, orgId, request),
    listByKey: (caller, period, signal) =>
      listUsageByKey(sql.limited({ ms: QUERY_MS.report, signal }), meter, caller, period),
    async ofKey(orgId, keyId, signal) {
      await meter.flush();
      const { month } = bookingDay(Date.now());
      return selectKeyCounters(sql.limited({ ms: QUERY_MS.report, signal }), orgId, keyId, month);
    },
    close: () => meter.service.stop(),
  };
}
