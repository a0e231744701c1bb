import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, open, rm, statfs } from 'node:fs/promises';
import path from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import tar from 'tar-stream';
import { AppError } from '../../platform/errors.ts';
import { storageFull } from '../../platform/objects/objects.ts';
import { makeIncoming } from '../model-folders.ts';
import { openFolder } from './folder-source.ts';
import { notAModel, unsafeSource } from './install-errors.ts';
import { checkPath, checkSize, isNeeded, isWeights } from './model-paths.ts';
import type { ModelSource } from './source.ts';

const ENTRIES_MAX = 10_000;
/** Disk space to keep free after unpacking a file, since the database may need it. */
const FREE_BYTES_MIN = 256 * 1024 * 1024;

/**
 * Open a tar archive, optionally compressed with gzip. Unpack the files that a model needs, and skip everything else.
 * Close the source to delete them.
 *
 * @throws AppError `model_invalid`, `model_source_unsafe` (400); `storage_full` (503)
 */
export async function openArchive(
  file: string,
  options: { readonly dataDir: string; readonly signal: AbortSignal; readonly freeBytesMin?: number },
): Promise<ModelSource> {
  const { dataDir, signal, freeBytesMin = FREE_BYTES_MIN } = options;
  const unpacked = await makeIncoming(dataDir);
  const close = () => rm(unpacked, { recursive: true, force: true });
  try {
    await unpack(file, unpacked, { signal, freeBytesMin });
    const folder = await openFolder(unpacked, file);
    return { ...folder, close };
  } catch (error) {
    await close();
    signal.throwIfAborted();
    if (!(error instanceof Error) || error instanceof AppError) throw error;
    const code = 'code' in error ? String(error.code) : null;
    if (code === 'ENOSPC') throw storageFull(error);
    if (code?.startsWith('Z_')) throw notAModel('the archive is damaged: it cannot be decompressed');
    // Errors of tar-stream have no code.
    if (code === null) throw notAModel('the file is not a tar archive, or it is damaged or truncated');
    throw error;
  }
}

async function unpack(
  file: string,
  folder: string,
  { signal, freeBytesMin }: { readonly signal: AbortSignal; readonly freeBytesMin: number },
): Promise<void> {
  const entries = tar.extract();
  const steps = (await isGzip(file)) ? [createGunzip(), entries] : [entries];
  const reading = pipeline([createReadStream(file), ...steps], { signal });
  reading.catch(() => undefined); // the entries fail with it, too
  let count = 0;
  for await (const entry of entries) {
    if (++count > ENTRIES_MAX) throw unsafeSource('the archive has too many entries to contain a model');
    const own = pathOf(entry.header);
    if (own === null) {
      entry.resume();
      continue;
    }
    await requireSpace(folder, (entry.header.size ?? 0) + freeBytesMin);
    const target = path.join(folder, own);
    await mkdir(path.dirname(target), { recursive: true });
    await pipeline(Readable.from(entry), createWriteStream(target), { signal }).catch(async (error) => {
      // A truncated archive also destroys the entry.
      if (error.code === 'STREAM_DESTROYED') await reading;
      throw error;
    });
  }
  await reading;
}

/** @throws AppError `storage_full` (503) if the disk has less free space */
async function requireSpace(folder: string, bytes: number): Promise<void> {
  const { bavail, bsize } = await statfs(folder);
  if (bavail * bsize < bytes) throw storageFull(new Error(`unpacking needs ${bytes} free bytes`));
}

/**
 * Return the path of an entry in the model folder, without the archive's top folder; null if it isn't needed.
 *
 * @throws AppError `model_source_unsafe` (400)
 */
function pathOf({ name, type, size }: tar.Header): string | null {
  const plain = name.replace(/^(\.\/)+/, '').replace(/\/$/, '');
  if (plain === '' || plain === '.') return null;
  checkPath(plain);
  if (type === 'directory') return null;
  if (type !== 'file') throw unsafeSource(`the archive holds a link or a device: ${plain.slice(0, 100)}`);
  const inner = plain.split('/').slice(1).join('/');
  const own = [plain, inner].find((each) => isNeeded(each) || isWeights(each));
  if (own === undefined) return null;
  checkSize(own, size);
  return own;
}

async function isGzip(file: string): Promise<boolean> {
  const handle = await open(file);
  try {
    const { buffer } = await handle.read(Buffer.alloc(2), 0, 2, 0);
    return buffer[0] === 0x1f && buffer[1] === 0x8b;
  } finally {
    await handle.close();
  }
}
