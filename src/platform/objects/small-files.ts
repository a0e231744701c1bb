import { randomUUID } from 'node:crypto';
import { open } from 'node:fs/promises';
import path from 'node:path';
import pLimit from 'p-limit';
import { ownBuffersOf, type Threads } from '../threads.ts';
import { type FolderFlusher, isMissing, translate } from './durable-file.ts';
import type { FileFault, ReadFiles, ReadRequest } from './files-on-thread.ts';
import type { GroupFlusher } from './group-flush.ts';

const MODULE = new URL('./files-on-thread.ts', import.meta.url);
/** Files and folders flushed at a time where they cannot be flushed together. */
const FLUSHES_AT_ONCE = 4;

/** A file to be written: its bytes, and its name in the end. */
export interface NewFile {
  readonly target: string;
  readonly bytes: Uint8Array;
}

/** Reads and writes many small files by a few tasks of worker threads. */
export class SmallFiles {
  readonly #threads: Threads;
  readonly #temporary: string;
  readonly #groups: GroupFlusher;
  readonly #folders: FolderFlusher;

  /** @param context.temporary folder of temporary files, in the file system of the others */
  constructor(context: { threads: Threads; temporary: string; groups: GroupFlusher; folders: FolderFlusher }) {
    this.#threads = context.threads;
    this.#temporary = context.temporary;
    this.#groups = context.groups;
    this.#folders = context.folders;
  }

  /** @returns views of one buffer; null in place of a file that is missing, too large, or cannot be read */
  async read(request: ReadRequest): Promise<(Uint8Array | null)[]> {
    const { bytes, ends } = await this.#threads.run<ReadFiles>(MODULE, 'readFiles', request);
    let from = 0;
    return ends.map((end) => {
      if (end === null) return null;
      const own = bytes.subarray(from, end);
      from = end;
      return own;
    });
  }

  /**
   * Write files under temporary names, flush them, rename them, and flush their folders. If that fails, some of them
   * may be in their places.
   *
   * @param files their bytes must not be used afterwards
   * @throws as the disk driver's `put`
   */
  async write(files: readonly NewFile[], signal: AbortSignal | undefined): Promise<void> {
    const moves = files.map(({ target }) => ({ name: path.join(this.#temporary, randomUUID()), target }));
    const names = moves.map(({ name }) => name);
    const contents = files.map(({ bytes }, at) => ({ name: names[at], bytes }));
    let isDone = false;
    try {
      // A task is not interrupted: what it writes is removed below.
      await this.#run('writeFiles', contents, ownBuffersOf(files.map(({ bytes }) => bytes)));
      await this.#groups.flush(() => flushEach(names, flushFile), names.length);
      signal?.throwIfAborted();
      await this.#run('placeFiles', moves);
      isDone = true;
    } catch (error) {
      signal?.throwIfAborted();
      throw translate(error);
    } finally {
      if (!isDone) await this.#threads.run(MODULE, 'removeFiles', names).catch(() => undefined);
    }
    await this.#flushFolders([...new Set(files.map(({ target }) => path.dirname(target)))]);
  }

  async #flushFolders(folders: readonly string[]): Promise<void> {
    const flushPath = (folder: string) =>
      this.#folders.flushPath(folder).catch((error: unknown) => {
        if (!isMissing(error)) throw translate(error); // missing: another process deleted it right after the write
      });
    await this.#groups.flush(() => flushEach(folders, flushPath), folders.length);
  }

  async #run(name: string, argument: unknown, transfer: ArrayBuffer[] = []): Promise<void> {
    const fault = await this.#threads.run<FileFault | null>(MODULE, name, argument, { transfer });
    if (fault !== null) throw Object.assign(new Error(fault.message), { code: fault.code, syscall: fault.syscall });
  }
}

async function flushEach(names: readonly string[], flush: (name: string) => Promise<void>): Promise<void> {
  const limit = pLimit(FLUSHES_AT_ONCE);
  await Promise.all(names.map((name) => limit(() => flush(name))));
}

async function flushFile(name: string): Promise<void> {
  const file = await open(name, 'r+');
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}
