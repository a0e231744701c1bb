/**
 * Matrix products of float32 and of 16-bit integers. This is AssemblyScript, compiled by `build.ts`; `tsc` does not
 * check it.
 *
 * The host provides the memory and decides its layout. Arguments that name matrices are byte addresses in it. A and C
 * are row-major, and C has elements of 32 bits. W is packed: panels of 8 columns follow each other, each [k x 8]
 * row-major, and zeros pad the last one (`pack-panels.ts`).
 *
 * An element of A or W has 4 bytes: one float32, or two integers of 16 bits. Such a pair consists of two neighbours in
 * a row of A, or in a column of W (`round-weights.ts`). One instruction then multiplies eight integers and adds the
 * products in pairs. Integer products are exact.
 *
 * A register tile has 6 rows and 8 columns: 12 sums of 4 lanes. Together with two vectors of W and one element of A,
 * they fill the 15 registers that V8 provides on x86-64. (Measured: tiles of 4 x 8 were 15 % slower, unrolled loops 5
 * %.) The remaining rows use tiles of 1 x 32, which have 8 sums. With fewer sums, two multiply-adds of 4 cycles could
 * not start in each cycle. All tiles sum an element of C in the same order, so the result of a row does not depend on
 * other rows.
 */
import { panelRowBytes, roundingScale, roundRow } from './rounding.as';

export { roundPanel } from './rounding.as';

/**
 * Length of the runs into which k is divided. Each run is summed separately. A run of a panel (12 KiB) stays in the
 * first-level cache for all rows. Rounding errors grow with the length and the number of runs, not with k.
 */
const runLength: usize = 384;

/**
 * True if the last product started with the last panels. Products alternate between starting with the first and the
 * last panels, so that each finds in the second-level cache what the previous one read last. (Measured: a row of 1,536
 * by 1,536 takes 0.135 ms instead of 0.168.)
 */
let beginsWithLast = false;

/**
 * Compute C [rows x 8 * panels] = A [rows x k] · W in float32, with W packed. `aStride` and `cStride` are the bytes
 * from one row to the next.
 */
export function multiply(
  a: usize,
  aStride: usize,
  rows: usize,
  k: usize,
  w: usize,
  panels: usize,
  c: usize,
  cStride: usize,
): void {
  multiplyElements<f32>(a, aStride, rows, k, w, panels, c, cStride);
}

/**
 * Compute the same product for pairs of 16-bit integers; a row of A has k pairs. C has 32-bit integers, which must not
 * overflow.
 */
export function multiplyIntegers(
  a: usize,
  aStride: usize,
  rows: usize,
  k: usize,
  w: usize,
  panels: usize,
  c: usize,
  cStride: usize,
): void {
  multiplyElements<i16>(a, aStride, rows, k, w, panels, c, cStride);
}

function multiplyElements<T>(
  a: usize,
  aStride: usize,
  rows: usize,
  k: usize,
  w: usize,
  panels: usize,
  c: usize,
  cStride: usize,
): void {
  const panelBytes = k * panelRowBytes;
  const fours = panels >> 2;
  const groups = fours + (panels & 3);
  beginsWithLast = !beginsWithLast;
  for (let nth: usize = 0; nth < groups; nth++) {
    const at = beginsWithLast ? groups - 1 - nth : nth;
    const group: usize = at < fours ? 4 : 1;
    const panel = at < fours ? 4 * at : 3 * fours + at;
    for (let from: usize = 0; from < k; from += runLength) {
      const run = min(runLength, k - from);
      const wRun = w + panel * panelBytes + from * panelRowBytes;
      multiplyRun<T>(a + (from << 2), aStride, rows, run, wRun, panelBytes, group, c + panel * panelRowBytes, cStride, from != 0);
    }
  }
}

/**
 * Compute one run of a group of panels for all rows, and add it to C or replace C. The panels are `panelBytes` apart.
 */
