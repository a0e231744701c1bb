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
  // Without waiting for one another: the database works on the edits while their log lines are put together.
  const [, applied] = await Promise.all([writeEdits(tx, caller.orgId, plans), applyBeside()]);
  return applied;

  async function applyBeside(): Promise<AppliedEdit[]> {
    const jobIds = await queueReindexes(tx, caller, bucketId, plans);
    const edits = plans.map((plan) => ({ plan, reindexJobId: jobIds.get(plan.document.id) ?? null }));
    await recordAudits(
      tx,
      edits.map(({ plan, reindexJobId }) => ({
        orgId: caller.orgId,
        actor: caller.actor,
        action: 'document.edit_metadata',
        target: plan.document.id,
        detail: { bucket_id: bucketId, statement, ...describeChange(plan), reindex_job_id: reindexJobId },
      })),
    );
    return edits;
  }
}

/** Ids of the jobs that make vectors anew, those that wait already among them, by document. */
async function queueReindexes(
  tx: Sql,
  caller: Caller,
  bucketId: string,
  plans: readonly PlannedEdit[],
): Promise<Map<string, string>> {
  const reindexed = plans.filter((plan) => plan.isReindexed);
  if (reindexed.length === 0) return new Map();
  const ids = reindexed.map((plan) => plan.document.id);
  const jobIds = await findWaitingJobs(tx, caller.orgId, ids);
  const rest = reindexed.filter((plan) => !jobIds.has(plan.document.id));
  const queued = await Promise.all(rest.map((plan) => queueReindex(tx, caller, bucketId, plan)));
  for (const [at, plan] of rest.entries()) jobIds.set(plan.document.id, queued[at] as string);
  return jobIds;
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
