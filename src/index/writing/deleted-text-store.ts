import type { Sql } from '../../platform/postgres.ts';

/** Record that rows of documents are about to be deleted from a bucket's index, whose files keep their text. */
export async function noteDeletedText(sql: Sql, bucketId: string): Promise<void> {
  await sql`
    UPDATE index_tables SET deleted_since = coalesce(deleted_since, now()), deleted_last = now()
    WHERE bucket_id = ${bucketId}`;
}

/** Return the time of the last deletion whose text may still be in the files, or null. */
export async function findDeletedText(sql: Sql, bucketId: string): Promise<Date | null> {
  const [row] = await sql`SELECT deleted_last FROM index_tables WHERE bucket_id = ${bucketId}`;
  return (row?.['deleted_last'] as Date | null | undefined) ?? null;
}

/** Delete the records of deletions up to `until`, after the files were rewritten. */
export async function forgetDeletedText(sql: Sql, bucketId: string, until: Date): Promise<void> {
  // The driver truncates the column's microseconds to milliseconds.
  await sql`
    UPDATE index_tables
    SET deleted_since = CASE WHEN date_trunc('milliseconds', deleted_last) > ${until} THEN deleted_last END,
        deleted_last = CASE WHEN date_trunc('milliseconds', deleted_last) > ${until} THEN deleted_last END
    WHERE bucket_id = ${bucketId}`;
}

/** Limits on how long text of deleted documents stays in index files. */
export interface DeletedTextAge {
  /** Time since the last deletion after which a small index is rewritten. */
  readonly pauseMs: number;
  /** Maximum chunks of a small index. */
  readonly smallChunks: number;
  /** Time after which any index is rewritten. */
  readonly ageMs: number;
}

/** Find the buckets whose index is due for a rewrite. */
export async function findDueDeletedText(sql: Sql, { pauseMs, smallChunks, ageMs }: DeletedTextAge): Promise<string[]> {
  const rows = await sql`
    SELECT bucket_id FROM index_tables t
    WHERE deleted_since <= now() - ${ageMs} * interval '1 millisecond'
      OR (deleted_last <= now() - ${pauseMs} * interval '1 millisecond' AND ${smallChunks} >= (
        SELECT coalesce(sum(d.chunks_count), 0) FROM documents d WHERE d.bucket_id = t.bucket_id))
    ORDER BY bucket_id`;
  return rows.map((row) => row['bucket_id'] as string);
}
