import { z } from 'zod';
import { type Caller, hasScope } from '../access/caller.ts';
import type { Sql } from '../platform/postgres.ts';
import { toDate, toPeriod } from './calendar.ts';
import { selectUsageByActor, selectUsageRows } from './report-store.ts';
import { ActorUsage, UsageRow } from './schema.ts';

/** Fields by which usage is summed. */
export const USAGE_GROUPS = ['day', 'axis', 'model', 'internal'] as const;
export type UsageGroup = (typeof USAGE_GROUPS)[number];

/** Maximum number of rows in a response: a year of thirty models. */
const ROWS_MAX = 10_000;

/** Response of `GET /v1/usage`: sums over the organization's successful requests. */
export const UsageList = z
  .object({
    object: z.literal('list'),
    period: z.object({ start: z.iso.datetime(), end: z.iso.datetime().describe('the first moment after the period') }),
    data: z.array(UsageRow),
    has_more: z.boolean().describe('there are more than 10,000 rows; choose a shorter period or fewer fields'),
    next_cursor: z.null(),
  })
  .meta({ id: 'UsageList' });
export type UsageList = z.output<typeof UsageList>;

/**
 * Sum an organization's usage over a period (whole UTC days; by default this month), grouped by some fields, in the
 * order of `USAGE_GROUPS`.
 *
 * @throws AppError `invalid_request` (400) for an invalid period
 */
export async function listUsage(
  sql: Sql,
  orgId: string,
  request: { from?: string | undefined; to?: string | undefined; by: readonly UsageGroup[] },
): Promise<UsageList> {
  const { startMs, endMs } = toPeriod(request, Date.now());
  const period = { start: toDate(startMs), end: toDate(endMs) };
  const rows = await selectUsageRows(sql, orgId, { ...period, by: request.by, rowsMax: ROWS_MAX + 1 });
  return {
    object: 'list',
    period: { start: new Date(startMs).toISOString(), end: new Date(endMs).toISOString() },
    data: rows.slice(0, ROWS_MAX),
    has_more: rows.length > ROWS_MAX,
    next_cursor: null,
  };
}

/** Response of `GET /v1/usage/keys`. */
export const UsageByKey = z
  .object({
    object: z.literal('list'),
    period: UsageList.shape.period,
    data: z.array(ActorUsage).describe('most tokens first'),
    has_more: z.boolean(),
    next_cursor: z.null(),
  })
  .meta({ id: 'UsageByKey' });
export type UsageByKey = z.output<typeof UsageByKey>;

/** Maximum number of rows in a response of `listUsageByKey`. */
const ACTORS_MAX = 1_000;

/**
 * Sum the usage of an organization over a period by key and user. Callers who manage keys get everyone's usage, others
 * only their own. Internal usage, for documents, isn't attributed to anybody.
 *
 * @throws AppError `invalid_request` (400) for an invalid period
 */
export async function listUsageByKey(
  sql: Sql,
  caller: Caller,
  range: { from?: string | undefined; to?: string | undefined },
): Promise<UsageByKey> {
  const { startMs, endMs } = toPeriod(range, Date.now());
  const rows = await selectUsageByActor(sql, caller.orgId, {
    start: toDate(startMs),
    end: toDate(endMs),
    rowsMax: ACTORS_MAX + 1,
    actor: hasScope(caller, 'keys:manage') ? null : caller.actor,
  });
  return {
    object: 'list',
    period: { start: new Date(startMs).toISOString(), end: new Date(endMs).toISOString() },
    data: rows.slice(0, ACTORS_MAX),
    has_more: rows.length > ACTORS_MAX,
    next_cursor: null,
  };
}
