import type { Dirent } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { fileError } from './read-lines.ts';

export interface FoundFile {
  /** Absolute path of the file; `-` for stdin. */
  readonly path: string;
  /** Path relative to the named folder, with `/` and in NFC; the file name if the file itself was named. */
  readonly sourcePath: string;
}

export interface FileCollection {
  /** Files in the order of the arguments, and by name within a folder. */
  readonly files: FoundFile[];
  /** Skipped entries: hidden files, links, devices, sockets, and subfolders without `recursive`. */
  readonly skipped: { path: string; reason: 'hidden' | 'link' | 'not a file' | 'folder' }[];
  /** Unreadable folders. An unreadable file is only noticed on upload. */
  readonly unreadable: { path: string; sourcePath: string; error: unknown }[];
}

/**
 * Collect the files that paths stand for. A folder stands for the files directly in it (with `recursive`, all files
 * below it), and `-` for stdin. Follow a named path if it is a link, and include it even if it is hidden.
 *
 * @throws AppError `file_not_found` (404) for a path that does not exist
 */
export async function collectFiles(
  paths: readonly string[],
  options: { recursive: boolean; stdinName?: string | undefined },
): Promise<FileCollection> {
  const collection: FileCollection = { files: [], skipped: [], unreadable: [] };
  const seen = new Set<string>();
  for (const named of paths) {
    if (named === '-') {
      take('-', options.stdinName ?? 'stdin', collection, seen);
      continue;
    }
    const absolute = path.resolve(named);
    const kind = await stat(absolute).catch((error) => {
      throw fileError(named, error);
    });
    if (kind.isDirectory()) await walk(absolute, absolute, options.recursive, collection, seen);
    else if (kind.isFile()) take(absolute, path.basename(absolute).normalize('NFC'), collection, seen);
    else collection.skipped.push({ path: absolute, reason: 'not a file' });
  }
  return collection;
}

async function walk(
  root: string,
  folder: string,
  recursive: boolean,
  collection: FileCollection,
  seen: Set<string>,
): Promise<void> {
  let entries: Dirent[];
  try {
    entries = await readdir(folder, { withFileTypes: true });
  } catch (error) {
    collection.unreadable.push({ path: folder, sourcePath: relative(root, folder), error });
    return;
  }
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const entryPath = path.join(folder, entry.name);
    if (entry.name.startsWith('.')) collection.skipped.push({ path: entryPath, reason: 'hidden' });
    else if (entry.isSymbolicLink()) collection.skipped.push({ path: entryPath, reason: 'link' });
    else if (entry.isFile()) take(entryPath, relative(root, entryPath), collection, seen);
    else if (!entry.isDirectory()) collection.skipped.push({ path: entryPath, reason: 'not a file' });
    else if (recursive) await walk(root, entryPath, recursive, collection, seen);
    else collection.skipped.push({ path: entryPath, reason: 'folder' });
  }
}

function take(file: string, sourcePath: string, collection: FileCollection, seen: Set<string>): void {
  if (seen.has(file)) return;
  seen.add(file);
  collection.files.push({ path: file, sourcePath });
}

function relative(root: string, file: string): string {
  return path.relative(root, file).split(path.sep).join('/').normalize('NFC');
}
