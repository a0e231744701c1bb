import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { AppError } from '../platform/errors.ts';
import { describeReadRefusal, isRefusal } from '../platform/file-refusal.ts';

/**
 * Read the lines of a file, or of stdin for `-`, without line endings. The last line may lack one.
 *
 * @throws AppError `file_not_found` (404), `file_unreadable` (403)
 */
export async function readLines(file: string): Promise<string[]> {
  const content = file === '-' ? await text(process.stdin) : await readTextFile(file);
  const lines = content.replace(/^\uFEFF/, '').split(/\r?\n/);
  if (lines.at(-1) === '') lines.pop();
  return lines;
}

async function readTextFile(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw fileError(file, error);
  }
}

/** Map a failure to read a named file to an AppError with its message and status. */
export function fileError(file: string, error: unknown): AppError {
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'ENOENT' || code === 'ENOTDIR') {
    return new AppError({ code: 'file_not_found', status: 404, message: `there is no file ${file}`, cause: error });
  }
  const why = isRefusal(error) ? `: ${describeReadRefusal(file)}` : '';
  const message = `cannot read ${file} (${code})${why}`;
  return new AppError({ code: 'file_unreadable', status: 403, message, cause: error });
}
