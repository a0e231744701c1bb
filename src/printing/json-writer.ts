import { acquireBuffer, releaseBuffer } from '../platform/large-buffers.ts';
import { type FloatPrinter, floatPrinter } from './float-printer.ts';

/** Unit vectors of 1,024 dimensions take 12.4 bytes a value, comma included; wider ones a little more. */
const FLOAT_BYTES_TYPICAL = 13;

/** UTF-16 code units take up to this many bytes in UTF-8. */
const UTF8_BYTES_PER_CODE_UNIT_MAX = 3;

/**
 * Collects a JSON text in one growing Buffer: pieces of text as they are, floats printed straight from their array.
 * It knows no JSON grammar: brackets, commas and quotes are the caller's.
 */
export class JsonWriter {
  readonly #printer: FloatPrinter;
  #buffer: Buffer;
  #length = 0;

  /** Room is taken for `floats` values and `textBytes` besides; a wrong guess costs a copy, not a failure. */
  constructor(expected: { floats: number; textBytes: number }, printer: FloatPrinter = floatPrinter()) {
    this.#printer = printer;
    this.#buffer = acquireBuffer(expected.floats * FLOAT_BYTES_TYPICAL + expected.textBytes);
  }

  /** Append `json`, UTF-8. */
  text(json: string): void {
    this.#reserve(json.length * UTF8_BYTES_PER_CODE_UNIT_MAX);
    this.#length += this.#buffer.write(json, this.#length);
  }

  /**
   * Append `vectors[from .. to)` as `1,-0.5,…`, without brackets.
   *
   * @throws AppError `embedding_not_finite` (502)
   */
  floats(vectors: Float32Array, from: number, to: number): void {
    const block = this.#printer.blockFloatsMax;
    for (let start = from; start < to; start += block) {
      if (start > from) this.text(',');
      const printed = this.#printer.printBlock(vectors, start, Math.min(start + block, to));
      this.#reserve(printed.length);
      this.#buffer.set(printed, this.#length);
      this.#length += printed.length;
    }
  }

  /** What was written, without a copy, in a Buffer for `releaseBuffer`. The writer must not be used afterwards. */
  finish(): Buffer {
    return this.#buffer.subarray(0, this.#length);
  }

  #reserve(bytes: number): void {
    const needed = this.#length + bytes;
    if (needed <= this.#buffer.length) return;
    const grown = acquireBuffer(Math.max(needed, Math.ceil(this.#buffer.length * 1.5)));
    grown.set(this.#buffer.subarray(0, this.#length));
    releaseBuffer(this.#buffer);
    this.#buffer = grown;
  }
}
