import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, open, rm } from 'node:fs/promises';
import path from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { storageFull } from '../../platform/objects/objects.ts';
import { makeIncoming } from '../model-folders.ts';
import { openFolder } from './folder-source.ts';
import { notAModel, unsafeSource } from './install-errors.ts';
import { checkPath, checkSize, isNeeded, isWeights } from './model-paths.ts';
import type { ModelSource } from './source.ts';
import { readTar, type TarEntry } from './tar-reader.ts';

const ENTRIES_MAX = 10_000;

/**
 * Open a tar archive, which may be compressed by gzip: the files that a model needs are unpacked, everything else is
 * skipped. Close the source to delete them.
 *
 * @throws AppError `model_invalid`, `model_source_unsafe` (400); `storage_full` (503)
 */
export async function openArchive(
  file: string,
  { dataDir, signal }: { readonly dataDir: string; readonly signal: AbortSignal },
): Promise<ModelSource> {
  const unpacked = await makeIncoming(dataDir);
  const close = () => rm(unpacked, { recursive: true, force: true });
  try {
    await unpack(file, unpacked, signal);
    const folder = await openFolder(unpacked, file);
    return { ...folder, close };
  } catch (error) {
    await close();
    signal.throwIfAborted();
    if (error instanceof Error && 'code' in error) {
      if (error.code === 'ENOSPC') throw storageFull(error);
      if (String(error.code).startsWith('Z_')) throw notAModel('the archive is damaged: it cannot be decompressed');
    }
    throw error;
  }
}

async function unpack(file: string, folder: string, signal: AbortSignal): Promise<void> {
  const source = createReadStream(file, { signal });
  const gunzip = createGunzip();
  // An error of the file is passed on to the reader of the bytes.
  const bytes = (await isGzip(file)) ? source.on('error', (error) => gunzip.destroy(error)).pipe(gunzip) : source;
  let entries = 0;
  for await (const entry of readTar(bytes)) {
    if (++entries > ENTRIES_MAX) throw unsafeSource('the archive has too many entries to be that of a model');
    const own = pathOf(entry);
    if (own === null) continue;
    const target = path.join(folder, own);
    await mkdir(path.dirname(target), { recursive: true });
    await pipeline(Readable.from(entry.content), createWriteStream(target), { signal });
  }
}

/**
 * Path of an entry in the folder of the model, without the folder that the archive may begin with; null: not needed.
 *
 * @throws AppError `model_source_unsafe` (400)
 */
function pathOf({ path: name, kind, sizeBytes }: TarEntry): string | null {
  const plain = name.replace(/^(\.\/)+/, '').replace(/\/$/, '');
  if (plain === '' || plain === '.') return null;
  checkPath(plain);
  if (kind === 'folder') return null;
  if (kind !== 'file') throw unsafeSource(`the archive holds a link or a device: ${plain.slice(0, 100)}`);
  const inner = plain.split('/').slice(1).join('/');
  const own = [plain, inner].find((each) => isNeeded(each) || isWeights(each));
  if (own === undefined) return null;
  checkSize(own, sizeBytes);
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
