import type { Sql } from '../../platform/postgres.ts';

/** Record that rows of documents are about to be deleted from the index of a bucket. Their text stays in its files. */
export async function noteDeletedText(sql: Sql, bucketId: string): Promise<void> {
  await sql`
    UPDATE index_tables SET deleted_since = coalesce(deleted_since, now()), deleted_last = now()
    WHERE bucket_id = ${bucketId}`;
}

/** Read the time of the last deletion whose text may still be in the files, or null if there is none. */
export async function findDeletedText(sql: Sql, bucketId: string): Promise<Date | null> {
  const [row] = await sql`SELECT deleted_last FROM index_tables WHERE bucket_id = ${bucketId}`;
  return (row?.['deleted_last'] as Date | null | undefined) ?? null;
}

/** Forget the deletions up to `until`, after the files were rewritten. */
export async function forgetDeletedText(sql: Sql, bucketId: string, until: Date): Promise<void> {
  // The driver returns milliseconds, and the column has microseconds.
  await sql`
    UPDATE index_tables
    SET deleted_since = CASE WHEN date_trunc('milliseconds', deleted_last) > ${until} THEN deleted_last END,
        deleted_last = CASE WHEN date_trunc('milliseconds', deleted_last) > ${until} THEN deleted_last END
    WHERE bucket_id = ${bucketId}`;
}

/** Limits on the time that text of deleted documents stays in the files of an index. */
export interface DeletedTextAge {
  /** Time without further deletions after which a small index is rewritten. */
  readonly pauseMs: number;
  /** Number of chunks up to which an index is small. */
  readonly smallChunks: number;
  /** Time after which any index is rewritten. */
  readonly ageMs: number;
}

/** Find the buckets whose index is due to be rewritten. */
export async function findDueDeletedText(sql: Sql, { pauseMs, smallChunks, ageMs }: DeletedTextAge): Promise<string[]> {
  const rows = await sql`
    SELECT bucket_id FROM index_tables t
    WHERE deleted_since <= now() - ${ageMs} * interval '1 millisecond'
      OR (deleted_last <= now() - ${pauseMs} * interval '1 millisecond' AND ${smallChunks} >= (
        SELECT coalesce(sum(d.chunks_count), 0) FROM documents d WHERE d.bucket_id = t.bucket_id))
    ORDER BY bucket_id`;
  return rows.map((row) => row['bucket_id'] as string);
}
