import { open } from 'node:fs/promises';
import { decodeRows, type TableRows } from './row-file.ts';

/** Size of the memory that files are read into; a larger file has memory of its own. */
const BUFFER_BYTES = 1024 * 1024;

/** Memory that no file is read into now: the first use of new memory takes longer than reading a small file. */
let spare: ArrayBuffer | null = null;

/**
 * Read the file of the rows of a table. Null: there is none.
 *
 * @param use is given the rows, which are overwritten afterwards
 * @throws Error if the file cannot be read, or is damaged
 */
export async function withRowFile<T>(file: string, use: (rows: TableRows) => T): Promise<T | null> {
  const handle = await openIfThere(file);
  if (handle === null) return null;
  try {
    const { size } = await handle.stat();
    const buffer = takeBuffer(size);
    const { bytesRead } = await handle.read(new Uint8Array(buffer), 0, size, 0);
    const result = use(decodeRows(new Uint8Array(buffer, 0, bytesRead)));
    if (size <= BUFFER_BYTES) spare = buffer;
    return result;
  } finally {
    // Nothing was written that closing could lose, and it takes as long as opening.
    handle.close().catch(() => undefined);
  }
}

async function openIfThere(file: string) {
  try {
    return await open(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

function takeBuffer(size: number): ArrayBuffer {
  if (size > BUFFER_BYTES) return new ArrayBuffer(size);
  const taken = spare ?? new ArrayBuffer(BUFFER_BYTES);
  spare = null;
  return taken;
}
