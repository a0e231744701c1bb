import { randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { type FileHandle, link, mkdir, open, readdir, rename, rm, rmdir, stat, unlink } from 'node:fs/promises';
import path from 'node:path';
import { Readable } from 'node:stream';
import {
  codeOf,
  FolderFlusher,
  flushFolder,
  hashAndFlush,
  isMissing,
  READ_BYTES,
  removeOldFiles,
  translate,
  writeFile,
} from './durable-file.ts';
import {
  checkKey,
  checkPrefix,
  GET_BYTES_MAX,
  type ListedObject,
  type Objects,
  objectExists,
  objectNotFound,
  objectTooLarge,
  type StoredObject,
} from './objects.ts';

/** No key begins with a dot, so this is nobody's object. In the same file system as the objects, for renaming. */
const TEMPORARY = '.tmp';
const TEMPORARY_MS_MAX = 3_600_000;
/** A delete may take an empty folder away between its making and the arrival of the file. */
const PLACE_ATTEMPTS = 10;

/**
 * Objects as files below `directory`, the key being the path. A file is written under a temporary name, flushed to
 * the disk, renamed, and its folder flushed; a crash leaves nothing but temporary files, which are removed here
 * once they are an hour old.
 */
export async function openDiskObjects(options: { directory: string }): Promise<Objects> {
  const root = path.resolve(options.directory);
  const temporary = path.join(root, TEMPORARY);
  await mkdir(temporary, { recursive: true, mode: 0o700 });
  await removeOldFiles(temporary, TEMPORARY_MS_MAX);
  return new DiskObjects(root, temporary);
}

class DiskObjects implements Objects {
  readonly #root: string;
  readonly #temporary: string;
  readonly #flusher: FolderFlusher;

  constructor(root: string, temporary: string) {
    this.#root = root;
    this.#temporary = temporary;
    this.#flusher = new FolderFlusher(root);
  }

  async put(
    key: string,
    body: Uint8Array | Readable,
    options: { ifAbsent?: boolean; signal?: AbortSignal } = {},
  ): Promise<StoredObject> {
    checkKey(key);
    options.signal?.throwIfAborted();
    const aside = path.join(this.#temporary, randomUUID());
    let isMoved = false;
    try {
      const stored = await writeFile(aside, body, options.signal);
      await this.#place(aside, key, options.ifAbsent === true);
      isMoved = options.ifAbsent !== true;
      return stored;
    } finally {
      if (!isMoved) await unlink(aside).catch(() => {}); // it may not have come to be
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
    // Another file system: a copy instead.
    const stored = await this.put(key, createReadStream(file));
    await unlink(file);
    return stored;
  }

  async get(key: string, options: { maxBytes?: number; signal?: AbortSignal } = {}): Promise<Uint8Array> {
    const { maxBytes = GET_BYTES_MAX, signal } = options;
    signal?.throwIfAborted();
    const file = await this.#open(key);
    try {
      const { size } = await file.stat();
      if (size > maxBytes) throw objectTooLarge(key, size, maxBytes);
      const bytes = await file.readFile(signal ? { signal } : {});
      return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    } catch (error) {
      signal?.throwIfAborted();
      throw translate(error);
    } finally {
      await file.close();
    }
  }

  stream(key: string, options: { start?: number; end?: number; signal?: AbortSignal } = {}): Readable {
    const { start = 0, end = Number.MAX_SAFE_INTEGER, signal } = options;
    return Readable.from(this.#read(key, start, end, signal), { objectMode: false, highWaterMark: READ_BYTES });
  }

  async *#read(key: string, start: number, end: number, signal?: AbortSignal): AsyncGenerator<Uint8Array> {
    signal?.throwIfAborted();
    const file = await this.#open(key);
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

  async #open(key: string): Promise<FileHandle> {
    const name = this.#pathOf(key);
    try {
      const file = await open(name, 'r');
      if ((await file.stat()).isFile()) return file;
      await file.close();
    } catch (error) {
      if (!isMissing(error)) throw translate(error);
    }
    throw objectNotFound(key);
  }

  /** Give a complete, flushed file its key. */
  async #place(file: string, key: string, ifAbsent: boolean): Promise<void> {
    const target = this.#pathOf(key);
    const folder = path.dirname(target);
    for (let attempt = 1; ; attempt++) {
      try {
        if (attempt > 1) await mkdir(folder, { recursive: true, mode: 0o700 });
        // A link fails when there is an object, where a rename would replace it.
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
      await this.#flusher.flushWay(folder);
    } catch (error) {
      if (!isMissing(error)) throw translate(error); // missing: deleted by somebody right after it was written
    }
  }

  /** Make a removal durable, and remove the folders that it left empty. */
  async #flushAndPrune(start: string): Promise<void> {
    for (let folder = start; folder !== this.#root; folder = path.dirname(folder)) {
      try {
        await rmdir(folder);
      } catch (error) {
        if (codeOf(error) === 'ENOENT') continue;
        await flushFolder(folder).catch(() => undefined); // in use, or removed just now by somebody else
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
      .sort((a, b) => (a < b ? -1 : 1)); // ASCII only, so code units are bytes; the slash takes part
    for (const name of names) {
      const key = prefix + name;
      if (name.endsWith('/')) {
        yield* this.#walk(key, signal);
        continue;
      }
      const found = await this.head(key); // may have been deleted meanwhile
      if (found !== null) yield { key, sizeBytes: found.sizeBytes };
    }
  }
}
