import { constants } from 'node:fs';
import { type FileHandle, open, readlink, realpath, stat } from 'node:fs/promises';
import path from 'node:path';
import { fileNameOf, oneLine } from '../../platform/printable.ts';
import { openThread } from '../../platform/threads.ts';
import type { Globs } from './globs.ts';
import { type FolderSlice, isWithin, type ListedSlice, versionOf } from './list-folder.ts';
import {
  type EntryFault,
  INLINE_BYTES_MAX,
  type ListedEntry,
  type ReadEntry,
  SourceFault,
  type SourceReader,
  tooLargeFault,
} from './source-reader.ts';

const SLICES_MAX = 10_000;
/** Age below which a file can change without a new modification time, since file system clocks are coarse. */
const SETTLED_MS = 2_000;

export interface FolderOptions {
  /** Root folder in the operator's settings. */
  readonly root: string;
  /** Folder of the source, relative to `root`. */
  readonly path: string;
  readonly globs: Globs;
  readonly dataDir: string;
  readonly bytesMax: number;
  /** Maximum number of slices per listing, each with up to 1,000 folders. */
  readonly slicesMax?: number;
}

/** Real paths of the source's folder, its root, and the data directory. */
export interface FolderPlace {
  readonly root: string;
  readonly base: string;
  readonly dataDir: string;
}

/** Resolve the source's folder. @throws SourceFault if it is missing, not a folder, or outside its root */
export async function resolveFolder(options: Pick<FolderOptions, 'root' | 'path' | 'dataDir'>): Promise<FolderPlace> {
  const at = (folder: string) =>
    realpath(folder).catch((error: NodeJS.ErrnoException) => {
      throw new SourceFault(
        'source_missing',
        `the folder ${options.path} cannot be read (${error.code}); check that it exists`,
      );
    });
  const root = await at(options.root);
  const base = await at(path.join(root, options.path));
  const dataDir = await realpath(options.dataDir).catch(() => path.resolve(options.dataDir));
  if (!isWithin(root, base))
    throw new SourceFault('source_refused', `the folder ${options.path} leads out of the connection's root`);
  if (isWithin(dataDir, base))
    throw new SourceFault(
      'source_refused',
      'the folder is inside the data directory of the service; choose another folder',
    );
  if (!(await stat(base)).isDirectory()) throw new SourceFault('source_missing', `${options.path} is not a folder`);
  return { root, base, dataDir };
}

const LIST_MODULE = new URL('./list-folder.ts', import.meta.url).href;

/** Open a folder as a source. Size and time are a file's version. Real path checks keep files inside the root. */
export function openFolderReader(options: FolderOptions): SourceReader {
  return {
    async *list(signal) {
      const place = await resolveFolder(options);
      // An unresponsive file server blocks the thread forever, so don't share it.
      const thread = openThread();
      let slices = 0;
      try {
        for (let pending: readonly string[] = ['']; pending.length > 0; ) {
          const slice: FolderSlice = { ...place, globs: options.globs, pending };
          const call = { argument: slice, filename: LIST_MODULE, name: 'listSlice' };
          const listed = await thread.run<ListedSlice>(call, signal);
          const broken = listed.faults.find((fault) => fault.key === '');
          if (broken !== undefined) throw new SourceFault('source_refused', broken.fault);
          yield listed;
          ({ pending } = listed);
          slices++;
          if (slices > (options.slicesMax ?? SLICES_MAX)) {
            throw new SourceFault(
              'source_too_large',
              'the folder has too many folders, or grows without end; narrow the source',
            );
          }
        }
      } finally {
        thread.close();
      }
    },
    async read(entries) {
      const place = await resolveFolder(options);
      const read = await Promise.all(entries.map((entry) => readFile(place, entry, options)));
      return read.filter((entry) => entry !== null);
    },
    async close() {},
  };
}

async function readFile(
  place: FolderPlace,
  { key }: ListedEntry,
  { path: folder, bytesMax }: FolderOptions,
): Promise<ReadEntry | EntryFault | null> {
  let file: FileHandle | null = null;
  try {
    file = await openContained(place, key);
    if (file === null) return { key, fault: 'it leads out of the folder' };
    const stats = await file.stat();
    if (!stats.isFile()) return { key, fault: 'it is not a file' };
    const tooLarge = tooLargeFault(key, stats.size, bytesMax);
    if (tooLarge !== null) return tooLarge;
    const isSettled = Date.now() - stats.mtimeMs > SETTLED_MS;
    const about = {
      key,
      version: isSettled ? versionOf(stats) : `${versionOf(stats)}?`,
      fileName: fileNameOf(path.posix.basename(key)).slice(0, 255),
      contentType: null,
      sourcePath: oneLine(path.posix.join(folder, key)).normalize('NFC'),
      metadata: { source_kind: 'folder' },
      eventTimeMs: Math.floor(stats.mtimeMs),
    };
    if (stats.size === 0) return { ...about, content: null };
    if (stats.size <= INLINE_BYTES_MAX) {
      const bytes = await file.readFile();
      return { ...about, content: bytes.length === 0 ? null : { bytes } };
    }
    const streamed = file;
    file = null; // The stream closes it.
    return { ...about, content: { openStream: () => streamed.createReadStream({ highWaterMark: 1024 * 1024 }) } };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return null;
    if (code === undefined) throw error;
    return { key, fault: `it cannot be read (${code})` };
  } finally {
    await file?.close();
  }
}

/**
 * Open a file of the folder. Return null if its real path is outside the root or inside the data directory. Check
 * the path of the open file, since part of the path may have become a link after the listing.
 */
async function openContained({ root, base, dataDir }: FolderPlace, key: string): Promise<FileHandle | null> {
  const target = await realpath(path.join(base, key));
  if (!isWithin(root, target) || isWithin(dataDir, target)) return null;
  // Without O_NONBLOCK, opening a pipe would wait for a writer.
  const file = await open(target, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  const opened = await readlink(`/proc/self/fd/${file.fd}`).catch(() => realpath(target));
  if (isWithin(root, opened) && !isWithin(dataDir, opened)) return file;
  await file.close();
  return null;
}
