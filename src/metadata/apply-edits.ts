import { recordAudits } from '../access/audit.ts';
import type { Caller } from '../access/caller.ts';
import { snapshotOf } from '../ingest/upload.ts';
import { enqueueJob } from '../jobs/store.ts';
import { newId } from '../platform/ids.ts';
import type { Sql } from '../platform/postgres.ts';
import { findWaitingJobs, writeEdits } from './edit-store.ts';
import { describeChange, type PlannedEdit } from './plan-edit.ts';

/** As uploads have it. */
const INGEST_PRIORITY = 2;

export interface AppliedEdit {
  readonly plan: PlannedEdit;
  /** The job that makes its vectors anew. */
  readonly reindexJobId: string | null;
}

/**
 * Write planned edits of locked documents, their jobs and one line each of the audit log, in the transaction that
 * locked them.
 *
 * @param statement as it was written; null: the change was asked for by fields
 */
export async function applyEdits(
  tx: Sql,
  caller: Caller,
  bucketId: string,
  plans: readonly PlannedEdit[],
  statement: string | null,
): Promise<AppliedEdit[]> {
  if (plans.length === 0) return [];
  await writeEdits(tx, caller.orgId, plans);
  const reindexed = plans.filter((plan) => plan.isReindexed);
  const waiting =
    reindexed.length === 0
      ? new Map<string, string>()
      : await findWaitingJobs(
          tx,
          caller.orgId,
          reindexed.map((plan) => plan.document.id),
        );
  const applied: AppliedEdit[] = [];
  for (const plan of plans) {
    const waitingJobId = waiting.get(plan.document.id);
    const reindexJobId = plan.isReindexed ? (waitingJobId ?? (await queueReindex(tx, caller, bucketId, plan))) : null;
    applied.push({ plan, reindexJobId });
  }
  await recordAudits(
    tx,
    applied.map(({ plan, reindexJobId }) => ({
      orgId: caller.orgId,
      actor: caller.actor,
      action: 'document.edit_metadata',
      target: plan.document.id,
      detail: { bucket_id: bucketId, statement, ...describeChange(plan), reindex_job_id: reindexJobId },
    })),
  );
  return applied;
}

async function queueReindex(tx: Sql, caller: Caller, bucketId: string, { document, metadata }: PlannedEdit) {
  const { file } = document;
  const job = await enqueueJob(tx, {
    id: newId('job'),
    kind: 'ingest',
    orgId: caller.orgId,
    bucketId,
    collectionId: document.collectionId,
    documentId: document.id,
    priority: INGEST_PRIORITY,
    s3Key: file.objectKey,
    fileName: file.fileName,
    fileSizeBytes: file.sizeBytes,
    processingType: 'metadata_edit',
    metadataSnapshot: snapshotOf({ fileName: file.fileName, sourcePath: file.sourcePath, metadata }),
  });
  return job.id;
}