function multiplyRun<T>(
  a: usize,
  aStride: usize,
  rows: usize,
  run: usize,
  w: usize,
  panelBytes: usize,
  group: usize,
  c: usize,
  cStride: usize,
  add: bool,
): void {
  const tiledRows = rows - (rows % 6);
  for (let i: usize = 0; i < group; i++) {
    for (let row: usize = 0; row < tiledRows; row += 6) {
      tile6x8<T>(a + row * aStride, aStride, run, w + i * panelBytes, c + row * cStride + i * panelRowBytes, cStride, add);
    }
  }
  for (let row = tiledRows; row < rows; row++) {
    if (group == 4) tile1x32<T>(a + row * aStride, run, w, panelBytes, c + row * cStride, add);
    else tile1x8<T>(a + row * aStride, run, w, c + row * cStride, add);
  }
}

/**
 * Subtract the mean [k] at `mean` (0 for none) from every row of A [rows x k]. Round each row to 16-bit integers in
 * place, scaled so that its norm is `roundedNorm`. The distance between rows in memory stays the same. Return the first
 * row that contains NaN or an infinity, or -1.
 */
export function roundRows(a: usize, rows: usize, k: usize, mean: usize): i32 {
  for (let row: usize = 0; row < rows; row++) {
    if (mean != 0) subtractMean(a, k, mean);
    const squares = sumOfSquares(a, k << 2);
    if (!(squares < Infinity)) return <i32>row;
    roundRow(a, k, roundingScale(squares));
    a += k << 2;
  }
  return -1;
}

function subtractMean(a: usize, k: usize, mean: usize): void {
  const bytes = k << 2;
  const wide = bytes & ~15;
  let i: usize = 0;
  for (; i < wide; i += 16) v128.store(a + i, f32x4.sub(v128.load(a + i), v128.load(mean + i)));
  for (; i < bytes; i += 4) store<f32>(a + i, load<f32>(a + i) - load<f32>(mean + i));
}

/**
 * Multiply the columns of C by their scales, f32. C has 32-bit integers, in rows that are `cStride` bytes apart. Cut
 * each row to its first d columns, and normalise it to unit length. The resulting rows are contiguous from `c` on. A
 * row of zeros becomes the unit vector of the first axis.
 */
export function normalizeRows(c: usize, rows: usize, cStride: usize, d: usize, scales: usize): void {
  const bytes = d << 2;
  let target = c;
  for (let row: usize = 0; row < rows; row++) {
    for (let i: usize = 0; i < cStride; i += 16) {
      v128.store(c + i, f32x4.mul(f32x4.convert_i32x4_s(v128.load(c + i)), v128.load(scales + i)));
    }
    const squares = sumOfSquares(c, bytes);
    if (squares == 0) {
      memory.fill(target, 0, bytes);
      store<f32>(target, 1);
    } else {
      scaleTo(target, c, bytes, 1 / Math.sqrt(squares));
    }
    target += bytes;
    c += cStride;
  }
}

function scaleTo(target: usize, c: usize, bytes: usize, scale: f64): void {
  const wide = bytes & ~15;
  const scales = f32x4.splat(<f32>scale);
  let i: usize = 0;
  for (; i < wide; i += 16) v128.store(target + i, f32x4.mul(v128.load(c + i), scales));
  for (; i < bytes; i += 4) store<f32>(target + i, load<f32>(c + i) * <f32>scale);
}

/** Sum the squares in float64, where squares of float32 neither overflow nor underflow. */
function sumOfSquares(c: usize, bytes: usize): f64 {
  let sums0 = f64x2.splat(0);
  let sums1 = f64x2.splat(0);
  const wide = bytes & ~15;
  let i: usize = 0;
  for (; i < wide; i += 16) {
    const low = f64x2.promote_low_f32x4(v128.load64_zero(c + i));
    const high = f64x2.promote_low_f32x4(v128.load64_zero(c + i, 8));
    sums0 = f64x2.add(sums0, f64x2.mul(low, low));
    sums1 = f64x2.add(sums1, f64x2.mul(high, high));
  }
  sums0 = f64x2.add(sums0, sums1);
  let sum = f64x2.extract_lane(sums0, 0) + f64x2.extract_lane(sums0, 1);
  for (; i < bytes; i += 4) {
    const value = <f64>load<f32>(c + i);
    sum += value * value;
  }
  return sum;
}

