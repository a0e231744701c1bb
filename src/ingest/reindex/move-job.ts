import { z } from 'zod';
import { type Caller, requireScope } from '../../access/caller.ts';
import { findBucket, requireEngine, requireReach } from '../../documents/buckets.ts';
import { Engine } from '../../documents/schema.ts';
import { chooseEngine } from '../../index/writing/choose-engine.ts';
import type { Job } from '../../jobs/schema.ts';
import type { Config } from '../../platform/config.ts';
import type { Sql } from '../../platform/postgres.ts';
import { type MovePlan, type MoveRequest, planMove } from './plan-move.ts';
import { enqueueReindex, type ReembedJobs } from './reembed-job.ts';

/** Processing type of jobs that move a bucket's index to another engine. */
export const MOVE = 'bucket_move';

/** Body of `POST /v1/buckets/{bucket}/move`. */
export const MoveBody = z.object({
  engine: Engine.describe('engine to move the search index to'),
  dry_run: z.boolean().default(false).describe('only report what would be done'),
});

/** Response of `POST /v1/buckets/{bucket}/move`. */
export const MoveReply = z
  .object({
    bucket_id: z.string(),
    job_id: z.string().nullable().describe('null: a dry run, or there is nothing to do'),
    dry_run: z.boolean(),
    from_engine: Engine,
    engine: Engine,
    documents: z.int(),
    chunks: z.int(),
  })
  .meta({ id: 'Move' });
export type MoveReply = z.output<typeof MoveReply>;

export interface MoveJobs extends ReembedJobs {
  readonly config: Pick<Config, 'index'>;
  /** Connection pool for advisory locks. It must not use a transaction pooler. */
  readonly direct: Sql;
}

/**
 * Queue a job that moves a bucket's index to another engine while searches continue. With `dryRun`, report the job's
 * plan instead. The engine of a bucket without an index is changed at once.
 *
 * @throws AppError `bucket_not_found` (404), `engine_not_configured` (409), `reindex_in_progress` (409) naming the job,
 *   `scope_missing`, `out_of_reach` (403): a document of the bucket is hidden from the caller
 */
export async function queueMove(
  context: MoveJobs,
  caller: Caller,
  request: MoveRequest,
  { dryRun }: { dryRun: boolean },
): Promise<MoveReply> {
  requireScope(caller, 'buckets:manage');
  const bucket = await findBucket(context.sql, caller, request.bucket);
  await requireReach(context.sql, caller, bucket.id);
  requireEngine(request.engine, context.config);
  const plan = await planMove(context.sql, caller, request);
  if (dryRun) return describeMove(plan, null, true);
  if (plan.mode === 'nothing') {
    await chooseEngine(context, bucket.id, request.engine);
    return describeMove(plan, null, false);
  }
  const jobId = await enqueueReindex(context, caller, plan.bucketId, {
    fileName: `${plan.bucketName} to ${plan.engine}`,
    processingType: MOVE,
    estimatedCost: 0,
    metadataSnapshot: { engine: plan.engine, from_engine: plan.from, requested_by: caller.actor },
  });
  return describeMove(plan, jobId, false);
}

function describeMove(plan: MovePlan, jobId: string | null, dryRun: boolean): MoveReply {
  const { bucketId, from, engine, documents, chunks } = plan;
  return { bucket_id: bucketId, job_id: jobId, dry_run: dryRun, from_engine: from, engine, documents, chunks };
}

/** Parse the request of a job. */
export function moveOfJob(job: Job): MoveRequest {
  return { bucket: job.bucketId, engine: Engine.parse(job.view.metadata_snapshot?.['engine']) };
}
