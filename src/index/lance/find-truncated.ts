import { open, opendir } from 'node:fs/promises';
import path from 'node:path';

/** Last bytes of a complete file, by file extension: Lance's own files and Arrow IPC files. */
const LAST_BYTES: Readonly<Record<string, string>> = { '.lance': 'LANC', '.manifest': 'LANC', '.arrow': 'ARROW1' };

/**
 * Find files of an index on disk that lack LanceDB's final bytes, because they were truncated or overwritten.
 *
 * @param directory directory of the index; may be missing
 * @param filesMax number of files after which to stop
 * @returns paths relative to the directory, starting with the table's name
 */
export async function findTruncated(directory: string, filesMax: number): Promise<string[]> {
  const found: string[] = [];
  try {
    for await (const entry of await opendir(directory, { recursive: true })) {
      const last = LAST_BYTES[path.extname(entry.name)];
      if (last === undefined || !entry.isFile()) continue;
      const file = path.join(entry.parentPath, entry.name);
      if (await endsWith(file, last)) continue;
      found.push(path.relative(directory, file));
      if (found.length >= filesMax) break;
    }
  } catch (error) {
    if (!isAbsent(error)) throw error;
  }
  return found;
}

/** Return true if a file ends with these bytes or no longer exists. */
async function endsWith(file: string, last: string): Promise<boolean> {
  const handle = await open(file).catch((error: unknown) => {
    if (isAbsent(error)) return null;
    throw error;
  });
  if (handle === null) return true;
  try {
    const { size } = await handle.stat();
    const end = Buffer.alloc(last.length);
    const { bytesRead } = await handle.read(end, 0, end.length, Math.max(0, size - end.length));
    return bytesRead === end.length && end.toString('latin1') === last;
  } finally {
    await handle.close();
  }
}

function isAbsent(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT';
}
