/**
 * Module that prints float32 values as JSON numbers. It is AssemblyScript, compiled by `build.ts`, not by `tsc`.
 *
 * Every value becomes the shortest decimal that reads back to the same float32, whether the reader rounds the
 * decimal to float32 directly or through float64, laid out as ECMAScript lays numbers out (Number::toString).
 *
 * Method. A finite float32 is c * 2^q. With k = floor(log10(2^q)) and G = 2^q / 10^k (so 1 <= G < 10), the value is
 * c * G in units of 10^k, and all decimals that round to it lie within G/2 on either side. That interval is at least
 * one unit and less than ten units wide, hence
 *   - it contains at most one multiple of ten; if there is one, it is the shortest without its trailing zeros;
 *   - else the integer nearest to the value is the shortest, and the closest of that length.
 * Quantities are fixed-point with 36 fraction bits. For 2^-27 <= x < 2^27 they are exact (G has 34 fraction bits at
 * most); elsewhere the lowest bit is a sticky bit for what lies below, so that comparisons with whole units stay exact.
 */

/** Maximum number of floats in one call. */
export const floatsMax: u32 = 4096;

/**
 * Table of 255 entries of 16 bytes, by biased exponent: G as three limbs of 32 bits (low first, 92 fraction bits), k.
 */
const tableAddress: usize = 0;
const entryBytesLog2: usize = 4;

/** Address of the input: little-endian float32 values, 4 bytes each. */
export const inputAddress: usize = 4096;
/**
 * Address of the output: ASCII text with one comma after each number, at most 23 bytes a float
 * ("-999999950000000000000,"). The two pages of memory hold that for `floatsMax` floats, and the few bytes that the
 * functions store beyond the text.
 */
export const outputAddress: usize = inputAddress + 4 * floatsMax;

const fractionBits: u64 = 36;
const oneHalf: u64 = 1 << (fractionBits - 1);

/** Difference of the biased exponent and q for c * 2^q with c of 24 bits. */
const exponentBias: u32 = 150;
/** Range of values below 1 and at least 2^-19 (> 1e-6): "0." and at most 13 more digits. */
const belowOneFirst: u32 = 127 - 19;
const belowOneLast: u32 = 126;
/** Range in which 34 fraction bits hold G exactly: q of -50..3. */
const exactFirst: u32 = exponentBias - 50;
const exactLast: u32 = exponentBias + 3;

const ascii0: u64 = 0x3030303030303030;

fillTable();

/**
 * Write the `count` floats at `inputAddress` to `outputAddress`, each followed by a comma.
 * Returns the bytes written, or -1 - i where float i is the first one that is not finite.
 */
export function print(count: u32): i32 {
  let out = outputAddress;
  for (let i: u32 = 0; i < count; i++) {
    const bits = load<u32>(inputAddress + (i << 2));
    const exponent = (bits >> 23) & 0xff;
    const fraction = bits & 0x7fffff;
    store<u8>(out, 0x2d); // '-', overwritten if the sign bit is clear
    out += bits >> 31;
    if (exponent - belowOneFirst <= belowOneLast - belowOneFirst && fraction != 0) {
      out = printBelowOne(out, exponent, fraction);
    } else if (exponent == 0xff) {
      return -1 - <i32>i;
    } else {
      out = printAny(out, exponent, fraction);
    }
    store<u8>(out, 0x2c);
    out++;
  }
  return <i32>(out - outputAddress);
}

/** Print a value with 2^-19 < x < 1 that is not a power of two: the hot path. */
// @ts-ignore: decorator
@inline
function printBelowOne(out: usize, exponent: u32, fraction: u32): usize {
  const entry = entryOf(exponent);
  const c = <u64>(fraction | 0x800000);
  const g = load<u64>(entry, 4) >> 26;
  const value = (c << 2) * g;
  const shrink = guard(c, g, 0);
  const low = value - (g << 1) + shrink;
  const high = (value + (g << 1) - shrink) >> fractionBits;
  const tens = high - (high % 10);
  const units = select<u64>(tens, (value + oneHalf) >> fractionBits, tens << fractionBits >= low);

  // units < 2 * 10^8: one leading digit and eight more. Places after the point: 8 (leading digit 0) to 13.
  const places = -load<i32>(entry, 12);
  const lead = <u64>(units >= 100000000);
  const digits = eightDigits(units - lead * 100000000);
  const end = out + 2 + places;
  store<u64>(out, ascii0, 2);
  store<u8>(end - 9, <u8>(0x30 + lead)); // with 8 places this is the position of the point, hence it is stored first
  store<u16>(out, 0x2e30); // "0."
  store<u64>(end - 8, digits | ascii0);
  return end - (<usize>clz(digits) >> 3);
}

/** Print any finite value. `out` is after the sign. */
function printAny(out: usize, exponent: u32, fraction: u32): usize {
  if ((exponent | fraction) == 0) {
    store<u8>(out, 0x30);
    return out + 1;
  }
  const entry = entryOf(max(exponent, 1));
  const c = <u64>(exponent == 0 ? fraction : fraction | 0x800000);
  const g = load<u64>(entry, 4) >> 26;
  let k = load<i32>(entry, 12);
  // The neighbour below a power of two is half as far away. If that is less than one unit, use a finer unit.
  const below: u64 = fraction == 0 && exponent > 1 ? 1 : 2;
  let scale: u64 = 4;
  if (below == 1 && 3 * g < <u64>4 << 34) {
    scale = 40;
    k--;
  }
  const fine = scale >> 2;
  const shrink = guard(c, g, <u64>(clz(<u32>c) - 8));
  const low = times(c * scale - below * fine, entry, exponent) + shrink;
  const value = times(c * scale, entry, exponent);
  const high = (times(c * scale + 2 * fine, entry, exponent) - shrink) >> fractionBits;
  let units = high - (high % 10);
  if (units << fractionBits < low) {
    units = (value + oneHalf) >> fractionBits;
    if (units << fractionBits < low) units++;
  }
  while (units % 10 == 0) {
    units /= 10;
    k++;
  }
  return layOut(out, <u32>units, k);
}

