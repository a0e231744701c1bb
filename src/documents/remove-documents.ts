import { eraseAuditedValues } from '../access/audit-store.ts';
import { forgetResponsesAbout } from '../access/idempotency-store.ts';
import { forgetDocumentsOfJobs, keepAccessInBucketJobs } from '../jobs/document-jobs-store.ts';
import type { Logger } from '../platform/logger.ts';
import { deleteEachPrefix } from '../platform/objects/each-object.ts';
import type { Objects } from '../platform/objects/objects.ts';
import type { Sql } from '../platform/postgres.ts';
import { BucketFaults } from './bucket-faults.ts';
import type { MarkedDocument } from './deletion-store.ts';
import * as store from './deletion-store.ts';

/** Maximum number of documents to remove per step. */
const BATCH_DOCUMENTS = 200;

/** Idempotent index operations for removing documents. */
export interface IndexRemoval {
  /**
   * Remove all chunks of these documents. Searches stop finding them, but the index keeps their bytes until a rewrite.
   */
  dropDocuments(bucketId: string, documentIds: readonly string[], signal: AbortSignal): Promise<void>;
  /** Rewrite a bucket's index, which erases the bytes of removed chunks from the storage. */
  expunge(bucketId: string, signal: AbortSignal): Promise<void>;
  /** Rewrite small indexes that keep bytes of removed chunks. A chore rewrites large ones ten minutes later. */
  expungeSmall(signal: AbortSignal): Promise<void>;
  dropBucket(bucketId: string, signal: AbortSignal): Promise<void>;
}

export interface RemovalContext {
  readonly sql: Sql;
  readonly objects: Objects;
  readonly index: IndexRemoval;
  readonly logger: Logger;
  /** Erase other domains' data about removed documents, in the transaction that deletes their rows. */
  readonly erase: (tx: Sql, orgId: string, documentIds: readonly string[]) => Promise<void>;
}

/**
 * Remove documents that are marked as deleted: chunks from the index, then files, then the rows and their traces in
 * other tables. Rows go last, so that after a crash their marks lead to the rest. This is idempotent, and may run in
 * several processes at once.
 *
 * @param documents documents of one bucket
 * @param options.expunges true to rewrite the index before removing files, so that it keeps none of their text
 * @param options.onBatch called after each step
 */
export async function removeMarked(
  context: RemovalContext,
  bucketId: string,
  documents: readonly MarkedDocument[],
  options: { expunges: boolean; signal: AbortSignal; onBatch?: () => void },
): Promise<void> {
  const { sql, objects, index } = context;
  const { expunges, signal, onBatch = () => {} } = options;
  for (const ids of inBatches(documents.map(({ id }) => id))) {
    signal.throwIfAborted();
    await store.forgetGenerationsOf(sql, ids);
    await index.dropDocuments(bucketId, ids, signal);
    onBatch();
  }
  if (expunges) await index.expunge(bucketId, signal);
  onBatch();
  for (const batch of inBatches(documents)) {
    const prefixes = batch.map(({ id, orgId }) => `documents/${orgId}/${id}/`);
    await deleteEachPrefix(objects, prefixes, { signal });
    const files = await store.findUnsharedFiles(
      sql,
      batch.map(({ id }) => id),
    );
    for (const key of files) await objects.delete(key, { signal });
    await forgetDocuments(context, batch);
    onBatch();
  }
}

async function forgetDocuments({ sql, erase }: RemovalContext, documents: readonly MarkedDocument[]): Promise<void> {
  const { orgId, bucketId } = documents[0] as MarkedDocument;
  const ids = documents.map(({ id }) => id);
  await sql.begin(async (tx) => {
    // Lock jobs before documents, in the same order as a finishing job.
    const access = await store.readAccessFields(tx, orgId, ids);
    await forgetDocumentsOfJobs(tx, orgId, ids, access);
    await keepAccessInBucketJobs(tx, orgId, bucketId, Object.values(access));
    await eraseAuditedValues(tx, orgId, ids);
    await forgetResponsesAbout(tx, orgId, ids);
    await erase(tx, orgId, ids);
    await store.removeDocuments(tx, orgId, ids);
  });
}

/**
 * Remove all documents and buckets marked as deleted in all organizations, except documents of an unfinished hard
 * delete. A failing bucket doesn't stop the others.
 *
 * @returns number of removed documents
 * @throws the error of the first failed bucket, once the others are done
 */
export async function purgeDeleted(context: RemovalContext, signal: AbortSignal): Promise<number> {
  const { sql, index, logger } = context;
  const faults = new BucketFaults(logger, signal, 'deleted documents of a bucket were not removed; trying again later');
  let purged = 0;
  const remove = async (bucketId: string, documents: readonly MarkedDocument[], expunges: boolean) => {
    const work = () => removeMarked(context, bucketId, documents, { expunges, signal });
    if (await faults.attempt(bucketId, work)) purged += documents.length;
  };
  for (;;) {
    const marked = await store.findMarked(sql, BATCH_DOCUMENTS, faults.failed);
    if (marked.length === 0) break;
    const plain = marked.filter((document) => document.hardDeleteJobId === null);
    for (const [bucketId, documents] of Map.groupBy(plain, (document) => document.bucketId))
      await remove(bucketId, documents, false);
    // Documents of a failed hard delete must be expunged too, all of one job at once.
    for (const [jobId, [first]] of Map.groupBy(marked, (document) => document.hardDeleteJobId)) {
      if (jobId === null) continue;
      const { orgId, bucketId } = first as MarkedDocument;
      const documents = await store.findMarkedBy(sql, orgId, jobId);
      await remove(bucketId, documents, true);
    }
  }
  for (const bucket of await store.findEmptiedBuckets(sql)) {
    await faults.attempt(bucket.id, async () => {
      await index.dropBucket(bucket.id, signal);
      await store.removeBucket(sql, bucket.orgId, bucket.id);
    });
  }
  faults.throwFirst();
  return purged;
}

function* inBatches<T>(all: readonly T[]): Generator<readonly T[]> {
  for (let from = 0; from < all.length; from += BATCH_DOCUMENTS) yield all.slice(from, from + BATCH_DOCUMENTS);
}
