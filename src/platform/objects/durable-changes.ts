import { createHash } from 'node:crypto';
import {
  closeSync,
  fstatSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  renameSync,
  rmdirSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import path from 'node:path';
import { LRUCache } from 'lru-cache';
import { freeMemory } from '../free-memory.ts';
import { loadSyncfs, type Syncfs } from './syncfs.ts';

/**
 * Minimum number of files or folders for flushing the whole file system instead, which takes about as long as one
 * flush.
 */
const GROUP_MIN = 8;
/** Number of attempts to move a file into its folder. Another process may remove the folder while it is empty. */
const PLACE_ATTEMPTS = 10;
const FLUSHED_FOLDERS_MAX = 4_096;

/** File to be moved into place. */
export interface NewFile {
  /** Name before the move, on the same file system. */
  readonly temporary: string;
  readonly target: string;
  /** Content to write first; null if the temporary file is complete and flushed. */
  readonly bytes: Uint8Array | null;
}

/** Change of files that is durable once done. */
export type DurableChange =
  /** Write files; with `ifAbsent` only where none exists. After a failure, some may be in place. */
  | { readonly kind: 'write'; readonly files: readonly NewFile[]; readonly ifAbsent: boolean }
  /** Make the removal of an entry from `folder` durable, and remove folders that became empty. */
  | { readonly kind: 'removal'; readonly folder: string };

/** Fault of a file operation. It is a value, since errors lose their fields between threads. */
export interface FileFault {
  readonly code: string;
  readonly path: string;
  readonly syscall: string;
  readonly message: string;
}

export interface Changed {
  /** Null if the change succeeded. */
  readonly fault: FileFault | null;
  /** SHA-256, in hexadecimal, of the content of each file that was written. */
  readonly sha256: readonly string[];
}

/** Change and its progress. */
interface Progress {
  readonly change: DurableChange;
  readonly sha256: string[];
  fault: FileFault | null;
}

/** File or folder to flush, and the changes that wait for it. */
interface Unflushed {
  readonly changes: Progress[];
  readonly flush: () => void;
}

/**
 * Makes changes of files below a folder durable, many at a time. Each file is written under a temporary name, flushed
 * and moved into place; then its folder is flushed. Every call blocks on the disk, so use this on a dedicated thread.
 */
export class DurableChanges {
  readonly #root: string;
  readonly #load: (folder: string) => Syncfs | null;
  /** Undefined until first needed; null if the system has none. */
  #syncfs: Syncfs | null | undefined;
  /**
   * Identities of folders that are durable with their path from the root, by name. A name may now belong to another
   * folder.
   */
  readonly #flushed = new LRUCache<string, string>({ max: FLUSHED_FOLDERS_MAX });

  /** @param load loads the function that flushes a whole file system; null if there is none */
  constructor(root: string, load = loadSyncfs) {
    this.#root = root;
    this.#load = load;
  }

  /** Make changes, each of which may fail alone. @returns their outcomes, in order */
  make(changes: readonly DurableChange[]): Changed[] {
    const made = changes.map((change): Progress => ({ change, sha256: [], fault: null }));
    this.#flush(made.flatMap(writeFiles));
    for (const progress of made) placeFiles(progress);
    this.#flush(this.#foldersOf(made));
    for (const progress of made) removeTemporary(progress);
    return made.map(({ fault, sha256 }) => ({ fault, sha256 }));
  }

  /** Flush the whole file system if there are many. Otherwise, or if that fails, flush one by one. */
  #flush(unflushed: readonly Unflushed[]): void {
    if (unflushed.length >= GROUP_MIN && this.#flushFileSystem()) return;
    for (const { changes, flush } of unflushed) {
      const fault = faultOf(flush);
      for (const progress of changes) progress.fault ??= fault;
    }
  }

  /** @returns true if it was flushed */
  #flushFileSystem(): boolean {
    try {
      if (this.#syncfs === undefined) this.#syncfs = this.#load(this.#root);
      if (this.#syncfs === null) return false;
      withOpen(this.#root, 'r', this.#syncfs);
      return true;
    } catch {
      this.#syncfs ??= null;
      return false;
    }
  }

  #foldersOf(made: readonly Progress[]): Unflushed[] {
    const removals: Unflushed[] = [];
    const folders = new Map<string, Unflushed>();
    for (const progress of made) {
      if (progress.fault !== null) continue;
      const { change } = progress;
      if (change.kind === 'removal') {
        removals.push({ changes: [progress], flush: this.#prune(change.folder) });
        continue;
      }
      for (const name of new Set(change.files.map(({ target }) => path.dirname(target)))) {
        const folder = folders.get(name) ?? { changes: [], flush: () => ignoreMissing(() => this.#flushPath(name)) };
        folder.changes.push(progress);
        folders.set(name, folder);
      }
    }
    return [...removals, ...folders.values()];
  }

  /** Remove the empty folders from `start` upwards. @returns function that flushes the first folder that isn't empty */
  #prune(start: string): () => void {
    for (let folder = start; folder !== this.#root; folder = path.dirname(folder)) {
      const fault = faultOf(() => rmdirSync(folder));
      if (fault === null || fault.code === 'ENOENT') continue;
      return () => void faultOf(() => flushFolder(folder)); // another process may have just removed it
    }
    return () => void flushFolder(this.#root);
  }

  /**
   * Flush `folder` and the folders above it, up to the root or to one whose path this process has flushed before.
   * Include existing folders, since another writer may have created one and not flushed it yet.
   */
  #flushPath(folder: string): void {
    const flushed: [folder: string, identity: string][] = [];
    for (let current = folder; ; current = path.dirname(current)) {
      const identity = flushFolder(current);
      if (this.#flushed.get(current) === identity) break;
      flushed.push([current, identity]);
      if (current === this.#root) break;
    }
    for (const [name, identity] of flushed) this.#flushed.set(name, identity);
  }
}

/** Write the temporary files of a change, and free their bytes. @returns the written files */
function writeFiles(progress: Progress): Unflushed[] {
  if (progress.change.kind !== 'write') return [];
  const written = progress.change.files.filter(hasBytes);
  progress.fault = faultOf(() => {
    for (const { temporary, bytes } of written) {
      withOpen(temporary, 'wx', (file) => {
        for (let end = 0; end < bytes.length; ) end += writeSync(file, bytes, end);
      });
      progress.sha256.push(createHash('sha256').update(bytes).digest('hex'));
    }
    for (const { bytes } of written) freeMemory(bytes);
  });
  if (progress.fault !== null) return [];
  return written.map(({ temporary }) => ({ changes: [progress], flush: () => withOpen(temporary, 'r+', fsyncSync) }));
}

/** Move the files of a change into place. */
function placeFiles(progress: Progress): void {
  const { change } = progress;
  if (change.kind !== 'write' || progress.fault !== null) return;
  progress.fault = faultOf(() => {
    for (const file of change.files) placeFile(file, change.ifAbsent);
  });
}

function placeFile({ temporary, target }: NewFile, ifAbsent: boolean): void {
  for (let attempt = 1; ; attempt++) {
    try {
      if (attempt > 1) mkdirSync(path.dirname(target), { recursive: true, mode: 0o700 });
      // A link fails if the file exists; a rename would replace it.
      if (ifAbsent) linkSync(temporary, target);
      else renameSync(temporary, target);
      return;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || attempt === PLACE_ATTEMPTS) throw error;
    }
  }
}

/** Remove temporary files that a change wrote but didn't move. */
function removeTemporary({ change, fault }: Progress): void {
  if (change.kind !== 'write' || (fault === null && !change.ifAbsent)) return;
  for (const { temporary } of change.files.filter(hasBytes)) faultOf(() => unlinkSync(temporary));
}

function hasBytes(file: NewFile): file is NewFile & { readonly bytes: Uint8Array } {
  return file.bytes !== null;
}

/** Flush a folder. @returns its identity, since another folder may later have its name */
function flushFolder(folder: string): string {
  return withOpen(folder, 'r', (file) => {
    fsyncSync(file);
    const { dev, ino, birthtimeNs } = fstatSync(file, { bigint: true });
    return `${dev} ${ino} ${birthtimeNs}`;
  });
}

function withOpen<T>(name: string, flags: string, use: (file: number) => T): T {
  const file = openSync(name, flags, 0o600);
  try {
    return use(file);
  } finally {
    closeSync(file);
  }
}

/**
 * Run a step, and ignore a missing folder: another process may delete a folder right after a file was written there.
 */
function ignoreMissing(step: () => void): void {
  const fault = faultOf(step);
  if (fault !== null && fault.code !== 'ENOENT' && fault.code !== 'ENOTDIR') throw toError(fault);
}

function faultOf(step: () => void): FileFault | null {
  try {
    step();
    return null;
  } catch (error) {
    const { code = '', syscall = '', path = '', message } = error as NodeJS.ErrnoException;
    return { code, syscall, path, message };
  }
}

/** Convert a fault to the error that it describes. */
export function toError({ message, ...about }: FileFault): NodeJS.ErrnoException {
  return Object.assign(new Error(message), about);
}
