import { recordAudit } from '../access/audit.ts';
import type { Caller } from '../access/caller.ts';
import { cancelJobsOf, forgetDocumentOfJobs } from '../jobs/store.ts';
import type { Objects } from '../platform/objects/objects.ts';
import type { Sql } from '../platform/postgres.ts';
import type { DocumentView, ListDocumentsQuery } from './schema.ts';
import * as store from './store.ts';

/** Where the bytes of a document live: server-made, so that no uploaded name ever becomes a path. */
export function originalKey(orgId: string, documentId: string): string {
  return `documents/${orgId}/${documentId}/original`;
}

/** Where one generation's chunks and vectors live. */
export function artifactKey(orgId: string, documentId: string, generation: number): string {
  return `documents/${orgId}/${documentId}/chunks-${generation}`;
}

/** Documents of a bucket that the caller may see, newest first. */
export async function listDocuments(
  sql: Sql,
  caller: Caller,
  bucketRef: string,
  query: ListDocumentsQuery,
): Promise<{ data: DocumentView[]; has_more: boolean; next_cursor: string | null }> {
  const bucket = await store.findBucket(sql, caller.orgId, bucketRef);
  const rows = await store.listDocumentRows(sql, caller, bucket.id, query, query.limit + 1);
  const data = rows.slice(0, query.limit);
  const hasMore = rows.length > query.limit;
  return { data, has_more: hasMore, next_cursor: hasMore ? (data.at(-1)?.id ?? null) : null };
}

/** @throws AppError `document_not_found` (404): missing, foreign, or above the caller's auth level */
export async function getDocument(
  sql: Sql,
  caller: Caller,
  bucketRef: string,
  documentId: string,
): Promise<DocumentView> {
  const bucket = await store.findBucket(sql, caller.orgId, bucketRef);
  return store.findDocument(sql, caller, bucket.id, documentId);
}

/**
 * Delete a document: in one transaction it is gone for every reader and its jobs are cancelled; its vectors
 * and files go right after (`purgeDeleted`), also when the process dies in between.
 */
export async function deleteDocument(sql: Sql, caller: Caller, bucketRef: string, documentId: string): Promise<void> {
  const document = await getDocument(sql, caller, bucketRef, documentId);
  await sql.begin(async (tx) => {
    // Jobs before documents, as a job that finishes locks them.
    await cancelJobsOf(tx, caller.orgId, { documentId: document.id });
    await store.markDocumentDeleting(tx, caller.orgId, document.id);
    await recordAudit(tx, {
      orgId: caller.orgId,
      actor: caller.actor,
      action: 'document.delete',
      target: document.id,
      detail: { file_name: document.file_name, bucket_id: document.bucket_id },
    });
  });
}

/**
 * Remove what `deleteDocument` and `deleteBucket` marked: index rows, then files, then the row itself and what jobs
 * tell of it.
 * Idempotent: whatever a crash left is found again by its mark.
 */
export async function purgeDeleted(
  sql: Sql,
  objects: Objects,
  index: {
    dropDocuments(bucketId: string, documentIds: readonly string[], signal: AbortSignal): Promise<void>;
    dropBucket(bucketId: string, signal: AbortSignal): Promise<void>;
  },
  signal: AbortSignal,
): Promise<number> {
  let purged = 0;
  for (;;) {
    const batch = await store.findDeleting(sql, 200);
    if (batch.length === 0) break;
    const byBucket = Map.groupBy(batch, (row) => row.bucketId);
    for (const [bucketId, rows] of byBucket) {
      signal.throwIfAborted();
      await store.forgetGenerationsOf(
        sql,
        rows.map((row) => row.id),
      );
      await index.dropDocuments(
        bucketId,
        rows.map((row) => row.id),
        signal,
      );
      for (const row of rows) {
        await objects.deletePrefix(`documents/${row.orgId}/${row.id}/`);
        await sql.begin(async (tx) => {
          await forgetDocumentOfJobs(tx, row.orgId, row.id);
          await store.removeDocument(tx, row.orgId, row.id);
        });
        purged++;
      }
    }
  }
  for (const bucket of await store.findDeletingBuckets(sql)) {
    signal.throwIfAborted();
    await index.dropBucket(bucket.id, signal);
    await store.removeBucket(sql, bucket.orgId, bucket.id);
  }
  return purged;
}
