import { recordAudit } from '../access/audit.ts';
import type { Caller } from '../access/caller.ts';
import { cancelJobsOf, cancelJobsOfDocuments } from '../jobs/document-jobs-store.ts';
import { newId } from '../platform/ids.ts';
import type { Sql } from '../platform/postgres.ts';
import { markDocuments } from './deletion-store.ts';
import { countContents, listDocumentPage } from './list-store.ts';
import type { BucketContents, DocumentView, ListDocumentsQuery } from './schema.ts';
import * as store from './store.ts';

/** Return the object key of a document's bytes. It consists of ids, so that an uploaded name never becomes a path. */
export function originalKey(orgId: string, documentId: string): string {
  return `documents/${orgId}/${documentId}/original`;
}

/** Create an object key for the new bytes of a document. */
export function nextContentKey(orgId: string, documentId: string): string {
  return `${originalKey(orgId, documentId)}-${newId('v')}`;
}

/** Return the object key of a generation's chunks and vectors. */
export function artifactKey(orgId: string, documentId: string, generation: number): string {
  return `documents/${orgId}/${documentId}/chunks-${generation}`;
}

/** List documents of a bucket that the caller may see, in the order of the query. */
export async function listDocuments(
  sql: Sql,
  caller: Caller,
  bucketRef: string,
  query: ListDocumentsQuery,
): Promise<{ data: DocumentView[]; has_more: boolean; next_cursor: string | null }> {
  const bucket = await store.findBucket(sql, caller, bucketRef);
  const { data, nextCursor } = await listDocumentPage(sql, caller, bucket.id, query, query.limit);
  return { data, has_more: nextCursor !== null, next_cursor: nextCursor };
}

/** Count the documents of a bucket by the subfolders of a folder, and by format. */
export async function readBucketContents(
  sql: Sql,
  caller: Caller,
  bucketRef: string,
  folder: string | undefined,
): Promise<BucketContents> {
  const bucket = await store.findBucket(sql, caller, bucketRef);
  return { object: 'bucket.contents', ...(await countContents(sql, caller, bucket.id, folder)) };
}

/** @throws AppError `document_not_found` (404) if it is missing, of another organization, or hidden from the caller */
export async function getDocument(
  sql: Sql,
  caller: Caller,
  bucketRef: string,
  documentId: string,
): Promise<DocumentView> {
  const bucket = await store.findBucket(sql, caller, bucketRef);
  return store.findDocument(sql, caller, bucket.id, documentId);
}

/** @throws AppError `document_not_found` (404) as `getDocument`, for a document of any bucket */
export function findDocumentOfAnyBucket(sql: Sql, caller: Caller, documentId: string): Promise<DocumentView> {
  return store.findDocument(sql, caller, null, documentId);
}

/**
 * Delete a document: one transaction hides it from every reader and cancels its jobs. `purgeDeleted` removes its
 * vectors and files later, even after a crash.
 */
export async function deleteDocument(sql: Sql, caller: Caller, bucketRef: string, documentId: string): Promise<void> {
  const document = await getDocument(sql, caller, bucketRef, documentId);
  await sql.begin(async (tx) => {
    // Lock jobs before documents, in the same order as a finishing job.
    await cancelJobsOf(tx, caller.orgId, { documentId: document.id });
    await markDocuments(tx, caller.orgId, [document.id]);
    await recordAudit(tx, {
      orgId: caller.orgId,
      actor: caller.actor,
      action: 'document.delete',
      target: document.id,
      detail: { file_name: document.file_name, bucket_id: document.bucket_id },
    });
  });
}

/** Mark documents as deleted. No reader finds them any more, and a purge removes their stored data. */
export async function removeDocumentsOf(tx: Sql, orgId: string, documentIds: readonly string[]): Promise<number> {
  if (documentIds.length === 0) return 0;
  // Lock jobs before documents, in the same order as a finishing job.
  await cancelJobsOfDocuments(tx, orgId, documentIds);
  await markDocuments(tx, orgId, documentIds);
  return documentIds.length;
}
