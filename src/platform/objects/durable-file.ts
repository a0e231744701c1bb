import { createHash } from 'node:crypto';
import { type FileHandle, open, readdir, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { addAbortSignal, Readable } from 'node:stream';
import { AppError, dependencyDown } from '../errors.ts';
import { type ObjectBody, type StoredObject, storageFull } from './objects.ts';

/** Number of bytes per read, and per update of the hash. */
export const READ_BYTES = 256 * 1024;
/** Number of bytes per read of a whole file. A signal can abort between reads. */
const WHOLE_READ_BYTES = 8 * 1024 * 1024;

/** Write a new file, hash it while writing, and flush it to disk. */
export async function writeFile(name: string, body: ObjectBody, signal?: AbortSignal): Promise<StoredObject> {
  const hash = createHash('sha256');
  let sizeBytes = 0;
  let file: FileHandle | undefined;
  // If a stream fails before it is read, the later read throws. Without a listener, the error would end the process.
  if (body instanceof Readable) {
    body.on('error', () => {});
    if (signal) addAbortSignal(signal, body);
  }
  try {
    file = await open(name, 'wx', 0o600);
    for await (const chunk of body instanceof Uint8Array ? partsOf(body) : body) {
      signal?.throwIfAborted();
      const bytes: Uint8Array = typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
      hash.update(bytes);
      sizeBytes += bytes.length;
      for (let written = 0; written < bytes.length; ) {
        written += (await file.write(bytes, written)).bytesWritten;
      }
    }
    await file.sync();
  } catch (error) {
    if (body instanceof Readable) body.destroy(); // in case it was never read
    signal?.throwIfAborted();
    throw translate(error);
  } finally {
    await file?.close();
  }
  return { sizeBytes, sha256: hash.digest('hex') };
}

/** Split bytes into parts that take about a millisecond to hash. */
function* partsOf(bytes: Uint8Array): Generator<Uint8Array> {
  for (let from = 0; from < bytes.length; from += READ_BYTES) yield bytes.subarray(from, from + READ_BYTES);
}

/** Hash an existing file and flush it to disk. */
export async function hashAndFlush(name: string): Promise<StoredObject> {
  const hash = createHash('sha256');
  let sizeBytes = 0;
  const file = await open(name, 'r+');
  try {
    for (const buffer = Buffer.allocUnsafe(READ_BYTES); ; ) {
      const { bytesRead } = await file.read(buffer, 0, buffer.length, null);
      if (bytesRead === 0) break;
      hash.update(buffer.subarray(0, bytesRead));
      sizeBytes += bytesRead;
    }
    await file.sync();
  } finally {
    await file.close();
  }
  return { sizeBytes, sha256: hash.digest('hex') };
}

/** Read a file of this size. Return fewer bytes if it is shorter. Object files are replaced, never modified. */
export async function readWhole(file: FileHandle, size: number, signal?: AbortSignal): Promise<Uint8Array> {
  // Use a separate buffer, which can be moved to a thread.
  const bytes = new Uint8Array(size);
  let end = 0;
  while (end < size) {
    signal?.throwIfAborted();
    const { bytesRead } = await file.read(bytes, end, Math.min(size - end, WHOLE_READ_BYTES), end);
    if (bytesRead === 0) break;
    end += bytesRead;
  }
  return end === size ? bytes : bytes.slice(0, end);
}

/** Remove the entries directly below `folder` that were last written more than `ageMs` ago. */
export async function removeOldFiles(folder: string, ageMs: number): Promise<void> {
  for (const name of await readdir(folder)) {
    const file = path.join(folder, name);
    const found = await stat(file).catch(() => null);
    if (found !== null && Date.now() - found.mtimeMs > ageMs) await rm(file, { recursive: true, force: true });
  }
}

/** Return true if the file doesn't exist, or if a file is where the key needs a folder. */
export function isMissing(error: unknown): boolean {
  const code = codeOf(error);
  return code === 'ENOENT' || code === 'ENOTDIR';
}

const UNAVAILABLE = new Set(['EIO', 'EROFS', 'EACCES', 'EPERM', 'EMFILE', 'ENFILE', 'ESTALE', 'ENODEV', 'ENXIO']);

/** Translate a file system error into an error of `Objects`. */
export function translate(error: unknown): unknown {
  if (error instanceof AppError) return error;
  const code = codeOf(error);
  if (code === 'ENOSPC' || code === 'EDQUOT') return storageFull(error);
  if (UNAVAILABLE.has(code))
    return dependencyDown('objects', 'the file storage cannot be used right now; try again', error);
  return error;
}

export function codeOf(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' ? code : '';
}