/**
 * Compute the amount by which to shrink the interval at either end so that both its ends are inside. For even c it is
 * 0, since ties go to even. For odd c it is half a float64 step, since a float64 reader rounds all that is closer to
 * the end to the end itself, and then to the even neighbour. `shift` is 24 less the bits of c: subnormal numbers have
 * finer float64 steps.
 */
// @ts-ignore: decorator
@inline
function guard(c: u64, g: u64, shift: u64): u64 {
  return (1 + ((g >> 28) >> shift)) & (0 - (c & 1));
}

/** Compute m * G / 4 in fixed point, for m < 2^29 and G of the entry. */
function times(m: u64, entry: usize, exponent: u32): u64 {
  if (exponent - exactFirst <= exactLast - exactFirst) return m * (load<u64>(entry, 4) >> 26);
  const middle = m * load<u32>(entry, 4) + ((m * load<u32>(entry)) >> 32);
  const top = m * load<u32>(entry, 8) + (middle >> 32);
  // G is rounded up by less than 2^-91: if the product is whole, the bits below `middle` contain only that error.
  return (top << 6) | ((middle & 0xffffffff) >> 26) | <u64>((middle & 0x3ffffff) != 0);
}

/** Split n < 10^8 into eight decimal digits as bytes 0..9, the first digit in the lowest byte. */
// @ts-ignore: decorator
@inline
function eightDigits(n: u64): u64 {
  const fours = n / 10000 + ((n % 10000) << 32);
  const upper = ((fours * 5243) >> 19) & 0x0000007f0000007f; // / 100 for < 10^4
  const twos = upper + ((fours - upper * 100) << 16);
  const tens = ((twos * 103) >> 10) & 0x000f000f000f000f; // / 10 for < 100
  return tens + ((twos - tens * 10) << 8);
}

/** Print units * 10^k by the rules of ECMAScript's Number::toString; `units` does not end in 0. */
function layOut(out: usize, units: u32, k: i32): usize {
  let length = 1;
  for (let rest = units / 10; rest != 0; rest /= 10) length++;
  const point = length + k; // the number of digits before the decimal point
  if (length <= point && point <= 21) {
    putDigits(out, units, length);
    return fillZeros(out + length, point - length);
  }
  if (0 < point && point <= 21) {
    putDigits(out + 1, units, length);
    memory.copy(out, out + 1, point);
    store<u8>(out + point, 0x2e);
    return out + length + 1;
  }
  if (-6 < point && point <= 0) {
    store<u16>(out, 0x2e30);
    out = fillZeros(out + 2, -point);
    putDigits(out, units, length);
    return out + length;
  }
  putDigits(out + 1, units, length);
  store<u8>(out, load<u8>(out + 1));
  out++;
  if (length > 1) {
    store<u8>(out, 0x2e);
    out += length;
  }
  const power = point - 1;
  store<u8>(out, 0x65); // 'e'
  store<u8>(out + 1, power < 0 ? 0x2d : 0x2b);
  out += 2;
  const size: u32 = abs(power);
  const powerLength = size < 10 ? 1 : 2;
  putDigits(out, size, powerLength);
  return out + powerLength;
}

function putDigits(out: usize, n: u32, length: i32): void {
  for (let at = out + length - 1; at >= out; at--) {
    store<u8>(at, 0x30 + (n % 10));
    n /= 10;
  }
}

function fillZeros(out: usize, count: i32): usize {
  memory.fill(out, 0x30, count);
  return out + count;
}

// @ts-ignore: decorator
@inline
function entryOf(exponent: u32): usize {
  return tableAddress + (<usize>exponent << entryBytesLog2);
}

/**
 * Fill the table from q = 0 (G = 1, k = 0) in both directions with 124 fraction bits. Downwards is exact: G is halved,
 * or multiplied by five with a new k. Upwards G is doubled, or divided by five and rounded up.
 */
function fillTable(): void {
  let high: u64 = 1 << 60;
  let low: u64 = 0;
  let k = 0;
  for (let exponent = exponentBias; exponent >= 1; exponent--) {
    putEntry(exponent, high, low, k);
    if (high >> 61 != 0) {
      low = (low >> 1) | (high << 63);
      high >>= 1;
    } else {
      const lowest = (low & 0xffffffff) * 5;
      const next = (low >> 32) * 5 + (lowest >> 32);
      low = (next << 32) | (lowest & 0xffffffff);
      high = high * 5 + (next >> 32);
      k--;
    }
  }
  high = 1 << 60;
  low = 0;
  k = 0;
  for (let exponent = exponentBias; exponent <= 254; exponent++) {
    putEntry(exponent, high, low, k);
    if (high < <u64>5 << 60) {
      high = (high << 1) | (low >> 63);
      low <<= 1;
    } else {
      const upper = ((high % 5) << 32) | (low >> 32);
      const lower = ((upper % 5) << 32) | (low & 0xffffffff);
      high /= 5;
      low = ((upper / 5) << 32) + lower / 5 + <u64>(lower % 5 != 0);
      k++;
    }
  }
}

function putEntry(exponent: u32, high: u64, low: u64, k: i32): void {
  const entry = entryOf(exponent);
  let lowLimb = (low >> 32) + <u64>((low & 0xffffffff) != 0);
  high += lowLimb >> 32;
  store<u32>(entry, <u32>lowLimb);
  store<u64>(entry, high, 4);
  store<i32>(entry, k, 12);
}
