import { ExtractError } from '../errors.ts';

const FREE = 0xfffffffa; // Values from here on are no sector: free, end of chain, parts of the tables.
const NO_ENTRY = 0xffffffff;
const HEADER_BYTES = 512;
const ENTRY_BYTES = 128;
const DIFAT_IN_HEADER = 109;
const ENTRIES_MAX = 65_536;
const TYPE_STORAGE = 1;
const TYPE_STREAM = 2;
const TYPE_ROOT = 5;

interface Stream {
  readonly start: number;
  readonly size: number;
}

/**
 * Compound file ([MS-CFB]): a file system in a file. Streams are named by path (`BodyText/Section0`). The file's number
 * of sectors and entries bounds the length of sector chains and the size of the name tree.
 */
export class CompoundFile {
  readonly #bytes: Buffer;
  readonly #sectorBytes: number;
  readonly #fat: Uint32Array;
  readonly #streams = new Map<string, Stream>();
  #miniFat: Uint32Array = new Uint32Array(0);
  #miniStream: Buffer = Buffer.alloc(0);
  #miniSectorBytes = 64;
  #miniCutoff = 4096;

  /** @throws ExtractError `corrupt` */
  constructor(bytes: Uint8Array) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    if (bytes.length < HEADER_BYTES) throw damaged();
    const header = this.#bytes;
    const sectorShift = header.readUInt16LE(30);
    const miniSectorShift = header.readUInt16LE(32);
    if ((sectorShift !== 9 && sectorShift !== 12) || miniSectorShift > sectorShift) throw damaged();
    this.#sectorBytes = 1 << sectorShift;
    this.#miniSectorBytes = 1 << miniSectorShift;
    this.#miniCutoff = header.readUInt32LE(56);
    this.#fat = this.#readFat();
    const entries = this.#chain(header.readUInt32LE(48), Number.POSITIVE_INFINITY);
    this.#readEntries(entries, sectorShift === 9);
    const miniFat = this.#chain(header.readUInt32LE(60), Number.POSITIVE_INFINITY);
    this.#miniFat = wordsOf(miniFat);
  }

  /** @param path case-insensitive, as in compound files */
  has(path: string): boolean {
    return this.#streams.has(path.toLowerCase());
  }

  /** Read a stream, or return null if it doesn't exist. @throws ExtractError `corrupt` if it is truncated */
  read(path: string): Buffer | null {
    const stream = this.#streams.get(path.toLowerCase());
    if (stream === undefined) return null;
    if (stream.size > this.#bytes.length) throw damaged();
    const bytes = stream.size < this.#miniCutoff ? this.#miniChain(stream) : this.#chain(stream.start, stream.size);
    if (bytes.length < stream.size) throw damaged();
    return bytes.subarray(0, stream.size);
  }

  #sector(number: number): Buffer {
    const start = (number + 1) * this.#sectorBytes;
    return this.#bytes.subarray(start, start + this.#sectorBytes);
  }

  /** Read the file allocation table. The header and a chain of further lists locate its sectors. */
  #readFat(): Uint32Array {
    const sectors = Math.ceil(this.#bytes.length / this.#sectorBytes);
    const numbers: number[] = [];
    for (let i = 0; i < DIFAT_IN_HEADER; i++) numbers.push(this.#bytes.readUInt32LE(76 + i * 4));
    let list = this.#bytes.readUInt32LE(68);
    for (let step = 0; list < FREE && step < sectors; step++) {
      const words = wordsOf(this.#sector(list));
      if (words.length === 0) throw damaged();
      numbers.push(...words.subarray(0, -1));
      list = words.at(-1) as number;
    }
    const used = numbers.filter((number) => number < FREE).slice(0, sectors);
    return wordsOf(Buffer.concat(used.map((number) => this.#sector(number))));
  }

  /** Read a chain of sectors up to `bytesMax` bytes, or at most one sector more. */
  #chain(start: number, bytesMax: number): Buffer {
    const parts: Buffer[] = [];
    let length = 0;
    for (let at = start; at < FREE && length < bytesMax; at = this.#fat[at] ?? NO_ENTRY) {
      const sector = this.#sector(at);
      // A circular chain becomes longer than the file.
      if (sector.length === 0 || length > this.#bytes.length) throw damaged();
      parts.push(sector);
      length += sector.length;
    }
    return Buffer.concat(parts);
  }

  #miniChain({ start, size }: Stream): Buffer {
    const parts: Buffer[] = [];
    let length = 0;
    for (let at = start; at < FREE && length < size; at = this.#miniFat[at] ?? NO_ENTRY) {
      const from = at * this.#miniSectorBytes;
      const sector = this.#miniStream.subarray(from, from + this.#miniSectorBytes);
      if (sector.length === 0) throw damaged();
      parts.push(sector);
      length += sector.length;
    }
    return Buffer.concat(parts);
  }

  /** Read the directory. Each storage is a binary tree of names, linked by entry numbers. */
  #readEntries(table: Buffer, isVersion3: boolean): void {
    const count = Math.min(Math.floor(table.length / ENTRY_BYTES), ENTRIES_MAX);
    const seen = new Set<number>();
    const open: Array<{ id: number; folder: string }> = [{ id: 0, folder: '' }];
    for (let entry = open.pop(); entry !== undefined; entry = open.pop()) {
      const { id, folder } = entry;
      if (id >= count || seen.has(id)) continue;
      seen.add(id);
      const record = table.subarray(id * ENTRY_BYTES, (id + 1) * ENTRY_BYTES);
      const nameBytes = Math.min(Math.max(record.readUInt16LE(64) - 2, 0), 62);
      const name = record.toString('utf16le', 0, nameBytes & ~1);
      const type = record.readUInt8(66);
      const start = record.readUInt32LE(116);
      // The upper half is undefined in version 3.
      const size = record.readUInt32LE(120) + (isVersion3 ? 0 : record.readUInt32LE(124) * 2 ** 32);
      if (type === TYPE_ROOT) this.#miniStream = this.#chain(start, size);
      else open.push({ id: record.readUInt32LE(68), folder }, { id: record.readUInt32LE(72), folder });
      if (type === TYPE_STREAM) this.#streams.set((folder + name).toLowerCase(), { start, size });
      else if (type === TYPE_ROOT) open.push({ id: record.readUInt32LE(76), folder });
      else if (type === TYPE_STORAGE) open.push({ id: record.readUInt32LE(76), folder: `${folder}${name}/` });
    }
    if (seen.size <= 1) throw damaged();
  }
}

function wordsOf(bytes: Buffer): Uint32Array {
  const words = new Uint32Array(bytes.length >> 2);
  for (let i = 0; i < words.length; i++) words[i] = bytes.readUInt32LE(i * 4);
  return words;
}

function damaged(): ExtractError {
  return new ExtractError('corrupt', 'the file is damaged and cannot be opened');
}
