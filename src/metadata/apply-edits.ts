import { recordAudits } from '../access/audit.ts';
import type { Caller } from '../access/caller.ts';
import { METADATA_EDIT } from '../ingest/job-operations.ts';
import { snapshotOf } from '../ingest/snapshot.ts';
import { enqueueJob } from '../jobs/store.ts';
import { newId } from '../platform/ids.ts';
import type { Sql } from '../platform/postgres.ts';
import { findWaitingJobs, writeEdits } from './edit-store.ts';
import { describeChange, type PlannedEdit } from './plan-edit.ts';

/** Priority of jobs queued by edits, the same as for uploads. */
const INGEST_PRIORITY = 2;

export interface AppliedEdit {
  readonly plan: PlannedEdit;
  /** Id of the job that recomputes the vectors, or null. */
  readonly reindexJobId: string | null;
}

/**
 * Write planned edits of locked documents, with their jobs and audit records, in the transaction that locked them.
 *
 * @param statement text of the statement; null for a request by fields
 * @param workflowId workflow whose run makes the edit, if any
 */
export async function applyEdits(
  tx: Sql,
  caller: Caller,
  bucketId: string,
  plans: readonly PlannedEdit[],
  statement: string | null,
  workflowId: string | null = null,
): Promise<AppliedEdit[]> {
  if (plans.length === 0) return [];
  // The database writes the edits while their audit records are being built.
  const [, applied] = await Promise.all([writeEdits(tx, caller.orgId, plans), queueAndAudit()]);
  return applied;

  async function queueAndAudit(): Promise<AppliedEdit[]> {
    const jobIds = await queueReindexes(tx, caller, { bucketId, workflowId }, plans);
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

/** Bucket of an edit, and the workflow whose run makes it, if any. */
interface EditCause {
  readonly bucketId: string;
  readonly workflowId: string | null;
}

/** Queue jobs that recompute vectors, or reuse queued ones. Return their ids by document. */
async function queueReindexes(
  tx: Sql,
  caller: Caller,
  cause: EditCause,
  plans: readonly PlannedEdit[],
): Promise<Map<string, string>> {
  const reindexed = plans.filter((plan) => plan.isReindexed);
  if (reindexed.length === 0) return new Map();
  const ids = reindexed.map((plan) => plan.document.id);
  const jobIds = await findWaitingJobs(tx, caller.orgId, ids);
  const withoutJob = reindexed.filter((plan) => !jobIds.has(plan.document.id));
  const queued = await Promise.all(withoutJob.map((plan) => queueReindex(tx, caller, cause, plan)));
  for (const [at, plan] of withoutJob.entries()) jobIds.set(plan.document.id, queued[at] as string);
  return jobIds;
}

async function queueReindex(tx: Sql, caller: Caller, { bucketId, workflowId }: EditCause, plan: PlannedEdit) {
  const { document, metadata, readsFile } = plan;
  const { file } = document;
  const job = await enqueueJob(tx, {
    id: newId('job'),
    kind: 'ingest',
    orgId: caller.orgId,
    bucketId,
    collectionId: document.collectionId,
    documentId: document.id,
    workflowId,
    priority: INGEST_PRIORITY,
    s3Key: file.objectKey,
    fileName: file.fileName,
    fileSizeBytes: file.sizeBytes,
    processingType: readsFile ? 'document_reindex' : METADATA_EDIT,
    metadataSnapshot: snapshotOf({ fileName: file.fileName, sourcePath: file.sourcePath, metadata }),
  });
  return job.id;
}
