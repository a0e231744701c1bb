/**
 * Two signs per component of a vector, and estimates of dot products by them (Gao and Long, RaBitQ, SIGMOD 2024): its own
 * sign, and one that says whether the component is large. Signs are packed for tables of partial sums (André, Kermarrec
 * and Le Scouarnec, Quick ADC, ICMR 2017): for 32 rows and each group of 4 components, 16 bytes have the first signs and
 * 16 the second ones; byte j has those of row j in its low half and of row 16 + j in its high half. This is
 * AssemblyScript, compiled with scan.as.ts.
 */
import { blockRows, deviations, dimensions, signsStart } from './layout.as';

/** Rows whose signs are packed together, and their bytes. */
const tileRows: usize = 32;
const groups: usize = dimensions / 4;
const tileBytes: usize = groups * 32;
/** Factors of the first and of the second signs in an estimate, and its margin. */
const firstScalesStart: usize = signsStart + (blockRows / tileRows) * tileBytes;
const secondScalesStart: usize = firstScalesStart + blockRows * 4;
const signMarginsStart: usize = secondScalesStart + blockRows * 4;
/** Numbers that are added to the estimates of the rows. */
const offsetsStart: usize = signMarginsStart + blockRows * 4;

/** Component, in standard deviations, from which on it is large: the best threshold for normal ones (Max, 1960). */
const largeFrom: f32 = 0.9816;

/** Start of the tables of partial sums u8 [256 x 16] of a prepared query, after its bytes and numbers. */
export const tablesStart: usize = dimensions + 64;
/** Largest number of such a table: four of them fit into a byte. */
const tableMost: f32 = 63;

/** Add the lanes of f32 [4]. */
// @ts-ignore: decorator
@inline
export function sumOf(lanes: v128): f32 {
  const first = f32x4.extract_lane(lanes, 0) + f32x4.extract_lane(lanes, 1);
  return first + (f32x4.extract_lane(lanes, 2) + f32x4.extract_lane(lanes, 3));
}

/**
 * Store the signs of a vector x. Small components are taken as +-m0 and large ones as +-m1, the means of their sizes. This
 * approximation v is then scaled by |x|^2 / (x . v): the error is orthogonal to x, so that the dot product with a query
 * has no bias. Since +-m0 and +-m1 are +-(m1 + m0) / 2 and +-(m1 - m0) / 2 added, the second sign is that of the second
 * number.
 */
export function encodeSigns(x: usize, block: usize, row: usize, isUsable: bool): void {
  const tile = block + signsStart + (row / tileRows) * tileBytes + (row & 15);
  const shift: u32 = (row & 16) != 0 ? 4 : 0;
  const kept: u32 = 240 >> shift;
  const usable = i32x4.splat(isUsable ? -1 : 0);
  let allSquares = f32x4.splat(0);
  for (let i: usize = 0; i < dimensions << 2; i += 16) {
    const values = v128.and(v128.load(x + i), usable);
    allSquares = f32x4.add(allSquares, f32x4.mul(values, values));
  }
  const squares = sumOf(allSquares);
  const threshold = f32x4.splat(largeFrom * sqrt<f32>(squares / <f32>dimensions));
  let smallSums = f32x4.splat(0);
  let largeSums = f32x4.splat(0);
  let larges: i32 = 0;
  for (let group: usize = 0; group < groups; group++) {
    const values = v128.and(v128.load(x + (group << 4)), usable);
    const sizes = f32x4.abs(values);
    const areLarge = f32x4.gt(sizes, threshold);
    const first = <u32>i32x4.bitmask(f32x4.ge(values, f32x4.splat(0)));
    const large = <u32>i32x4.bitmask(areLarge);
    const second = (first ^ large ^ 15) & 15;
    largeSums = f32x4.add(largeSums, v128.and(sizes, areLarge));
    smallSums = f32x4.add(smallSums, v128.andnot(sizes, areLarge));
    larges += <i32>popcnt(large);
    const at = tile + (group << 5);
    store<u8>(at, <u8>((<u32>load<u8>(at) & kept) | (first << shift)));
    store<u8>(at + 16, <u8>((<u32>load<u8>(at + 16) & kept) | (second << shift)));
  }
  const smallSum = sumOf(smallSums);
  const largeSum = sumOf(largeSums);
  const smalls = <i32>dimensions - larges;
  const m0: f32 = smalls > 0 ? smallSum / <f32>smalls : 0;
  const m1: f32 = larges > 0 ? largeSum / <f32>larges : m0;
  // An approximation by means has the same dot product with x as with itself.
  const product: f32 = <f32>smalls * m0 * m0 + <f32>larges * m1 * m1;
  const scale: f32 = product > 0 ? squares / product : 0;
  const at = block + (row << 2);
  store<f32>(at + firstScalesStart, (scale * (m1 + m0)) / 2);
  store<f32>(at + secondScalesStart, (scale * (m1 - m0)) / 2);
  store<f32>(at + signMarginsStart, (deviations / 32) * sqrt<f32>(max<f32>(0, scale * squares - squares)));
}

