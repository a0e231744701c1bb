import type { Caller } from '../access/caller.ts';
import { ALIAS_ID } from '../models/catalog.ts';
import { type AppError, conflict, invalidRequest } from '../platform/errors.ts';
import type { Sql } from '../platform/postgres.ts';
import { settleBooked } from '../usage/booked-reservations.ts';
import { findBulkJob } from './bulk.ts';
import { type BulkJobView, type CancelledReply, EMBED_BULK } from './schema.ts';
import { type BulkJob, cancelQueued, selectUsed, selectUsedModels } from './store.ts';

/** Return a bulk job for the API. @throws AppError `job_not_found` (404) */
export async function getBulkJob(sql: Sql, caller: Caller, jobId: string): Promise<BulkJobView> {
  const job = await findBulkJob(sql, caller.orgId, jobId);
  return viewOf(job, job.resultModel ?? (await selectUsedModels(sql, jobId)).join('+'));
}

/**
 * Cancel a queued job.
 * @throws AppError `job_not_found` (404), `job_not_queued` (400), `job_started` (409) if it was claimed meanwhile
 */
export async function cancelBulkJob(sql: Sql, caller: Caller, jobId: string): Promise<CancelledReply> {
  const job = await findBulkJob(sql, caller.orgId, jobId);
  if (job.status !== 'queued') {
    throw invalidRequest(`only a queued job can be cancelled; this one is ${job.status}`, null, 'job_not_queued');
  }
  await sql.begin(async (tx) => {
    if (!(await cancelQueued(tx, caller.orgId, jobId))) {
      throw conflict('a worker has just started the job, so it can no longer be cancelled', 'job_started');
    }
    await settleBulkUsage(tx, jobId);
  });
  return { status: 'cancelled' };
}

/**
 * Settle a job's reservation: charge the texts with stored vectors, and release the rest. Call this in the transaction
 * that ends the job (ready, failed, cancelled) or deletes it, after the change to its row. It is idempotent.
 */
export async function settleBulkUsage(tx: Sql, jobId: string): Promise<void> {
  await settleBooked(tx, jobId, await selectUsed(tx, jobId));
}

/** @param used models of the finished chunks, joined by `+`; '' without chunks */
function viewOf(job: BulkJob, used: string): BulkJobView {
  const { failedPhase, errorCategory, errorMessage, retryable } = job;
  const isFailed = job.status === 'failed';
  return {
    id: job.id,
    status: job.status as BulkJobView['status'],
    org_id: job.orgId,
    metadata: {
      mode: EMBED_BULK,
      // Chunks name their models, which may include a comparable fallback. The alias stands for all its backends.
      model: used === '' || job.model === ALIAS_ID ? job.model : used,
      dimensions: job.dimensions,
      task_type: job.taskType,
      input_count: job.inputCount,
      chunk_size: job.chunkSize,
      token_count: job.tokenCount,
      completed_count: job.completedCount,
    },
    ...(isFailed
      ? { error: { failed_phase: failedPhase, category: errorCategory, message: errorMessage, retryable } }
      : {}),
  };
}

/** Build the error for results that aren't available yet, or never will be. */
export function resultNotReady(job: Pick<BulkJob, 'status'>): AppError {
  const what = job.status === 'failed' || job.status === 'cancelled' ? 'has no results' : 'is not ready yet';
  return conflict(`the job is ${job.status} and ${what}`, 'result_not_ready');
}
