import { transferMarked } from '../documents/deletion-store.ts';
import type { JobKindOperations } from '../jobs/handler.ts';
import { enqueueJob } from '../jobs/store.ts';
import { conflict } from '../platform/errors.ts';
import { HARD_DELETE } from './hard-delete.ts';

/**
 * The operations on hard deletes. Their documents are gone for every reader before the job exists, so it cannot be
 * cancelled; processing one again goes on with what it has left.
 */
export function hardDeleteOperations(): JobKindOperations {
  return {
    async onCancelled() {
      throw conflict(
        'a hard delete cannot be cancelled: its documents are gone already, the job only removes what is left of them',
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
    // A failed one leaves its documents to the purge.
    async forget() {},
  };
}
