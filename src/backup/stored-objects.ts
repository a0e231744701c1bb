import type { Objects } from '../platform/objects/objects.ts';
import { PROBES_PREFIX } from '../platform/objects/probe-objects.ts';
import { type HashedFile, readLines, SortedCursor } from './files.ts';
import { contentKey } from './layout.ts';
import { ObjectEntry } from './schema.ts';

/** Maximum number of files to read, write or check concurrently. */
export const FILES_AT_ONCE = 16;

/** Return true if an object belongs in a backup. Objects without a folder describe the storage itself. */
export function isBackedUp(key: string): boolean {
  return key.includes('/') && !key.startsWith(PROBES_PREFIX);
}

/** Read the list of files of a backup, in the byte order of their keys. @throws AppError as `openLineFile` */
export async function* readObjectEntries(
  objects: Objects,
  file: HashedFile,
  signal: AbortSignal,
): AsyncGenerator<ObjectEntry> {
  for await (const line of readLines(objects, file, signal)) yield ObjectEntry.parse(JSON.parse(line));
}

/** Return true if the content with this hash is stored with this size. */
export async function hasContent(
  objects: Objects,
  { sha256, size_bytes }: Pick<ObjectEntry, 'sha256' | 'size_bytes'>,
  signal: AbortSignal,
): Promise<boolean> {
  return (await objects.head(contentKey(sha256), { signal }))?.sizeBytes === size_bytes;
}

/** Group items into arrays of at most `FILES_AT_ONCE`. */
export async function* inGroups<T>(items: AsyncIterable<T>): AsyncGenerator<T[]> {
  let group: T[] = [];
  for await (const item of items) {
    group.push(item);
    if (group.length < FILES_AT_ONCE) continue;
    yield group;
    group = [];
  }
  if (group.length > 0) yield group;
}

/** Find the keys of `references` that are missing in `entries`. Both are in the byte order of keys. */
export async function* findMissing(
  references: AsyncIterable<string>,
  entries: AsyncIterable<{ readonly key: string }>,
): AsyncGenerator<string> {
  const cursor = new SortedCursor(entries);
  try {
    for await (const key of references) if ((await cursor.find(key)) === null) yield key;
  } finally {
    await cursor.close();
  }
}
