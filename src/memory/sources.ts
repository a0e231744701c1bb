import { recordAudit } from '../access/audit.ts';
import type { Caller } from '../access/caller.ts';
import { checkRowLimit } from '../access/row-limits-store.ts';
import { selectUser } from '../access/user-store.ts';
import { type AccessInput, type AccessList, changeAccessList } from '../documents/access-list.ts';
import { accessAtUpload } from '../documents/access-policy.ts';
import { removeDocumentsOf } from '../documents/documents.ts';
import { resolveAccess } from '../documents/resolve-access.ts';
import { findBucket, lockBucketPolicy } from '../documents/store.ts';
import { type JobNotifier, notifyWorkers } from '../jobs/notifier.ts';
import { cancelRow } from '../jobs/operation-store.ts';
import { AppError, forbidden, invalidRequest, notFound } from '../platform/errors.ts';
import { newId } from '../platform/ids.ts';
import type { Logger } from '../platform/logger.ts';
import { isUniqueViolation, type Sql } from '../platform/postgres.ts';
import type { ConnectionSettings } from '../platform/source-settings.ts';
import { parseWithNulls } from '../platform/zod-nulls.ts';
import { type Connections, connectionsOf } from './connections.ts';
import { detachDocuments, findDocumentsOfSource, setAccess } from './entry-store.ts';
import { listFaults } from './fault-store.ts';
import { queueSync } from './queue-sync.ts';
import { CONFIG_BY_TYPE } from './readers/configs.ts';
import { nextRun } from './schedule.ts';
import type {
  DeletedSource,
  ListFaultsQuery,
  ListSourcesQuery,
  NewSource,
  SourceChange,
  SourceFaultView,
  SourceType,
  SourceView,
  SyncReply,
  SyncRequest,
} from './schema.ts';
import * as store from './source-store.ts';

/** Number of documents to remove per transaction when deleting a source. */
const REMOVED_BATCH = 500;

export interface SourcesContext {
  readonly sql: Sql;
  readonly notifier: JobNotifier;
  readonly logger: Logger;
  readonly connections: Connections;
}

/**
 * Connect a source to a bucket. The first synchronisation reads it.
 *
 * @throws AppError `bucket_not_found`, `user_not_found` (404), `source_exists` (409), `auth_level_too_low` (403), 400
 *   for an unknown connection or an invalid config
 */
export async function createSource(
  { sql, connections }: SourcesContext,
  caller: Caller,
  request: NewSource,
): Promise<SourceView> {
  const connection = await requireConnection(sql, connections, caller, request.connection);
  const config = checkConfig(connection.type, request.config);
  if (request.privacy_level > caller.authLevel) {
    throw forbidden(`privacy_level: your auth level is ${caller.authLevel}`, 'auth_level_too_low');
  }
  const bucket = await findBucket(sql, caller, request.bucket);
  const userId = await ownerOf(sql, caller, request);
  const schedule = request.schedule ?? null;
  const { orgId, actor } = caller;
  const { name, tags, versions } = request;
  const accessList = await listFor(sql, orgId, request.access, null);
  const row: store.SourceRow = {
    id: newId('src'),
    orgId,
    userId,
    bucketId: bucket.id,
    name,
    type: connection.type,
    connection: request.connection,
    config,
    tags,
    versions,
    schedule,
    privacyLevel: request.privacy_level,
    accessList,
    nextSyncAt: schedule === null ? null : nextRun(schedule, new Date()),
    createdBy: actor,
  };
  try {
    await sql.begin(async (tx) => {
      await lockBucketPolicy(tx, orgId, bucket.id);
      await store.insertSource(tx, row);
      await checkRowLimit(tx, orgId, 'sources');
      const detail = { name, connection: request.connection, bucket_id: bucket.id };
      await recordAudit(tx, { orgId, actor, action: 'source.create', target: row.id, detail });
    });
  } catch (error) {
    if (!isUniqueViolation(error)) throw error;
    const message = `a source named "${name}" already exists; choose another name`;
    throw new AppError({ code: 'source_exists', status: 409, message });
  }
  return store.findSource(sql, caller, row.id);
}

/** Return true if the entries of a source name their readers. */
function carriesRights({ config }: Pick<store.Source, 'config'>): boolean {
  return config['readers'] !== undefined || config['rights'] === true;
}

