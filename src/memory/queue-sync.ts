import type { JobView } from '../jobs/schema.ts';
import { enqueueJob } from '../jobs/store.ts';
import { conflict } from '../platform/errors.ts';
import { newId } from '../platform/ids.ts';
import type { Sql } from '../platform/postgres.ts';
import type { SyncReply } from './schema.ts';
import {
  allowEmpty,
  findUnfinishedSync,
  readAllEntries,
  recordQueued,
  requestResync,
  type Source,
} from './source-store.ts';

/** `processing_type` of every job that a source creates (contract 2.6). */
export const SOURCE_CONNECTOR = 'source_connector';

/** Priority of synchronisations and their ingest jobs, the same as for uploads. */
export const SYNC_PRIORITY = 2;

/**
 * Queue a synchronisation of a locked source. If the source already has an unfinished job, return that job. If that job
 * is running, make it run once more, since it may have passed the changed entries.
 *
 * @param options.allowsEmpty true to remove all documents if the source has no entries
 * @param options.keys entries to synchronise alone; an existing job is changed to read all entries
 * @throws AppError `source_paused` (409)
 */
export async function queueSync(
  tx: Sql,
  source: Source,
  { allowsEmpty = false, keys = null }: { allowsEmpty?: boolean; keys?: readonly string[] | null } = {},
): Promise<SyncReply> {
  refuseWhilePaused(source);
  if (allowsEmpty) await allowEmpty(tx, source);
  const unfinished = await findUnfinishedSync(tx, source);
  if (unfinished === null) {
    const { id } = await enqueueSync(tx, source, newId('job'), { reprocessOfJobId: null, keys });
    return { id: source.id, job_id: id, status: 'queued' };
  }
  if (unfinished.isQueued) await readAllEntries(tx, source);
  else await requestResync(tx, source);
  return { id: source.id, job_id: unfinished.id, status: unfinished.isQueued ? 'queued' : 'syncing' };
}

/** Refuse to synchronise a paused source. @throws AppError `source_paused` (409) */
function refuseWhilePaused({ name, isPaused }: Source): void {
  if (!isPaused) return;
  throw conflict(
    `the source ${name} is paused; resume it first: service sources resume ${name} (PATCH with "paused": false in the API)`,
    'source_paused',
  );
}

/** Insert a job for a locked source without an unfinished job. @throws AppError `source_paused` (409) */
export async function enqueueSync(
  tx: Sql,
  source: Source,
  jobId: string,
  { reprocessOfJobId, keys }: { readonly reprocessOfJobId: string | null; readonly keys: readonly string[] | null },
): Promise<JobView> {
  refuseWhilePaused(source);
  const job = await enqueueJob(tx, {
    id: jobId,
    kind: 'sync',
    orgId: source.orgId,
    bucketId: source.bucketId,
    sourceEntryId: source.id,
    priority: SYNC_PRIORITY,
    s3Key: `sources/${source.id}`,
    fileName: source.name,
    fileSizeBytes: 0,
    fileType: source.type,
    processingType: SOURCE_CONNECTOR,
    reprocessOfJobId,
    metadataSnapshot: { file_name: source.name, source_path: null, captured_at: new Date().toISOString() },
  });
  await recordQueued(tx, source, jobId, keys);
  return job;
}
