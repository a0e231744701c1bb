/**
 * Quantised vectors of 1,024 dimensions and their dot products with a query. This is AssemblyScript, compiled by
 * `build.ts`; `tsc` does not check it.
 *
 * A vector is rotated before it is stored, so that quantisation errors don't depend on the query. The rotation applies
 * random signs and a Walsh-Hadamard transform, twice. The components are then stored as 16-bit numbers. Each vector has
 * its own quantisation step.
 *
 * A search has three steps:
 *
 * 1. Count the signs that row and query share (sketches.as.ts).
 * 2. For the rows with the largest counts, estimate the dot product from the highest 4 bits (estimates.as.ts).
 * 3. For the rows that may be among the best, compute the dot product from all 16 bits.
 *
 * A row is stored in parts: the highest 4 bits [512 bytes], and separately the middle 8 bits [1,024 bytes] followed by
 * the lowest 4 bits [512 bytes]. 4-bit numbers are packed in groups of 32 components. Byte j of a group holds component
 * j in its low half and component 16 + j in its high half.
 *
 * Results depend only on the arguments, not on the build: integer sums are exact, and float sums use no fused
 * multiply-add.
 */
import { deviations, dimensions, dimensionsRoot, highRowBytes } from './layout.as';

export { estimate } from './estimates.as';
export { countReaching, countSigns, encodeSketch, listComponents, listReaching, packFlags } from './sketches.as';

/** Add the lanes of f32 [4]. */
// @ts-ignore: decorator
@inline
function sumOf(lanes: v128): f32 {
  const first = f32x4.extract_lane(lanes, 0) + f32x4.extract_lane(lanes, 1);
  return first + (f32x4.extract_lane(lanes, 2) + f32x4.extract_lane(lanes, 3));
}

/** Rotate f32 [1024] at `x` in place. `signs` is the address of two vectors f32 [1024] of 1 and -1. */
export function rotate(x: usize, signs: usize): void {
  rotateOnce(x, signs);
  rotateOnce(x, signs + dimensions * 4);
}

function rotateOnce(x: usize, signs: usize): void {
  const end = dimensions << 2;
  // Apply the signs and the first two stages of the transform, within each group of four components.
  for (let i: usize = 0; i < end; i += 16) {
    const v = f32x4.mul(v128.load(x + i), v128.load(signs + i));
    const swapped = v128.shuffle<f32>(v, v, 1, 0, 3, 2);
    const pairs = v128.shuffle<f32>(f32x4.add(v, swapped), f32x4.sub(swapped, v), 0, 5, 2, 7);
    const crossed = v128.shuffle<f32>(pairs, pairs, 2, 3, 0, 1);
    v128.store(x + i, v128.shuffle<f32>(f32x4.add(pairs, crossed), f32x4.sub(crossed, pairs), 0, 1, 6, 7));
  }
  for (let half: usize = 16; half < end; half <<= 1) {
    for (let from: usize = 0; from < end; from += half << 1) {
      for (let i = from; i < from + half; i += 16) {
        const a = v128.load(x + i);
        const b = v128.load(x + i + half);
        v128.store(x + i, f32x4.add(a, b));
        v128.store(x + i + half, f32x4.sub(a, b));
      }
    }
  }
  const scale = f32x4.splat(1 / dimensionsRoot);
  for (let i: usize = 0; i < end; i += 16) v128.store(x + i, f32x4.mul(v128.load(x + i), scale));
}

function largest(x: usize): f32 {
  let greatest = f32x4.splat(0);
  for (let i: usize = 0; i < dimensions << 2; i += 16) {
    greatest = f32x4.max(greatest, f32x4.abs(v128.load(x + i)));
  }
  return max(
    max(f32x4.extract_lane(greatest, 0), f32x4.extract_lane(greatest, 1)),
    max(f32x4.extract_lane(greatest, 2), f32x4.extract_lane(greatest, 3)),
  );
}

/** Scale f32 [4] at `x` to integers from -32767 to 32767, kept as floats. */
// @ts-ignore: decorator
@inline
function scaledAt(x: usize, perStep: f32): v128 {
  const scaled = f32x4.nearest(f32x4.mul(v128.load(x), f32x4.splat(perStep)));
  return f32x4.max(f32x4.splat(-32767), f32x4.min(f32x4.splat(32767), scaled));
}

