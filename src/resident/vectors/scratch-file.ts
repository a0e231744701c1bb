import { randomUUID } from 'node:crypto';
import { closeSync, openSync, readSync, unlinkSync, writeSync } from 'node:fs';
import path from 'node:path';

/**
 * File of this process that has no name any more: only this process can read it, and its space is free again when it is
 * closed or the process ends. What is read often stays in the page cache of the kernel.
 */
export class ScratchFile {
  readonly #descriptor: number;

  /** @param directory on a disk, since a file in memory would save none */
  constructor(directory: string) {
    const file = path.join(directory, `.scratch-${randomUUID()}`);
    this.#descriptor = openSync(file, 'wx+', 0o600);
    unlinkSync(file);
  }

  write(bytes: Uint8Array, position: number): void {
    for (let done = 0; done < bytes.length; )
      done += writeSync(this.#descriptor, bytes, done, bytes.length - done, position + done);
  }

  /** Fill an array with the bytes from a position on. @throws Error if there are fewer */
  read(target: Uint8Array, position: number): void {
    for (let done = 0; done < target.length; ) {
      const read = readSync(this.#descriptor, target, done, target.length - done, position + done);
      if (read === 0) throw new Error('a scratch file is shorter than what was written to it');
      done += read;
    }
  }

  close(): void {
    closeSync(this.#descriptor);
  }
}
