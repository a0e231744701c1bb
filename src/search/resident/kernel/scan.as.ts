/**
 * Quantised vectors of 1,024 dimensions and their dot products with a query. This is AssemblyScript, compiled by
 * `build.ts`; `tsc` does not check it.
 *
 * A vector is rotated (twice: random signs, then a Walsh-Hadamard transform), so that errors of rounding are
 * independent of the query, and stored as numbers of 16 bits with a step of its own. The highest 4 bits of all vectors
 * of a block are together, so that a scan reads a quarter of the vectors; then come the middle 8 bits and the lowest 4.
 * Numbers of 4 bits are packed in groups of 32 components: byte j of a group has component j in its low half and
 * component 16 + j in its high half.
 *
 * A block has 256 rows: high [256 x 512 bytes], middle [256 x 1024], low [256 x 512], steps f32 [256], margins
 * f32 [256]. Every result depends only on the arguments, not on the build: sums of integers are exact, and sums of floats
 * use no fused multiply-add.
 */

const dimensions: usize = 1024;
const blockRows: usize = 256;
const highRowBytes: usize = 512;
const middleRowBytes: usize = 1024;
const middleStart: usize = blockRows * highRowBytes;
const lowStart: usize = middleStart + blockRows * middleRowBytes;
const stepsStart: usize = lowStart + blockRows * highRowBytes;
const marginsStart: usize = stepsStart + blockRows * 4;

/** Standard deviations of the error of an estimate that a margin covers. */
const deviations: f32 = 5;

/** Rotate f32 [1024] at `x` in place; `signs` is the address of two vectors f32 [1024] of 1 and -1. */
export function rotate(x: usize, signs: usize): void {
  rotateOnce(x, signs);
  rotateOnce(x, signs + dimensions * 4);
}

function rotateOnce(x: usize, signs: usize): void {
  const end = dimensions << 2;
  // Signs, and the first two stages of the transform within each group of four components.
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
  const scale = f32x4.splat(1.0 / 32.0);
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

/** Store the rotated vector f32 [1024] at `x` as a row of a block. A vector that is not finite becomes zero. */
export function encode(x: usize, block: usize, row: usize): void {
  let most = largest(x);
  if (!(most < Infinity)) most = 0;
  const step: f32 = most / 32767;
  const perStep: f32 = step > 0 ? 1 / step : 0;
  const high = block + row * highRowBytes;
  const middle = block + middleStart + row * middleRowBytes;
  const low = block + lowStart + row * highRowBytes;
  memory.fill(high, 0, highRowBytes);
  memory.fill(low, 0, highRowBytes);
  let squares: f32 = 0;
  for (let i: usize = 0; i < dimensions; i++) {
    const scaled: f32 = perStep > 0 ? nearest<f32>(load<f32>(x + (i << 2)) * perStep) : 0;
    const value = <u32>(<i32>max<f32>(-32767, min<f32>(32767, scaled)) + 32768);
    const at = ((i >> 5) << 4) + (i & 15);
    const shift: u32 = (i & 16) != 0 ? 4 : 0;
    store<u8>(high + at, load<u8>(high + at) | <u8>((value >> 12) << shift));
    store<u8>(middle + i, <u8>(value >> 4));
    store<u8>(low + at, load<u8>(low + at) | <u8>((value & 15) << shift));
    const rest: f32 = scaled - (<f32>(value >> 12) - 7.5) * 4096;
    squares += rest * rest;
  }
  store<f32>(block + stepsStart + (row << 2), step);
  store<f32>(block + marginsStart + (row << 2), step > 0 ? (deviations / 32) * step * sqrt<f32>(squares) : 0);
}

/**
 * Quantise the rotated query f32 [1024] at `query` to signed bytes at `bytes`, followed by f32: step, sum of the bytes,
 * margin of the error.
 */
export function prepareQuery(query: usize, bytes: usize): void {
  const step: f32 = largest(query) / 127;
  const perStep: f32 = step > 0 ? 1 / step : 0;
  let sum: i32 = 0;
  let squares: f32 = 0;
  for (let i: usize = 0; i < dimensions; i++) {
    const scaled: f32 = load<f32>(query + (i << 2)) * perStep;
    const value = <i32>max<f32>(-127, min<f32>(127, nearest<f32>(scaled)));
    store<i8>(bytes + i, <i8>value);
    sum += value;
    const rest: f32 = scaled - <f32>value;
    squares += rest * rest;
  }
  store<f32>(bytes + dimensions, step);
  store<f32>(bytes + dimensions + 4, <f32>sum);
  store<f32>(bytes + dimensions + 8, (deviations / 32) * step * sqrt<f32>(squares));
}

/** Sum products of 16 numbers of 0 to 15 with 16 signed bytes into lanes of 16 bits. */
// @ts-ignore: decorator
@inline
function addProducts(sum: v128, numbers: v128, bytes: v128): v128 {
  if (ASC_FEATURE_RELAXED_SIMD) {
    return i16x8.add(sum, i16x8.relaxed_dot_i8x16_i7x16_s(bytes, numbers));
  }
  return i16x8.add(
    sum,
    i16x8.add(i16x8.extmul_low_i8x16_s(numbers, bytes), i16x8.extmul_high_i8x16_s(numbers, bytes)),
  );
}

/**
 * Estimate the dot products of the first rows of a block with the query that `prepareQuery` stored at `bytes`: f32 [rows]
 * at `out`.
 */
export function scan(block: usize, rows: usize, bytes: usize, out: usize): void {
  const queryStep = load<f32>(bytes + dimensions);
  const offset: f32 = 7.5 * load<f32>(bytes + dimensions + 4);
  const fours = i8x16.splat(15);
  for (let row: usize = 0; row < rows; row++) {
    const high = block + row * highRowBytes;
    let sums = i32x4.splat(0);
    // Four groups add at most 8 x 2 x 127 x 15 to a lane, which 16 bits hold.
    for (let run: usize = 0; run < highRowBytes; run += 64) {
      let sum = i16x8.splat(0);
      for (let at = run; at < run + 64; at += 16) {
        const packed = v128.load(high + at);
        sum = addProducts(sum, v128.and(packed, fours), v128.load(bytes + (at << 1)));
        const upper = v128.and(i16x8.shr_u(packed, 4), fours);
        sum = addProducts(sum, upper, v128.load(bytes + (at << 1), 16));
      }
      sums = i32x4.add(sums, i32x4.extadd_pairwise_i16x8_s(sum));
    }
    const total =
      i32x4.extract_lane(sums, 0) + i32x4.extract_lane(sums, 1) + i32x4.extract_lane(sums, 2) + i32x4.extract_lane(sums, 3);
    const step: f32 = load<f32>(block + stepsStart + (row << 2)) * 4096;
    store<f32>(out + (row << 2), step * queryStep * (<f32>total - offset));
  }
}

/** Multiply 16 numbers with 16 floats of the query and add the products to `sum`. */
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

/** Dot product of a row with the rotated query f32 [1024] at `query`, from all 16 bits. */
export function refine(block: usize, row: usize, query: usize): f32 {
  const high = block + row * highRowBytes;
  const middle = block + middleStart + row * middleRowBytes;
  const low = block + lowStart + row * highRowBytes;
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
  return total * load<f32>(block + stepsStart + (row << 2));
}
