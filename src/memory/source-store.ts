import type { Caller } from '../access/caller.ts';
import { isStaying } from '../access/move-store.ts';
import { type AccessList, accessOf } from '../documents/access-list.ts';
import { sourceVisibleTo, visibleTo } from '../documents/visibility.ts';
import { storedMessage } from '../jobs/failure-message.ts';
import type { ErrorCategory } from '../jobs/schema.ts';
import { isUnfinished } from '../jobs/state-store.ts';
import type { HeldJob } from '../jobs/store.ts';
import { notFound } from '../platform/errors.ts';
import { viewOf } from '../platform/postgres/views.ts';
import type { Sql, SqlFragment } from '../platform/postgres.ts';
import { metadataOfTags, NO_COUNTS, type SourceType, SourceView, type SyncCounts } from './schema.ts';

type Row = Readonly<Record<string, unknown>>;

/** Source in the service's internal form. */
export interface Source {
  readonly id: string;
  readonly orgId: string;
  readonly userId: string | null;
  readonly bucketId: string;
  readonly name: string;
  readonly type: SourceType;
  readonly connection: string;
  readonly config: Record<string, unknown>;
  readonly tags: Record<string, string>;
  readonly versions: 'replace' | 'keep';
  readonly privacyLevel: number;
  /** Users and groups that may read its documents; null for those of the bucket. */
  readonly accessList: AccessList | null;
  readonly schedule: string | null;
  readonly syncJobId: string | null;
  readonly counts: SyncCounts;
  /** True to remove its documents if it has no entries. */
  readonly allowsEmpty: boolean;
  /** Entries that the running synchronisation reads; null for all. */
  readonly retryKeys: readonly string[] | null;
  readonly isPaused: boolean;
}

export type SourceRow = Omit<Source, 'tags' | 'syncJobId' | 'counts' | 'allowsEmpty' | 'retryKeys' | 'isPaused'> & {
  readonly tags: readonly string[];
  readonly nextSyncAt: Date | null;
  readonly createdBy: string;
};

export async function insertSource(sql: Sql, source: SourceRow): Promise<void> {
  await sql`
    INSERT INTO sources (id, org_id, user_id, bucket_id, name, type, connection, config, tags, versions, privacy_level,
                         access_list, schedule, next_sync_at, counts, created_by)
    VALUES (${source.id}, ${source.orgId}, ${source.userId}, ${source.bucketId}, ${source.name}, ${source.type},
            ${source.connection}, ${sql.json(source.config)}, ${sql.json(metadataOfTags(source.tags))},
            ${source.versions}, ${source.privacyLevel},
            ${source.accessList && sql.array([...source.accessList])}::text[], ${source.schedule}, ${source.nextSyncAt},
            ${sql.json(NO_COUNTS)}, ${source.createdBy})`;
}

/**
 * List the sources that the caller may see, by name. `userId` narrows the list to sources of that user and of the
 * organization.
 *
 * @param page.after name of the last source on the previous page
 */
export async function listSourceRows(
  sql: Sql,
  caller: Caller,
  userId: string | null,
  page: { readonly limit: number | null; readonly after?: string | undefined },
): Promise<SourceView[]> {
  const rows = await sql`
    SELECT sources.*, ${indexedCount(sql, caller)} AS indexed
    FROM sources JOIN buckets ON buckets.id = sources.bucket_id AND buckets.deleting_at IS NULL
    WHERE ${sourceVisibleTo(sql, caller)}
      ${userId === null ? sql`` : sql`AND (sources.user_id IS NULL OR sources.user_id = ${userId})`}
      ${page.after === undefined ? sql`` : sql`AND sources.name > ${page.after}`}
    ORDER BY sources.name LIMIT ${page.limit}`;
  return rows.map(toView);
}

