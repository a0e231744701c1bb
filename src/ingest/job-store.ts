import type { Sql } from '../platform/postgres.ts';

/**
 * Put a document in order after one of its jobs ended without a result, in that job's transaction: it stays findable
 * if an earlier generation is live, keeps its state while another job works on it, and has failed otherwise.
 */
export async function settleDocument(sql: Sql, orgId: string, documentId: string): Promise<void> {
  // First the lock, then the look: of two jobs that end at once the second must see the end of the first.
  const [row] = await sql`
    SELECT 1 FROM documents WHERE org_id = ${orgId} AND id = ${documentId} AND status <> 'deleting' FOR UPDATE`;
  if (!row) return;
  await sql`
    UPDATE documents
    SET status = CASE
          WHEN active_generation IS NOT NULL THEN 'ready'
          WHEN EXISTS (SELECT 1 FROM jobs WHERE jobs.document_id = documents.id
                       AND jobs.status IN ('queued', 'extracting', 'chunking', 'embedding', 'indexing')) THEN status
          ELSE 'failed' END,
        updated_at = now()
    WHERE org_id = ${orgId} AND id = ${documentId}`;
}

/** What a new job tells of a document that is ingested again. */
export interface RequeuedDocument {
  readonly objectKey: string;
  readonly fileName: string;
  readonly sizeBytes: number;
  readonly sourcePath: string | null;
  readonly metadata: Record<string, string>;
}

/** Show that a document waits to be ingested again; one that can be found stays as it is. Null: it is gone or going. */
export async function requeueDocument(sql: Sql, orgId: string, documentId: string): Promise<RequeuedDocument | null> {
  const [row] = await sql`
    UPDATE documents SET status = CASE WHEN status = 'failed' THEN 'queued' ELSE status END, updated_at = now()
    WHERE org_id = ${orgId} AND id = ${documentId} AND status <> 'deleting'
    RETURNING object_key, file_name, size_bytes, source_path, metadata`;
  if (!row) return null;
  return {
    objectKey: row['object_key'] as string,
    fileName: row['file_name'] as string,
    sizeBytes: Number(row['size_bytes']),
    sourcePath: row['source_path'] as string | null,
    metadata: row['metadata'] as Record<string, string>,
  };
}
