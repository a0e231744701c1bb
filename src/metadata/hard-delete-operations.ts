import { transferMarked } from '../documents/deletion-store.ts';
import type { JobKindOperations } from '../jobs/handler.ts';
import { enqueueJob } from '../jobs/store.ts';
import { conflict } from '../platform/errors.ts';
import { HARD_DELETE } from './hard-delete.ts';

/**
 * Operations on hard deletes. The documents are gone for every reader before the job exists, so it cannot be cancelled;
 * reprocessing it continues with the documents that are left.
 */
export function hardDeleteOperations(): JobKindOperations {
  return {
    async onCancelled() {
      throw conflict(
        'a hard delete cannot be cancelled: its documents are already gone, and the job only removes their data',
        'hard_delete_is_final',
      );
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
