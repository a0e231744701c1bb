import { acquireBuffer, releaseBuffer } from '../platform/large-buffers.ts';
import { type FloatPrinter, floatPrinter } from './float-printer.ts';

/** Typical length of a printed float with its comma: 12.4 bytes at 1,024 dimensions, slightly more if wider. */
const FLOAT_BYTES_TYPICAL = 13;

/** Maximum length of a UTF-16 code unit in UTF-8. */
const UTF8_BYTES_PER_CODE_UNIT_MAX = 3;

/**
 * Writer of a JSON text in one growing Buffer. It copies given text and prints floats directly from their array. It
 * doesn't know JSON's grammar, so the caller writes brackets, commas and quotes.
 */
export class JsonWriter {
  readonly #printer: FloatPrinter;
  #buffer: Buffer;
  #length = 0;

  /** Reserve memory for `floats` values and `textBytes` of other text. If the estimate is too low, the Buffer grows. */
  constructor(expected: { floats: number; textBytes: number }, printer: FloatPrinter = floatPrinter()) {
    this.#printer = printer;
    this.#buffer = acquireBuffer(expected.floats * FLOAT_BYTES_TYPICAL + expected.textBytes);
  }

  /** Append `json`, UTF-8. */
  text(json: string): void {
    this.#reserve(json.length * UTF8_BYTES_PER_CODE_UNIT_MAX);
    this.#length += this.#buffer.write(json, this.#length);
  }

  /** Append `vectors[from .. to)` as `1,-0.5,…`, without brackets. @throws AppError `embedding_not_finite` (502) */
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

  /** Return the text without a copy, in a Buffer for `releaseBuffer`. Do not use the writer afterwards. */
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
