import type { Caller } from '../../access/caller.ts';
import { type BucketUser, bucketsOf } from '../../documents/store.ts';
import { visibleTo } from '../../documents/visibility.ts';
import type { Sql } from '../../platform/postgres.ts';

export interface DocumentTotals {
  readonly byStatus: Record<string, number>;
  readonly bytes: number;
  /** Number of documents without vectors because their model doesn't respond. */
  readonly keywordOnly: number;
  /** Number of documents whose vectors are being computed. */
  readonly wordsOnly: number;
}

/** Count the documents of the organization that the caller may see, by status. */
export async function countDocuments(sql: Sql, caller: Caller): Promise<DocumentTotals> {
  const rows = await sql`
    SELECT status, count(*)::int AS n, sum(size_bytes)::float8 AS bytes,
           count(*) FILTER (WHERE keyword_only AND status <> 'ready')::int AS keyword_only,
           count(*) FILTER (WHERE keyword_only AND status = 'ready')::int AS words_only
    FROM documents WHERE org_id = ${caller.orgId} AND ${visibleTo(sql, caller)} GROUP BY status ORDER BY status`;
  return {
    byStatus: Object.fromEntries(rows.map((row) => [row['status'] as string, row['n'] as number])),
    bytes: rows.reduce((sum, row) => sum + (row['bytes'] as number), 0),
    wordsOnly: rows.reduce((sum, row) => sum + (row['words_only'] as number), 0),
    keywordOnly: rows.reduce((sum, row) => sum + (row['keyword_only'] as number), 0),
  };
}

/**
 * Count the documents that the caller may see by the UTC day on which they were added, starting from the day `start`
 * (`YYYY-MM-DD`).
 */
export async function countDocumentsByDay(
  sql: Sql,
  caller: Caller,
  start: string,
): Promise<{ date: string; documents: number }[]> {
  return sql<{ date: string; documents: number }[]>`
    SELECT to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS date, count(*)::int AS documents FROM documents
    WHERE org_id = ${caller.orgId} AND created_at >= ${start}::date AT TIME ZONE 'UTC' AND ${visibleTo(sql, caller)}
    GROUP BY 1 ORDER BY 1`;
}

export async function countBuckets(sql: Sql, caller: BucketUser): Promise<number> {
  const [row] = await sql`
    SELECT count(*)::int AS n FROM buckets WHERE ${bucketsOf(sql, caller)}`;
  return row?.['n'] as number;
}

/** Return the size of the database on disk. */
export async function selectDatabaseBytes(sql: Sql): Promise<number> {
  const [row] = await sql`SELECT pg_database_size(current_database())::float8 AS bytes`;
  return row?.['bytes'] as number;
}
