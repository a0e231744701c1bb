import type { Caller } from '../access/caller.ts';
import type { Chore } from '../platform/chores.ts';
import type { Config } from '../platform/config.ts';
import type { Logger } from '../platform/logger.ts';
import { QUERY_MS, type QueryLimit, type Reads, type Sql, type StaleRead } from '../platform/postgres.ts';
import type { RedisConnection } from '../platform/redis.ts';
import type { Account } from './account.ts';
import { bookingDay } from './calendar.ts';
import { listUsage, listUsageByKey, type UsageByKey, type UsageGroup, type UsageList } from './list-usage.ts';
import { type Meter, openMeter } from './meter.ts';
import { keepPartitions } from './partition-store.ts';
import { openRateLimiter, type RateLimiter } from './rates.ts';
import type { Axis, UsageSummary } from './schema.ts';
import { selectKeyCounters } from './store.ts';
import { summarizeUsage } from './summarize-usage.ts';

const PARTITIONS_EVERY_MS = 3_600_000;

/**
 * Metering, quotas and request rates of organizations. Reports include this process's pending usage. Other processes'
 * usage may be missing for up to a second.
 */
export interface Usage {
  readonly meter: Meter;
  readonly rates: RateLimiter;
  /** Summarize the usage of an organization in a period, by default this month. */
  summarize(
    account: Account,
    period: { from?: string | undefined; to?: string | undefined },
    signal?: AbortSignal,
  ): Promise<UsageSummary>;
  /** Sum an organization's usage in a period, by default this month, grouped by some fields. */
  list(
    orgId: string,
    request: { from?: string | undefined; to?: string | undefined; by: readonly UsageGroup[] },
    signal?: AbortSignal,
  ): Promise<StaleRead<UsageList>>;
  /** Sum the usage of the caller's organization by key and user. */
  listByKey(
    caller: Caller,
    period: { from?: string | undefined; to?: string | undefined },
    signal?: AbortSignal,
  ): Promise<StaleRead<UsageByKey>>;
  /** Read the units that an API key used or reserved this month, by axis. */
  ofKey(orgId: string, keyId: string, signal?: AbortSignal): Promise<Partial<Record<Axis, number>>>;
  readonly chores: () => readonly Chore[];
  close(): Promise<void>;
}

export async function openUsage(context: {
  readonly config: Pick<Config, 'plans' | 'answers' | 'retention'>;
  readonly sql: Sql;
  readonly reads: Reads;
  readonly redis: RedisConnection | null;
  readonly logger: Logger;
}): Promise<Usage> {
  const { config, sql, reads, redis, logger } = context;
  const { plans } = config;
  const meter = openMeter({ sql, plans, logger });
  await meter.service.start(new AbortController().signal);
  return {
    meter,
    rates: openRateLimiter({ plans, redis, logger }),
    async summarize(account, period, signal) {
      await meter.flush();
      return reads.current(reportLimit(signal), (of) => summarizeUsage(of, config, account, period));
    },
    async list(orgId, request, signal) {
      await meter.flush();
      return reads.stale(reportLimit(signal), (of) => listUsage(of, orgId, request));
    },
    async listByKey(caller, period, signal) {
      await meter.flush();
      return reads.stale(reportLimit(signal), (of) => listUsageByKey(of, caller, period));
    },
    async ofKey(orgId, keyId, signal) {
      await meter.flush();
      const { month } = bookingDay(Date.now());
      return selectKeyCounters(sql.limited(reportLimit(signal)), orgId, keyId, month);
    },
    chores: () => [
      {
        name: 'partitions of usage',
        everyMs: PARTITIONS_EVERY_MS,
        run: () => keepPartitions(sql, config.retention.usageMs, Date.now()),
      },
    ],
    close: () => meter.service.stop(),
  };
}

function reportLimit(signal: AbortSignal | undefined): QueryLimit {
  return { ms: QUERY_MS.report, signal };
}
