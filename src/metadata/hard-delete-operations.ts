import { recordAudits } from '../access/audit.ts';
import type { Caller } from '../access/caller.ts';
import { transferMarked, type UnmarkedDocument, unmarkDocuments } from '../documents/deletion-store.ts';
import { DOCUMENT_RESTORE } from '../ingest/job-operations.ts';
import { snapshotOf } from '../ingest/snapshot.ts';
import type { JobKindOperations } from '../jobs/handler.ts';
import type { Job } from '../jobs/schema.ts';
import { enqueueJob } from '../jobs/store.ts';
import { newId } from '../platform/ids.ts';
import type { Sql } from '../platform/postgres.ts';
import { HARD_DELETE } from './hard-delete.ts';

/**
 * Return the operations on hard delete jobs. Cancelling or deleting a job before it starts restores its documents: each
 * gets a job that makes it searchable again from its stored vectors. After the start, nothing is restored, and the
 * purge removes the remaining documents. Reprocessing the job also continues with them.
 */
export function hardDeleteOperations(): JobKindOperations {
  return {
    async onCancelled(tx, job, caller) {
      // A started job may already have removed chunks and files, and its worker may keep running for a moment.
      if (job.view.started_at !== null || job.view.reprocess_of_job_id !== null) return;
      await restoreDocuments(tx, job, caller);
    },
    async reprocess(tx, job, newJobId) {
      const view = await enqueueJob(tx, {
        id: newJobId,
        kind: HARD_DELETE,
        orgId: job.orgId,
        bucketId: job.bucketId,
        priority: job.priority,
        s3Key: job.s3Key,
        fileName: job.fileName,
        fileSizeBytes: job.fileSizeBytes,
        processingType: HARD_DELETE,
        reprocessOfJobId: job.id,
      });
      await transferMarked(tx, job.orgId, job.id, newJobId);
      return view;
    },
    // The purge removes the documents of a failed job.
    async forget() {},
  };
}

async function restoreDocuments(tx: Sql, job: Job, caller: Caller): Promise<void> {
  const documents = await unmarkDocuments(tx, job.orgId, job.bucketId, job.id);
  await Promise.all(documents.filter(({ isSearchable }) => isSearchable).map((each) => queueRestore(tx, job, each)));
  await recordAudits(
    tx,
    documents.map(({ id }) => ({
      orgId: job.orgId,
      actor: caller.actor,
      action: 'document.hard_delete_cancelled',
      target: id,
      detail: { bucket_id: job.bucketId, job_id: job.id },
    })),
  );
}

function queueRestore(tx: Sql, job: Job, document: UnmarkedDocument) {
  return enqueueJob(tx, {
    id: newId('job'),
    kind: 'ingest',
    orgId: job.orgId,
    bucketId: job.bucketId,
    collectionId: document.collectionId,
    documentId: document.id,
    priority: job.priority,
    s3Key: document.objectKey,
    fileName: document.fileName,
    fileSizeBytes: document.sizeBytes,
    processingType: DOCUMENT_RESTORE,
    metadataSnapshot: snapshotOf(document),
  });
}
