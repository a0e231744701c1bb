import { z } from 'zod';
import type { Sql } from '../platform/postgres.ts';
import { toDate, toPeriod } from './calendar.ts';
import type { Meter } from './meter.ts';
import { Axis } from './schema.ts';
import { selectUsageRows } from './store.ts';

/** Fields by which usage is summed. */
export const USAGE_GROUPS = ['day', 'axis', 'model', 'internal'] as const;
export type UsageGroup = (typeof USAGE_GROUPS)[number];

/** Rows of one answer: a year of thirty models. */
const ROWS_MAX = 10_000;

const amount = z.int().min(0);

/** Response of `GET /v1/usage`: sums of the successful requests of the organization. */
export const UsageList = z
  .object({
    object: z.literal('list'),
    period: z.object({ start: z.iso.datetime(), end: z.iso.datetime().describe('the first moment after the period') }),
    data: z.array(
      z.object({
        day: z.iso.date().optional(),
        axis: Axis.optional(),
        model: z.string().optional(),
        internal: z.boolean().optional().describe('made by the service for searches and documents'),
        requests: amount.describe('a request that several models answered counts for each'),
        texts: amount,
        tokens: amount,
        images: amount,
      }),
    ),
    has_more: z.boolean().describe('there are more than 10,000 rows; choose a shorter period or fewer fields'),
    next_cursor: z.null(),
  })
  .meta({ id: 'UsageList' });
export type UsageList = z.output<typeof UsageList>;

/**
 * Sum the usage of an organization over a period (of whole UTC days; by default this month) by some fields, in the order of `USAGE_GROUPS`.
 *
 * @throws AppError `invalid_request` (400) for an invalid period
 */
export async function listUsage(
  sql: Sql,
  meter: Pick<Meter, 'flush'>,
  orgId: string,
  request: { from?: string | undefined; to?: string | undefined; by: readonly UsageGroup[] },
): Promise<UsageList> {
  const { startMs, endMs } = toPeriod(request, Date.now());
  await meter.flush();
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
