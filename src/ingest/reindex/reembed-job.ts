import { z } from 'zod';
import { type Caller, requireScope } from '../../access/caller.ts';
import { findBucket, requireReach } from '../../documents/buckets.ts';
import { lockBucket } from '../../documents/store.ts';
import { dropReindexRunOfJob, findReindexJob } from '../../index/writing/reindex-store.ts';
import { cancelJobs } from '../../jobs/document-jobs-store.ts';
import type { JobKindOperations } from '../../jobs/handler.ts';
import { type JobNotifier, notifyWorkers } from '../../jobs/notifier.ts';
import type { Job, JobView } from '../../jobs/schema.ts';
import { enqueueJob } from '../../jobs/store.ts';
import { conflict } from '../../platform/errors.ts';
import { newId } from '../../platform/ids.ts';
import type { Logger } from '../../platform/logger.ts';
import type { Sql } from '../../platform/postgres.ts';
import { planReembed, type ReembedContext, type ReembedPlan, type ReembedRequest } from './plan-reembed.ts';

/** Kind of jobs that rebuild a bucket's index. */
export const REINDEX = 'reindex';
const PROCESSING_TYPE = 'bucket_reembed';
/** Processing type of jobs that compute the vectors of documents that keyword search already finds. */
export const DEFERRED = 'bucket_vectors';
/** Lower priority than uploads and edits, which people wait for. */
const PRIORITY = 5;

/** Body of `POST /v1/buckets/{bucket}/reembed`. */
export const ReembedBody = z.object({
  model: z.string().min(1).max(200).optional().describe("a model of GET /v1/models; the routing's primary by default"),
  dry_run: z.boolean().default(false).describe('only report what would be done'),
});

/** Response of `POST /v1/buckets/{bucket}/reembed`. */
export const ReembedReply = z
  .object({
    bucket_id: z.string(),
    job_id: z.string().nullable().describe('null: a dry run, or there is nothing to do'),
    dry_run: z.boolean(),
    from_model: z.string(),
    model: z.string(),
    space: z.string().describe('latent space of the vectors afterwards'),
    documents: z.int(),
    chunks: z.int(),
    texts: z.int().describe('number of chunks to embed; the vectors of the others are already stored'),
    tokens: z.int().describe('estimated tokens of these texts'),
    estimated_cost: z.number(),
  })
  .meta({ id: 'Reembed' });
export type ReembedReply = z.output<typeof ReembedReply>;

export interface ReembedJobs extends ReembedContext {
  readonly notifier: JobNotifier;
  readonly logger: Logger;
}

/**
 * Queue a job that embeds a bucket with another model while searches continue. With `dryRun`, report its plan instead.
 * @throws AppError the errors of `planReembed`; `reindex_in_progress` (409) naming the job; `scope_missing`,
 *   `out_of_reach` (403): a document is hidden from the caller, and the response would reveal its number and cost
 */
export async function queueReembed(
  context: ReembedJobs,
  caller: Caller,
  request: ReembedRequest,
  { dryRun }: { dryRun: boolean },
): Promise<ReembedReply> {
  requireScope(caller, 'buckets:manage');
  const bucket = await findBucket(context.sql, caller, request.bucket);
  await requireReach(context.sql, caller, bucket.id);
  const plan = await planReembed(context, caller, request);
  if (dryRun || plan.mode === 'nothing') return describePlan(plan, null, dryRun);
  return describePlan(plan, await enqueueReembed(context, caller, plan, { storedOnly: false }), false);
}

/**
 * Queue the job of a plan.
 * @returns id of the job
 * @throws AppError `reindex_in_progress` (409) naming the job; `bucket_not_found` (404)
 */
export function enqueueReembed(
  context: Pick<ReembedJobs, 'sql' | 'notifier' | 'logger'>,
  caller: Pick<Caller, 'orgId' | 'actor'>,
  plan: ReembedPlan,
  { storedOnly }: { storedOnly: boolean },
): Promise<string> {
  return enqueueReindex(context, caller, plan.bucketId, {
    fileName: `${plan.bucketName} by ${plan.model.id}`,
    processingType: PROCESSING_TYPE,
    estimatedCost: plan.estimatedCost,
    metadataSnapshot: {
      model: plan.model.id,
      from_model: plan.from.model,
      requested_by: caller.actor,
      ...(storedOnly ? { stored_only: 'true' } : {}),
    },
  });
}