/** Find a source by id or name. @throws AppError `source_not_found` (404), also if it is hidden from the caller */
export async function findSource(sql: Sql, caller: Caller, ref: string): Promise<SourceView> {
  const [row] = await sql`
    SELECT sources.*, ${indexedCount(sql, caller)} AS indexed
    FROM sources JOIN buckets ON buckets.id = sources.bucket_id AND buckets.deleting_at IS NULL
    WHERE ${sourceVisibleTo(sql, caller)} AND (sources.id = ${ref} OR sources.name = ${ref})`;
  if (!row) throw notFound('source', ref);
  return toView(row);
}

/** List the buckets of the sources that the caller may see, by id. */
export async function listSourceBuckets(sql: Sql, caller: Caller, limit: number): Promise<string[]> {
  const rows = await sql`
    SELECT DISTINCT sources.bucket_id FROM sources
    JOIN buckets ON buckets.id = sources.bucket_id AND buckets.deleting_at IS NULL
    WHERE ${sourceVisibleTo(sql, caller)} ORDER BY sources.bucket_id LIMIT ${limit}`;
  return rows.map((row) => row['bucket_id'] as string);
}

/** Return the ids and names of those sources that the caller may see. */
export async function findSourceNames(sql: Sql, caller: Caller, ids: readonly string[]): Promise<Map<string, string>> {
  if (ids.length === 0) return new Map();
  const rows = await sql`
    SELECT id, name FROM sources WHERE ${sourceVisibleTo(sql, caller)} AND id = ANY(${sql.array([...ids])}::text[])`;
  return new Map(rows.map((row) => [row['id'] as string, row['name'] as string]));
}

/** Return the ids that belong to existing sources of any organization. */
export async function selectExistingSources(sql: Sql, ids: readonly string[]): Promise<Set<string>> {
  const rows = await sql`SELECT id FROM sources WHERE id = ANY(${sql.array([...ids])}::text[])`;
  return new Set(rows.map((row) => row['id'] as string));
}

/** Count a source's documents that are waiting for ingestion. */
export async function countPending(sql: Sql, orgId: string, sourceId: string): Promise<number> {
  const [row] = await sql`
    SELECT count(*)::int AS n FROM jobs JOIN documents ON documents.id = jobs.document_id
    WHERE documents.org_id = ${orgId} AND documents.source_id = ${sourceId} AND documents.status <> 'deleting'
      AND ${isUnfinished(sql)}`;
  return row?.['n'] as number;
}

/** Lock a source until the transaction ends. Return null if it is deleted. Lock it before jobs and documents. */
export async function lockSource(tx: Sql, orgId: string, id: string): Promise<Source | null> {
  const [row] = await tx<Source[]>`
    SELECT ${sourceColumns(tx)} FROM sources WHERE org_id = ${orgId} AND id = ${id} FOR UPDATE`;
  return row ?? null;
}

/** Return the unfinished job of a locked source, and whether it is queued. */
export async function findUnfinishedSync(tx: Sql, source: Source): Promise<{ id: string; isQueued: boolean } | null> {
  const [row] = await tx`
    SELECT id, status FROM jobs WHERE org_id = ${source.orgId} AND id = ${source.syncJobId} AND ${isUnfinished(tx)}`;
  return row ? { id: row['id'] as string, isQueued: row['status'] === 'queued' } : null;
}

/** Record the job that will synchronise the source. @param keys entries to synchronise alone; null for all */
export async function recordQueued(
  tx: Sql,
  source: Source,
  jobId: string,
  keys: readonly string[] | null,
): Promise<void> {
  await tx`
    UPDATE sources SET sync_state = 'syncing', sync_job_id = ${jobId}, sync_fence = NULL, resync = false,
           retry_keys = ${keys === null ? null : tx.array([...keys])}::text[], updated_at = now()
    WHERE org_id = ${source.orgId} AND id = ${source.id}`;
}

/** Record that the source changed while its job was running, so that the job runs again. */
export async function requestResync(tx: Sql, source: Source): Promise<void> {
  await tx`UPDATE sources SET resync = true WHERE org_id = ${source.orgId} AND id = ${source.id}`;
}

/** Make the queued synchronisation of a locked source read all entries. */
export async function readAllEntries(tx: Sql, source: Source): Promise<void> {
  await tx`UPDATE sources SET retry_keys = NULL WHERE org_id = ${source.orgId} AND id = ${source.id}`;
}

