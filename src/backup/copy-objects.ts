import { AppError, tryLater } from '../platform/errors.ts';
import type { ListedObject, Objects } from '../platform/objects/objects.ts';
import { hashStream, JsonLinesWriter, type SortedCursor, sha256Of } from './files.ts';
import { contentKey } from './layout.ts';
import type { LineFile, ObjectEntry } from './schema.ts';
import { hasContent, inGroups, isBackedUp } from './stored-objects.ts';

/** Maximum size of a file to hold in memory, so that it is read only once. */
const MEMORY_BYTES_MAX = 1024 * 1024;
/** Maximum number of attempts to read a file that is replaced meanwhile. */
const ATTEMPTS_MAX = 3;

/** Figures of one pass over the files of the installation. */
export interface CopyReport {
  files: number;
  bytes: number;
  /** Number and size of files whose content was not stored before. */
  newFiles: number;
  newBytes: number;
}

export interface CopyOptions {
  /** Lists of files stored earlier. A file with an unchanged tag isn't read again. */
  readonly known: readonly SortedCursor<ObjectEntry>[];
  readonly listKey: string;
  /** Prefixes of the keys to store, in byte order; by default the empty prefix. */
  readonly prefixes?: readonly string[];
  readonly signal: AbortSignal;
  readonly onFile?: (done: number) => void;
}

/** Store the content of every file, and write the list of files. */
export async function copyObjects(
  source: Objects,
  target: Objects,
  options: CopyOptions,
): Promise<CopyReport & { list: LineFile }> {
  const { known, listKey, signal } = options;
  const report: CopyReport = { files: 0, bytes: 0, newFiles: 0, newBytes: 0 };
  const list = new JsonLinesWriter(target, listKey, signal);
  try {
    for await (const group of inGroups(listBackedUp(source, options.prefixes ?? [''], signal))) {
      signal.throwIfAborted();
      const before: (ObjectEntry | null)[] = [];
      for (const listed of group) before.push(await findUnchanged(known, listed));
      const stored = await Promise.all(
        group.map((listed, nth) => storeObject(source, target, listed, before[nth] ?? null, signal)),
      );
      for (const result of stored) {
        if (result === null) continue;
        const { entry, isNew } = result;
        report.files++;
        report.bytes += entry.size_bytes;
        report.newFiles += isNew ? 1 : 0;
        report.newBytes += isNew ? entry.size_bytes : 0;
        await list.write(entry);
      }
      options.onFile?.(report.files);
    }
    return { ...report, list: await list.close() };
  } catch (error) {
    await list.abandon(error as Error);
    throw error;
  } finally {
    for (const cursor of known) await cursor.close();
  }
}

/** Count the files, and those that `copyObjects` would read. */
export async function measureObjects(
  source: Objects,
  known: readonly SortedCursor<ObjectEntry>[],
  signal: AbortSignal,
): Promise<CopyReport> {
  const report: CopyReport = { files: 0, bytes: 0, newFiles: 0, newBytes: 0 };
  for await (const listed of listBackedUp(source, [''], signal)) {
    const isNew = (await findUnchanged(known, listed)) === null;
    report.files++;
    report.bytes += listed.sizeBytes;
    report.newFiles += isNew ? 1 : 0;
    report.newBytes += isNew ? listed.sizeBytes : 0;
  }
  for (const cursor of known) await cursor.close();
  return report;
}

async function* listBackedUp(
  source: Objects,
  prefixes: readonly string[],
  signal: AbortSignal,
): AsyncGenerator<ListedObject> {
  for (const prefix of prefixes) {
    for await (const listed of source.list(prefix, { signal })) if (isBackedUp(listed.key)) yield listed;
  }
}

async function findUnchanged(
  known: readonly SortedCursor<ObjectEntry>[],
  { key, sizeBytes, tag }: ListedObject,
): Promise<ObjectEntry | null> {
  let unchanged: ObjectEntry | null = null;
  // Every cursor must advance, even if an earlier one has the file.
  for (const cursor of known) {
    const entry = await cursor.find(key);
    if (entry !== null && entry.size_bytes === sizeBytes && entry.tag === tag && tag !== '') unchanged ??= entry;
  }
  return unchanged;
}

/** Store a file. Return null if it was deleted in the meantime. */
async function storeObject(
  source: Objects,
  target: Objects,
  listed: ListedObject,
  before: ObjectEntry | null,
  signal: AbortSignal,
): Promise<{ entry: ObjectEntry; isNew: boolean } | null> {
  // If the content has been lost meanwhile, store it again.
  if (before !== null && (await hasContent(target, before, signal))) return { entry: before, isNew: false };
  for (let attempt = 1; ; attempt++) {
    const stored = await readOnce(source, target, listed, signal);
    if (stored === 'deleted') return null;
    if (stored === 'replaced' && attempt < ATTEMPTS_MAX) continue;
    if (stored === 'replaced') throw changing(listed.key);
    const { sha256, sizeBytes, isNew } = stored;
    // A file that was replaced after listing gets no tag, so that the next pass reads it again.
    const tag = sizeBytes === listed.sizeBytes ? listed.tag : '';
    return { entry: { key: listed.key, size_bytes: sizeBytes, sha256, tag }, isNew };
  }
}

type Stored = { readonly sha256: string; readonly sizeBytes: number; readonly isNew: boolean };

async function readOnce(
  source: Objects,
  target: Objects,
  { key, sizeBytes }: ListedObject,
  signal: AbortSignal,
): Promise<Stored | 'deleted' | 'replaced'> {
  try {
    if (sizeBytes <= MEMORY_BYTES_MAX) {
      const bytes = await source.get(key, { signal });
      const content = { sha256: sha256Of(bytes), size_bytes: bytes.length };
      const isNew = !(await hasContent(target, content, signal));
      if (isNew) await target.put(contentKey(content.sha256), bytes, { signal });
      return { sha256: content.sha256, sizeBytes: bytes.length, isNew };
    }
    const content = await hashStream(source.stream(key, { signal }));
    if (await hasContent(target, { sha256: content.sha256, size_bytes: content.sizeBytes }, signal))
      return { ...content, isNew: false };
    const stored = await target.put(contentKey(content.sha256), source.stream(key, { signal }), { signal });
    if (stored.sha256 === content.sha256) return { ...content, isNew: true };
    await target.delete(contentKey(content.sha256), { signal });
    return 'replaced';
  } catch (error) {
    if (error instanceof AppError && error.code === 'object_not_found') return 'deleted';
    throw error;
  }
}

function changing(key: string): AppError {
  return tryLater(
    `the file ${key} was replaced repeatedly while it was being read; make the backup again`,
    'backup_source_changing',
  );
}
