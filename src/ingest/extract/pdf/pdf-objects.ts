import { inflateSync } from 'node:zlib';

/** PDF object: its text, and the start of its stream in the file if it has one. */
interface PdfObject {
  readonly number: number;
  /** Dictionary or array, without the stream. */
  readonly text: string;
  readonly streamAt: number | null;
}

const OBJECT_MARK = ' obj';
const OBJECT_CHARS_MAX = 1024 * 1024;
const STREAM_BYTES_MAX = 32 * 1024 * 1024;
/** Maximum total size of object streams to search. */
const PACKED_BYTES_MAX = 64 * 1024 * 1024;

/**
 * Objects of a PDF by number, without using the cross-reference table: the last object with a number counts. Searches
 * only for what is requested, in the plain bytes and in object streams. Doesn't read encrypted files.
 */
export class PdfObjects {
  readonly #file: Buffer;
  /** Offsets after `obj`, by number; the last object with a number counts. */
  #offsets: Map<number, number> | null = null;
  /** Objects in object streams, by number. */
  #packed: Map<number, PdfObject> | null = null;

  constructor(file: Uint8Array) {
    this.#file = Buffer.from(file.buffer, file.byteOffset, file.byteLength);
  }

  /** Return all objects whose text contains `part`. */
  containing(part: string): PdfObject[] {
    const found = new Map<number, PdfObject>();
    for (const object of this.#packedObjects().values())
      if (object.text.includes(part)) found.set(object.number, object);
    for (let at = this.#file.indexOf(part); at >= 0; ) {
      const object = this.#objectAround(at);
      if (object?.text.includes(part)) found.set(object.number, object);
      // Parse each object once, however often it contains the part.
      const end = this.#file.indexOf('endobj', at);
      at = end < 0 ? -1 : this.#file.indexOf(part, end);
    }
    return [...found.values()];
  }

  get(number: number): PdfObject | null {
    const offset = this.#offsetOf(number);
    return offset === undefined ? (this.#packedObjects().get(number) ?? null) : this.#parse(number, offset);
  }

  /** Resolve a key's value: the object that it refers to, or the text of the value itself. */
  resolve(dictionary: string, key: string): PdfObject | null {
    const value = entryOf(dictionary, key);
    const reference = /^(\d+)\s+\d+\s+R/.exec(value ?? '')?.[1];
    if (reference !== undefined) return this.get(Number(reference));
    return value === null ? null : { number: -1, text: value, streamAt: null };
  }

  /** Read the bytes of an uncompressed or Flate stream; null if unreadable. */
  stream(object: PdfObject): Buffer | null {
    if (object.streamAt === null) return null;
    const length = Number(/^\d+$/.exec(this.resolve(object.text, '/Length')?.text.trim() ?? '')?.[0] ?? Number.NaN);
    const end = Number.isNaN(length) ? this.#file.indexOf('endstream', object.streamAt) : object.streamAt + length;
    const stored = this.#file.subarray(object.streamAt, end < 0 ? undefined : end);
    const filter = entryOf(object.text, '/Filter')?.replace(/[[\]\s]/g, '') ?? '';
    if (!/^(?:\/FlateDecode.*)?$/.test(filter) || /DCT|LZW|ASCII|RunLength/.test(filter)) return null;
    if (filter === '') return stored;
    try {
      return inflateSync(stored, { maxOutputLength: STREAM_BYTES_MAX });
    } catch {
      return null;
    }
  }

  /** Return the reference to the catalog, and the offset of the last cross-reference section. */
  trailer(): { root: string; previous: number } | null {
    const at = this.#file.lastIndexOf('/Root');
    const root = /^\/Root\s*(\d+\s+\d+\s+R)/.exec(this.#file.toString('latin1', at, at + 40))?.[1];
    const start = this.#file.lastIndexOf('startxref');
    const previous = /^startxref\s+(\d+)/.exec(this.#file.toString('latin1', start, start + 40))?.[1];
    return at < 0 || root === undefined || previous === undefined ? null : { root, previous: Number(previous) };
  }

  #objectAround(at: number): PdfObject | null {
    const mark = this.#file.lastIndexOf(OBJECT_MARK, at);
    if (mark < 0) return null;
    const number = this.#numberBefore(mark);
    return number === null ? null : this.#parse(number, mark + OBJECT_MARK.length);
  }

  /** Return the number of the object whose mark is at an offset: `12` for `12 0 obj`. */
  #numberBefore(mark: number): number | null {
    const number = /(\d+)\s+\d+$/.exec(this.#file.toString('latin1', Math.max(0, mark - 24), mark))?.[1];
    return number === undefined ? null : Number(number);
  }

  #offsetOf(number: number): number | undefined {
    if (this.#offsets === null) {
      this.#offsets = new Map();
      for (let at = this.#file.indexOf(OBJECT_MARK); at >= 0; at = this.#file.indexOf(OBJECT_MARK, at + 1)) {
        const own = this.#numberBefore(at);
        if (own !== null) this.#offsets.set(own, at + OBJECT_MARK.length);
      }
    }
    return this.#offsets.get(number);
  }

  #parse(number: number, from: number): PdfObject | null {
    const end = this.#file.indexOf('endobj', from);
    const stream = this.#file.indexOf('stream', from);
    const hasStream = stream >= 0 && (end < 0 || stream < end);
    const textEnd = hasStream ? stream : end;
    if (textEnd < 0 || textEnd - from > OBJECT_CHARS_MAX) return null;
    const afterMark = stream + 'stream'.length;
    const lineEnd = this.#file[afterMark] === 0x0d ? 2 : 1;
    const text = this.#file.toString('latin1', from, textEnd).trim();
    return { number, text, streamAt: hasStream ? afterMark + lineEnd : null };
  }

  #packedObjects(): ReadonlyMap<number, PdfObject> {
    if (this.#packed !== null) return this.#packed;
    this.#packed = new Map();
    let bytesLeft = PACKED_BYTES_MAX;
    for (let at = this.#file.indexOf('/ObjStm'); at >= 0; at = this.#file.indexOf('/ObjStm', at + 1)) {
      const holder = this.#objectAround(at);
      const content = holder === null ? null : this.stream(holder);
      bytesLeft -= content?.length ?? 0;
      if (bytesLeft < 0) break;
      if (holder !== null && content !== null) addPacked(holder.text, content.toString('latin1'), this.#packed);
    }
    return this.#packed;
  }
}

/** Parse an object stream: pairs of number and offset, then the objects (PDF 32000-1, 7.5.7). */
function addPacked(dictionary: string, content: string, into: Map<number, PdfObject>): void {
  const first = Number(entryOf(dictionary, '/First'));
  const numbers = content.slice(0, first).trim().split(/\s+/).map(Number);
  for (let at = 0; at + 1 < numbers.length; at += 2) {
    const start = first + (numbers[at + 1] as number);
    const end = at + 3 < numbers.length ? first + (numbers[at + 3] as number) : content.length;
    const number = numbers[at] as number;
    if (start >= 0 && end >= start)
      into.set(number, { number, text: content.slice(start, end).trim(), streamAt: null });
  }
}

/** Return the raw value of a dictionary key, up to the next key; null if there is none. */
export function entryOf(dictionary: string, key: string): string | null {
  const at = dictionary.search(new RegExp(`${key}(?![A-Za-z0-9])`));
  if (at < 0) return null;
  const rest = dictionary.slice(at + key.length).trimStart();
  if (rest.startsWith('<<')) return rest.slice(0, rest.indexOf('>>') + 2);
  if (rest.startsWith('[')) return rest.slice(0, rest.indexOf(']') + 1);
  if (rest.startsWith('(')) return rest.slice(0, rest.indexOf(')') + 1);
  return /^\/?[^/<>[\]()]*/.exec(rest)?.[0].trim() ?? null;
}