/** Convert scaled components to integers and add 32768. NaN becomes 32768, which stands for zero. */
// @ts-ignore: decorator
@inline
function toUnsigned(scaled: v128): v128 {
  return i32x4.add(i32x4.trunc_sat_f32x4_s(scaled), i32x4.splat(32768));
}

/** Return the quantisation error of the highest 4 bits of scaled components. */
// @ts-ignore: decorator
@inline
function restOf(scaled: v128): v128 {
  const level = f32x4.convert_i32x4_u(i32x4.shr_u(toUnsigned(scaled), 12));
  return f32x4.sub(scaled, f32x4.mul(f32x4.sub(level, f32x4.splat(7.5)), f32x4.splat(4096)));
}

/** Quantise f32 [8] at `x` to u16 [8]. */
// @ts-ignore: decorator
@inline
function quantise(x: usize, perStep: f32): v128 {
  return i16x8.narrow_i32x4_u(toUnsigned(scaledAt(x, perStep)), toUnsigned(scaledAt(x + 16, perStep)));
}

/** Return the middle 8 bits of u16 [8]. */
// @ts-ignore: decorator
@inline
function middleOf(values: v128): v128 {
  return v128.and(i16x8.shr_u(values, 4), i16x8.splat(255));
}

/** Pack 4-bit numbers, u16 [32], into 16 bytes. The first 16 go to the low halves, the others to the high halves. */
// @ts-ignore: decorator
@inline
function joinHalves(a: v128, b: v128, c: v128, d: v128): v128 {
  return v128.or(i8x16.narrow_i16x8_u(a, b), i8x16.shl(i8x16.narrow_i16x8_u(c, d), 4));
}

/**
 * Quantise the rotated vector f32 [1024] at `x`. A vector with NaN or an infinity becomes zero.
 *
 * @param high address for the highest 4 bits [512 bytes]
 * @param rest address for the middle 8 bits and the lowest 4 [1536 bytes]
 * @param scales address for f32 [2]: the quantisation step, and the margin of an estimate from the highest 4 bits
 */
export function encode(x: usize, high: usize, rest: usize, scales: usize): void {
  let most = largest(x);
  if (!(most < Infinity)) most = 0;
  const step: f32 = most / 32767;
  const perStep: f32 = step > 0 ? 1 / step : 0;
  const middle = rest;
  const low = rest + dimensions;
  let squares = f32x4.splat(0);
  for (let i: usize = 0; i < dimensions; i += 4) {
    const error = restOf(scaledAt(x + (i << 2), perStep));
    squares = f32x4.add(squares, f32x4.mul(error, error));
  }
  const lowest = i16x8.splat(15);
  for (let i: usize = 0; i < dimensions; i += 32) {
    const at = x + (i << 2);
    const a = quantise(at, perStep);
    const b = quantise(at + 32, perStep);
    const c = quantise(at + 64, perStep);
    const d = quantise(at + 96, perStep);
    const highs = joinHalves(i16x8.shr_u(a, 12), i16x8.shr_u(b, 12), i16x8.shr_u(c, 12), i16x8.shr_u(d, 12));
    const lows = joinHalves(v128.and(a, lowest), v128.and(b, lowest), v128.and(c, lowest), v128.and(d, lowest));
    v128.store(high + (i >> 1), highs);
    v128.store(low + (i >> 1), lows);
    v128.store(middle + i, i8x16.narrow_i16x8_u(middleOf(a), middleOf(b)));
    v128.store(middle + i, i8x16.narrow_i16x8_u(middleOf(c), middleOf(d)), 16);
  }
  store<f32>(scales, step);
  store<f32>(scales, step > 0 ? (deviations / dimensionsRoot) * step * sqrt<f32>(sumOf(squares)) : 0, 4);
}

/**
 * Quantise the rotated query f32 [1024] at `query` to signed bytes at `bytes`. Append f32 [4]: the quantisation step,
 * the sum of the bytes, the margin of the error, and the length of the query. The margins of rows are multiplied by
 * that length.
 */
