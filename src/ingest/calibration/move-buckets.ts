import { AppError } from '../../platform/errors.ts';
import { modelOfSpace, nativeSpaceOf } from '../../projection/projections.ts';
import { planReembed } from '../reindex/plan-reembed.ts';
import { enqueueReembed, type ReembedJobs } from '../reindex/reembed-job.ts';
import { type NativeBucket, selectNativeBuckets } from './store.ts';

/** Actor in the audit log for jobs that the installation queues itself. */
const ACTOR = 'system:calibration';

/**
 * Queue a job for each bucket whose model now has a map. The job projects the stored native vectors and sends no text
 * to a provider. A bucket without native vectors is skipped, which is logged once.
 * @param told buckets that this process has already logged
 */
export async function moveNativeBuckets(context: ReembedJobs, told: Set<string>): Promise<void> {
  for (const bucket of await selectNativeBuckets(context.sql)) {
    try {
      await moveBucket(context, bucket, told);
    } catch (error) {
      // The bucket was deleted or emptied, or another job is moving it.
      if (!(error instanceof AppError)) throw error;
      context.logger.debug({ err: error, bucket: bucket.bucketId }, 'a bucket is not moved into the canonical space');
    }
  }
}

async function moveBucket(
  context: ReembedJobs,
  { bucketId, bucketName, orgId, space }: NativeBucket,
  told: Set<string>,
): Promise<void> {
  const { backends, projections, logger } = context;
  const model = backends.catalog.get(modelOfSpace(space) ?? '');
  // The map fits only vectors of the revision that it was fitted on.
  if (!model || nativeSpaceOf(model) !== space || projections.mapOf(model) === null) return;
  const request = { bucket: bucketId, model: model.id, storedOnly: true };
  const plan = await planReembed(context, { orgId }, request);
  if (plan.texts > 0) {
    if (told.has(bucketId)) return;
    told.add(bucketId);
    logger.warn(
      { bucket: bucketId, chunks: plan.texts },
      `native vectors are not stored with every chunk of bucket ${bucketName}; run "service index reembed --bucket ${bucketName}" to move it into the canonical space`,
    );
    return;
  }
  if (plan.mode === 'nothing') return;
  const jobId = await enqueueReembed(context, { orgId, actor: ACTOR }, plan, { storedOnly: true });
  logger.info(
    { bucket: bucketId, model: model.id, job: jobId, chunks: plan.chunks },
    'a job moves a bucket into the canonical space by its stored vectors; no text is sent to a provider',
  );
}
