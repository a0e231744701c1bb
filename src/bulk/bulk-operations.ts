import type { Caller } from '../access/caller.ts';
import { requireModelAllowed } from '../access/key-limits.ts';
import type { JobKindOperations } from '../jobs/handler.ts';
import type { Job, JobView } from '../jobs/schema.ts';
import { enqueueJob } from '../jobs/store.ts';
import { AppError, conflict } from '../platform/errors.ts';
import type { Sql } from '../platform/postgres.ts';
import { bookReservation } from '../usage/booked-reservations.ts';
import { type BulkContext, findBulkJob } from './bulk.ts';
import { settleBulkUsage } from './bulk-jobs.ts';
import { inputKey } from './object-keys.ts';
import { EMBED_BULK } from './schema.ts';
import { insertBulkJob } from './store.ts';
import { forgetBulkJob } from './sweep-bulk.ts';
import { selectTokenCounts } from './token-counts-store.ts';

export function bulkOperations(context: BulkContext): JobKindOperations {
  const settle = (tx: Sql, job: Job) => settleBulkUsage(tx, job.id);
  return {
    onCancelled: settle,
    prepareReprocess: (job, newJobId) => copyInput(context, job, newJobId),
    reprocess: (tx, job, newJobId, caller) => reprocess(context, tx, job, newJobId, caller),
    forget: (job) => forgetBulkJob(context.objects, job),
  };
}

/** Copy the input of an ended job to a new job. @throws AppError `input_expired` (409), `storage_full` (503) */
async function copyInput({ sql, objects }: BulkContext, { orgId, id }: Job, newJobId: string): Promise<void> {
  if ((await findBulkJob(sql, orgId, id)).isSwept) throw inputExpired();
  try {
    await objects.put(inputKey(orgId, newJobId), objects.stream(inputKey(orgId, id)));
  } catch (error) {
    throw error instanceof AppError && error.code === 'object_not_found' ? inputExpired() : error;
  }
}

/**
 * Queue the texts of an ended job again, after its input was copied. If the job failed or was cancelled, the new job
 * inherits the finished chunks (its worker copies them) and reserves quota only for the missing texts. If it was ready,
 * the same backend embeds all texts again.
 * @throws AppError `input_expired` (409), `quota_exceeded` (402), `axis_not_in_plan`, `model_not_allowed` (403)
 */
async function reprocess(context: BulkContext, tx: Sql, job: Job, newJobId: string, caller: Caller): Promise<JobView> {
  const origin = await findBulkJob(tx, job.orgId, job.id);
  if (origin.isSwept) throw inputExpired();
  requireModelAllowed(caller.limits, origin.model);
  const resumes = origin.status !== 'ready';
  const amount = origin.inputCount - (resumes ? origin.completedCount : 0);
  await bookReservation(tx, context.plans, { id: newJobId, account: caller, axis: 'embed_batch', amount });
  const view = await enqueueJob(tx, {
    id: newJobId,
    kind: 'bulk',
    orgId: job.orgId,
    bucketId: EMBED_BULK,
    priority: job.priority,
    s3Key: inputKey(job.orgId, newJobId),
    fileName: job.fileName,
    fileSizeBytes: job.fileSizeBytes,
    fileType: EMBED_BULK,
    processingType: EMBED_BULK,
    estimatedCost: (job.view.estimated_cost * amount) / origin.inputCount,
    reprocessOfJobId: job.id,
    metadataSnapshot: job.view.metadata_snapshot,
  });
  const spec = { ...origin, resumesJobId: resumes ? job.id : null };
  await insertBulkJob(tx, newJobId, spec, await selectTokenCounts(tx, job.id));
  return view;
}

function inputExpired(): AppError {
  return conflict('the texts of this job are no longer kept; submit them again', 'input_expired');
}
