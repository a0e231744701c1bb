import { createHash } from 'node:crypto';
import { type AccessPolicy, accessAtUpload } from '../documents/access-policy.ts';
import { replaceContent } from '../documents/content-store.ts';
import { nextContentKey, originalKey, removeDocumentsOf } from '../documents/documents.ts';
import { insertDocument, type NewDocument, timeOf } from '../documents/insert-store.ts';
import { IngestOptions } from '../documents/schema.ts';
import { lockBucketPolicy } from '../documents/store.ts';
import { snapshotOf } from '../ingest/snapshot.ts';
import { cancelJobsOfDocuments } from '../jobs/document-jobs-store.ts';
import { LeaseLost } from '../jobs/lease.ts';
import { enqueueJob, forgetCrashes, type HeldJob } from '../jobs/store.ts';
import { newId } from '../platform/ids.ts';
import type { Objects } from '../platform/objects/objects.ts';
import { mayHaveCommitted, type Sql } from '../platform/postgres.ts';
import { resolveEntryAccess } from './entry-access.ts';
import * as entries from './entry-store.ts';
import { SOURCE_CONNECTOR, SYNC_PRIORITY } from './queue-sync.ts';
import type { ReadEntry } from './readers/source-reader.ts';
import type { SyncCounts } from './schema.ts';
import { addCounts, lockSync, type Source } from './source-store.ts';

export interface WriteContext {
  readonly sql: Sql;
  readonly objects: Objects;
  readonly source: Source;
  readonly held: HeldJob;
  /** Department of the owner, which owns the documents. */
  readonly department: string | null;
}

/** Entry to write, with its earlier state. */
export interface EntryWork {
  readonly read: ReadEntry;
  /** State after an earlier synchronisation; null for a new entry. */
  readonly known: entries.EntryContentRow | null;
}

/** Find a vanished entry with the same content, which a new entry may continue under a new name. */
export type FindRenamed = (
  read: ReadEntry,
  sizeBytes: number,
  sha256: Buffer,
) => Promise<entries.EntryContentRow | null>;

/** Entry whose content is stored, or need not be. */
interface StoredWork extends EntryWork {
  readonly kind: 'same' | 'added' | 'changed' | 'renamed' | 'empty';
  readonly documentId: string | null;
  readonly objectKey: string | null;
  readonly sizeBytes: number;
  readonly sha256: Buffer;
}

const NOTHING = createHash('sha256').digest();

/**
 * Write new and possibly changed entries: store their contents, then write documents, jobs, entries and counts in one
 * transaction. A crash leaves either all or none of them. A sweep removes stored contents without a document.
 *
 * @returns number of entries with unchanged content, except those written by an earlier attempt of the same
 *   synchronisation
 * @throws LeaseLost if another worker or job has taken over the source
 */
export async function writeEntries(
  context: WriteContext,
  work: readonly EntryWork[],
  findRenamed: FindRenamed,
  signal: AbortSignal,
): Promise<number> {
  const { sql, objects, held } = context;
  const outcomes = await Promise.allSettled(work.map((each) => storeContent(context, each, findRenamed, signal)));
  const stored = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
  const failed = outcomes.find((outcome) => outcome.status === 'rejected');
  let replaced: string[];
  try {
    if (failed !== undefined) throw failed.reason;
    signal.throwIfAborted();
    replaced = await sql.begin((tx) => writeAll(tx, context, stored));
  } catch (error) {
    // The commit may have succeeded despite the error.
    const written = mayHaveCommitted(error) ? [] : stored;
    for (const { objectKey } of written) if (objectKey !== null) await objects.delete(objectKey).catch(() => undefined);
    throw error;
  }
  // After a crash before this line, the files stay until their document is deleted.
  for (const key of replaced) await objects.delete(key).catch(() => undefined);
  return stored.filter(({ kind, known }) => kind === 'same' && known?.jobId !== held.id).length;
}

