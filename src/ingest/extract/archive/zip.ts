import type { Readable } from 'node:stream';
import { crc32 } from 'node:zlib';
import { type Entry, fromBufferPromise, type ZipFile } from 'yauzl';
import { ExtractError, isOutOfMemory } from '../errors.ts';
import type { UnpackBudget } from '../reader.ts';

/**
 * Factor by which the declared size of compressed entries may exceed the unpack budget, since pictures are never
 * unpacked.
 */
const DECLARED_FACTOR = 4;

/**
 * Open zip archive. Entry names are only looked up, never used as paths. Before unpacking anything, the number of
 * entries and the declared sizes are checked. No entry yields more than it declared.
 */
export class Zip {
  readonly #file: ZipFile;
  readonly #entries: ReadonlyMap<string, Entry>;
  readonly #budget: UnpackBudget;

  private constructor(file: ZipFile, entries: ReadonlyMap<string, Entry>, budget: UnpackBudget) {
    this.#file = file;
    this.#entries = entries;
    this.#budget = budget;
  }

  /** @throws ExtractError `corrupt`, `too_large` */
  static async open(bytes: Uint8Array, budget: UnpackBudget): Promise<Zip> {
    const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const entries = new Map<string, Entry>();
    try {
      const file = await fromBufferPromise(buffer);
      if (file.entryCount > budget.entriesLeft) throw tooManyEntries();
      let declared = 0;
      for await (const entry of file.eachEntry()) {
        if (--budget.entriesLeft < 0) throw tooManyEntries();
        // An entry stored without compression can't be larger than the file.
        if (entry.compressionMethod !== 0) declared += entry.uncompressedSize;
        if (declared > budget.bytesLeft * DECLARED_FACTOR) throw tooLarge();
        if (!entries.has(entry.fileName)) entries.set(entry.fileName, entry);
      }
      return new Zip(file, entries, budget);
    } catch (error) {
      throw fault(error);
    }
  }

  names(): IterableIterator<string> {
    return this.#entries.keys();
  }

  has(name: string): boolean {
    return this.#entries.has(name);
  }

  /** Return true if the archive encrypts any entry. */
  hasEncrypted(): boolean {
    return [...this.#entries.values()].some((entry) => entry.isEncrypted());
  }

  /**
   * Stream the unpacked bytes of an entry.
   * @throws ExtractError `corrupt` (also if there is no such entry), `encrypted`, `too_large`
   */
  async *stream(name: string): AsyncGenerator<Uint8Array> {
    const entry = this.#entries.get(name);
    if (entry === undefined) throw new ExtractError('corrupt', 'a part of the document is missing');
    if (entry.isEncrypted())
      throw new ExtractError(
        'encrypted',
        'the file is protected by a password; remove the password and upload it again',
      );
    if (entry.uncompressedSize > this.#budget.bytesLeft) throw tooLarge();
    let checksum = 0;
    let stream: Readable | null = null;
    try {
      stream = await this.#file.openReadStreamPromise(entry);
      for await (const chunk of stream as AsyncIterable<Buffer>) {
        this.#budget.bytesLeft -= chunk.length;
        if (this.#budget.bytesLeft < 0) throw tooLarge();
        checksum = crc32(chunk, checksum);
        yield chunk;
      }
    } catch (error) {
      throw fault(error);
    } finally {
      stream?.destroy();
    }
    if (checksum !== entry.crc32) throw new ExtractError('corrupt', 'a part of the document is damaged');
  }

  /** Read a complete entry. @throws the errors of `stream`, and `too_large` beyond `bytesMax` */
  async bytes(name: string, bytesMax: number): Promise<Buffer> {
    const declared = this.#entries.get(name)?.uncompressedSize ?? 0;
    if (declared > bytesMax) {
      throw new ExtractError('too_large', `a part of the document has more than ${bytesMax} bytes`);
    }
    const chunks: Uint8Array[] = [];
    for await (const chunk of this.stream(name)) chunks.push(chunk);
    return Buffer.concat(chunks);
  }
}

function tooManyEntries(): ExtractError {
  return new ExtractError('too_large', 'the archive has more entries than may be read; divide it into smaller files');
}

function tooLarge(): ExtractError {
  return new ExtractError(
    'too_large',
    'the document unpacks to more bytes than may be read; divide it into smaller files',
  );
}

/** Convert an error of yauzl or zlib, which report every fault of an archive as a plain error. */
function fault(error: unknown): unknown {
  if (error instanceof ExtractError || isOutOfMemory(String(error))) return error;
  return new ExtractError('corrupt', 'the archive is damaged', error);
}
