import { eraseAuditedValues } from '../access/audit-store.ts';
import { forgetResponsesAbout } from '../access/idempotency-store.ts';
import { forgetDocumentsOfJobs } from '../jobs/document-jobs-store.ts';
import type { Objects } from '../platform/objects/objects.ts';
import type { Sql } from '../platform/postgres.ts';
import type { MarkedDocument } from './deletion-store.ts';
import * as store from './deletion-store.ts';

/** Documents removed in one step. */
const BATCH_DOCUMENTS = 200;

/** What removing documents asks of the search index. Doing any of it again changes nothing. */
export interface IndexRemoval {
  /** Remove every chunk of these documents: no search finds them, but the index may keep their bytes for a while. */
  dropDocuments(bucketId: string, documentIds: readonly string[], signal: AbortSignal): Promise<void>;
  /** Write the index of a bucket anew, so that the bytes of removed chunks are gone from the storage. */
  expunge(bucketId: string, signal: AbortSignal): Promise<void>;
  /** Remove all that the index has of a bucket. */
  dropBucket(bucketId: string, signal: AbortSignal): Promise<void>;
}

export interface RemovalContext {
  readonly sql: Sql;
  readonly objects: Objects;
  readonly index: IndexRemoval;
}

/**
 * Remove documents that are marked as deleted, by whatever deleted them: chunks from the index, then files, then the rows
 * and what else tells of them. A row goes last, so that a crash leaves a mark by which the rest is found again; doing it
 * twice, or in two processes at once, is fine.
 *
 * @param documents of one bucket
 * @param options.expunges the index is written anew before any file goes, so that none of their text stays in it
 */
export async function removeMarked(
  context: RemovalContext,
  bucketId: string,
  documents: readonly MarkedDocument[],
  options: { expunges: boolean; signal: AbortSignal },
): Promise<void> {
  const { sql, objects, index } = context;
  const { expunges, signal } = options;
  for (const ids of inBatches(documents.map(({ id }) => id))) {
    signal.throwIfAborted();
    await store.forgetGenerationsOf(sql, ids);
    await index.dropDocuments(bucketId, ids, signal);
  }
  if (expunges) await index.expunge(bucketId, signal);
  for (const batch of inBatches(documents)) {
    for (const { id, orgId } of batch) {
      signal.throwIfAborted();
      await objects.deletePrefix(`documents/${orgId}/${id}/`);
    }
    await forgetDocuments(sql, batch);
  }
}

async function forgetDocuments(sql: Sql, documents: readonly MarkedDocument[]): Promise<void> {
  const orgId = (documents[0] as MarkedDocument).orgId;
  const ids = documents.map(({ id }) => id);
  await sql.begin(async (tx) => {
    // Jobs before documents, as a job that finishes locks them.
    await forgetDocumentsOfJobs(tx, orgId, ids);
    await eraseAuditedValues(tx, orgId, ids);
    await forgetResponsesAbout(tx, orgId, ids);
    await store.removeDocuments(tx, orgId, ids);
  });
}

/**
 * Remove what was marked as deleted, buckets included, of every organization; what an unfinished hard delete is to
 * remove is left to its job.
 *
 * @returns how many documents were removed
 */
export async function purgeDeleted(context: RemovalContext, signal: AbortSignal): Promise<number> {
  const { sql, index } = context;
  let purged = 0;
  for (;;) {
    const marked = await store.findMarked(sql, BATCH_DOCUMENTS);
    if (marked.length === 0) break;
    const plain = marked.filter((document) => document.hardDeleteJobId === null);
    for (const [bucketId, documents] of Map.groupBy(plain, (document) => document.bucketId)) {
      await removeMarked(context, bucketId, documents, { expunges: false, signal });
      purged += documents.length;
    }
    // What a hard delete that failed has left is to be gone for good all the same, and all at once.
    for (const [jobId, [first]] of Map.groupBy(marked, (document) => document.hardDeleteJobId)) {
      if (jobId === null) continue;
      const { orgId, bucketId } = first as MarkedDocument;
      const documents = await store.findMarkedBy(sql, orgId, jobId);
      await removeMarked(context, bucketId, documents, { expunges: true, signal });
      purged += documents.length;
    }
  }
  for (const bucket of await store.findEmptiedBuckets(sql)) {
    signal.throwIfAborted();
    await index.dropBucket(bucket.id, signal);
    await store.removeBucket(sql, bucket.orgId, bucket.id);
  }
  return purged;
}

function* inBatches<T>(all: readonly T[]): Generator<readonly T[]> {
  for (let from = 0; from < all.length; from += BATCH_DOCUMENTS) yield all.slice(from, from + BATCH_DOCUMENTS);
}
