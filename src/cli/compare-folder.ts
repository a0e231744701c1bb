import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { PathDocument } from '../documents/content-store.ts';
import { type FolderPlace, openFolderReader } from '../memory/readers/folder-reader.ts';
import type { Globs } from '../memory/readers/globs.ts';
import { type EntryFault, keptByFaults } from '../memory/readers/source-reader.ts';
import { describeReadRefusal, isRefusal } from '../platform/file-refusal.ts';
import { oneLine } from '../platform/printable.ts';
import type { FoundFile } from './collect-files.ts';
import type { Session } from './session.ts';

/** Folder on this host whose files become documents of a bucket. */
export interface SyncedFolder {
  readonly place: FolderPlace;
  readonly bucketId: string;
  /** Prefix that turns a path in the folder into a source path: empty, or ending in `/`. */
  readonly prefix: string;
  readonly globs: Globs;
}

/** Difference between the files of a folder and the documents of a bucket. */
export interface FolderDifference {
  readonly added: readonly FoundFile[];
  readonly changed: readonly FoundFile[];
  /** Number of files in the folder, including empty ones. */
  readonly files: number;
  /** Number of documents compared with the files. */
  readonly known: number;
  /** Documents whose file is gone. */
  readonly vanished: readonly PathDocument[];
  readonly unchanged: number;
  /** Documents of unchanged files whose ingestion failed earlier. */
  readonly failedBefore: number;
  /** Unreadable files and folders, and empty files. Their documents stay. */
  readonly faults: readonly EntryFault[];
}

/**
 * Compare a folder with the uploaded documents of a bucket, by path, size and SHA-256. Skip documents without a source
 * path, documents of connected sources, and paths outside the prefix.
 *
 * @throws SourceFault if the folder cannot be listed
 */
export async function compareFolder(
  session: Session,
  folder: SyncedFolder,
  signal: AbortSignal,
): Promise<FolderDifference> {
  const { place, globs } = folder;
  const prefix = folder.prefix.normalize('NFC');
  const known = await readKnown(session, { ...folder, prefix });
  const seen = new Set<string>();
  const added: FoundFile[] = [];
  const changed: FoundFile[] = [];
  const faults: EntryFault[] = [];
  let unchanged = 0;
  let failedBefore = 0;
  const reader = openFolderReader({
    root: place.base,
    path: '.',
    dataDir: place.dataDir,
    globs,
    bytesMax: Number.POSITIVE_INFINITY, // Only names are listed; an upload has its own bound.
  });
  for await (const listing of reader.list(signal)) {
    faults.push(...listing.faults.map((fault) => ({ ...fault, key: (prefix + fault.key).normalize('NFC') })));
    for (const { key, sizeBytes } of listing.entries) {
      signal.throwIfAborted();
      // macOS names files in NFD. A different Unicode form isn't a change.
      const sourcePath = prefix + oneLine(key).normalize('NFC');
      if (seen.has(sourcePath)) {
        faults.push({
          key: sourcePath,
          fault: 'another file has the same name in another Unicode form; rename one of them',
        });
        continue;
      }
      seen.add(sourcePath);
      const file = { path: path.join(place.base, key), sourcePath };
      const before = known.get(sourcePath);
      if (sizeBytes === 0) faults.push({ key: sourcePath, fault: 'it is empty' });
      else if (before === undefined) added.push(file);
      else if (before.sizeBytes !== sizeBytes || (await isOther(file, before, faults, signal))) changed.push(file);
      else {
        unchanged++;
        if (before.status === 'failed') failedBefore++;
      }
    }
  }
  const isKept = keptByFaults(faults);
  const vanished = [...known.values()].filter(
    ({ sourcePath }) => !seen.has(sourcePath.normalize('NFC')) && !isKept(sourcePath),
  );
  const counts = { files: seen.size, known: known.size, unchanged, failedBefore };
  return { added, changed, vanished, faults, ...counts };
}

async function readKnown(session: Session, { bucketId, prefix }: SyncedFolder): Promise<Map<string, PathDocument>> {
  const known = new Map<string, PathDocument>();
  for (let after = ''; ; ) {
    const page = await session.call('documents.paths', { bucket_id: bucketId, prefix, after });
    for (const document of page) known.set(document.sourcePath.normalize('NFC'), document);
    const last = page.at(-1);
    if (last === undefined) return known;
    after = last.sourcePath;
  }
}

/** Return true if a file's content differs from its document's. Report an unreadable file as a fault. */
async function isOther(
  { path: name, sourcePath }: FoundFile,
  { sha256 }: PathDocument,
  faults: EntryFault[],
  signal: AbortSignal,
): Promise<boolean> {
  const hash = createHash('sha256');
  try {
    await pipeline(createReadStream(name), hash, { signal });
  } catch (error) {
    signal.throwIfAborted();
    const why = isRefusal(error) ? `: ${describeReadRefusal(name)}` : '';
    faults.push({ key: sourcePath, fault: `it cannot be read (${(error as NodeJS.ErrnoException).code})${why}` });
    return false;
  }
  return hash.digest('hex') !== sha256;
}
