import type { Caller } from '../access/caller.ts';
import { type AppError, conflict, invalidRequest } from '../platform/errors.ts';
import type { Sql } from '../platform/postgres.ts';
import { settleBooked } from '../usage/booked-reservations.ts';
import { findBulkJob } from './bulk.ts';
import { type BulkJobView, type CancelledReply, EMBED_BULK } from './schema.ts';
import { type BulkJob, cancelQueued, selectUsed } from './store.ts';

/** @throws AppError `job_not_found` (404) */
export async function getBulkJob(sql: Sql, caller: Caller, jobId: string): Promise<BulkJobView> {
  return viewOf(await findBulkJob(sql, caller.orgId, jobId));
}

/**
 * Cancel a job that is still queued.
 *
 * @throws AppError `job_not_found` (404), `job_not_queued` (400), `job_started` (409) where it left the queue just now
 */
export async function cancelBulkJob(sql: Sql, caller: Caller, jobId: string): Promise<CancelledReply> {
  const job = await findBulkJob(sql, caller.orgId, jobId);
  if (job.status !== 'queued') {
    throw invalidRequest(`only a queued job can be cancelled; this one is ${job.status}`, null, 'job_not_queued');
  }
  await sql.begin(async (tx) => {
    if (!(await cancelQueued(tx, caller.orgId, jobId))) {
      throw conflict('the job has just left the queue; it is no longer queued', 'job_started');
    }
    await settleBulkUsage(tx, jobId);
  });
  return { status: 'cancelled' };
}

/**
 * End what was reserved for a job: texts whose vectors are stored are booked, the rest is given back. Run it in the
 * transaction that ends the job (ready, failed, cancelled) or deletes it, behind the change of its row. Further calls
 * do nothing.
 */
export async function settleBulkUsage(tx: Sql, jobId: string): Promise<void> {
  await settleBooked(tx, jobId, await selectUsed(tx, jobId));
}

function viewOf(job: BulkJob): BulkJobView {
  const { failedPhase, errorCategory, errorMessage, retryable } = job;
  const isFailed = job.status === 'failed';
  return {
    id: job.id,
    status: job.status as BulkJobView['status'],
    org_id: job.orgId,
    metadata: {
      mode: EMBED_BULK,
      model: job.model,
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

/** Why results of a job cannot be had: not yet, or never. */
export function resultNotReady(job: Pick<BulkJob, 'status'>): AppError {
  const what = job.status === 'failed' || job.status === 'cancelled' ? 'has no results' : 'is not ready yet';
  return conflict(`the job is ${job.status} and ${what}`, 'result_not_ready');
}