/** Return the access list of a source's documents: its own, or that of the bucket. */
async function ownOrDefault(tx: Sql, { orgId, bucketId, accessList }: store.Source): Promise<AccessList | null> {
  const { policy } = await lockBucketPolicy(tx, orgId, bucketId);
  return accessList ?? accessAtUpload(policy).access_list;
}

/** Change the access list of a source. @throws AppError `user_unknown`, `group_unknown`, 400 for a refused list */
async function listFor(sql: Sql, orgId: string, access: AccessInput | undefined, current: AccessList | null) {
  const changed = changeAccessList(current, (await resolveAccess(sql, orgId, access)) ?? (access === null ? null : {}));
  if ('fault' in changed) throw invalidRequest(`access: ${changed.fault}`, 'access');
  return changed.list;
}

/** Find a connection that sources of the caller's organization may use. @throws AppError 400 */
export async function requireConnection(
  sql: Sql,
  connections: Connections,
  { orgId }: Pick<Caller, 'orgId'>,
  name: string,
): Promise<ConnectionSettings> {
  const allowed = await connectionsOf(sql, connections, orgId);
  const connection = Object.hasOwn(allowed, name) ? allowed[name] : undefined;
  if (connection !== undefined) return connection;
  const names = Object.keys(allowed).join(', ') || 'none; the operator adds one under sources in service.yaml';
  throw invalidRequest(`connection: your organization has no "${name}"; it has ${names}`, 'connection');
}

/** Validate the `config` of a source. @throws AppError 400 */
export function checkConfig(type: SourceType, config: unknown): Record<string, unknown> {
  const parsed = parseWithNulls(CONFIG_BY_TYPE[type], config);
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  const at = ['config', ...(issue?.path ?? [])].map(String).join('.');
  throw invalidRequest(`${at}: ${issue?.message ?? 'is not valid'}`, at);
}

/** Return the owner of a new source: the named user, else the caller's user, else the organization (null). */
async function ownerOf(sql: Sql, caller: Caller, { user_id: userId }: NewSource): Promise<string | null> {
  if (userId === undefined) return caller.userId;
  if (userId === null) return null;
  const user = await selectUser(sql, caller.orgId, userId);
  if (user === null) throw notFound('user', userId);
  return user.id;
}

/** List the sources that the caller may see, by name; without `limit`, all of them. `user_id` only narrows the list. */
export function listSources(sql: Sql, caller: Caller, query: Partial<ListSourcesQuery>): Promise<SourceView[]> {
  const page = { limit: query.limit ?? null, after: query.cursor };
  return store.listSourceRows(sql, caller, query.user_id ?? null, page);
}

export { findSource } from './source-store.ts';

/** List the entries that the last synchronisation couldn't read. @throws AppError `source_not_found` (404) */
export async function listSourceFaults(
  sql: Sql,
  caller: Caller,
  ref: string,
  { limit, cursor }: ListFaultsQuery,
): Promise<SourceFaultView[]> {
  const { id } = await store.findSource(sql, caller, ref);
  return listFaults(sql, { orgId: caller.orgId, id }, { limit, after: cursor });
}

/**
 * Queue a synchronisation of a source now.
 *
 * @throws AppError `source_not_found` (404), `source_paused` (409)
 */
export async function syncNow(
  context: SourcesContext,
  caller: Caller,
  ref: string,
  request: SyncRequest = { allow_empty: false },
): Promise<SyncReply> {
  const { allow_empty: allowsEmpty, entries: keys = null } = request;
  const { id } = await store.findSource(context.sql, caller, ref);
  const reply = await context.sql.begin(async (tx) => {
    const source = await store.lockSource(tx, caller.orgId, id);
    if (source === null) throw notFound('source', ref);
    return queueSync(tx, source, { allowsEmpty, keys });
  });
  await notifyWorkers(context, 'sync');
  return reply;
}

/** Cancel the unfinished job of a source, if any. Its finished batches stay. */
async function cancelJob(sql: Sql, { orgId }: Caller, { id, sync_job_id: jobId }: SourceView): Promise<void> {
  if (jobId === null) return;
  await sql.begin(async (tx) => {
    if ((await cancelRow(tx, orgId, jobId)) !== null) await store.cancelSync(tx, orgId, id, jobId);
  });
}

