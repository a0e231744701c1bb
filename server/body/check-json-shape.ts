import { type AppError, invalidRequest } from '../../src/platform/errors.ts';

/** Bound on nesting: deeper bodies have no use in this API, and recursive code over them would overflow the stack. */
const DEPTH_MAX = 64;

const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
const ARRAY_BEGIN = 0x5b;
const ARRAY_END = 0x5d;
const OBJECT_BEGIN = 0x7b;
const OBJECT_END = 0x7d;

/**
 * Count depth and values of JSON over its bytes, in one pass and without memory. A parser must not see a body before
 * this check, because a small value takes up to a hundred times its bytes once it is parsed. For bytes that are not
 * JSON the counts mean nothing; the parser refuses them.
 *
 * @param valuesMax bound on members and items of all objects and arrays together
 * @throws AppError 400 for a body that is nested too deep or holds too many values
 */
export function checkJsonShape(bytes: Uint8Array, valuesMax: number): void {
  let depth = 0;
  let values = 0;
  /** True after `{` or `[` until the first value: an empty object or array holds none. */
  let isEmpty = false;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] as number;
    if (byte <= 0x20) continue;
    if (byte === ARRAY_END || byte === OBJECT_END) {
      depth--;
      isEmpty = false;
      continue;
    }
    if (isEmpty || byte === COMMA) {
      isEmpty = false;
      if (++values > valuesMax) throw tooManyValues(valuesMax);
    }
    if (byte === QUOTE) at = endOfString(bytes, at + 1);
    else if (byte === ARRAY_BEGIN || byte === OBJECT_BEGIN) {
      if (++depth > DEPTH_MAX) throw invalidRequest(`the body is nested deeper than ${DEPTH_MAX} levels`);
      isEmpty = true;
    }
  }
}

/** Return the position of the quote that ends a string, or the length of the bytes. */
function endOfString(bytes: Uint8Array, start: number): number {
  for (let from = start; ; ) {
    const quote = bytes.indexOf(QUOTE, from);
    if (quote === -1) return bytes.length;
    let first = quote;
    while (first > start && bytes[first - 1] === BACKSLASH) first--;
    if ((quote - first) % 2 === 0) return quote;
    from = quote + 1;
  }
}

function tooManyValues(valuesMax: number): AppError {
  return invalidRequest(`the body holds more than ${valuesMax} values`);
}
