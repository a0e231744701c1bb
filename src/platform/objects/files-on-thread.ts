/** Synchronous operations on many small files, for worker threads: they take a fraction of the time of asynchronous ones. */
import {
  closeSync,
  constants,
  fstatSync,
  mkdirSync,
  openSync,
  readSync,
  renameSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import path from 'node:path';
import { freeMemory } from '../free-memory.ts';
import { transferResult } from '../threads.ts';

/** Room for each file in the first buffer. */
const FILE_BYTES = 32 * 1024;
/** Number of attempts to rename a file into its folder, which a concurrent delete may remove while it is empty. */
const PLACE_ATTEMPTS = 10;

/** Fault of a file operation. It is a value, since errors lose their fields between threads. */
export interface FileFault {
  readonly code: string;
  readonly syscall: string;
  readonly message: string;
}

/** Content of files, one after the other. */
export interface ReadFiles {
  readonly bytes: Uint8Array;
  /** End of each file; null: it is missing, too large, or could not be read. */
  readonly ends: readonly (number | null)[];
}

export interface ReadRequest {
  readonly names: readonly string[];
  /** Length of a file at most. */
  readonly bytesMax: number;
}

/** Read whole files. */
export function readFiles({ names, bytesMax }: ReadRequest): unknown {
  let bytes = new Uint8Array(names.length * FILE_BYTES);
  let end = 0;
  const ends = names.map((name) => {
    let file: number | null = null;
    try {
      // A named pipe must not be waited for.
      file = openSync(name, constants.O_RDONLY | constants.O_NONBLOCK);
      const found = fstatSync(file);
      if (!found.isFile() || found.size > bytesMax) return null;
      if (end + found.size > bytes.length) bytes = grown(bytes, end, end + found.size);
      const from = end;
      for (let at = from; at < from + found.size; ) {
        const read = readSync(file, bytes, at, from + found.size - at, at - from);
        if (read === 0) return null;
        at += read;
      }
      end = from + found.size;
      return end;
    } catch {
      return null;
    } finally {
      if (file !== null) closeSync(file);
    }
  });
  // As long as the files, so that it can be moved on as the buffer of all of them.
  const content = bytes.buffer.transfer(end);
  return transferResult({ bytes: new Uint8Array(content), ends } satisfies ReadFiles, [content]);
}

function grown(bytes: Uint8Array<ArrayBuffer>, end: number, least: number): Uint8Array<ArrayBuffer> {
  const larger = new Uint8Array(Math.max(least, 2 * bytes.length));
  larger.set(bytes.subarray(0, end));
  return larger;
}

/** Write new files, which are not flushed to the disk, and free their bytes. @returns null if all of them were written */
export function writeFiles(files: readonly { readonly name: string; readonly bytes: Uint8Array }[]): FileFault | null {
  return faultOf(() => {
    for (const { name, bytes } of files) {
      const file = openSync(name, 'wx', 0o600);
      try {
        for (let written = 0; written < bytes.length; ) written += writeSync(file, bytes, written);
      } finally {
        closeSync(file);
      }
    }
    for (const { bytes } of files) freeMemory(bytes);
  });
}

/** Rename files to where they belong, and make the folders there. @returns null if all of them were renamed */
export function placeFiles(moves: readonly { readonly name: string; readonly target: string }[]): FileFault | null {
  return faultOf(() => {
    for (const { name, target } of moves) placeFile(name, target);
  });
}

function placeFile(name: string, target: string): void {
  for (let attempt = 1; ; attempt++) {
    try {
      if (attempt > 1) mkdirSync(path.dirname(target), { recursive: true, mode: 0o700 });
      renameSync(name, target);
      return;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || attempt === PLACE_ATTEMPTS) throw error;
    }
  }
}

/** Remove those of the files that exist. */
export function removeFiles(names: readonly string[]): void {
  for (const name of names) faultOf(() => unlinkSync(name));
}

function faultOf(work: () => void): FileFault | null {
  try {
    work();
    return null;
  } catch (error) {
    const { code = '', syscall = '', message } = error as NodeJS.ErrnoException;
    return { code, syscall, message };
  }
}
