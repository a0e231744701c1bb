import { randomUUID } from 'node:crypto';
import { closeSync, openSync, readSync, unlinkSync, writeSync } from 'node:fs';
import path from 'node:path';

/**
 * Unlinked file: only this process can read it. Its space is free again once the file is closed or the process ends.
 * Frequently read parts stay in the page cache of the kernel.
 */
export class ScratchFile {
  readonly #descriptor: number;

  /** @param directory directory on a disk; a file in memory would save nothing */
  constructor(directory: string) {
    const file = path.join(directory, `.scratch-${randomUUID()}`);
    this.#descriptor = openSync(file, 'wx+', 0o600);
    unlinkSync(file);
  }

  write(bytes: Uint8Array, position: number): void {
    for (let done = 0; done < bytes.length; )
      done += writeSync(this.#descriptor, bytes, done, bytes.length - done, position + done);
  }

  /** Fill an array with the bytes from a position on. @throws Error if there are fewer bytes */
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
