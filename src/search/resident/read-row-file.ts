import { type FileHandle, open, readFile } from 'node:fs/promises';
import { type CommittedRows, decodeCommit, decodeRows, type TableRows } from './row-file.ts';

/** Size of the memory that files are read into. A larger file, of long texts, has memory of its own. */
const BUFFER_BYTES = 1024 * 1024;

/** Memory that no file is read into now: the first use of new memory takes longer than reading a small file. */
let spare: ArrayBuffer | null = null;

/**
 * Read the file of the rows of a table. Null: there is none of the format of this release.
 *
 * @param use is given the rows, which are overwritten afterwards
 * @throws Error if the file cannot be read, or is damaged
 */
export async function withRowFile<T>(file: string, use: (rows: TableRows) => T): Promise<T | null> {
  const handle = await openIfThere(file);
  if (handle === null) return null;
  const buffer = spare ?? new ArrayBuffer(BUFFER_BYTES);
  spare = null;
  try {
    const { bytesRead } = await handle.read(new Uint8Array(buffer), 0, BUFFER_BYTES, 0);
    const rows = decodeRows(bytesRead < BUFFER_BYTES ? new Uint8Array(buffer, 0, bytesRead) : await readWhole(handle));
    return rows && use(rows);
  } finally {
    spare = buffer;
    // Nothing was written that closing could lose, and it takes as long as opening.
    handle.close().catch(() => undefined);
  }
}

/** Read the file of a commit. Null: there is none that can be read. */
export async function readCommit(file: string): Promise<CommittedRows | null> {
  try {
    // Small files of `readFile` are in memory that they share, at any place.
    const bytes = new Uint8Array(await readFile(file));
    return decodeCommit(bytes);
  } catch {
    return null;
  }
}

async function readWhole(handle: FileHandle): Promise<Uint8Array> {
  const bytes = new Uint8Array((await handle.stat()).size);
  const { bytesRead } = await handle.read(bytes, 0, bytes.length, 0);
  return bytes.subarray(0, bytesRead);
}

async function openIfThere(file: string): Promise<FileHandle | null> {
  try {
    return await open(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}