/** Store an entry's content, unless it equals the previous content or that of a vanished entry. */
async function storeContent(
  { objects, source }: WriteContext,
  { read, known }: EntryWork,
  findRenamed: FindRenamed,
  signal: AbortSignal,
): Promise<StoredWork> {
  const { content } = read;
  const nothing = { documentId: null, objectKey: null };
  if (content === null) return { read, known, kind: 'empty', ...nothing, sizeBytes: 0, sha256: NOTHING };
  const documentId = (source.versions === 'replace' ? known?.documentId : null) ?? newId('doc');
  const keyOf = documentId === known?.documentId ? nextContentKey : originalKey;
  const objectKey = keyOf(source.orgId, documentId);
  const put = (body: Parameters<Objects['put']>[1]) => objects.put(objectKey, body, { signal });
  const inline = 'bytes' in content ? content.bytes : null;
  const streamed = 'openStream' in content ? await put(content.openStream()) : null;
  const sizeBytes = streamed?.sizeBytes ?? (inline as Uint8Array).length;
  const sha256 = streamed
    ? Buffer.from(streamed.sha256, 'hex')
    : createHash('sha256')
        .update(inline as Uint8Array)
        .digest();
  const about = { sizeBytes, sha256 };
  const isSame = known?.sha256.equals(sha256) === true;
  const renamed = known === null ? await findRenamed(read, sizeBytes, sha256) : null;
  if (isSame || renamed !== null) {
    if (streamed) await objects.delete(objectKey);
    return { read, known: known ?? renamed, kind: isSame ? 'same' : 'renamed', ...nothing, ...about };
  }
  if (inline) await put(inline);
  return { read, known, kind: known === null ? 'added' : 'changed', documentId, objectKey, ...about };
}

/** Effect of writing an entry: the kind of change, and the object that its document no longer uses. */
interface Written {
  readonly counted: 'added' | 'changed' | 'removed' | 'renamed' | null;
  readonly oldKey: string | null;
}

/** @returns keys of objects that no document uses any more */
async function writeAll(tx: Sql, context: WriteContext, stored: readonly StoredWork[]): Promise<string[]> {
  const { source, held } = context;
  const { policy } = await lockBucketPolicy(tx, source.orgId, source.bucketId);
  if (!(await lockSync(tx, source, held))) throw new LeaseLost(held.id);
  const level = Math.min(source.privacyLevel, policy.max_privacy_level);
  const atUpload = accessAtUpload(policy);
  const access = { ...atUpload, access_list: source.accessList ?? atUpload.access_list, privacy_level: level };
  const accessOf = await resolveEntryAccess(
    tx,
    source.orgId,
    stored.map(({ read }) => read),
  );
  const oldKeys: string[] = [];
  const counts: Partial<SyncCounts> = {};
  for (const work of stored) {
    const list = accessOf(work.read);
    const { counted, oldKey } = await writeOne(
      tx,
      context,
      work,
      list === undefined ? access : { ...access, access_list: list },
    );
    if (list !== undefined && work.known !== null)
      await entries.setAccess(tx, source.orgId, { entryId: work.known.id }, list);
    if (counted !== null) counts[counted] = (counts[counted] ?? 0) + 1;
    if (oldKey !== null) oldKeys.push(oldKey);
  }
  if (Object.keys(counts).length > 0) await addCounts(tx, source, counts);
  // Part of the batch's transaction, so that a worker killed after each commit still makes progress.
  await forgetCrashes(tx, held);
  return oldKeys;
}

async function writeOne(tx: Sql, context: WriteContext, work: StoredWork, access: AccessPolicy): Promise<Written> {
  switch (work.kind) {
    case 'same':
      return writeSame(tx, context, work);
    case 'renamed':
      return writeRenamed(tx, context, work);
    case 'empty':
      return writeEmpty(tx, context, work);
    default:
      return writeContent(tx, context, work, access);
  }
}

async function writeSame(tx: Sql, { source }: WriteContext, { read, known }: StoredWork): Promise<Written> {
  const { id, documentId } = known as entries.EntryContentRow;
  await entries.touchEntry(tx, source.orgId, id, read.version);
  if (documentId !== null) await entries.setEventTime(tx, source.orgId, documentId, timeOf(read.eventTimeMs));
  return { counted: null, oldKey: null };
}

async function writeRenamed(tx: Sql, context: WriteContext, work: StoredWork): Promise<Written> {
  const known = work.known as entries.EntryContentRow;
  await entries.updateEntry(tx, entryOf(context, work, known.id, known.documentId));
  await entries.renameDocuments(tx, context.source.orgId, known.id, factsOf(context, work.read));
  return { counted: 'renamed', oldKey: null };
}

