import type { Sql } from '../platform/postgres.ts';
import type { SearchLogSettings } from '../platform/search-settings.ts';
import { keepsAtLeast } from './log/level-store.ts';

/** Search counts of one organization, bucket and UTC day (`YYYY-MM-DD`). */
export interface SearchCount {
  readonly orgId: string;
  readonly day: string;
  /** Empty for searches across several buckets. */
  readonly bucketId: string;
  readonly searches: number;
  readonly unanswered: number;
  readonly slow: number;
  readonly tookMs: number;
}

/** Add counts, at most one per key. Skip those of organizations that are deleted or keep no counts. */
export async function addSearchCounts(
  sql: Sql,
  settings: SearchLogSettings,
  counts: readonly SearchCount[],
): Promise<void> {
  if (counts.length === 0) return;
  // Sort the keys, so that processes lock rows in the same order and don't deadlock.
  const rows = counts.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
  await sql`
    INSERT INTO search_counts AS known (org_id, day, bucket_id, searches, unanswered, slow, took_ms)
    SELECT new.org_id, new.day::date, new.bucket_id, new.searches, new.unanswered, new.slow, new.took_ms
    FROM unnest(${sql.array(rows.map(({ orgId }) => orgId))}::text[],
                ${sql.array(rows.map(({ day }) => day))}::text[],
                ${sql.array(rows.map(({ bucketId }) => bucketId))}::text[],
                ${sql.array(rows.map(({ searches }) => searches))}::bigint[],
                ${sql.array(rows.map(({ unanswered }) => unanswered))}::bigint[],
                ${sql.array(rows.map(({ slow }) => slow))}::bigint[],
                ${sql.array(rows.map(({ tookMs }) => tookMs))}::bigint[])
      AS new (org_id, day, bucket_id, searches, unanswered, slow, took_ms)
    JOIN organizations ON organizations.id = new.org_id
    WHERE ${keepsAtLeast(sql, settings, 'counts')}
    ON CONFLICT (org_id, day, bucket_id) DO UPDATE
      SET searches = known.searches + excluded.searches, unanswered = known.unanswered + excluded.unanswered,
          slow = known.slow + excluded.slow, took_ms = known.took_ms + excluded.took_ms`;
}

function keyOf({ orgId, day, bucketId }: SearchCount): string {
  return `${orgId} ${day} ${bucketId}`;
}

/** Record that these buckets were used just now, to the minute, so that vector stores don't expire. */
export async function noteActivity(sql: Sql, bucketIds: readonly string[]): Promise<void> {
  await sql`
    UPDATE vector_stores SET last_active_at = now()
    WHERE bucket_id IN (
      SELECT bucket_id FROM vector_stores
      WHERE bucket_id = ANY(${sql.array([...bucketIds])}::text[]) AND last_active_at < now() - interval '1 minute'
        AND (expires_days IS NULL OR last_active_at + expires_days * interval '1 day' > now())
      FOR UPDATE SKIP LOCKED)`;
}

/** Search counts of one UTC day. */
export interface SearchDay {
  readonly date: string;
  readonly searches: number;
  readonly unanswered: number;
}

/** Sum the searches of an organization per day, starting on the day `start` (`YYYY-MM-DD`). */
export async function selectSearchDays(sql: Sql, orgId: string, start: string): Promise<SearchDay[]> {
  return sql<SearchDay[]>`
    SELECT to_char(day, 'YYYY-MM-DD') AS date, sum(searches)::bigint AS searches, sum(unanswered)::bigint AS unanswered
    FROM search_counts WHERE org_id = ${orgId} AND day >= ${start}::date GROUP BY day ORDER BY day`;
}

/** Delete the counts of all organizations that are older than `days`. */
export async function deleteOldSearchCounts(sql: Sql, days: number): Promise<void> {
  await sql`DELETE FROM search_counts WHERE day < current_date - ${days}::int`;
}
