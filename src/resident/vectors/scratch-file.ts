import { randomUUID } from 'node:crypto';
import { closeSync, openSync, readSync, unlinkSync, writeSync } from 'node:fs';
import path from 'node:path';

/**
 * Unlinked file, readable only by this process. Closing it or ending the process frees its space. The kernel's page
 * cache keeps frequently read parts.
 */
export class ScratchFile {
  readonly #descriptor: number;

  /** @param directory directory on disk; a file in a memory file system would save nothing */
  constructor(directory: string) {
    const file = path.join(directory, `.scratch-${randomUUID()}`);
    this.#descriptor = openSync(file, 'wx+', 0o600);
    unlinkSync(file);
  }

  write(bytes: Uint8Array, position: number): void {
    for (let done = 0; done < bytes.length; )
      done += writeSync(this.#descriptor, bytes, done, bytes.length - done, position + done);
  }

  /** Fill an array with the bytes at a position. @throws Error if there are fewer bytes */
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