/**
 * Queue a job that rebuilds a bucket's index.
 * @returns id of the job
 * @throws AppError as `enqueueReembed`
 */
export async function enqueueReindex(
  context: Pick<ReembedJobs, 'sql' | 'notifier' | 'logger'>,
  { orgId }: Pick<Caller, 'orgId'>,
  bucketId: string,
  job: {
    readonly fileName: string;
    readonly processingType: string;
    readonly estimatedCost: number;
    readonly metadataSnapshot: Record<string, string>;
  },
): Promise<string> {
  const id = newId('job');
  await context.sql.begin(async (tx) => {
    await lockBucket(tx, orgId, bucketId);
    await cancelDeferred(tx, orgId, bucketId);
    await refuseSecond(tx, bucketId);
    await enqueueJob(tx, {
      id,
      kind: REINDEX,
      orgId,
      bucketId,
      priority: PRIORITY,
      s3Key: '',
      fileSizeBytes: 0,
      ...job,
    });
  });
  await notifyWorkers(context, REINDEX);
  return id;
}

/** Cancel the job that computes missing vectors, since the new job computes them too. */
async function cancelDeferred(tx: Sql, orgId: string, bucketId: string): Promise<void> {
  const jobId = await findReindexJob(tx, bucketId, DEFERRED);
  if (jobId === null) return;
  await cancelJobs(tx, orgId, [jobId]);
  await dropReindexRunOfJob(tx, jobId);
}

/**
 * Refuse a second job. Call this in a transaction that has locked the bucket.
 * @throws AppError `reindex_in_progress` (409)
 */
async function refuseSecond(tx: Sql, bucketId: string): Promise<void> {
  const jobId = await findReindexJob(tx, bucketId);
  if (jobId === null) return;
  throw conflict(
    `the job ${jobId} is already rebuilding the index of this bucket; wait for it, or cancel it (service jobs cancel ${jobId} --force)`,
    'reindex_in_progress',
  );
}

/** Describe a plan. @param jobId id of its job, or null */
export function describePlan(plan: ReembedPlan, jobId: string | null, dryRun: boolean): ReembedReply {
  const { bucketId, from, model, origin, documents, chunks, texts, estimatedTokens, estimatedCost } = plan;
  return {
    bucket_id: bucketId,
    job_id: jobId,
    dry_run: dryRun,
    from_model: from.model,
    model: model.id,
    space: origin.space,
    documents,
    chunks,
    texts,
    tokens: estimatedTokens,
    estimated_cost: estimatedCost,
  };
}

/** Parse the request and actor of a job. */
export function requestOfJob(job: Job): { request: ReembedRequest; actor: string } {
  const snapshot = job.view.metadata_snapshot ?? {};
  return {
    request: { bucket: job.bucketId, model: String(snapshot['model']), storedOnly: snapshot['stored_only'] === 'true' },
    actor: String(snapshot['requested_by'] ?? 'operator'),
  };
}

/**
 * Create the operations on these jobs. Cancelling a job abandons the table that it was building. The current table
 * stays.
 */
export function reembedOperations(): JobKindOperations {
  return {
    onCancelled: (tx, job) => dropReindexRunOfJob(tx, job.id),
    async reprocess(tx, job, newJobId): Promise<JobView> {
      await lockBucket(tx, job.orgId, job.bucketId);
      await refuseSecond(tx, job.bucketId);
      return enqueueJob(tx, {
        id: newJobId,
        kind: REINDEX,
        orgId: job.orgId,
        bucketId: job.bucketId,
        priority: job.priority,
        s3Key: job.s3Key,
        fileName: job.fileName,
        fileSizeBytes: job.fileSizeBytes,
        processingType: job.processingType ?? PROCESSING_TYPE,
        estimatedCost: job.view.estimated_cost,
        reprocessOfJobId: job.id,
        metadataSnapshot: job.view.metadata_snapshot,
      });
    },
    async forget() {},
  };
}
