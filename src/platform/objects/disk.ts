import { randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { type FileHandle, link, mkdir, open, readdir, rename, rm, rmdir, stat, unlink } from 'node:fs/promises';
import path from 'node:path';
import { Readable } from 'node:stream';
import type { Threads } from '../threads.ts';
import {
  codeOf,
  FolderFlusher,
  flushFolder,
  hashAndFlush,
  isMissing,
  READ_BYTES,
  readWhole,
  removeOldFiles,
  translate,
  writeFile,
} from './durable-file.ts';
import { getEach, putEach } from './each-object.ts';
import { GroupFlusher } from './group-flush.ts';
import {
  checkKey,
  checkPrefix,
  GET_BYTES_MAX,
  type ListedObject,
  type NewObject,
  type Objects,
  objectExists,
  objectNotFound,
  objectTooLarge,
  type StoredObject,
} from './objects.ts';
import { SmallFiles } from './small-files.ts';

/**
 * Folder of temporary files. No key begins with a dot; the folder is in the file system of the objects, for renaming.
 */
const TEMPORARY = '.tmp';
const TEMPORARY_MS_MAX = 3_600_000;
/** Number of attempts to rename a file into its folder, which a concurrent delete may remove while it is empty. */
const PLACE_ATTEMPTS = 10;

/**
 * Open a storage of objects as files below `directory`; the key is the path. A file is written under a temporary name,
 * flushed to the disk, renamed, and its folder flushed. A crash leaves only temporary files; this function removes
 * those older than an hour.
 *
 * @param options.threads read and write many small objects together; without them each is read and written by itself
 */
export async function openDiskObjects(options: { directory: string; threads?: Threads }): Promise<Objects> {
  const root = path.resolve(options.directory);
  const temporary = path.join(root, TEMPORARY);
  await mkdir(temporary, { recursive: true, mode: 0o700 });
  await removeOldFiles(temporary, TEMPORARY_MS_MAX);
  return new DiskObjects(root, temporary, options.threads ?? null);
}

class DiskObjects implements Objects {
  readonly #root: string;
  readonly #temporary: string;
  readonly #flusher: FolderFlusher;
  readonly #groups: GroupFlusher;
  readonly #small: SmallFiles | null;

  constructor(root: string, temporary: string, threads: Threads | null) {
    this.#root = root;
    this.#temporary = temporary;
    this.#flusher = new FolderFlusher(root);
    this.#groups = new GroupFlusher(root);
    this.#small = threads && new SmallFiles({ threads, temporary, groups: this.#groups, folders: this.#flusher });
  }

  async put(
    key: string,
    body: Uint8Array | Readable,
    options: { ifAbsent?: boolean; signal?: AbortSignal } = {},
  ): Promise<StoredObject> {
    checkKey(key);
    options.signal?.throwIfAborted();
    const temporaryFile = path.join(this.#temporary, randomUUID());
    let isMoved = false;
    try {
      const stored = await writeFile(temporaryFile, body, this.#groups, options.signal);
      await this.#place(temporaryFile, key, options.ifAbsent === true);
      isMoved = options.ifAbsent !== true;
      return stored;
    } finally {
      if (!isMoved) await unlink(temporaryFile).catch(() => {}); // it may not exist
    }
  }

  async adopt(file: string, key: string): Promise<StoredObject> {
    checkKey(key);
    try {
      const stored = await hashAndFlush(file);
      await this.#place(file, key, false);
      return stored;
    } catch (error) {
      if (codeOf(error) !== 'EXDEV') throw translate(error);
    }
    // The file is on another file system and has to be copied.
    const stored = await this.put(key, createReadStream(file));
    await unlink(file);
    return stored;
  }

  async get(key: string, options: { maxBytes?: number; signal?: AbortSignal } = {}): Promise<Uint8Array> {
    const { maxBytes = GET_BYTES_MAX, signal } = options;
    signal?.throwIfAborted();
    const { file, size } = await this.#open(key);
    try {
      if (size > maxBytes) throw objectTooLarge(key, size, maxBytes);
      return await readWhole(file, size, signal);
    } catch (error) {
      signal?.throwIfAborted();
      throw translate(error);
    } finally {
      await file.close();
    }
  }

  async getMany(
    keys: readonly string[],
    options: { maxBytes?: number; signal?: AbortSignal } = {},
  ): Promise<(Uint8Array | null)[]> {
    if (this.#small === null) return getEach(this, keys, options);
    const { maxBytes: bytesMax = GET_BYTES_MAX, signal } = options;
    signal?.throwIfAborted();
    const read = await this.#small.read({ names: keys.map((key) => this.#pathOf(key)), bytesMax });
    signal?.throwIfAborted();
    return read;
  }

  async putMany(objects: readonly NewObject[], options: { signal?: AbortSignal } = {}): Promise<void> {
    if (this.#small === null) return putEach(this, objects, options);
    options.signal?.throwIfAborted();
    const files = objects.map(({ key, bytes }) => ({ target: this.#pathOf(key), bytes }));
    await this.#small.write(files, options.signal);
  }

  stream(key: string, options: { start?: number; end?: number; signal?: AbortSignal } = {}): Readable {
    const { start = 0, end = Number.MAX_SAFE_INTEGER, signal } = options;
    return Readable.from(this.#read(key, start, end, signal), { objectMode: false, highWaterMark: READ_BYTES });
  }

  async *#read(key: string, start: number, end: number, signal?: AbortSignal): AsyncGenerator<Uint8Array> {
    signal?.throwIfAborted();
    const { file } = await this.#open(key);
    try {
      for (let position = start; position <= end; ) {
        signal?.throwIfAborted();
        const wanted = Math.min(READ_BYTES, end - position + 1);
        const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(wanted), 0, wanted, position);
        if (bytesRead === 0) return;
        position += bytesRead;
        yield buffer.subarray(0, bytesRead);
      }
    } catch (error) {
      signal?.throwIfAborted();
      throw translate(error);
    } finally {
      await file.close();
    }
  }

  async head(key: string, { signal }: { signal?: AbortSignal } = {}): Promise<{ sizeBytes: number } | null> {
    const file = this.#pathOf(key);
    signal?.throwIfAborted();
    try {
      const found = await stat(file);
      return found.isFile() ? { sizeBytes: found.size } : null;
    } catch (error) {
      if (isMissing(error)) return null;
      throw translate(error);
    }
  }

  async delete(key: string, { signal }: { signal?: AbortSignal } = {}): Promise<void> {
    const file = this.#pathOf(key);
    signal?.throwIfAborted();
    try {
      await unlink(file);
    } catch (error) {
      if (isMissing(error)) return;
      throw translate(error);
    }
    await this.#flushAndPrune(path.dirname(file));
  }

  async *list(prefix: string, { signal }: { signal?: AbortSignal } = {}): AsyncGenerator<ListedObject> {
    if (prefix !== '') checkPrefix(prefix);
    yield* this.#walk(prefix, signal);
  }

  async deletePrefix(prefix: string, { signal }: { signal?: AbortSignal } = {}): Promise<void> {
    checkPrefix(prefix);
    signal?.throwIfAborted();
    const folder = path.join(this.#root, prefix);
    try {
      await rm(folder, { recursive: true, force: true, maxRetries: 3 });
    } catch (error) {
      if (!isMissing(error)) throw translate(error);
    }
    await this.#flushAndPrune(path.dirname(folder));
  }

  async close(): Promise<void> {}

  #pathOf(key: string): string {
    checkKey(key);
    return path.join(this.#root, key);
  }

  async #open(key: string): Promise<{ file: FileHandle; size: number }> {
    const name = this.#pathOf(key);
    try {
      const file = await open(name, 'r');
      const found = await file.stat();
      if (found.isFile()) return { file, size: found.size };
      await file.close();
    } catch (error) {
      if (!isMissing(error)) throw translate(error);
    }
    throw objectNotFound(key);
  }

  /** Every write makes a new file, so its inode number and time of modification identify its content. */
  async #identify(key: string): Promise<Omit<ListedObject, 'key'> | null> {
    try {
      const found = await stat(this.#pathOf(key), { bigint: true });
      if (!found.isFile()) return null;
      const { size, ino, mtimeNs } = found;
      return { sizeBytes: Number(size), tag: `${ino.toString(36)}.${mtimeNs.toString(36)}` };
    } catch (error) {
      if (isMissing(error)) return null;
      throw translate(error);
    }
  }

  /** Rename or link a complete, flushed file to the path of its key. */
  async #place(file: string, key: string, ifAbsent: boolean): Promise<void> {
    const target = this.#pathOf(key);
    const folder = path.dirname(target);
    for (let attempt = 1; ; attempt++) {
      try {
        if (attempt > 1) await mkdir(folder, { recursive: true, mode: 0o700 });
        // A link fails if there is an object; a rename would replace it.
        await (ifAbsent ? link(file, target) : rename(file, target));
        break;
      } catch (error) {
        const { code, syscall } = error as NodeJS.ErrnoException;
        if (code === 'EEXIST' && syscall === 'link') throw objectExists(key);
        if (code === 'EXDEV') throw error;
        if (code !== 'ENOENT' || attempt === PLACE_ATTEMPTS) throw translate(error);
      }
    }
    try {
      await this.#groups.flush(() => this.#flusher.flushPath(folder));
    } catch (error) {
      if (!isMissing(error)) throw translate(error); // missing: another process deleted it right after the write
    }
  }

  /** Make a removal durable, and remove the folders that it left empty. */
  async #flushAndPrune(start: string): Promise<void> {
    for (let folder = start; folder !== this.#root; folder = path.dirname(folder)) {
      try {
        await rmdir(folder);
      } catch (error) {
        if (codeOf(error) === 'ENOENT') continue;
        await flushFolder(folder).catch(() => undefined); // not empty, or another process has just removed it
        return;
      }
    }
    await flushFolder(this.#root);
  }

  async *#walk(prefix: string, signal: AbortSignal | undefined): AsyncGenerator<ListedObject> {
    signal?.throwIfAborted();
    const entries = await readdir(path.join(this.#root, prefix), { withFileTypes: true }).catch((error: unknown) => {
      if (isMissing(error)) return [];
      throw translate(error);
    });
    const names = entries
      .filter((entry) => !entry.name.startsWith('.'))
      .map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name))
      .sort((a, b) => (a < b ? -1 : 1)); // keys are ASCII, so code units are bytes; the slash is part of the order
    for (const name of names) {
      const key = prefix + name;
      if (name.endsWith('/')) {
        yield* this.#walk(key, signal);
        continue;
      }
      const found = await this.#identify(key); // null if it has been deleted in the meantime
      if (found !== null) yield { key, ...found };
    }
  }
}