export function prepareQuery(query: usize, bytes: usize, length: f32): void {
  const step: f32 = largest(query) / 127;
  const perStep: f32 = step > 0 ? 1 / step : 0;
  const most = f32x4.splat(127);
  let sums = i32x4.splat(0);
  let squares = f32x4.splat(0);
  for (let i: usize = 0; i < dimensions; i += 4) {
    const scaled = f32x4.mul(v128.load(query + (i << 2)), f32x4.splat(perStep));
    const values = f32x4.max(f32x4.neg(most), f32x4.min(most, f32x4.nearest(scaled)));
    const numbers = i32x4.trunc_sat_f32x4_s(values);
    const words = i16x8.narrow_i32x4_s(numbers, numbers);
    store<u32>(bytes + i, <u32>i32x4.extract_lane(i8x16.narrow_i16x8_s(words, words), 0));
    sums = i32x4.add(sums, numbers);
    const rest = f32x4.sub(scaled, values);
    squares = f32x4.add(squares, f32x4.mul(rest, rest));
  }
  const sum = sumOf(f32x4.convert_i32x4_s(sums));
  store<f32>(bytes + dimensions, step);
  store<f32>(bytes + dimensions + 4, sum);
  store<f32>(bytes + dimensions + 8, (deviations / dimensionsRoot) * step * sqrt<f32>(sumOf(squares)));
  store<f32>(bytes + dimensions + 12, length);
}

/** Multiply 16 numbers by 16 floats of the query, and add the products to `sum`. */
// @ts-ignore: decorator
@inline
function addExact(sum: v128, high: v128, middle: v128, low: v128, query: usize): v128 {
  const middleSign = i16x8.splat(-32768);
  const first = v128.xor(
    v128.or(
      v128.or(i16x8.shl(i16x8.extend_low_i8x16_u(high), 12), i16x8.shl(i16x8.extend_low_i8x16_u(middle), 4)),
      i16x8.extend_low_i8x16_u(low),
    ),
    middleSign,
  );
  const second = v128.xor(
    v128.or(
      v128.or(i16x8.shl(i16x8.extend_high_i8x16_u(high), 12), i16x8.shl(i16x8.extend_high_i8x16_u(middle), 4)),
      i16x8.extend_high_i8x16_u(low),
    ),
    middleSign,
  );
  const f0 = f32x4.mul(f32x4.convert_i32x4_s(i32x4.extend_low_i16x8_s(first)), v128.load(query));
  const f1 = f32x4.mul(f32x4.convert_i32x4_s(i32x4.extend_high_i16x8_s(first)), v128.load(query, 16));
  const f2 = f32x4.mul(f32x4.convert_i32x4_s(i32x4.extend_low_i16x8_s(second)), v128.load(query, 32));
  const f3 = f32x4.mul(f32x4.convert_i32x4_s(i32x4.extend_high_i16x8_s(second)), v128.load(query, 48));
  return f32x4.add(sum, f32x4.add(f32x4.add(f0, f1), f32x4.add(f2, f3)));
}

/**
 * Compute the dot product of a row and the rotated query f32 [1024] at `query`, from all 16 bits. `step` is the
 * quantisation step of the row.
 */
export function refine(high: usize, rest: usize, step: f32, query: usize): f32 {
  const middle = rest;
  const low = rest + dimensions;
  const fours = i8x16.splat(15);
  let sum = f32x4.splat(0);
  for (let at: usize = 0; at < highRowBytes; at += 16) {
    const h = v128.load(high + at);
    const l = v128.load(low + at);
    const m = middle + (at << 1);
    const q = query + (at << 3);
    sum = addExact(sum, v128.and(h, fours), v128.load(m), v128.and(l, fours), q);
    const upperHigh = v128.and(i16x8.shr_u(h, 4), fours);
    const upperLow = v128.and(i16x8.shr_u(l, 4), fours);
    sum = addExact(sum, upperHigh, v128.load(m, 16), upperLow, q + 64);
  }
  const total =
    f32x4.extract_lane(sum, 0) + f32x4.extract_lane(sum, 1) + (f32x4.extract_lane(sum, 2) + f32x4.extract_lane(sum, 3));
  return total * step;
}