/** Write an entry without text, and remove the documents of its former content. */
async function writeEmpty(tx: Sql, context: WriteContext, work: StoredWork): Promise<Written> {
  const { known } = work;
  if (known === null) {
    await entries.insertEntry(tx, entryOf(context, work, newId('ent'), null));
    return { counted: null, oldKey: null };
  }
  const { orgId } = context.source;
  const removed = await removeDocumentsOf(tx, orgId, await entries.findDocumentsOfEntries(tx, orgId, [known.id]));
  await entries.updateEntry(tx, entryOf(context, work, known.id, null));
  return { counted: removed === 0 ? null : 'removed', oldKey: null };
}

async function writeContent(tx: Sql, context: WriteContext, work: StoredWork, access: AccessPolicy): Promise<Written> {
  const { orgId, bucketId } = context.source;
  const { read, known } = work;
  const documentId = work.documentId as string;
  const objectKey = work.objectKey as string;
  const entryId = known?.id ?? newId('ent');
  const counted = known === null ? 'added' : 'changed';
  let oldKey: string | null = null;
  if (documentId === known?.documentId) {
    await cancelJobsOfDocuments(tx, orgId, [documentId]);
    const content = { ...work, objectKey, contentType: read.contentType };
    const facts = { ...factsOf(context, read), eventTime: timeOf(read.eventTimeMs) };
    oldKey = await replaceContent(tx, orgId, documentId, content, facts);
    // A document that a user deleted stays deleted. Record only the entry.
    if (oldKey === null) {
      await entries.updateEntry(tx, entryOf(context, work, entryId, documentId));
      return { counted: null, oldKey: objectKey };
    }
  } else {
    await insertDocument(tx, newDocumentOf(context, work, entryId, access));
  }
  const entry = entryOf(context, work, entryId, documentId);
  await (known === null ? entries.insertEntry(tx, entry) : entries.updateEntry(tx, entry));
  const { fileName, sourcePath, metadata } = factsOf(context, read);
  await enqueueJob(tx, {
    id: newId('job'),
    kind: 'ingest',
    orgId,
    bucketId,
    documentId,
    sourceEntryId: entryId,
    priority: SYNC_PRIORITY,
    s3Key: objectKey,
    fileName,
    fileSizeBytes: work.sizeBytes,
    processingType: SOURCE_CONNECTOR,
    metadataSnapshot: snapshotOf({ fileName, sourcePath, metadata: { ...metadata } }),
  });
  return { counted, oldKey };
}

function entryOf(
  { source, held }: WriteContext,
  { read, sizeBytes, sha256 }: StoredWork,
  id: string,
  documentId: string | null,
): entries.EntryRow {
  const { key, version } = read;
  return { id, orgId: source.orgId, sourceId: source.id, key, version, sizeBytes, sha256, documentId, jobId: held.id };
}

function factsOf({ source }: WriteContext, { fileName, sourcePath, metadata }: ReadEntry) {
  const own = { source_connection_id: source.id, ...metadata };
  const ofTable = 'schift.source_table' in metadata ? { 'schift.vector_source_id': source.id } : {};
  return { fileName, sourcePath, metadata: { ...source.tags, ...own, ...ofTable } };
}

function newDocumentOf(context: WriteContext, work: StoredWork, entryId: string, access: AccessPolicy): NewDocument {
  const { source, department } = context;
  return {
    id: work.documentId as string,
    orgId: source.orgId,
    bucketId: source.bucketId,
    collectionId: null,
    ...factsOf(context, work.read),
    contentType: work.read.contentType,
    sizeBytes: work.sizeBytes,
    sha256: work.sha256,
    objectKey: work.objectKey as string,
    options: IngestOptions.parse({}),
    access,
    ownerDepartment: department,
    uploadedByUserId: source.userId,
    source: { id: source.id, entryId, eventTimeMs: work.read.eventTimeMs },
  };
}

/**
 * Remove the documents of vanished entries.
 *
 * @throws LeaseLost if another worker or job has taken over the source
 */
export async function removeEntries(context: WriteContext, ids: readonly string[]): Promise<void> {
  const { sql, source, held } = context;
  await sql.begin(async (tx) => {
    if (!(await lockSync(tx, source, held))) throw new LeaseLost(held.id);
    await removeDocumentsOf(tx, source.orgId, await entries.findDocumentsOfEntries(tx, source.orgId, ids));
    await entries.deleteEntries(tx, source.orgId, ids);
    await addCounts(tx, source, { removed: ids.length });
  });
}