/**
 * Pause or resume a source, and change its schedule or config. Pausing stops a running synchronisation but keeps its
 * finished part. Resuming queues one.
 *
 * @throws AppError `source_not_found` (404), 400 for a config that doesn't fit its type
 */
export async function changeSource(
  context: SourcesContext,
  caller: Caller,
  ref: string,
  change: SourceChange,
): Promise<SourceView> {
  const { sql } = context;
  const { orgId, actor } = caller;
  const view = await store.findSource(sql, caller, ref);
  const config = change.config === undefined ? undefined : checkConfig(view.type, change.config);
  const isResumed = await sql.begin(async (tx) => {
    const source = await store.lockSource(tx, orgId, view.id);
    if (source === null) throw notFound('source', ref);
    const schedule = change.schedule === undefined ? source.schedule : change.schedule;
    const isPaused = change.paused ?? source.isPaused;
    const next = schedule === null ? null : nextRun(schedule, new Date());
    const accessList =
      change.access === undefined ? source.accessList : await listFor(tx, orgId, change.access, source.accessList);
    const changed = { ...source, config: config ?? source.config, schedule, isPaused, accessList };
    await store.updateSource(tx, changed, next);
    // If entries name their readers, keep their access: that of the source would let others read them.
    const isOfSource = change.access !== undefined || carriesRights(source);
    if (isOfSource && !carriesRights(changed)) {
      await setAccess(tx, orgId, { sourceId: source.id }, await ownOrDefault(tx, changed));
    }
    const resumed = source.isPaused && !isPaused;
    if (resumed) await queueSync(tx, changed);
    await recordAudit(tx, { orgId, actor, action: 'source.change', target: source.id, detail: { ...change } });
    return resumed;
  });
  // Read the job only now, since it may have been queued meanwhile. A paused source gets no further job.
  if (change.paused === true) await cancelJob(sql, caller, await store.findSource(sql, caller, view.id));
  if (isResumed) await notifyWorkers(context, 'sync');
  return store.findSource(sql, caller, view.id);
}

/**
 * Disconnect a source. Stop its running synchronisation, and remove its documents unless the caller keeps them as
 * uploads. Documents that the caller may not see also stay. If it fails in between, the source stays paused; delete it
 * again.
 *
 * @throws AppError `source_not_found` (404)
 */
export async function deleteSource(
  { sql }: SourcesContext,
  caller: Caller,
  ref: string,
  options: { readonly keepDocuments: boolean },
): Promise<DeletedSource> {
  const { orgId, actor } = caller;
  const { id, name } = await store.findSource(sql, caller, ref);
  // A paused source gets no further job, and a cancelled job adds no documents during the removal.
  if (!(await store.pauseSource(sql, orgId, id))) throw notFound('source', ref);
  await cancelJob(sql, caller, await store.findSource(sql, caller, id));
  let documents = 0;
  for (let removed = REMOVED_BATCH; !options.keepDocuments && removed === REMOVED_BATCH; documents += removed) {
    removed = await sql.begin(async (tx) =>
      removeDocumentsOf(tx, orgId, await findDocumentsOfSource(tx, caller, id, REMOVED_BATCH)),
    );
  }
  await sql.begin(async (tx) => {
    if ((await store.lockSource(tx, orgId, id)) === null) throw notFound('source', ref);
    const detached = await detachDocuments(tx, caller, id);
    if (options.keepDocuments) documents = detached;
    await store.deleteSourceRow(tx, orgId, id);
    const detail = { name, documents, kept: options.keepDocuments };
    await recordAudit(tx, { orgId, actor, action: 'source.delete', target: id, detail });
  });
  return { id, deleted: true, documents };
}

/** Queue synchronisations of all sources with a due schedule. */
export async function queueDueSources(context: SourcesContext): Promise<number> {
  const DUE_MAX = 100;
  let queued = 0;
  for (;;) {
    const due = await context.sql.begin(async (tx) => {
      const sources = await store.lockDueSources(tx, DUE_MAX);
      for (const source of sources) {
        await queueSync(tx, source);
        await store.setNextSync(tx, source, source.schedule === null ? null : nextRun(source.schedule, new Date()));
      }
      return sources.length;
    });
    queued += due;
    if (due < DUE_MAX) break;
  }
  if (queued > 0) await notifyWorkers(context, 'sync');
  return queued;
}