/** Compute target [columns x rows], the transpose of source [rows x columns]; both are contiguous. */
export function transpose(source: usize, rows: usize, columns: usize, target: usize): void {
  const sourceStride = columns << 2;
  const targetStride = rows << 2;
  const rowFours = rows & ~3;
  const columnFours = columns & ~3;
  for (let row: usize = 0; row < rowFours; row += 4) {
    for (let column: usize = 0; column < columnFours; column += 4) {
      const from = source + row * sourceStride + (column << 2);
      const r0 = v128.load(from);
      const r1 = v128.load(from + sourceStride);
      const r2 = v128.load(from + 2 * sourceStride);
      const r3 = v128.load(from + 3 * sourceStride);
      const p0 = v128.shuffle<f32>(r0, r1, 0, 4, 1, 5);
      const p1 = v128.shuffle<f32>(r2, r3, 0, 4, 1, 5);
      const p2 = v128.shuffle<f32>(r0, r1, 2, 6, 3, 7);
      const p3 = v128.shuffle<f32>(r2, r3, 2, 6, 3, 7);
      const to = target + column * targetStride + (row << 2);
      v128.store(to, v128.shuffle<f64>(p0, p1, 0, 2));
      v128.store(to + targetStride, v128.shuffle<f64>(p0, p1, 1, 3));
      v128.store(to + 2 * targetStride, v128.shuffle<f64>(p2, p3, 0, 2));
      v128.store(to + 3 * targetStride, v128.shuffle<f64>(p2, p3, 1, 3));
    }
    for (let column = columnFours; column < columns; column++) {
      copyColumn(source, sourceStride, row, row + 4, column, target, targetStride);
    }
  }
  for (let column: usize = 0; column < columns; column++) {
    copyColumn(source, sourceStride, rowFours, rows, column, target, targetStride);
  }
}

function copyColumn(
  source: usize,
  sourceStride: usize,
  fromRow: usize,
  toRow: usize,
  column: usize,
  target: usize,
  targetStride: usize,
): void {
  for (let row = fromRow; row < toRow; row++) {
    store<f32>(target + column * targetStride + (row << 2), load<f32>(source + row * sourceStride + (column << 2)));
  }
}

/** Compute x * y + sum, rounded once if the engine supports it. */
// @ts-ignore: decorator
@inline
function multiplyAdd(x: v128, y: v128, sum: v128): v128 {
  return ASC_FEATURE_RELAXED_SIMD ? f32x4.relaxed_madd(x, y, sum) : f32x4.add(f32x4.mul(x, y), sum);
}

/** Multiply an element of A, given in all lanes, by a vector of W, and add the products to the sums of four columns. */
// @ts-ignore: decorator
@inline
function accumulate<T>(x: v128, w: v128, sums: v128): v128 {
  return isFloat<T>() ? multiplyAdd(x, w, sums) : i32x4.add(sums, i32x4.dot_i16x8_s(x, w));
}

/** Store the sums, or add them to those of earlier runs. */
// @ts-ignore: decorator
@inline
function put<T>(c: usize, sums: v128, add: bool): void {
  if (!add) v128.store(c, sums);
  else if (isFloat<T>()) v128.store(c, f32x4.add(v128.load(c), sums));
  else v128.store(c, i32x4.add(v128.load(c), sums));
}