// @ts-ignore: decorator
@inline
function sumOfGroup(query: usize, group: usize): f32 {
  const at = query + (group << 4);
  return abs(load<f32>(at)) + abs(load<f32>(at, 4)) + abs(load<f32>(at, 8)) + abs(load<f32>(at, 12));
}

/** Round f32 [4] times `scale` to the numbers of a table. */
// @ts-ignore: decorator
@inline
function toNumbers(sums: v128, scale: v128): v128 {
  const rounded = f32x4.nearest(f32x4.mul(sums, scale));
  return i32x4.trunc_sat_f32x4_s(f32x4.max(f32x4.splat(0), f32x4.min(f32x4.splat(tableMost), rounded)));
}

/** For each group of four components, table the sums of the query's components under all 16 combinations of signs. */
export function prepareTables(query: usize, bytes: usize): void {
  let most: f32 = 0;
  for (let group: usize = 0; group < groups; group++) most = max(most, sumOfGroup(query, group));
  const step: f32 = (2 * most) / tableMost;
  const perStep: f32 = step > 0 ? 1 / step : 0;
  const scale = f32x4.splat(perStep);
  let offset: f32 = 0;
  for (let group: usize = 0; group < groups; group++) {
    const from = query + (group << 4);
    const least: f32 = sumOfGroup(query, group);
    offset += least;
    const pairs = f32x4.add(
      f32x4.splat(least),
      f32x4.add(
        f32x4.mul(v128.load32_splat(from), f32x4(-1, 1, -1, 1)),
        f32x4.mul(v128.load32_splat(from, 4), f32x4(-1, -1, 1, 1)),
      ),
    );
    const third = v128.load32_splat(from, 8);
    const fourth = v128.load32_splat(from, 12);
    const without = f32x4.sub(pairs, fourth);
    const added = f32x4.add(pairs, fourth);
    const first = i16x8.narrow_i32x4_s(toNumbers(f32x4.sub(without, third), scale), toNumbers(f32x4.add(without, third), scale));
    const second = i16x8.narrow_i32x4_s(toNumbers(f32x4.sub(added, third), scale), toNumbers(f32x4.add(added, third), scale));
    v128.store(bytes + tablesStart + (group << 4), i8x16.narrow_i16x8_u(first, second));
  }
  store<f32>(bytes + dimensions + 12, step);
  store<f32>(bytes + dimensions + 16, -offset);
  // Rounding of a number is uniform: its standard deviation is step / sqrt(12).
  store<f32>(bytes + dimensions + 20, deviations * step * sqrt<f32>(<f32>groups / 12));
}

// @ts-ignore: decorator
@inline
export function lookUp(table: v128, indexes: v128): v128 {
  return ASC_FEATURE_RELAXED_SIMD ? i8x16.relaxed_swizzle(table, indexes) : i8x16.swizzle(table, indexes);
}

/** Dot products of the query and signs of four rows, from four of the sums u16 [8] in `sums`. */
// @ts-ignore: decorator
@inline
function dotsOf(sums: v128, isHigh: bool, step: v128, offset: v128): v128 {
  const numbers = isHigh ? i32x4.extend_high_i16x8_u(sums) : i32x4.extend_low_i16x8_u(sums);
  return f32x4.add(f32x4.mul(f32x4.convert_i32x4_s(numbers), step), offset);
}

/**
 * Estimate the dot products of the rows of a block with the query that `prepareQuery` stored at `bytes` by the signs, and
 * add the margins and the offsets: upper bounds f32 [256] at `bounds`. Rows beyond those that are written have any bound.
 */
