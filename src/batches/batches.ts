import { recordAudit } from '../access/audit.ts';
import type { Caller } from '../access/caller.ts';
import { BULK_PRIORITY_BY_PLAN } from '../access/plans.ts';
import { checkRowLimit } from '../access/row-limits-store.ts';
import { BATCH_INPUT_BYTES_MAX, BATCH_WINDOW_MS } from '../files/file-schema.ts';
import { dropUnneeded } from '../files/files.ts';
import { lockFiles } from '../files/files-store.ts';
import { pageOf, unixSeconds } from '../files/list-page.ts';
import { cancelRow } from '../jobs/operation-store.ts';
import { enqueueJob } from '../jobs/store.ts';
import { AppError, conflict, invalidRequest, notFound } from '../platform/errors.ts';
import { newId } from '../platform/ids.ts';
import type { Sql } from '../platform/postgres.ts';
import { settleBooked } from '../usage/booked-reservations.ts';
import { axisNotInPlan, quotaOf } from '../usage/quotas.ts';
import {
  BATCH_JOB,
  type BatchRequest,
  type BatchStatus,
  type BatchView,
  type ListBatchesQuery,
} from './batch-schema.ts';
import {
  type BatchRow,
  beginCancelling,
  endBatch,
  hastenJob,
  insertBatch,
  selectBatch,
  selectBatches,
} from './batches-store.ts';
import type { BatchContext } from './context.ts';

/**
 * Queue a batch. Its worker checks the input, reserves the usage and embeds the texts.
 * @throws AppError `file_not_found` (404), `invalid_request` (400), `axis_not_in_plan` (403),
 *   `too_many_batches` (409)
 */
export async function createBatch(context: BatchContext, caller: Caller, request: BatchRequest): Promise<BatchView> {
  const { sql, plans, notifier, logger } = context;
  const { orgId, plan, actor } = caller;
  if (quotaOf(plans, plan, 'embed_batch') === 0) throw axisNotInPlan(plan, 'embed_batch');
  const id = newId('batch');
  const jobId = newId('job');
  const batch = await sql.begin(async (tx) => {
    const [file] = await lockFiles(tx, caller, [request.input_file_id]);
    if (file === undefined) throw fileNotFound(request.input_file_id);
    if (file.purpose !== 'batch') {
      throw invalidRequest(`input_file_id: the purpose of the file is "${file.purpose}", not "batch"`, 'input_file_id');
    }
    if (file.sizeBytes > BATCH_INPUT_BYTES_MAX) throw invalidRequest('input_file_id: is too large', 'input_file_id');
    await enqueueJob(tx, {
      id: jobId,
      kind: 'batch',
      orgId,
      bucketId: BATCH_JOB,
      priority: BULK_PRIORITY_BY_PLAN[plan],
      s3Key: file.objectKey,
      fileName: file.fileName,
      fileSizeBytes: file.sizeBytes,
      fileType: BATCH_JOB,
      processingType: BATCH_JOB,
      metadataSnapshot: { file_name: file.fileName, source_path: null, captured_at: new Date().toISOString() },
    });
    const row = await insertBatch(tx, {
      id,
      orgId,
      jobId,
      actor,
      endpoint: request.endpoint,
      window: request.completion_window,
      windowMs: BATCH_WINDOW_MS,
      inputFileId: file.id,
      inputKey: file.objectKey,
      inputBytes: file.sizeBytes,
      outputSeconds: request.output_expires_after?.seconds ?? null,
      metadata: request.metadata ?? null,
    });
    await checkRowLimit(tx, orgId, 'batches');
    return row;
  });
  await notifier
    .notifyQueued('batch')
    .catch((error) => logger.debug({ err: error }, 'notification of a queued job was lost'));
  return viewOf(batch);
}

/** @throws AppError `batch_not_found` (404) */
export async function getBatch(sql: Sql, caller: Caller, id: string): Promise<BatchView> {
  return viewOf(await findBatch(sql, caller.orgId, id));
}

export async function listBatches(sql: Sql, caller: Caller, query: ListBatchesQuery) {
  return pageOf((await selectBatches(sql, caller.orgId, query)).map(viewOf), query.limit);
}

/**
 * Cancel a batch. A batch that no worker has claimed is cancelled at once. Otherwise its worker stops, writes the
 * answers that it has, and ends the batch.
 * @throws AppError `batch_not_found` (404), `batch_ended` (409)
 */
export async function cancelBatch(context: BatchContext, caller: Caller, id: string): Promise<BatchView> {
  const { sql, notifier, logger } = context;
  const { orgId, actor } = caller;
  const { jobId, inputKey } = await findBatch(sql, orgId, id);
  const isEnded = await sql.begin(async (tx) => {
    // Lock the job's row first, as its worker does.
    const isQueued = await cancelRow(tx, orgId, jobId, ['queued'], { neverStarted: true });
    if (isQueued !== null) {
      await endBatch(tx, orgId, jobId, { status: 'cancelled' });
      await settleBooked(tx, jobId, []);
    } else {
      const batch = await beginCancelling(tx, orgId, id);
      if (batch === null) return true;
      await hastenJob(tx, orgId, jobId);
    }
    await recordAudit(tx, { orgId, actor, action: 'batch.cancel', target: id, detail: {} });
    return false;
  });
  const batch = await findBatch(sql, orgId, id);
  if (isEnded) throw conflict(`the batch cannot be cancelled; it is ${batch.status}`, 'batch_ended');
  if (batch.endedAt !== null) await dropUnneeded(context, [inputKey]);
  await notifier
    .notifyQueued('batch')
    .catch((error) => logger.debug({ err: error }, 'notification of a queued job was lost'));
  return viewOf(batch);
}

async function findBatch(sql: Sql, orgId: string, id: string): Promise<BatchRow> {
  const batch = await selectBatch(sql, orgId, id);
  if (batch === null) throw notFound('batch', id);
  return batch;
}

function fileNotFound(id: string): AppError {
  const message = `input_file_id: file not found: ${id}`;
  return new AppError({ code: 'file_not_found', status: 404, message, param: 'input_file_id' });
}

function viewOf(batch: BatchRow): BatchView {
  const { errors, tokens, status } = batch;
  const seconds = (time: Date | null) => time && unixSeconds(time);
  const endedAs = (end: BatchStatus) => (status === end ? seconds(batch.endedAt) : null);
  return {
    id: batch.id,
    object: 'batch',
    endpoint: batch.endpoint,
    model: batch.model,
    errors: errors && { object: 'list', data: [...errors] },
    input_file_id: batch.inputFileId,
    completion_window: batch.window,
    status,
    output_file_id: batch.outputFileId,
    error_file_id: batch.errorFileId,
    created_at: unixSeconds(batch.createdAt),
    in_progress_at: seconds(batch.inProgressAt),
    expires_at: unixSeconds(batch.expiresAt),
    finalizing_at: seconds(batch.finalizingAt),
    completed_at: endedAs('completed'),
    failed_at: endedAs('failed'),
    expired_at: endedAs('expired'),
    cancelling_at: seconds(batch.cancellingAt),
    cancelled_at: endedAs('cancelled'),
    request_counts: { total: batch.total, completed: batch.completed, failed: batch.failed },
    usage:
      tokens === null
        ? null
        : {
            input_tokens: tokens,
            input_tokens_details: { cached_tokens: 0 },
            output_tokens: 0,
            output_tokens_details: { reasoning_tokens: 0 },
            total_tokens: tokens,
          },
    metadata: batch.metadata,
  };
}
