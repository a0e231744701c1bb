import path from 'node:path';
import type { Lease } from '../jobs/lease.ts';
import { findByContent, findEntries, type KnownEntry, readEntries } from './entry-store.ts';
import { FAULTS_MAX } from './fault-store.ts';
import {
  type EntryFault,
  keptByFaults,
  type ListedEntry,
  type ReadEntry,
  SourceFault,
  type SourceReader,
} from './readers/source-reader.ts';
import type { Source } from './source-store.ts';
import { type EntryWork, type FindRenamed, removeEntries, type WriteContext, writeEntries } from './write-entries.ts';

/** Maximum number of entries per source. A synchronisation holds their keys and versions in memory. */
const ENTRIES_MAX = 1_000_000;
/** Limits of a batch: entries, and the total size of their contents. */
const BATCH_ENTRIES = 16;
const BATCH_BYTES = 16 * 1024 * 1024;
/** Maximum number of concurrent batches: one is read and stored while another is written. */
const BATCHES_IN_PROGRESS = 2;
const REMOVED_BATCH = 200;
/** Result of a synchronisation. Its transactions count the changes. */
export interface SyncResult {
  readonly unchanged: number;
  readonly failed: number;
  /** First faults of single entries, at most `FAULTS_MAX`. */
  readonly faults: readonly EntryFault[];
}

/** New entry, or entry with a new version. */
interface PendingEntry {
  readonly listed: ListedEntry;
  readonly knownId: string | null;
}

/** Difference between a source and the entries of the previous synchronisation. */
interface Difference {
  readonly pending: readonly PendingEntry[];
  /** Entries that the source no longer contains, by id. */
  readonly vanished: Map<string, KnownEntry>;
  readonly unchanged: number;
  readonly faults: readonly EntryFault[];
}

/**
 * Synchronise the documents of a source: read new and changed entries, then remove vanished ones. Commit each batch
 * separately, so that a crash costs only the batches in progress. The next attempt finds the others unchanged.
 *
 * @throws SourceFault if the source can't be listed completely, or is unexpectedly empty, like an unmounted folder or a
 *   table being reloaded; nothing is removed then
 */
export async function syncSource(context: WriteContext, reader: SourceReader, lease: Lease): Promise<SyncResult> {
  const { signal } = lease;
  const difference = await compare(context, reader, lease);
  const { vanished } = difference;
  const faults = [...difference.faults];
  let { unchanged } = difference;
  const findRenamed = renameFinder(context, vanished);
  await forEachBatch(difference.pending, async (batch) => {
    const read = await reader.read(
      batch.map(({ listed }) => listed),
      signal,
    );
    const found = read.filter((each): each is ReadEntry => 'version' in each);
    faults.push(...read.filter((each): each is EntryFault => 'fault' in each));
    const same = await writeEntries(context, await workOf(context, batch, found), findRenamed, signal);
    unchanged += same;
    await lease.progressed();
  });
  const removed = [...vanished.keys()];
  for (let from = 0; from < removed.length; from += REMOVED_BATCH) {
    signal.throwIfAborted();
    await removeEntries(context, removed.slice(from, from + REMOVED_BATCH));
    lease.worked();
  }
  return { unchanged, failed: faults.length, faults: faults.slice(0, FAULTS_MAX) };
}

/** Compare the listing of the source with the known entries. */
async function compare(context: WriteContext, reader: SourceReader, lease: Lease): Promise<Difference> {
  const { signal } = lease;
  const { sql, source, held } = context;
  const known = new Map<string, KnownEntry>();
  for await (const page of readEntries(sql, source.orgId, source.id, held.id)) {
    for (const entry of page) known.set(entry.key, entry);
  }
  const isWanted = wantedKeys(source.retryKeys);
  const seen = new Set<string>();
  const pending: PendingEntry[] = [];
  const found: EntryFault[] = [];
  let unchanged = 0;
  let listedCount = 0;
  for await (const listing of reader.list(signal)) {
    signal.throwIfAborted();
    lease.worked();
    for (const fault of listing.faults) found.push(fault);
    for (const listed of listing.entries) {
      if (seen.has(listed.key)) {
        found.push({ key: listed.key, fault: 'the source shows it more than once' });
        continue;
      }
      seen.add(listed.key);
      if (!isWanted(listed.key)) continue;
      const before = known.get(listed.key);
      if (before?.version === listed.version) unchanged += before.isWritten ? 0 : 1;
      else pending.push({ listed, knownId: before?.id ?? null });
    }
    // A listing that endlessly repeats entries or faults has few distinct entries, so count all of them.
    listedCount += listing.entries.length + listing.faults.length;
    if (listedCount > ENTRIES_MAX) {
      throw new SourceFault(
        'source_too_large',
        `the source has more than ${ENTRIES_MAX} entries; narrow it, or split it into several`,
      );
    }
  }
  // A folder that can't be listed also hides wanted entries below it.
  const hidesWanted = ({ key, isFolder }: EntryFault) =>
    isFolder === true && source.retryKeys?.some((wanted) => wanted.startsWith(`${key}/`)) === true;
  const faults = found.filter((fault) => isWanted(fault.key) || hidesWanted(fault));
  const isKept = keptByFaults(faults);
  const vanished = [...known.values()].filter(({ key }) => isWanted(key) && !seen.has(key) && !isKept(key));
  if (seen.size === 0 && vanished.length > 0 && !source.allowsEmpty) throw emptied(source, known.size);
  return { pending, vanished: new Map(vanished.map((entry) => [entry.id, entry])), unchanged, faults };
}