export function scan(block: usize, rows: usize, bytes: usize, bounds: usize): void {
  const step = f32x4.splat(load<f32>(bytes + dimensions + 12));
  const offset = f32x4.splat(load<f32>(bytes + dimensions + 16));
  const rounding = f32x4.splat(load<f32>(bytes + dimensions + 20));
  const length = f32x4.splat(load<f32>(bytes + dimensions + 24));
  const fours = i8x16.splat(15);
  const tables = bytes + tablesStart;
  for (let first: usize = 0; first < rows; first += tileRows) {
    const tile = block + signsStart + (first / tileRows) * tileBytes;
    // Sums of 16 bits for 16 rows each: those of all bytes, in which odd ones count 256 times, and those of odd bytes.
    let all0 = i16x8.splat(0);
    let odd0 = all0;
    let all1 = all0;
    let odd1 = all0;
    let all2 = all0;
    let odd2 = all0;
    let all3 = all0;
    let odd3 = all0;
    for (let at: usize = 0; at < groups << 4; at += 64) {
      const packed = tile + (at << 1);
      let table = v128.load(tables + at);
      let signs = v128.load(packed);
      let s0 = lookUp(table, v128.and(signs, fours));
      let s1 = lookUp(table, v128.and(i16x8.shr_u(signs, 4), fours));
      signs = v128.load(packed, 16);
      let s2 = lookUp(table, v128.and(signs, fours));
      let s3 = lookUp(table, v128.and(i16x8.shr_u(signs, 4), fours));
      for (let nth: usize = 1; nth < 4; nth++) {
        table = v128.load(tables + at + (nth << 4));
        signs = v128.load(packed + (nth << 5));
        s0 = i8x16.add(s0, lookUp(table, v128.and(signs, fours)));
        s1 = i8x16.add(s1, lookUp(table, v128.and(i16x8.shr_u(signs, 4), fours)));
        signs = v128.load(packed + (nth << 5), 16);
        s2 = i8x16.add(s2, lookUp(table, v128.and(signs, fours)));
        s3 = i8x16.add(s3, lookUp(table, v128.and(i16x8.shr_u(signs, 4), fours)));
      }
      all0 = i16x8.add(all0, s0);
      odd0 = i16x8.add(odd0, i16x8.shr_u(s0, 8));
      all1 = i16x8.add(all1, s1);
      odd1 = i16x8.add(odd1, i16x8.shr_u(s1, 8));
      all2 = i16x8.add(all2, s2);
      odd2 = i16x8.add(odd2, i16x8.shr_u(s2, 8));
      all3 = i16x8.add(all3, s3);
      odd3 = i16x8.add(odd3, i16x8.shr_u(s3, 8));
    }
    for (let half: usize = 0; half < 2; half++) {
      const odd = half == 0 ? odd0 : odd1;
      const even = i16x8.sub(half == 0 ? all0 : all1, i16x8.shl(odd, 8));
      const secondOdd = half == 0 ? odd2 : odd3;
      const secondEven = i16x8.sub(half == 0 ? all2 : all3, i16x8.shl(secondOdd, 8));
      for (let part: usize = 0; part < 16; part += 4) {
        const isUpper = part >= 8;
        const sums = isUpper
          ? v128.shuffle<i16>(even, odd, 4, 12, 5, 13, 6, 14, 7, 15)
          : v128.shuffle<i16>(even, odd, 0, 8, 1, 9, 2, 10, 3, 11);
        const secondSums = isUpper
          ? v128.shuffle<i16>(secondEven, secondOdd, 4, 12, 5, 13, 6, 14, 7, 15)
          : v128.shuffle<i16>(secondEven, secondOdd, 0, 8, 1, 9, 2, 10, 3, 11);
        const row = first + (half << 4) + part;
        const at = block + (row << 2);
        const c0 = v128.load(at, firstScalesStart);
        const c1 = v128.load(at, secondScalesStart);
        const dots = f32x4.add(
          f32x4.mul(c0, dotsOf(sums, (part & 4) != 0, step, offset)),
          f32x4.mul(c1, dotsOf(secondSums, (part & 4) != 0, step, offset)),
        );
        const own = f32x4.mul(v128.load(at, signMarginsStart), length);
        const margins = f32x4.add(own, f32x4.mul(f32x4.add(c0, c1), rounding));
        v128.store(bounds + (row << 2), f32x4.add(f32x4.add(dots, margins), v128.load(at, offsetsStart)));
      }
    }
  }
}
