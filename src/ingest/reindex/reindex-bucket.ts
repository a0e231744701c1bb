import { recordAudit } from '../../access/audit.ts';
import type { Caller } from '../../access/caller.ts';
import { withAdvisoryLock } from '../../platform/postgres.ts';
import type { ReindexPlan } from './plan.ts';
import { planRebuild } from './plan-rebuild.ts';
import { type PlanContext, planReprojection, type ReprojectPlan, type ReprojectRequest } from './plan-reprojection.ts';
import { Reindexing, type RunContext, type RunOptions, type RunResult } from './run.ts';

export interface ReindexContext extends RunContext, PlanContext {}

type Actor = Pick<Caller, 'orgId' | 'actor'>;
type Options = Pick<RunOptions, 'signal' | 'jobId' | 'leaveOutDamaged' | 'onProgress' | 'onWork'>;

/**
 * Rebuild a bucket's index by the plan that `makePlan` returns once no other run is working on the bucket. A new table
 * replaces the current one in one transaction; searches use the current one until then.
 * @param detail data for the audit log, in addition to the number of documents; null for a run that nobody requested,
 *   which is not recorded
 * @throws AppError of `makePlan`; those of `Reindexing.run`; the reason of the signal
 */
export async function reindexBucket<Plan extends ReindexPlan>(
  context: ReindexContext,
  caller: Actor,
  makePlan: () => Promise<Plan>,
  options: Options & { readonly detail: ((plan: Plan) => Record<string, unknown>) | null } & Partial<
      Pick<RunOptions, 'onDone'>
    >,
): Promise<{ plan: Plan; result: RunResult }> {
  const { bucketId } = await makePlan();
  const run = async (_stillHeld: unknown, lost: AbortSignal) => {
    // Another run may have worked on the bucket until now.
    const plan = await makePlan();
    const result = await new Reindexing(context, caller.orgId, plan, {
      ...options,
      signal: AbortSignal.any([options.signal, lost]),
      async onDone(tx, done) {
        const detail = options.detail?.(plan);
        if (detail !== undefined) {
          await recordAudit(tx, {
            orgId: caller.orgId,
            actor: caller.actor,
            action: `index.${plan.kind}`,
            target: bucketId,
            detail: { ...detail, documents: done.documents, left_out: done.leftOut.slice(0, 100) },
          });
        }
        await options.onDone?.(tx, done);
      },
    }).run();
    return { plan, result };
  };
  return withAdvisoryLock(context.direct, `reproject/${bucketId}`, run, { signal: options.signal });
}

export interface RebuildReport {
  readonly bucket_id: string;
  readonly documents: number;
  readonly chunks: number;
  /** Documents with damaged or missing stored chunks. Searches don't find them until they are reprocessed. */
  readonly left_out: readonly string[];
}

/**
 * Rebuild a bucket's index from the chunk artifacts in object storage. No provider is called.
 * @throws AppError `bucket_not_found` (404), `index_empty`, `artifact_corrupt`, `index_busy` (409); the signal's reason
 */
export async function rebuildIndex(
  context: ReindexContext,
  caller: Actor,
  bucketRef: string,
  options: Options,
): Promise<RebuildReport> {
  const { plan, result } = await reindexBucket(context, caller, () => planRebuild(context.sql, caller, bucketRef), {
    ...options,
    detail: () => ({}),
  });
  return { bucket_id: plan.bucketId, ...result.covered, left_out: result.leftOut };
}

export interface ReprojectReport {
  readonly bucket_id: string;
  readonly models: readonly string[];
  readonly space: string;
  readonly map_versions: readonly number[];
  readonly mode: ReindexPlan['mode'];
  /** Number of documents of this run. A run that took over another's work counts only its own. */
  readonly documents: number;
  readonly chunks: number;
}

/**
 * Reproject a bucket's vectors from the native vectors stored with its chunks, without calling a provider.
 * @throws AppError those of `planReprojection`; `reproject_incomplete` (409) naming what couldn't be done; the reason
 *   of the signal
 */
export async function reprojectBucket(
  context: ReindexContext,
  caller: Actor,
  request: ReprojectRequest,
  options: Options,
): Promise<ReprojectReport> {
  const { plan, result } = await reindexBucket(context, caller, () => planReprojection(context, caller, request), {
    ...options,
    detail: ({ origin, targets }: ReprojectPlan) => ({
      space: origin.space,
      maps: targets.map(({ id, mapVersion }) => ({ model: id, map_version: mapVersion })),
    }),
  });
  return {
    bucket_id: plan.bucketId,
    models: plan.targets.map(({ id }) => id),
    space: plan.origin.space,
    mode: plan.mode,
    map_versions: plan.targets.map(({ mapVersion }) => mapVersion),
    documents: result.documents,
    chunks: result.chunks,
  };
}
