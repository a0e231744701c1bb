import { findMarkedBy } from '../documents/deletion-store.ts';
import { type RemovalContext, removeMarked } from '../documents/remove-documents.ts';
import type { JobHandler } from '../jobs/handler.ts';
import type { Lease } from '../jobs/lease.ts';
import { HARD_DELETE } from './hard-delete.ts';

/**
 * Create the handler of the job that removes the documents of a HARDDELETE. The job may be killed at any time, and
 * another worker continues it. It deletes document rows last, so that the next attempt finds the remaining documents.
 */
export function hardDeleteHandler(context: RemovalContext): JobHandler {
  return {
    kind: HARD_DELETE,
    firstPhase: 'indexing',
    run: (lease) => hardDelete(context, lease),
    // The purge removes the remaining documents, like for any other deletion.
    async onFailed() {},
  };
}

async function hardDelete(context: RemovalContext, lease: Lease): Promise<void> {
  const { job, signal } = lease;
  const documents = await findMarkedBy(context.sql, job.orgId, job.id);
  // A job without documents has nothing to do. If only the rows are gone, an earlier attempt may be unfinished.
  const isEmpty = documents.length === 0 && job.fileSizeBytes === 0;
  if (!isEmpty)
    await removeMarked(context, job.bucketId, documents, { expunges: true, signal, onBatch: () => lease.worked() });
  signal.throwIfAborted();
  await lease.complete(context.sql, {
    chunksCount: documents.reduce((sum, document) => sum + document.chunksCount, 0),
    fileType: null,
    actualCost: 0,
  });
}
