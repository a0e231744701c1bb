import { badReply, field } from '../../../platform/upstream/parse-json.ts';
import type { ExpectedVectors } from './protocol.ts';

/** Tolerated deviation of the squared norm from 1 (twice that of the norm). Beyond it, the row is scaled. */
const UNIT_SLACK = 2e-6;
const FLOAT_BYTES = 4;

/** Return a vendor's token count; null if it is missing, invalid, or 0 (from servers that don't count). */
export function tokensOf(value: unknown): number | null {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : null;
}

/**
 * Read the vectors of an OpenAI-shaped answer, `data[{index, embedding}]`, in any order, as base64 or as arrays of
 * numbers.
 *
 * @param embeddingOf returns the vector for the value of the member `embedding`
 * @returns Float32Array [count x dimensions], row-major, each row L2-normalised
 * @throws UpstreamFault `transient`: count, an index, a length or a value is wrong
 */
export function placeByIndex(
  data: unknown,
  expected: ExpectedVectors,
  embeddingOf = (embedding: unknown) => embedding,
): Float32Array<ArrayBuffer> {
  const rows = new Rows(expected);
  const items = rows.listOf(data);
  const seen = new Uint8Array(expected.count);
  for (const item of items) {
    const index = field(item, 'index');
    if (typeof index !== 'number' || !(index in seen))
      throw badReply('bad_index', 'an index is missing or out of range');
    if (seen[index] === 1) throw badReply('bad_index', `index ${index} came twice`);
    seen[index] = 1;
    rows.place(index, embeddingOf(field(item, 'embedding')));
  }
  return rows.vectors;
}

/** Read the vectors of an answer that lists them in text order. `key` names the member that holds a vector. */
export function placeInOrder(list: unknown, expected: ExpectedVectors, key?: string): Float32Array<ArrayBuffer> {
  const rows = new Rows(expected);
  const items = rows.listOf(list);
  for (let row = 0; row < expected.count; row++) {
    rows.place(row, key === undefined ? items[row] : field(items[row], key));
  }
  return rows.vectors;
}

/** Return the number of base64 characters of a vector: data, and optional padding. */
export function base64SizeOf(dimensions: number): { digits: number; padding: number } {
  const length = dimensions * FLOAT_BYTES;
  return { digits: Math.ceil((length * 4) / 3), padding: (3 - (length % 3)) % 3 };
}

/** Matrix of vectors, filled row by row. */
class Rows {
  readonly vectors: Float32Array<ArrayBuffer>;
  readonly #bytes: Buffer;
  readonly #count: number;
  readonly #dimensions: number;

  constructor({ count, dimensions }: ExpectedVectors) {
    this.#count = count;
    this.#dimensions = dimensions;
    this.vectors = new Float32Array(count * dimensions);
    this.#bytes = Buffer.from(this.vectors.buffer);
  }

  listOf(list: unknown): readonly unknown[] {
    if (!Array.isArray(list)) throw badReply('bad_shape', 'there is no list of vectors');
    if (list.length !== this.#count) {
      throw badReply('wrong_count', `${list.length} vectors for ${this.#count} texts`);
    }
    return list;
  }

  place(row: number, vector: unknown): void {
    if (typeof vector === 'string') this.#placeBase64(row, vector);
    else if (Array.isArray(vector)) this.#placeNumbers(row, vector);
    else throw badReply('bad_shape', 'a vector is neither base64 nor a list of numbers');
    this.#normalise(row);
  }

  /** Decode base64 of little-endian float32, the byte order of every supported platform. */
  #placeBase64(row: number, text: string): void {
    const length = this.#dimensions * FLOAT_BYTES;
    const { digits, padding } = base64SizeOf(this.#dimensions);
    const padded = text.length === digits + padding && text.endsWith('='.repeat(padding));
    if (!padded && text.length !== digits) {
      throw badReply('wrong_length', `base64 of ${text.length} characters for ${this.#dimensions} dimensions`);
    }
    // The decoder skips invalid characters, so any of them results in too few bytes.
    if (this.#bytes.write(text, row * length, length, 'base64') !== length) {
      throw badReply('bad_base64', 'a vector is not valid base64');
    }
  }

  #placeNumbers(row: number, values: readonly unknown[]): void {
    const dimensions = this.#dimensions;
    if (values.length !== dimensions) {
      throw badReply('wrong_length', `a vector of ${values.length} numbers for ${dimensions} dimensions`);
    }
    const { vectors } = this;
    const start = row * dimensions;
    for (let column = 0; column < dimensions; column++) {
      const value = values[column];
      if (typeof value !== 'number') throw badReply('not_finite', 'a vector holds something other than numbers');
      vectors[start + column] = value;
    }
  }

  #normalise(row: number): void {
    const { vectors } = this;
    const start = row * this.#dimensions;
    const end = start + this.#dimensions;
    // Two independent sums take a third of the time of one.
    let even = 0;
    let odd = 0;
    for (let at = start; at + 1 < end; at += 2) {
      const one = vectors[at] as number;
      const next = vectors[at + 1] as number;
      even += one * one;
      odd += next * next;
    }
    const last = this.#dimensions % 2 === 1 ? (vectors[end - 1] as number) : 0;
    const squares = even + odd + last * last;
    // Squares of finite float32 values cannot overflow a float64, so only NaN and infinities arrive here.
    if (!Number.isFinite(squares)) throw badReply('not_finite', 'a vector holds a value that is not finite');
    if (squares === 0) throw badReply('zero_vector', 'a vector is all zeros');
    if (Math.abs(squares - 1) <= UNIT_SLACK) return;
    const scale = 1 / Math.sqrt(squares);
    for (let at = start; at < end; at++) vectors[at] = (vectors[at] as number) * scale;
  }
}
