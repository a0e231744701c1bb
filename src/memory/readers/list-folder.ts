import { lstatSync, readdirSync, realpathSync, type Stats, statSync } from 'node:fs';
import path from 'node:path';
import { compileGlobs, type Globs } from './globs.ts';
import {
  controlFault,
  type EntryFault,
  type ListedEntry,
  type Listing,
  longKeyFault,
  withoutControl,
} from './source-reader.ts';

/** Number of entries after which a slice ends, once the current folder is complete. */
const SLICE_ENTRIES = 4_000;
/** Number of folders after which a slice ends. */
const SLICE_FOLDERS = 1_000;

export interface FolderSlice {
  /** Real path of the source's folder. */
  readonly base: string;
  /** Real path that contains everything the source may read. */
  readonly root: string;
  /** Real path of the service's data directory, which is never listed. */
  readonly dataDir: string;
  readonly globs: Globs;
  /** Folders still to be listed, relative to `base`. */
  readonly pending: readonly string[];
}

export interface ListedSlice extends Listing {
  readonly pending: readonly string[];
}

/** Return true if a path is the folder or below it. */
export function isWithin(folder: string, target: string): boolean {
  return target === folder || target.startsWith(folder.endsWith(path.sep) ? folder : folder + path.sep);
}

/** Build the version of a file. `mtimeMs` has a fraction if the file system stores one. */
export function versionOf(stats: Pick<Stats, 'size' | 'mtimeMs'>): string {
  return `${stats.size}-${stats.mtimeMs}`;
}

/**
 * List the next folders of a tree. This runs on a worker thread, since synchronous file system calls take a fifth
 * of the time. Follow links only to files inside `root`. Skip other links and special files.
 */
export function listSlice(slice: FolderSlice): ListedSlice {
  const globs = compileGlobs(slice.globs);
  const pending = [...slice.pending];
  const entries: ListedEntry[] = [];
  const faults: EntryFault[] = [];
  for (let folders = 0; folders < SLICE_FOLDERS; folders++) {
    const folder = pending.pop();
    if (folder === undefined) break;
    listOne(slice, folder, globs, { pending, entries, faults });
    if (entries.length + faults.length >= SLICE_ENTRIES) break;
  }
  return { pending, entries, faults };
}

interface Found {
  readonly pending: string[];
  readonly entries: ListedEntry[];
  readonly faults: EntryFault[];
}

function listOne(slice: FolderSlice, folder: string, globs: ReturnType<typeof compileGlobs>, found: Found): void {
  const absolute = path.join(slice.base, folder);
  if (isWithin(slice.dataDir, absolute)) return;
  let items: ReturnType<typeof readFolder>;
  try {
    items = readFolder(absolute);
  } catch (error) {
    // A folder removed meanwhile counts as removed. The documents of unreadable folders stay.
    if (codeOf(error) === 'ENOENT' && folder !== '') return;
    found.faults.push({ key: folder, isFolder: true, fault: `the folder cannot be read (${codeOf(error)})` });
    return;
  }
  for (const item of items) {
    const key = folder === '' ? item.name : `${folder}/${item.name}`;
    const fault = nameFault(absolute, item.name);
    if (fault !== null) {
      const isFolder = item.isDirectory();
      const shown = withoutControl(key);
      if (isFolder ? !globs.excludesFolder(shown) && !item.name.startsWith('.') : globs.matches(shown))
        found.faults.push({ key: shown, fault, ...(isFolder ? { isFolder } : {}) });
      continue;
    }
    if (item.isDirectory()) {
      if (!globs.excludesFolder(key)) found.pending.push(key);
    } else if ((item.isFile() || item.isSymbolicLink()) && globs.matches(key)) {
      listFile(slice, key, item.isSymbolicLink(), found);
    }
  }
}

/** Return why a file with this name can't become a document, or null if it can. */
function nameFault(folder: string, name: string): string | null {
  const control = controlFault(name);
  if (control !== null) return control.fault;
  if (!name.includes('\ufffd')) return null;
  // The character replaces bytes that aren't UTF-8, unless the name really contains it.
  const isReal = lstatSync(path.join(folder, name), { throwIfNoEntry: false }) !== undefined;
  return isReal ? null : 'its name is not UTF-8; rename it';
}

function readFolder(absolute: string) {
  return readdirSync(absolute, { withFileTypes: true });
}

function listFile(slice: FolderSlice, key: string, isLink: boolean, { entries, faults }: Found): void {
  const absolute = path.join(slice.base, key);
  const tooLong = longKeyFault(key);
  if (tooLong !== null) {
    faults.push(tooLong);
    return;
  }
  try {
    if (isLink) {
      const target = realpathSync(absolute);
      if (!isWithin(slice.root, target) || isWithin(slice.dataDir, target)) return;
    }
    const stats = isLink ? statSync(absolute) : lstatSync(absolute);
    if (stats.isFile()) entries.push({ key, version: versionOf(stats), sizeBytes: stats.size });
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') faults.push({ key, fault: `it cannot be read (${codeOf(error)})` });
  }
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? 'unknown';
}
