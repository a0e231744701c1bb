import { existsSync } from 'node:fs';
import { link, open, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { AppError, conflict, invalidRequest } from '../platform/errors.ts';
import { describeWriteRefusal, isRefusal } from '../platform/file-refusal.ts';
import { fileNameOf } from '../platform/printable.ts';

/** Derive a file name in the working directory from the name of the upload. */
export function localName(fileName: string): string {
  const name = fileNameOf(fileName);
  return name === '' || name === '.' || name === '..' ? 'download' : name;
}

/**
 * Choose the file to write a download to.
 * @param out file or folder as given; must be a folder for several files
 * @throws AppError `cannot_write` (409) for several files if `out` isn't a folder
 */
export async function targetOf(out: string | undefined, fileName: string, isOneOfSeveral: boolean): Promise<string> {
  if (out === undefined) return localName(fileName);
  const isFolder = await stat(out).then(
    (found) => found.isDirectory(),
    () => false,
  );
  if (isFolder) return path.join(out, localName(fileName));
  if (!isOneOfSeveral) return out;
  throw conflict(`${out} is not a folder; name an existing one with --out`, 'cannot_write');
}

/**
 * Write a stream to a file. The file appears only when it is complete.
 *
 * @throws AppError `file_exists` (409) unless `force`; `cannot_write` (409); the error of the stream
 */
export async function saveFile(
  body: Readable,
  file: string,
  { force, signal }: { force: boolean; signal: AbortSignal },
): Promise<void> {
  const partial = path.join(path.dirname(file), `.${path.basename(file).slice(0, 200)}.${process.pid}.part`);
  try {
    const handle = await open(partial, 'wx');
    await pipeline(body, handle.createWriteStream(), { signal });
    if (force) await rename(partial, file);
    else await link(partial, file);
  } catch (error) {
    body.destroy();
    throw toAppError(error, file);
  } finally {
    await rm(partial, { force: true });
  }
}

export async function writeToStdout(body: Readable, signal: AbortSignal): Promise<void> {
  await pipeline(body, process.stdout, { signal, end: false });
}

/** Refuse to write both an export and JSON to stdout. @throws AppError `invalid_request` (400) */
export function refuseJson(file: string, isJson: boolean): void {
  if (file === '-' && isJson) throw invalidRequest('--export - writes to stdout; leave out --json', 'export');
}

/**
 * Write a stream to a file, or to stdout for `-`.
 *
 * @returns the file, for `--json`; undefined for stdout, which then contains only the stream
 * @throws AppError of `saveFile`
 */
export async function exportBody(
  body: Readable,
  file: string,
  { force = false, signal }: { force?: boolean; signal: AbortSignal },
): Promise<{ readonly file: string } | undefined> {
  if (file !== '-') {
    await saveFile(body, file, { force, signal });
    return { file };
  }
  await writeToStdout(body, signal);
  return undefined;
}

/** Refuse a file that already exists, before any work is done. @throws AppError `file_exists` (409) */
export function refuseExisting(file: string | undefined, force: boolean | undefined): void {
  if (file !== undefined && !force && existsSync(file)) throw fileExists(file);
}

function fileExists(file: string): AppError {
  return conflict(`${file} already exists; name another file, or replace it with --force`, 'file_exists');
}

const CANNOT_WRITE = new Set(['ENOENT', 'EACCES', 'EPERM', 'EISDIR', 'ENOTDIR', 'EROFS', 'ENOSPC', 'ENAMETOOLONG']);

function toAppError(error: unknown, file: string): unknown {
  const code = (error as NodeJS.ErrnoException).code ?? '';
  if (error instanceof AppError) return error;
  if (code === 'EEXIST') return fileExists(file);
  if (!CANNOT_WRITE.has(code)) return error;
  const why = isRefusal(error) ? `: ${describeWriteRefusal(path.dirname(file))}` : '';
  return conflict(`cannot write ${file} (${code})${why}`, 'cannot_write');
}
