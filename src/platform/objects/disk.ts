import { randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { type FileHandle, mkdir, open, readdir, rm, stat, unlink } from 'node:fs/promises';
import path from 'node:path';
import { Readable } from 'node:stream';
import { ownBuffersOf, type Threads } from '../threads.ts';
import type { NewFile } from './durable-changes.ts';
import {
  codeOf,
  hashAndFlush,
  isMissing,
  READ_BYTES,
  readWhole,
  removeOldFiles,
  translate,
  writeFile,
} from './durable-file.ts';
import { DurableWriter } from './durable-writer.ts';
import { getEach } from './each-object.ts';
import {
  checkKey,
  checkPrefix,
  GET_BYTES_MAX,
  type ListedObject,
  type NewObject,
  type ObjectBody,
  type Objects,
  objectExists,
  objectNotFound,
  objectTooLarge,
  type StoredObject,
} from './objects.ts';
import type { ReadFiles, ReadRequest } from './read-files.ts';

/**
 * Folder of temporary files. No key begins with a dot. It is on the same file system as the objects, so that renaming
 * works.
 */
const TEMPORARY = '.tmp';
const TEMPORARY_MS_MAX = 3_600_000;
/** Maximum length of an object that the durable-file thread writes. */
const WRITTEN_ON_THREAD_BYTES_MAX = READ_BYTES;
const READER = new URL('./read-files.ts', import.meta.url);

/**
 * Open object storage in files below `directory`, with keys as paths. Each file is written under a temporary name,
 * flushed to disk and renamed; then its folder is flushed. A crash leaves only temporary files. This function removes
 * those older than an hour.
 * @param options.threads for reading many small objects together; without them, each is read separately
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
  readonly #writer: DurableWriter;
  readonly #threads: Threads | null;

  constructor(root: string, temporary: string, threads: Threads | null) {
    this.#root = root;
    this.#temporary = temporary;
    this.#writer = new DurableWriter(root);
    this.#threads = threads;
  }

  async put(
    key: string,
    body: ObjectBody,
    options: { ifAbsent?: boolean; signal?: AbortSignal } = {},
  ): Promise<StoredObject> {
    const target = this.#pathOf(key);
    options.signal?.throwIfAborted();
    const temporary = path.join(this.#temporary, randomUUID());
    const ifAbsent = options.ifAbsent === true;
    if (body instanceof Uint8Array && body.length <= WRITTEN_ON_THREAD_BYTES_MAX) {
      // Copy the bytes: the caller keeps them, and they may be part of a much larger buffer.
      const bytes = new Uint8Array(body);
      const [sha256 = ''] = await this.#write([{ temporary, target, bytes }], { ifAbsent, transfer: [bytes.buffer] });
      return { sizeBytes: body.length, sha256 };
    }
    let isMoved = false;
    try {
      const stored = await writeFile(temporary, body, options.signal);
      await this.#write([{ temporary, target, bytes: null }], { ifAbsent });
      isMoved = !ifAbsent;
      return stored;
    } finally {
      if (!isMoved) await unlink(temporary).catch(() => {}); // it may not exist
    }
  }

  async adopt(file: string, key: string): Promise<StoredObject> {
    const target = this.#pathOf(key);
    try {
      const stored = await hashAndFlush(file);
      await this.#write([{ temporary: file, target, bytes: null }]);
      return stored;
    } catch (error) {
      if (codeOf(error) !== 'EXDEV') throw translate(error);
    }
    // The file is on another file system, so copy it.
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
    if (this.#threads === null) return getEach(this, keys, options);
    const { maxBytes: bytesMax = GET_BYTES_MAX, signal } = options;
    signal?.throwIfAborted();
    const request: ReadRequest = { names: keys.map((key) => this.#pathOf(key)), bytesMax };
    const { bytes, ends } = await this.#threads.run<ReadFiles>(READER, 'readFiles', request);
    signal?.throwIfAborted();
    let from = 0;
    return ends.map((end) => {
      if (end === null) return null;
      const own = bytes.subarray(from, end);
      from = end;
      return own;
    });
  }

  async putMany(objects: readonly NewObject[], { signal }: { signal?: AbortSignal } = {}): Promise<void> {
    signal?.throwIfAborted();
    const files = objects.map(({ key, bytes }) => ({
      temporary: path.join(this.#temporary, randomUUID()),
      target: this.#pathOf(key),
      bytes,
    }));
    await this.#write(files, { transfer: ownBuffersOf(objects.map(({ bytes }) => bytes)) });
    signal?.throwIfAborted();
  }

  stream(key: string, options: { start?: number; end?: number; signal?: AbortSignal } = {}): Readable {
    const { start = 0, end = Number.MAX_SAFE_INTEGER, signal } = options;
    return Readable.from(this.#read(key, start, end, signal), { objectMode: false, highWaterMark: READ_BYTES });
  }

  async *#read(key: string, start: number, end: number, signal?: AbortSignal): AsyncGenerator<Uint8Array> {
    signal?.throwIfAborted();
    const { file, size } = await this.#open(key);
    try {
      // Files never grow, so the size alone gives the end.
      for (let position = start; position <= Math.min(end, size - 1); ) {
        signal?.throwIfAborted();
        const wanted = Math.min(READ_BYTES, end - position + 1, size - position);
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
    await this.#keepRemoval(path.dirname(file));
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
    await this.#keepRemoval(path.dirname(folder));
  }

  prepare(): void {
    this.#writer.prepare();
  }

  async close(): Promise<void> {
    await this.#writer.close();
  }

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

  /** Identify a file's content by inode number and modification time, since every write creates a new file. */
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

  /** Write files and move them into place. @returns their SHA-256 */
  async #write(
    files: readonly NewFile[],
    { ifAbsent = false, transfer = [] }: { ifAbsent?: boolean; transfer?: readonly ArrayBuffer[] } = {},
  ): Promise<readonly string[]> {
    try {
      return await this.#writer.make({ kind: 'write', files, ifAbsent }, transfer);
    } catch (error) {
      const { code, syscall } = error as NodeJS.ErrnoException;
      if (code === 'EEXIST' && syscall === 'link') {
        const [{ target }] = files as [NewFile];
        throw objectExists(path.relative(this.#root, target));
      }
      throw code === 'EXDEV' ? error : translate(error);
    }
  }

  /** Make a removal from a folder durable, and remove the folders that it left empty. */
  async #keepRemoval(folder: string): Promise<void> {
    try {
      await this.#writer.make({ kind: 'removal', folder });
    } catch (error) {
      throw translate(error);
    }
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
