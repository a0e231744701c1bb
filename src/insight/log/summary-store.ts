import type { Caller } from '../../access/caller.ts';
import type { Sql } from '../../platform/postgres.ts';
import { loggedFor, type SearchConditions } from './log-store.ts';
import type { Asked, LogSummary } from './schema.ts';

/** Sum the searches of an organization per day, starting on the day `start` (`YYYY-MM-DD`). */
export async function selectDays(
  sql: Sql,
  { orgId }: Caller,
  { start, bucketId }: { readonly start: string; readonly bucketId: string | undefined },
): Promise<LogSummary['by_day']> {
  const rows = await sql`
    SELECT to_char(day, 'YYYY-MM-DD') AS date, sum(searches)::float8 AS searches, sum(unanswered)::float8 AS unanswered,
           sum(slow)::float8 AS slow, round(sum(took_ms) / sum(searches))::float8 AS mean_ms
    FROM search_counts WHERE org_id = ${orgId} AND day >= ${start}::date
      ${bucketId === undefined ? sql`` : sql`AND bucket_id = ${bucketId}`}
    GROUP BY day ORDER BY day`;
  return rows as unknown as LogSummary['by_day'];
}

/** Count searches per kind of caller, and feedback. */
export async function selectAskers(
  sql: Sql,
  caller: Caller,
  conditions: SearchConditions,
): Promise<Pick<LogSummary, 'askers' | 'helpful' | 'not_helpful'>> {
  const rows = await sql<
    { asked_by: LogSummary['askers'][number]['asked_by']; n: number; good: number; bad: number }[]
  >`
    SELECT asked_by, count(*)::int AS n, count(*) FILTER (WHERE helpful)::int AS good,
           count(*) FILTER (WHERE NOT helpful)::int AS bad
    FROM search_log WHERE ${loggedFor(sql, caller, conditions)} GROUP BY asked_by ORDER BY n DESC, asked_by`;
  return {
    askers: rows.map(({ asked_by, n }) => ({ asked_by, searches: n })),
    helpful: rows.reduce((sum, { good }) => sum + good, 0),
    not_helpful: rows.reduce((sum, { bad }) => sum + bad, 0),
  };
}

/** List the most frequent queries. Group by text, ignoring case and buckets. */
export async function selectAsked(
  sql: Sql,
  caller: Caller,
  conditions: SearchConditions,
  rowsMax: number,
): Promise<Asked[]> {
  const rows = await sql`
    SELECT count(*)::int AS searches,
           count(*) FILTER (WHERE results = 0 OR relevance = 'none')::int AS unanswered, max(asked_at) AS last_at,
           (array_agg(id ORDER BY (results = 0 OR relevance IS NOT DISTINCT FROM 'none') DESC, asked_at DESC, id))[1]
             AS last_id
    FROM search_log WHERE ${loggedFor(sql, caller, conditions)}
    GROUP BY lower(query) ORDER BY searches DESC, last_at DESC, lower(query) LIMIT ${rowsMax}`;
  const ids = rows.map((row) => row['last_id'] as string);
  const last = await sql<{ id: string; query: string; bucket_ids: string[] }[]>`
    SELECT id, query, bucket_ids FROM search_log WHERE org_id = ${caller.orgId} AND id = ANY(${sql.array(ids)}::text[])`;
  const byId = new Map(last.map((row) => [row.id, row]));
  return rows.flatMap((row) => {
    const of = byId.get(row['last_id'] as string);
    // A sweep may have deleted the search meanwhile.
    if (of === undefined) return [];
    return {
      query: of.query,
      searches: row['searches'] as number,
      unanswered: row['unanswered'] as number,
      last_id: of.id,
      last_at: (row['last_at'] as Date).toISOString(),
      bucket_ids: of.bucket_ids,
    };
  });
}