/** Return a predicate for the keys to synchronise. A folder stands for everything below it. */
function wantedKeys(keys: readonly string[] | null): (key: string) => boolean {
  if (keys === null) return () => true;
  const own = new Set(keys);
  const folders = keys.map((key) => `${key}/`);
  return (key) => own.has(key) || folders.some((folder) => key.startsWith(folder));
}

function emptied({ name }: Source, before: number): SourceFault {
  return new SourceFault(
    'source_emptied',
    `the source has no entries, and had ${before} before; its documents were kept. Check that it is mounted and complete. If it was emptied on purpose, run: service sources sync ${name} --allow-empty (POST …/sync with allow_empty in the API)`,
  );
}

async function workOf(
  { sql, source }: WriteContext,
  batch: readonly PendingEntry[],
  read: readonly ReadEntry[],
): Promise<EntryWork[]> {
  const idByKey = new Map(batch.map(({ listed, knownId }) => [listed.key, knownId]));
  const ids = [...idByKey.values()].filter((id) => id !== null);
  const known = ids.length === 0 ? new Map() : await findEntries(sql, source.orgId, ids);
  return read.map((each) => ({ read: each, known: known.get(idByKey.get(each.key) ?? '') ?? null }));
}

/** Return a function that finds vanished entries by content. A match leaves `vanished`: it was only renamed. */
function renameFinder({ sql, source }: WriteContext, vanished: Map<string, KnownEntry>): FindRenamed {
  const bySize = Map.groupBy(vanished.values(), ({ sizeBytes }) => sizeBytes);
  return async ({ key }, sizeBytes, sha256) => {
    // The extension affects format detection.
    const candidates = (bySize.get(sizeBytes) ?? []).filter(
      (entry) => vanished.has(entry.id) && path.extname(entry.key) === path.extname(key),
    );
    if (sizeBytes === 0 || candidates.length === 0) return null;
    const ids = candidates.map(({ id }) => id);
    const found = await findByContent(sql, source.orgId, ids, sha256);
    // Another entry of the batch may have claimed it meanwhile.
    return found !== null && vanished.delete(found.id) ? found : null;
  };
}

/** Run `work` on batches of bounded size, with bounded concurrency. Stop at the first failure. */
async function forEachBatch(
  pending: readonly PendingEntry[],
  work: (batch: readonly PendingEntry[]) => Promise<void>,
): Promise<void> {
  const batches = batchesOf(pending);
  const run = async () => {
    for (const batch of batches) await work(batch);
  };
  const outcomes = await Promise.allSettled(
    Array.from({ length: BATCHES_IN_PROGRESS }, () =>
      run().catch((error: unknown) => {
        batches.return(undefined);
        throw error;
      }),
    ),
  );
  for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
}

function* batchesOf(pending: readonly PendingEntry[]): Generator<readonly PendingEntry[], undefined> {
  let batch: PendingEntry[] = [];
  let bytes = 0;
  for (const each of pending) {
    if (batch.length === BATCH_ENTRIES || (batch.length > 0 && bytes + each.listed.sizeBytes > BATCH_BYTES)) {
      yield batch;
      batch = [];
      bytes = 0;
    }
    batch.push(each);
    bytes += each.listed.sizeBytes;
  }
  if (batch.length > 0) yield batch;
  return undefined;
}
