import { notAModel, unsafeSource } from './install-errors.ts';

/** File or other entry of a tar archive. */
export interface TarEntry {
  readonly path: string;
  readonly sizeBytes: number;
  readonly kind: 'file' | 'folder' | 'link' | 'other';
  /** Content of a file; it must be read, or is skipped, before the next entry. */
  readonly content: AsyncIterable<Buffer>;
}

const BLOCK = 512;
/** Bound of an extended header, which holds long names. */
const EXTENDED_BYTES_MAX = 1024 * 1024;
const KINDS: Readonly<Record<string, TarEntry['kind']>> = {
  '0': 'file',
  '\0': 'file',
  '5': 'folder',
  '1': 'link',
  '2': 'link',
};

/**
 * Read the entries of a tar archive (ustar, with the long names of pax and GNU) from a stream of its bytes.
 *
 * @throws AppError `model_invalid`, `model_source_unsafe` (400) for bytes that are no archive
 */
export async function* readTar(bytes: AsyncIterable<Buffer>): AsyncGenerator<TarEntry> {
  const reader = new BlockReader(bytes);
  let longName: string | null = null;
  for (;;) {
    const header = await reader.take(BLOCK);
    if (header === null || header.every((byte) => byte === 0)) return;
    if (checksumOf(header) !== octal(header, 148, 8))
      throw notAModel('the archive is no tar archive, or it is damaged');
    const sizeBytes = octal(header, 124, 12);
    const type = String.fromCharCode(header[156] as number);
    if (type === 'L' || type === 'x' || type === 'g') {
      if (sizeBytes > EXTENDED_BYTES_MAX) throw unsafeSource('the archive has an extended header that is too long');
      const extended = await reader.take(sizeBytes);
      await reader.take(paddingOf(sizeBytes));
      if (extended === null) throw cutOff();
      if (type !== 'g') longName = type === 'L' ? textOf(extended) : (paxPath(extended) ?? longName);
      continue;
    }
    const prefix = header.toString('latin1', 257, 262) === 'ustar' ? textOf(header.subarray(345, 500)) : '';
    const name = textOf(header.subarray(0, 100));
    const kind = KINDS[type] ?? 'other';
    const content = reader.content(kind === 'file' ? sizeBytes : 0);
    yield { path: longName ?? (prefix === '' ? name : `${prefix}/${name}`), sizeBytes, kind, content };
    for await (const _ of content);
    if (kind !== 'file' && sizeBytes > 0) for await (const _ of reader.content(sizeBytes));
    await reader.take(paddingOf(sizeBytes));
    longName = null;
  }
}

/** Takes bytes from a stream in pieces of any length. */
class BlockReader {
  readonly #source: AsyncIterator<Buffer>;
  #rest: Buffer = Buffer.alloc(0);

  constructor(bytes: AsyncIterable<Buffer>) {
    this.#source = bytes[Symbol.asyncIterator]();
  }

  /** @returns null at the end of the stream @throws AppError `model_invalid` (400) if the stream ends within */
  async take(length: number): Promise<Buffer | null> {
    const parts: Buffer[] = [];
    let missing = length;
    while (missing > 0) {
      const part = await this.#next(missing);
      if (part === null) {
        if (parts.length === 0) return null;
        throw cutOff();
      }
      parts.push(part);
      missing -= part.length;
    }
    return Buffer.concat(parts);
  }

  async *content(length: number): AsyncGenerator<Buffer> {
    for (let missing = length; missing > 0; ) {
      const part = await this.#next(missing);
      if (part === null) throw cutOff();
      missing -= part.length;
      yield part;
    }
  }

  async #next(lengthMax: number): Promise<Buffer | null> {
    while (this.#rest.length === 0) {
      const { done, value } = await this.#source.next();
      if (done) return null;
      this.#rest = value;
    }
    const part = this.#rest.subarray(0, lengthMax);
    this.#rest = this.#rest.subarray(part.length);
    return part;
  }
}

function cutOff() {
  return notAModel('the archive is cut off');
}

function paddingOf(sizeBytes: number): number {
  return (BLOCK - (sizeBytes % BLOCK)) % BLOCK;
}

function textOf(bytes: Buffer): string {
  const end = bytes.indexOf(0);
  return bytes.toString('utf8', 0, end < 0 ? bytes.length : end);
}

function octal(header: Buffer, at: number, length: number): number {
  // A number too large for octal digits is binary, after a first byte of 0x80.
  if ((header[at] as number) === 0x80) return Number(header.readBigUInt64BE(at + length - 8));
  const value = Number.parseInt(
    header
      .toString('latin1', at, at + length)
      .replace(/[\0 ]+$/, '')
      .trim() || '0',
    8,
  );
  if (!Number.isSafeInteger(value) || value < 0) throw notAModel('the archive is no tar archive, or it is damaged');
  return value;
}

/** Sum of the bytes of a header, with blanks in place of the sum itself. */
function checksumOf(header: Buffer): number {
  return header.reduce((sum, byte, at) => sum + (at >= 148 && at < 156 ? 0x20 : byte), 0);
}

/** Path of an extended header of pax: lines of `length key=value`. */
function paxPath(extended: Buffer): string | null {
  for (let at = 0; at < extended.length; ) {
    const blank = extended.indexOf(0x20, at);
    const length = blank < 0 ? 0 : Number(extended.toString('latin1', at, blank));
    if (!(length > 0)) return null;
    const record = extended.toString('utf8', blank + 1, at + length - 1);
    if (record.startsWith('path=')) return record.slice('path='.length);
    at += length;
  }
  return null;
}
