import { recordAudit } from '../access/audit.ts';
import type { Caller } from '../access/caller.ts';
import { findBucket, lockBucketPolicy } from '../documents/store.ts';
import { unixSeconds } from '../files/list-page.ts';
import { settleDocument } from '../ingest/job-store.ts';
import { cancelJobs, lockJobsOf } from '../jobs/document-jobs-store.ts';
import { notifyWorkers } from '../jobs/notifier.ts';
import { notifyLost } from '../jobs/operations.ts';
import { notFound } from '../platform/errors.ts';
import { newId } from '../platform/ids.ts';
import type { Sql } from '../platform/postgres.ts';
import { attachFiles, type WantedFile } from './attach-files.ts';
import type { VectorStoreContext } from './context.ts';
import {
  type FileBatch,
  filterVisible,
  insertFileBatch,
  markBatchCancelled,
  selectFileBatch,
} from './file-batches-store.ts';
import type { CreateFileBatch, FileBatchView, FileCounts, StoreFilesQuery } from './schema.ts';
import { pageOfFiles } from './store-files.ts';
import { requireLive } from './vector-stores.ts';
import { countFilesAmong } from './vector-stores-store.ts';

/** @throws AppError `bucket_not_found` (404), `vector_store_expired` (400), and the errors of `attachFiles` */
export async function createFileBatch(
  context: VectorStoreContext,
  caller: Caller,
  ref: string,
  request: CreateFileBatch,
): Promise<FileBatchView> {
  const { sql } = context;
  const store = await requireLive(sql, caller, ref);
  const id = newId('vsfb');
  await sql.begin(async (tx) => {
    const bucket = await lockBucketPolicy(tx, caller.orgId, store.id);
    const documentIds = await attachFiles(context, tx, caller, bucket, wantedFilesOf(request));
    await insertFileBatch(tx, { id, bucketId: bucket.id, documentIds });
  });
  await notifyWorkers(context, 'ingest');
  return getFileBatch(sql, caller, store.id, id);
}

function wantedFilesOf({ file_ids, files, attributes, chunking_strategy }: CreateFileBatch): WantedFile[] {
  const chunking = chunking_strategy;
  if (file_ids !== undefined) {
    return file_ids.map((fileId, at) => ({ fileId, attributes, chunking, param: `file_ids[${at}]` }));
  }
  return (files ?? []).map((file, at) => ({
    fileId: file.file_id,
    attributes: file.attributes,
    chunking: file.chunking_strategy,
    param: `files[${at}].file_id`,
  }));
}

/** @throws AppError `bucket_not_found`, `file_batch_not_found` (404) */
export async function getFileBatch(sql: Sql, caller: Caller, ref: string, id: string): Promise<FileBatchView> {
  const { bucketId, batch } = await findFileBatch(sql, caller, ref, id);
  const counts = await countFilesAmong(sql, caller, batch.documentIds);
  return {
    id: batch.id,
    object: 'vector_store.files_batch',
    created_at: unixSeconds(batch.createdAt),
    vector_store_id: bucketId,
    status: statusOf(batch, counts),
    file_counts: counts,
  };
}

function statusOf({ cancelledAt }: FileBatch, counts: FileCounts): FileBatchView['status'] {
  if (counts.in_progress > 0) return 'in_progress';
  if (cancelledAt !== null) return 'cancelled';
  return counts.failed > 0 && counts.completed === 0 ? 'failed' : 'completed';
}

/** @throws AppError `bucket_not_found`, `file_batch_not_found` (404), 400 for an unknown cursor */
export async function listBatchFiles(
  sql: Sql,
  caller: Caller,
  { ref, id }: { readonly ref: string; readonly id: string },
  query: StoreFilesQuery,
) {
  const { bucketId, batch } = await findFileBatch(sql, caller, ref, id);
  return pageOfFiles(sql, caller, { bucketId, documentIds: batch.documentIds, query });
}

/**
 * Cancel the unfinished files of a batch that the caller may see. Do nothing if all of them are finished.
 * @throws AppError `bucket_not_found`, `file_batch_not_found` (404)
 */
export async function cancelFileBatch(
  { sql, notifier, logger }: VectorStoreContext,
  caller: Caller,
  ref: string,
  id: string,
): Promise<FileBatchView> {
  const { bucketId, batch } = await findFileBatch(sql, caller, ref, id);
  const { orgId, actor } = caller;
  const cancelled = await sql.begin(async (tx) => {
    const jobs = await lockJobsOf(tx, orgId, await filterVisible(tx, caller, batch.documentIds));
    if (jobs.length === 0) return jobs;
    const jobIds = jobs.map((job) => job.id);
    await cancelJobs(tx, orgId, jobIds);
    const cancellation = 'its batch of files was cancelled; add the file again';
    for (const { documentId } of jobs) await settleDocument(tx, orgId, documentId, { cancellation });
    await markBatchCancelled(tx, id);
    const detail = { bucket_id: bucketId, jobs: jobIds };
    await recordAudit(tx, { orgId, actor, action: 'vector_store_batch.cancel', target: id, detail });
    return jobs;
  });
  await notifyLost({ notifier, logger }, cancelled);
  return getFileBatch(sql, caller, bucketId, id);
}

async function findFileBatch(sql: Sql, caller: Caller, ref: string, id: string) {
  const bucket = await findBucket(sql, caller, ref);
  const batch = await selectFileBatch(sql, bucket.id, id);
  if (batch === null) throw notFound('file batch', id);
  return { bucketId: bucket.id, batch };
}
