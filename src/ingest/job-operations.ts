import type { JobKindOperations } from '../jobs/handler.ts';
import type { Job } from '../jobs/schema.ts';
import { enqueueJob } from '../jobs/store.ts';
import { notFound } from '../platform/errors.ts';
import { requeueDocument, settleDocument } from './job-store.ts';
import { snapshotOf } from './snapshot.ts';

/** Processing type of a job after a metadata edit, which changes no text. */
export const METADATA_EDIT = 'metadata_edit';
/** Processing type of a job that restores a document after its hard delete was cancelled. */
export const DOCUMENT_RESTORE = 'document_restore';

/** Return true for jobs that need not read the file, since its text can't have changed. */
export function keepsText(processingType: string | null): boolean {
  return processingType === METADATA_EDIT || processingType === DOCUMENT_RESTORE;
}

/** Return the reason why a document was not processed. A job deleted while queued no longer exists. */
function reasonOf(job: Job): string {
  return job.status === 'cancelled'
    ? 'its job was cancelled; reprocess the job'
    : 'its job was deleted; upload the document again';
}

/**
 * Create the operations on ingest jobs. While a document is ingested again, searches find its old generation until the
 * new one is live. Searches never find the rows of a cancelled job, which are swept as a dead generation.
 */
export function ingestOperations(): JobKindOperations {
  return {
    onCancelled: (tx, job) => settleDocument(tx, job.orgId, job.documentId as string, { cancellation: reasonOf(job) }),
    async reprocess(tx, job, newJobId) {
      const documentId = job.documentId as string;
      const document = await requeueDocument(tx, job.orgId, documentId);
      if (!document) throw notFound('document', documentId);
      return enqueueJob(tx, {
        id: newJobId,
        kind: 'ingest',
        orgId: job.orgId,
        bucketId: job.bucketId,
        collectionId: job.collectionId,
        documentId,
        workflowId: job.view.workflow_id,
        sourceEntryId: job.view.source_entry_id,
        priority: job.priority,
        s3Key: document.objectKey,
        fileName: document.fileName,
        fileSizeBytes: document.sizeBytes,
        fileType: job.view.file_type,
        processingType: job.processingType ?? 'document_upload',
        estimatedCost: job.view.estimated_cost,
        reprocessOfJobId: job.id,
        metadataSnapshot: snapshotOf(document),
      });
    },
    // The document keeps its file and chunks. Nothing belongs to the job alone.
    async forget() {},
  };
}