function tile6x8<T>(a: usize, aStride: usize, k: usize, w: usize, c: usize, cStride: usize, add: bool): void {
  let a1 = a + aStride;
  let a2 = a1 + aStride;
  let a3 = a2 + aStride;
  let a4 = a3 + aStride;
  let a5 = a4 + aStride;
  let s00 = f32x4.splat(0);
  let s01 = s00;
  let s10 = s00;
  let s11 = s00;
  let s20 = s00;
  let s21 = s00;
  let s30 = s00;
  let s31 = s00;
  let s40 = s00;
  let s41 = s00;
  let s50 = s00;
  let s51 = s00;
  const end = w + k * panelRowBytes;
  while (w < end) {
    const w0 = v128.load(w);
    const w1 = v128.load(w, 16);
    let x = v128.load32_splat(a);
    s00 = accumulate<T>(x, w0, s00);
    s01 = accumulate<T>(x, w1, s01);
    x = v128.load32_splat(a1);
    s10 = accumulate<T>(x, w0, s10);
    s11 = accumulate<T>(x, w1, s11);
    x = v128.load32_splat(a2);
    s20 = accumulate<T>(x, w0, s20);
    s21 = accumulate<T>(x, w1, s21);
    x = v128.load32_splat(a3);
    s30 = accumulate<T>(x, w0, s30);
    s31 = accumulate<T>(x, w1, s31);
    x = v128.load32_splat(a4);
    s40 = accumulate<T>(x, w0, s40);
    s41 = accumulate<T>(x, w1, s41);
    x = v128.load32_splat(a5);
    s50 = accumulate<T>(x, w0, s50);
    s51 = accumulate<T>(x, w1, s51);
    a += 4;
    a1 += 4;
    a2 += 4;
    a3 += 4;
    a4 += 4;
    a5 += 4;
    w += panelRowBytes;
  }
  put<T>(c, s00, add);
  put<T>(c + 16, s01, add);
  c += cStride;
  put<T>(c, s10, add);
  put<T>(c + 16, s11, add);
  c += cStride;
  put<T>(c, s20, add);
  put<T>(c + 16, s21, add);
  c += cStride;
  put<T>(c, s30, add);
  put<T>(c + 16, s31, add);
  c += cStride;
  put<T>(c, s40, add);
  put<T>(c + 16, s41, add);
  c += cStride;
  put<T>(c, s50, add);
  put<T>(c + 16, s51, add);
}

/** Compute one row for four panels. */
function tile1x32<T>(a: usize, k: usize, w: usize, panelBytes: usize, c: usize, add: bool): void {
  let w1 = w + panelBytes;
  let w2 = w1 + panelBytes;
  let w3 = w2 + panelBytes;
  let s0 = f32x4.splat(0);
  let s1 = s0;
  let s2 = s0;
  let s3 = s0;
  let s4 = s0;
  let s5 = s0;
  let s6 = s0;
  let s7 = s0;
  const end = a + (k << 2);
  while (a < end) {
    const x = v128.load32_splat(a);
    s0 = accumulate<T>(x, v128.load(w), s0);
    s1 = accumulate<T>(x, v128.load(w, 16), s1);
    s2 = accumulate<T>(x, v128.load(w1), s2);
    s3 = accumulate<T>(x, v128.load(w1, 16), s3);
    s4 = accumulate<T>(x, v128.load(w2), s4);
    s5 = accumulate<T>(x, v128.load(w2, 16), s5);
    s6 = accumulate<T>(x, v128.load(w3), s6);
    s7 = accumulate<T>(x, v128.load(w3, 16), s7);
    a += 4;
    w += panelRowBytes;
    w1 += panelRowBytes;
    w2 += panelRowBytes;
    w3 += panelRowBytes;
  }
  put<T>(c, s0, add);
  put<T>(c + 16, s1, add);
  put<T>(c + 32, s2, add);
  put<T>(c + 48, s3, add);
  put<T>(c + 64, s4, add);
  put<T>(c + 80, s5, add);
  put<T>(c + 96, s6, add);
  put<T>(c + 112, s7, add);
}

function tile1x8<T>(a: usize, k: usize, w: usize, c: usize, add: bool): void {
  let s0 = f32x4.splat(0);
  let s1 = s0;
  const end = a + (k << 2);
  while (a < end) {
    const x = v128.load32_splat(a);
    s0 = accumulate<T>(x, v128.load(w), s0);
    s1 = accumulate<T>(x, v128.load(w, 16), s1);
    a += 4;
    w += panelRowBytes;
  }
  put<T>(c, s0, add);
  put<T>(c + 16, s1, add);
}
