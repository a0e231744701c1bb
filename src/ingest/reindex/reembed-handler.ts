import { failureCategoryOf } from '../../embedding/failure-category.ts';
import { dropReindexRunOfJob } from '../../index/writing/reindex-store.ts';
import type { JobHandler } from '../../jobs/handler.ts';
import { asJobError, JobError, type Lease } from '../../jobs/lease.ts';
import { AppError } from '../../platform/errors.ts';
import { planReembed, type ReembedContext } from './plan-reembed.ts';
import { REINDEX, requestOfJob } from './reembed-job.ts';
import { type ReindexContext, reindexBucket } from './reindex-bucket.ts';

/** It reads no file of a user, so that lost leases are those of workers that were killed for another reason. */
const CRASHES_MAX = 20;

export interface ReembedHandlerContext extends ReindexContext, ReembedContext {
  /** Have this process use the maps that are active and the local models that are installed now. */
  readonly refreshModels: () => Promise<void>;
}

/**
 * The job that embeds a bucket by another model. It builds a new table while searches use the present one, follows what
 * is uploaded, edited and deleted meanwhile, and finishes in the transaction that replaces the table.
 */
export function reembedHandler(context: ReembedHandlerContext): JobHandler {
  return {
    kind: REINDEX,
    firstPhase: 'embedding',
    crashesMax: CRASHES_MAX,
    run: (lease) => reembed(context, lease),
    onFailed: (tx, job) => dropReindexRunOfJob(tx, job.id),
  };
}

async function reembed(context: ReembedHandlerContext, lease: Lease): Promise<void> {
  const { job, signal } = lease;
  const { request, actor } = requestOfJob(job);
  const caller = { orgId: job.orgId, actor };
  try {
    // The job may have been queued because of a new map or a new model, which this process has not read yet.
    await context.refreshModels();
    const { plan, result } = await reindexBucket(context, caller, () => planReembed(context, caller, request), {
      signal,
      jobId: job.id,
      onWork: () => lease.worked(),
      onProgress: () => void lease.progressed().catch(() => undefined),
      detail: ({ from, origin }) => ({ from, to: origin, job_id: job.id }),
      onDone: (tx, done) =>
        lease.complete(tx, { chunksCount: done.covered.chunks, fileType: null, actualCost: done.cost }),
    });
    // Nothing was left to do when its turn came.
    if (plan.mode === 'nothing') {
      await lease.complete(context.sql, { chunksCount: plan.chunks, fileType: null, actualCost: result.cost });
    }
  } catch (error) {
    signal.throwIfAborted();
    throw failureOf(error);
  }
}

/** Faults that end when the documents stop changing, or when the map in use is another one. */
const RETRYABLE = new Set(['index_busy', 'projection_unusable', 'reprojection_gone']);

function failureOf(error: unknown): unknown {
  if (error instanceof JobError || !(error instanceof AppError)) return error;
  const known = failureCategoryOf(error);
  if (known !== null) return asJobError(error, known);
  if (RETRYABLE.has(error.code)) return asJobError(error, { category: 'not_comparable', retryable: true });
  if (error.retryable) return error;
  return asJobError(error, {
    category: error.code === 'artifact_corrupt' ? 'storage' : 'not_comparable',
    retryable: false,
  });
}
