import { jobErrorCategoryOf } from '../../embedding/job-error-category.ts';
import { dropReindexRunOfJob } from '../../index/writing/reindex-store.ts';
import type { JobHandler } from '../../jobs/handler.ts';
import { asJobError, JobError, type Lease } from '../../jobs/lease.ts';
import type { Job } from '../../jobs/schema.ts';
import { AppError } from '../../platform/errors.ts';
import type { Sql } from '../../platform/postgres.ts';
import { MOVE, moveOfJob } from './move-job.ts';
import type { ReindexPlan } from './plan.ts';
import { planDeferred } from './plan-deferred.ts';
import { type MovePlan, planMove } from './plan-move.ts';
import { planReembed, type ReembedContext, type ReembedPlan } from './plan-reembed.ts';
import { DEFERRED, REINDEX, requestOfJob } from './reembed-job.ts';
import { type ReindexContext, reindexBucket } from './reindex-bucket.ts';
import type { RunOptions, RunResult } from './run.ts';

/** Lost leases before the job fails: many, since it reads no user file, and so doesn't itself kill its worker. */
const CRASHES_MAX = 20;

export interface ReembedHandlerContext extends ReindexContext, ReembedContext {
  /** Make this process use the currently active maps and installed local models. */
  readonly refreshModels: () => Promise<void>;
  /** Report that documents of a bucket may still be waiting for vectors. */
  readonly onDeferred: (bucketId: string) => void;
}

/**
 * Create the handler of jobs that rebuild a bucket's index. A job that embeds it with another model, or moves it to
 * another engine, builds a new table while searches use the current one, and follows uploads, edits and deletions. It
 * finishes in the transaction that replaces the table. A job that computes missing vectors adds them to the current
 * table.
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
  const caller = { orgId: job.orgId, actor: requestOfJob(job).actor };
  try {
    // A new map or model may have caused the job, and this process may not have read it yet.
    await context.refreshModels();
    const options = {
      signal,
      jobId: job.id,
      onWork: () => lease.worked(),
      onProgress: () => void lease.progressed().catch(() => undefined),
      onDone: (tx: Sql, done: RunResult) =>
        lease.complete(tx, { chunksCount: done.covered.chunks, fileType: null, actualCost: done.cost }),
    };
    const { plan, result } = await runPlan(context, job, caller, options);
    // Nothing was left to do when the job's turn came.
    if (plan.mode === 'nothing') {
      await lease.complete(context.sql, { chunksCount: plan.chunks, fileType: null, actualCost: result.cost });
    }
    if (job.processingType === DEFERRED) context.onDeferred(job.bucketId);
  } catch (error) {
    signal.throwIfAborted();
    throw failureOf(error);
  }
}

/** Run the plan of a job according to its type. */
function runPlan(
  context: ReembedHandlerContext,
  job: Job,
  caller: { readonly orgId: string; readonly actor: string },
  options: Pick<RunOptions, 'signal' | 'jobId' | 'onWork' | 'onProgress' | 'onDone'>,
): Promise<{ plan: ReindexPlan; result: RunResult }> {
  if (job.processingType === DEFERRED) {
    const plan = () => planDeferred(context, caller, job.bucketId);
    return reindexBucket<ReindexPlan>(context, caller, plan, { ...options, detail: null });
  }
  if (job.processingType === MOVE) {
    const detail = ({ from, engine }: MovePlan) => ({ from, to: engine, job_id: job.id });
    return reindexBucket(context, caller, () => planMove(context.sql, caller, moveOfJob(job)), { ...options, detail });
  }
  const detail = ({ from, origin }: ReembedPlan) => ({ from, to: origin, job_id: job.id });
  const { request } = requestOfJob(job);
  return reindexBucket(context, caller, () => planReembed(context, caller, request), { ...options, detail });
}

/** Codes of errors that go away when the documents stop changing or another map is in use. */
const RETRYABLE = new Set(['index_busy', 'projection_unusable', 'reprojection_gone']);

function failureOf(error: unknown): unknown {
  if (error instanceof JobError || !(error instanceof AppError)) return error;
  const known = jobErrorCategoryOf(error);
  if (known !== null) return asJobError(error, known);
  if (RETRYABLE.has(error.code)) return asJobError(error, { category: 'not_comparable', retryable: true });
  if (error.retryable) return error;
  return asJobError(error, {
    category: error.code === 'artifact_corrupt' ? 'storage' : 'not_comparable',
    retryable: false,
  });
}
