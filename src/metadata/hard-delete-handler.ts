import { findMarkedBy } from '../documents/deletion-store.ts';
import { type RemovalContext, removeMarked } from '../documents/remove-documents.ts';
import type { JobHandler } from '../jobs/handler.ts';
import type { Lease } from '../jobs/lease.ts';
import { HARD_DELETE } from './hard-delete.ts';

/**
 * The job that removes what a HARDDELETE marked. It may be killed at any moment and taken up by another worker: rows of
 * documents go last, so that the next attempt begins with those that are left.
 */
export function hardDeleteHandler(context: RemovalContext): JobHandler {
  return {
    kind: HARD_DELETE,
    firstPhase: 'indexing',
    run: (lease) => hardDelete(context, lease),
    // What it did not remove is removed by the purge, as of any other deletion.
    async onFailed() {},
  };
}

async function hardDelete(context: RemovalContext, lease: Lease): Promise<void> {
  const { job, signal } = lease;
  const documents = await findMarkedBy(context.sql, job.orgId, job.id);
  // A statement that matched nothing has nothing to remove; one whose rows are gone may owe the rest.
  const isEmpty = job.fileSizeBytes === 0;
  if (!isEmpty) await removeMarked(context, job.bucketId, documents, { expunges: true, signal });
  signal.throwIfAborted();
  await lease.complete(context.sql, {
    chunksCount: documents.reduce((sum, document) => sum + document.chunksCount, 0),
    fileType: null,
    actualCost: 0,
  });
}
