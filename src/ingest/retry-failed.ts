import { type JobNotifier, notifyWorkers } from '../jobs/notifier.ts';
import { enqueueJob } from '../jobs/store.ts';
import type { Chore } from '../platform/chores.ts';
import { newId } from '../platform/ids.ts';
import type { Logger } from '../platform/logger.ts';
import type { Sql } from '../platform/postgres.ts';
import { requeueDocument } from './job-store.ts';
import { type FailedDocument, hasUnfinishedJob, selectFailedByOutage } from './retry-store.ts';
import { snapshotOf } from './snapshot.ts';

/** Lower priority than uploads and edits, which people wait for. */
const PRIORITY = 5;

/**
 * Create the chore that re-ingests documents whose jobs gave up on a provider. It retries one document per bucket every
 * ten minutes. Once a document of the bucket has been embedded, it retries all of them.
 */
export function retryChore(context: { sql: Sql; notifier: JobNotifier; logger: Logger }, everyMs: number): Chore {
  const { sql, logger } = context;
  return {
    name: 'retry of documents without vectors',
    everyMs,
    async run(signal) {
      let queued = 0;
      for (const document of await selectFailedByOutage(sql)) {
        signal.throwIfAborted();
        if (await requeue(sql, document)) queued++;
      }
      if (queued === 0) return;
      logger.info({ documents: queued }, 'documents that could not be embedded are tried again');
      await notifyWorkers(context, 'ingest');
    },
  };
}

function requeue(sql: Sql, { orgId, bucketId, documentId, collectionId }: FailedDocument): Promise<boolean> {
  return sql.begin(async (tx) => {
    const document = await requeueDocument(tx, orgId, documentId);
    // Another process may have queued it meanwhile.
    if (document === null || (await hasUnfinishedJob(tx, documentId))) return false;
    await enqueueJob(tx, {
      id: newId('job'),
      kind: 'ingest',
      orgId,
      bucketId,
      collectionId,
      documentId,
      priority: PRIORITY,
      s3Key: document.objectKey,
      fileName: document.fileName,
      fileSizeBytes: document.sizeBytes,
      processingType: 'retry',
      metadataSnapshot: snapshotOf(document),
    });
    return true;
  });
}
