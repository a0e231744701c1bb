import type { JobNotifier } from '../jobs/notifier.ts';
import type { JobView } from '../jobs/schema.ts';
import { enqueueJob } from '../jobs/store.ts';
import { newId } from '../platform/ids.ts';
import type { Logger } from '../platform/logger.ts';
import type { Sql } from '../platform/postgres.ts';
import type { SyncReply } from './schema.ts';
import { allowEmpty, findUnfinishedSync, recordQueued, requestResync, type Source } from './source-store.ts';

/** Value of `processing_type` of every job that a source causes (contract 2.6). */
export const SOURCE_CONNECTOR = 'source_connector';

/** Priority of synchronisations and of the ingest jobs that they queue, as for uploads. */
export const SYNC_PRIORITY = 2;

/**
 * Queue a synchronisation of a locked source. A source has one unfinished job at most: if there is one, it is returned,
 * and it runs once more if it has begun, since it may have passed what changed.
 *
 * @param options.allowsEmpty it removes all documents if the source shows no entries
 */
export async function queueSync(tx: Sql, source: Source, { allowsEmpty = false } = {}): Promise<SyncReply> {
  if (allowsEmpty) await allowEmpty(tx, source);
  const unfinished = await findUnfinishedSync(tx, source);
  if (unfinished === null) {
    const { id } = await enqueueSync(tx, source, newId('job'), null);
    return { id: source.id, job_id: id, status: 'queued' };
  }
  if (!unfinished.isQueued) await requestResync(tx, source);
  return { id: source.id, job_id: unfinished.id, status: unfinished.isQueued ? 'queued' : 'syncing' };
}

/** Insert the job of a locked source that has no unfinished one. */
export async function enqueueSync(
  tx: Sql,
  source: Source,
  jobId: string,
  reprocessOfJobId: string | null,
): Promise<JobView> {
  const job = await enqueueJob(tx, {
    id: jobId,
    kind: 'sync',
    orgId: source.orgId,
    bucketId: source.bucketId,
    sourceEntryId: source.id,
    priority: SYNC_PRIORITY,
    s3Key: `sources/${source.id}`,
    fileName: source.id,
    fileSizeBytes: 0,
    fileType: source.type,
    processingType: SOURCE_CONNECTOR,
    reprocessOfJobId,
    metadataSnapshot: { file_name: source.id, source_path: null, captured_at: new Date().toISOString() },
  });
  await recordQueued(tx, source, jobId);
  return job;
}

/** Notify workers of a queued synchronisation. A lost notification costs the time until their next sweep. */
export async function notifySync(context: { notifier: JobNotifier; logger: Logger }): Promise<void> {
  await context.notifier
    .notifyQueued('sync')
    .catch((error) => context.logger.debug({ err: error }, 'notification of a queued job was lost'));
}