/** Allow the next synchronisation of a locked source to remove all documents if the source has no entries. */
export async function allowEmpty(tx: Sql, source: Source): Promise<void> {
  await tx`UPDATE sources SET allows_empty = true WHERE org_id = ${source.orgId} AND id = ${source.id}`;
}

/**
 * Begin a synchronisation, or resume it after a crash. From now on, only the holder of this lease may write for the
 * source. If another synchronisation was requested meanwhile, this one reads all entries. Return null if the source is
 * deleted or has another job.
 */
export async function beginSync(sql: Sql, orgId: string, sourceId: string, held: HeldJob): Promise<Source | null> {
  const [row] = await sql<Source[]>`
    UPDATE sources SET sync_fence = ${held.fence}, resync = false, updated_at = now(),
           retry_keys = CASE WHEN resync THEN NULL ELSE retry_keys END,
           counts = CASE WHEN sync_fence IS NULL THEN ${sql.json(NO_COUNTS)} ELSE counts END
    WHERE org_id = ${orgId} AND id = ${sourceId} AND sync_job_id = ${held.id} AND coalesce(sync_fence, 0) <= ${held.fence}
    RETURNING ${sourceColumns(sql)}`;
  return row ?? null;
}

/** Lock the source of a running synchronisation until the transaction ends. Return false if the lease was lost. */
export async function lockSync(tx: Sql, source: Source, held: HeldJob): Promise<boolean> {
  const rows = await tx`
    SELECT 1 FROM sources
    WHERE org_id = ${source.orgId} AND id = ${source.id} AND sync_job_id = ${held.id} AND sync_fence = ${held.fence}
    FOR UPDATE`;
  return rows.length === 1;
}

/** Add to the counts of a locked source's running synchronisation. */
export async function addCounts(tx: Sql, source: Source, added: Partial<SyncCounts>): Promise<void> {
  await tx`
    UPDATE sources SET updated_at = now(), counts = counts || (
      SELECT jsonb_object_agg(key, coalesce((counts ->> key)::int, 0) + value::int)
      FROM jsonb_each_text(${tx.json(added)}) AS change (key, value))
    WHERE org_id = ${source.orgId} AND id = ${source.id}`;
}

/** Reason why a synchronisation failed, or why it couldn't read some entries. */
interface SyncFailure {
  readonly category: ErrorCategory;
  readonly message: string;
}

/** Record the end of a synchronisation. @returns true if the source changed meanwhile, so that it must run again */
export async function endSync(
  tx: Sql,
  source: Pick<Source, 'id' | 'orgId'>,
  jobId: string,
  end: {
    state: 'idle' | 'error';
    counts: Pick<SyncCounts, 'unchanged' | 'failed'> | null;
    failure: SyncFailure | null;
  },
): Promise<boolean> {
  const [row] = await tx`
    UPDATE sources SET sync_state = ${end.state}, sync_fence = NULL, error_category = ${end.failure?.category ?? null},
           error_message = ${end.failure === null ? null : storedMessage(end.failure.message)}, updated_at = now(),
           counts = counts || ${tx.json(end.counts ?? {})},
           last_synced_at = CASE WHEN ${end.state === 'idle'} THEN now() ELSE last_synced_at END,
           allows_empty = allows_empty AND resync AND ${end.state === 'idle'}, retry_keys = NULL
    WHERE org_id = ${source.orgId} AND id = ${source.id} AND sync_job_id = ${jobId}
    RETURNING resync`;
  return row?.['resync'] === true;
}

/** Record that the job of a source was cancelled. */
export async function cancelSync(tx: Sql, orgId: string, sourceId: string, jobId: string): Promise<void> {
  await tx`
    UPDATE sources SET sync_state = CASE WHEN error_message IS NULL THEN 'idle' ELSE 'error' END, sync_fence = NULL,
           resync = false, allows_empty = false, retry_keys = NULL, updated_at = now()
    WHERE org_id = ${orgId} AND id = ${sourceId} AND sync_job_id = ${jobId}`;
}

