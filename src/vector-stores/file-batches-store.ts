import type { Caller } from '../access/caller.ts';
import { visibleTo } from '../documents/visibility.ts';
import type { Sql } from '../platform/postgres.ts';

/** Files that were added to a vector store in one request. */
export interface FileBatch {
  readonly id: string;
  readonly documentIds: readonly string[];
  readonly createdAt: Date;
  readonly cancelledAt: Date | null;
}

export async function insertFileBatch(
  tx: Sql,
  batch: { readonly id: string; readonly bucketId: string; readonly documentIds: readonly string[] },
): Promise<void> {
  await tx`
    INSERT INTO vector_store_batches (id, bucket_id, document_ids)
    VALUES (${batch.id}, ${batch.bucketId}, ${tx.array([...batch.documentIds])}::text[])`;
}

export async function selectFileBatch(sql: Sql, bucketId: string, id: string): Promise<FileBatch | null> {
  const [row] = await sql<FileBatch[]>`
    SELECT id, document_ids AS "documentIds", created_at AS "createdAt", cancelled_at AS "cancelledAt"
    FROM vector_store_batches WHERE bucket_id = ${bucketId} AND id = ${id}`;
  return row ?? null;
}

/** Return those of the documents that the caller may see. */
export async function filterVisible(sql: Sql, caller: Caller, documentIds: readonly string[]): Promise<string[]> {
  const rows = await sql`
    SELECT id FROM documents
    WHERE org_id = ${caller.orgId} AND id = ANY(${sql.array([...documentIds])}::text[]) AND ${visibleTo(sql, caller)}`;
  return rows.map((row) => row['id'] as string);
}

export async function markBatchCancelled(tx: Sql, id: string): Promise<void> {
  await tx`UPDATE vector_store_batches SET cancelled_at = coalesce(cancelled_at, now()) WHERE id = ${id}`;
}

/** Delete batches of all organizations created more than `days` ago. Their files stay. */
export async function deleteOldBatches(sql: Sql, days: number): Promise<void> {
  await sql`DELETE FROM vector_store_batches WHERE created_at < now() - ${days} * interval '1 day'`;
}
