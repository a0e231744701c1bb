import { type AppError, invalidRequest } from '../../src/platform/errors.ts';

/** Maximum nesting depth. This API needs no deeper bodies, and recursive code would overflow the stack. */
const DEPTH_MAX = 64;

/** Code of the error for a body with too many values. */
export const TOO_MANY_VALUES = 'too_many_values';

const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
const ARRAY_BEGIN = 0x5b;
const ARRAY_END = 0x5d;
const OBJECT_BEGIN = 0x7b;
const OBJECT_END = 0x7d;

/**
 * Counts the depth and values of JSON as its bytes arrive, without buffering. Check a body before parsing it, because a
 * small value takes up to a hundred times its size once parsed. For invalid JSON the counts are meaningless; the parser
 * refuses it.
 */
export class JsonShape {
  readonly #valuesMax: number;
  #depth = 0;
  #values = 0;
  /** True after `{` or `[` until the first value. */
  #isEmpty = false;
  #isInString = false;
  /** True in a string after a backslash that escapes the next byte. */
  #isEscaped = false;

  /** @param valuesMax maximum total of members and items of all objects and arrays */
  constructor(valuesMax: number) {
    this.#valuesMax = valuesMax;
  }

  /** Count the next bytes. @throws AppError 400 for a body that is nested too deeply or has too many values */
  add(bytes: Uint8Array): void {
    let at = this.#isInString ? this.#skipString(bytes, 0) : 0;
    for (; at < bytes.length; at++) {
      const byte = bytes[at] as number;
      if (byte <= 0x20) continue;
      if (byte === ARRAY_END || byte === OBJECT_END) {
        this.#depth--;
        this.#isEmpty = false;
        continue;
      }
      if (this.#isEmpty || byte === COMMA) {
        this.#isEmpty = false;
        if (++this.#values > this.#valuesMax) throw tooManyValues(this.#valuesMax);
      }
      if (byte === QUOTE) at = this.#skipString(bytes, at + 1) - 1;
      else if (byte === ARRAY_BEGIN || byte === OBJECT_BEGIN) {
        if (++this.#depth > DEPTH_MAX) throw invalidRequest(`the body is nested deeper than ${DEPTH_MAX} levels`);
        this.#isEmpty = true;
      }
    }
  }

  /** Return the position after the quote that ends a string, or the length of the bytes if the string continues. */
  #skipString(bytes: Uint8Array, start: number): number {
    this.#isInString = true;
    let from = start;
    if (this.#isEscaped && from < bytes.length) {
      this.#isEscaped = false;
      from++;
    }
    for (const begin = from; ; ) {
      const quote = bytes.indexOf(QUOTE, from);
      const end = quote === -1 ? bytes.length : quote;
      let first = end;
      while (first > begin && bytes[first - 1] === BACKSLASH) first--;
      const isEscaped = (end - first) % 2 === 1;
      if (quote === -1) {
        this.#isEscaped = isEscaped || (this.#isEscaped && end === begin);
        return end;
      }
      if (!isEscaped) {
        this.#isInString = false;
        return quote + 1;
      }
      from = quote + 1;
    }
  }
}

/** Check the shape of a whole body (see `JsonShape`). @throws AppError 400 */
export function checkJsonShape(bytes: Uint8Array, valuesMax: number): void {
  new JsonShape(valuesMax).add(bytes);
}

function tooManyValues(valuesMax: number): AppError {
  return invalidRequest(`the body holds more than ${valuesMax} values`, null, TOO_MANY_VALUES);
}