/** Lock the sources of all organizations with a due schedule. Skip sources locked by other processes. */
export async function lockDueSources(tx: Sql, limit: number): Promise<Source[]> {
  return tx<Source[]>`
    SELECT ${sourceColumns(tx)} FROM sources
    WHERE next_sync_at <= now() AND paused_at IS NULL AND ${isStaying(tx, 'org_id')}
      AND EXISTS (SELECT 1 FROM buckets WHERE buckets.id = sources.bucket_id AND deleting_at IS NULL)
    ORDER BY next_sync_at LIMIT ${limit} FOR UPDATE SKIP LOCKED`;
}

/** Write the changeable settings of a locked source. */
export async function updateSource(
  tx: Sql,
  source: Pick<Source, 'orgId' | 'id' | 'schedule' | 'config' | 'isPaused' | 'accessList'>,
  nextSyncAt: Date | null,
): Promise<void> {
  await tx`
    UPDATE sources SET schedule = ${source.schedule}, config = ${tx.json(source.config as never)},
           next_sync_at = ${nextSyncAt}, updated_at = now(),
           access_list = ${source.accessList && tx.array([...source.accessList])}::text[],
           paused_at = CASE WHEN ${source.isPaused} THEN coalesce(paused_at, now()) END
    WHERE org_id = ${source.orgId} AND id = ${source.id}`;
}

/** Pause a source. Return false if it is deleted. */
export async function pauseSource(sql: Sql, orgId: string, id: string): Promise<boolean> {
  const rows = await sql`
    UPDATE sources SET paused_at = coalesce(paused_at, now()), updated_at = now()
    WHERE org_id = ${orgId} AND id = ${id} RETURNING 1`;
  return rows.length === 1;
}

export async function setNextSync(tx: Sql, source: Source, at: Date | null): Promise<void> {
  await tx`UPDATE sources SET next_sync_at = ${at} WHERE org_id = ${source.orgId} AND id = ${source.id}`;
}

export async function listFolderSources(sql: Sql, limit: number): Promise<Source[]> {
  return sql<Source[]>`
    SELECT ${sourceColumns(sql)} FROM sources
    JOIN buckets ON buckets.id = sources.bucket_id AND buckets.deleting_at IS NULL
    WHERE type = 'folder' AND paused_at IS NULL ORDER BY sources.id LIMIT ${limit}`;
}

export async function deleteSourceRow(tx: Sql, orgId: string, id: string): Promise<void> {
  await tx`DELETE FROM sources WHERE org_id = ${orgId} AND id = ${id}`;
}

/** Count a source's documents that the caller can find. */
function indexedCount(sql: Sql, caller: Caller): SqlFragment {
  return sql`(SELECT count(*)::int FROM documents WHERE documents.source_id = sources.id
              AND documents.active_generation IS NOT NULL AND ${visibleTo(sql, caller)})`;
}

function sourceColumns(sql: Sql): SqlFragment {
  return sql`
    sources.id, sources.org_id AS "orgId", sources.user_id AS "userId", sources.bucket_id AS "bucketId", sources.name,
    type, connection, config, tags, versions, privacy_level AS "privacyLevel", access_list AS "accessList", schedule,
    sync_job_id AS "syncJobId", ${sql.json(NO_COUNTS)}::jsonb || counts AS counts, allows_empty AS "allowsEmpty",
    retry_keys AS "retryKeys", paused_at IS NOT NULL AS "isPaused"`;
}

const VIEW_COLUMNS = Object.keys(SourceView.shape);

function toView(row: Row): SourceView {
  return {
    ...viewOf<SourceView>(row, VIEW_COLUMNS),
    tags: Object.entries(row['tags'] as Record<string, string>).map(([key, value]) => `${key}:${value}`),
    access: accessOf(row['access_list'] as string[] | null),
    indexed_document_count: row['indexed'] as number,
    counts: { ...NO_COUNTS, ...(row['counts'] as Partial<SyncCounts>) },
  };
}
