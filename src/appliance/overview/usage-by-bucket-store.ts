import { z } from 'zod';
import type { Caller } from '../../access/caller.ts';
import { bucketsOf } from '../../documents/store.ts';
import { visibleTo } from '../../documents/visibility.ts';
import type { Sql } from '../../platform/postgres.ts';
import { toDate, toPeriod } from '../../usage/calendar.ts';

const BUCKETS_MAX = 1_000;

const amount = z.int().min(0);

/** Response of `GET /v1/usage/buckets`. */
export const UsageByBucket = z
  .object({
    object: z.literal('list'),
    period: z.object({ start: z.iso.datetime(), end: z.iso.datetime().describe('the first moment after the period') }),
    data: z
      .array(
        z.object({
          bucket_id: z.string(),
          name: z.string(),
          searches: amount.describe('searches in the period that named only this bucket'),
          unanswered: amount.describe('searches without a result that seemed to answer the query'),
          documents: amount.describe('current number of documents that the caller may see'),
          bytes: amount.describe('total size of these documents'),
        }),
      )
      .describe('most searches first'),
    has_more: z.boolean(),
    next_cursor: z.null(),
  })
  .meta({ id: 'UsageByBucket' });
export type UsageByBucket = z.output<typeof UsageByBucket>;

/**
 * Sum an organization's searches over a period (by default this month) by bucket, with the current number of documents.
 *
 * @throws AppError `invalid_request` (400) for an invalid period
 */
export async function listUsageByBucket(
  sql: Sql,
  caller: Caller,
  range: { from?: string | undefined; to?: string | undefined },
): Promise<UsageByBucket> {
  const { startMs, endMs } = toPeriod(range, Date.now());
  const rows = await sql<UsageByBucket['data']>`
    SELECT buckets.id AS bucket_id, buckets.name, coalesce(asked.searches, 0)::bigint AS searches,
           coalesce(asked.unanswered, 0)::bigint AS unanswered, coalesce(held.documents, 0)::int AS documents,
           coalesce(held.bytes, 0)::bigint AS bytes
    FROM buckets
    LEFT JOIN (SELECT bucket_id, sum(searches) AS searches, sum(unanswered) AS unanswered FROM search_counts
               WHERE org_id = ${caller.orgId} AND day >= ${toDate(startMs)}::date AND day < ${toDate(endMs)}::date
               GROUP BY bucket_id) AS asked ON asked.bucket_id = buckets.id
    LEFT JOIN (SELECT bucket_id, count(*) AS documents, sum(size_bytes) AS bytes FROM documents
               WHERE org_id = ${caller.orgId} AND ${visibleTo(sql, caller)} GROUP BY bucket_id) AS held
      ON held.bucket_id = buckets.id
    WHERE ${bucketsOf(sql, caller)}
    ORDER BY searches DESC, buckets.name LIMIT ${BUCKETS_MAX + 1}`;
  return {
    object: 'list',
    period: { start: new Date(startMs).toISOString(), end: new Date(endMs).toISOString() },
    data: rows.slice(0, BUCKETS_MAX).map((row) => ({ ...row, bytes: Number(row.bytes) })),
    has_more: rows.length > BUCKETS_MAX,
    next_cursor: null,
  };
}
