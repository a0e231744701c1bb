import { recordAudits } from '../access/audit.ts';
import type { Caller } from '../access/caller.ts';
import { findFileHashes, markDocuments } from '../documents/deletion-store.ts';
import { lockBucketPolicy } from '../documents/store.ts';
import { cancelJobs, lockJobsOf } from '../jobs/document-jobs-store.ts';
import { type JobNotifier, notifyWorkers } from '../jobs/notifier.ts';
import { notifyLost } from '../jobs/operations.ts';
import { enqueueJob } from '../jobs/store.ts';
import { newId } from '../platform/ids.ts';
import type { Logger } from '../platform/logger.ts';
import type { Sql } from '../platform/postgres.ts';
import { lockDocuments, readEditable } from './edit-store.ts';
import type { Condition } from './statement/syntax.ts';

/** Job kind and `processing_type`. */
export const HARD_DELETE = 'hard_delete';

const PRIORITY = 2;

export interface HardDeleteRequest {
  readonly caller: Caller;
  readonly bucketId: string;
  /** Candidates. Only those that exist, match `where`, and are visible to the caller are deleted. */
  readonly documentIds: readonly string[];
  readonly where: Condition | null;
  readonly statement: string;
}

export interface QueuedHardDelete {
  readonly jobId: string;
  readonly requestedAt: Date;
  readonly documentIds: readonly string[];
}

/**
 * Delete documents permanently. One transaction hides them from every reader, cancels their jobs, writes a tombstone
 * for each to the audit log, and queues a job that removes chunks, vectors, files, artifacts and rows. The tombstone
 * has the actor, the time, the statement, and hashes that identify the file, but neither its name nor its content.
 *
 * @throws AppError `bucket_not_found` (404)
 */
export async function queueHardDelete(
  { sql, notifier, logger }: { sql: Sql; notifier: JobNotifier; logger: Logger },
  { caller, bucketId, documentIds, where, statement }: HardDeleteRequest,
): Promise<QueuedHardDelete> {
  const jobId = newId('job');
  const scope = { caller, bucketId };
  const { deleted, cancelled, requestedAt } = await sql.begin(async (tx) => {
    await lockBucketPolicy(tx, caller.orgId, bucketId);
    // Lock jobs before documents, in the same order as a finishing job.
    const jobs = await lockJobsOf(tx, caller.orgId, documentIds);
    await lockDocuments(tx, scope, documentIds);
    const found = await readEditable(tx, scope, documentIds, where);
    const documents = found.filter((document) => document.isReadable && document.status !== 'deleting');
    const ids = documents.map(({ id }) => id);
    const taken = new Set(ids);
    const jobsToCancel = jobs.filter((job) => taken.has(job.documentId));
    await cancelJobs(
      tx,
      caller.orgId,
      jobsToCancel.map(({ id }) => id),
    );
    await markDocuments(tx, caller.orgId, ids, jobId);
    const job = await enqueueJob(tx, {
      id: jobId,
      kind: HARD_DELETE,
      orgId: caller.orgId,
      bucketId,
      priority: PRIORITY,
      s3Key: '',
      fileName: 'documents',
      // Only callers from whom the bucket hides nothing see the job and this size.
      fileSizeBytes: documents.reduce((sum, { file }) => sum + file.sizeBytes, 0),
      processingType: HARD_DELETE,
    });
    const hashes = await findFileHashes(tx, caller.orgId, ids);
    await recordAudits(
      tx,
      hashes.map(({ id, fileNameSha256, sha256 }) => ({
        orgId: caller.orgId,
        actor: caller.actor,
        action: 'document.hard_delete',
        target: id,
        detail: { bucket_id: bucketId, statement, job_id: jobId, file_name_sha256: fileNameSha256, sha256 },
      })),
    );
    return { deleted: ids, cancelled: jobsToCancel, requestedAt: new Date(job.created_at) };
  });
  await notifyWorkers({ notifier, logger }, HARD_DELETE);
  await notifyLost({ notifier, logger }, cancelled);
  return { jobId, requestedAt, documentIds: deleted };
}
