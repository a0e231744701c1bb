/**
 * Quantised vectors of 1,024 dimensions and their dot products with a query. This is AssemblyScript, compiled by
 * `build.ts`; `tsc` does not check it.
 *
 * A vector is rotated (twice: random signs, then a Walsh-Hadamard transform), so that errors of rounding are
 * independent of the query, and stored as numbers of 16 bits with a step of its own, and as two signs per component: its
 * own, and one that says whether it is large. A search estimates all rows by their signs (Gao and Long, RaBitQ, SIGMOD
 * 2024), and those that may be near by the highest 4 bits. The highest 4 bits of all vectors of a block are together; then come the middle 8 bits and the lowest
 * 4. Numbers of 4 bits are packed in groups of 32 components: byte j of a group has component j in its low half and
 * component 16 + j in its high half. Signs are packed for tables of partial sums (André, Kermarrec and Le Scouarnec,
 * Quick ADC, ICMR 2017): for 32 rows and each group of 4 components, 16 bytes have the first signs and 16 the second
 * ones; byte j has those of row j in its low half and of row 16 + j in its high half.
 *
 * A block has 256 rows: high [256 x 512 bytes], middle [256 x 1024], low [256 x 512], steps f32 [256], margins
 * f32 [256], signs [8 x 256 x 2 x 16 bytes], and three
 * arrays f32 [256] of numbers for estimates by signs. Every result depends only on the
 * arguments, not on the build: sums of integers are exact, and sums of floats use no fused multiply-add.
 */

const dimensions: usize = 1024;
const blockRows: usize = 256;
const highRowBytes: usize = 512;
const middleRowBytes: usize = 1024;
const middleStart: usize = blockRows * highRowBytes;
const lowStart: usize = middleStart + blockRows * middleRowBytes;
const stepsStart: usize = lowStart + blockRows * highRowBytes;
const marginsStart: usize = stepsStart + blockRows * 4;
const signsStart: usize = marginsStart + blockRows * 4;
/** Rows whose signs are packed together, and their bytes. */
const tileRows: usize = 32;
const groups: usize = dimensions / 4;
const tileBytes: usize = groups * 32;
/** Factors of the first and of the second signs in an estimate, and its margin. */
const firstScalesStart: usize = signsStart + (blockRows / tileRows) * tileBytes;
const secondScalesStart: usize = firstScalesStart + blockRows * 4;
const signMarginsStart: usize = secondScalesStart + blockRows * 4;

/** Component, in standard deviations, from which on it is large: the best threshold for normal ones (Max, 1960). */
const largeFrom: f32 = 0.9816;

/** Start of the tables of partial sums u8 [256 x 16] of a prepared query, after its bytes and numbers. */
const tablesStart: usize = dimensions + 64;
/** Largest number of such a table: four of them fit into a byte. */
const tableMost: f32 = 63;

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
  encodeSigns(x, block, row, step > 0);
}

/**
 * Store the signs of a vector x. Small components are taken as +-m0 and large ones as +-m1, the means of their sizes. This
 * approximation v is then scaled by |x|^2 / (x . v): the error is orthogonal to x, so that the dot product with a query
 * has no bias. Since +-m0 and +-m1 are +-(m1 + m0) / 2 and +-(m1 - m0) / 2 added, the second sign is that of the second
 * number.
 */
function encodeSigns(x: usize, block: usize, row: usize, isUsable: bool): void {
  const tile = block + signsStart + (row / tileRows) * tileBytes + (row & 15);
  const shift: u32 = (row & 16) != 0 ? 4 : 0;
  const kept: u32 = 240 >> shift;
  let squares: f32 = 0;
  for (let i: usize = 0; i < dimensions; i++) squares += isUsable ? load<f32>(x + (i << 2)) * load<f32>(x + (i << 2)) : 0;
  const threshold: f32 = largeFrom * sqrt<f32>(squares / <f32>dimensions);
  let smallSum: f32 = 0;
  let largeSum: f32 = 0;
  let larges: i32 = 0;
  for (let group: usize = 0; group < groups; group++) {
    let first: u32 = 0;
    let second: u32 = 0;
    for (let nth: usize = 0; nth < 4; nth++) {
      const value: f32 = isUsable ? load<f32>(x + (((group << 2) + nth) << 2)) : 0;
      const bit: u32 = 1 << (<u32>nth);
      const isLarge = abs<f32>(value) > threshold;
      if (value >= 0) first |= bit;
      if (value >= 0 == isLarge) second |= bit;
      if (isLarge) {
        largeSum += abs<f32>(value);
        larges++;
      } else {
        smallSum += abs<f32>(value);
      }
    }
    const at = tile + (group << 5);
    store<u8>(at, <u8>((<u32>load<u8>(at) & kept) | (first << shift)));
    store<u8>(at + 16, <u8>((<u32>load<u8>(at + 16) & kept) | (second << shift)));
  }
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

/**
 * Quantise the rotated query f32 [1024] at `query` to signed bytes at `bytes`, followed by f32: step, sum of the bytes,
 * margin of the error, step of the tables, what is added to a sum of theirs, and the margin of its rounding. The
 * tables of partial sums follow at `bytes` + 1088.
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
  prepareTables(query, bytes);
}

// @ts-ignore: decorator
@inline
function sumOfGroup(query: usize, group: usize): f32 {
  const at = query + (group << 4);
  return abs(load<f32>(at)) + abs(load<f32>(at, 4)) + abs(load<f32>(at, 8)) + abs(load<f32>(at, 12));
}

/** For each group of four components, table the sums of the query's components under all 16 combinations of signs. */
function prepareTables(query: usize, bytes: usize): void {
  let most: f32 = 0;
  for (let group: usize = 0; group < groups; group++) most = max(most, sumOfGroup(query, group));
  const step: f32 = (2 * most) / tableMost;
  const perStep: f32 = step > 0 ? 1 / step : 0;
  let offset: f32 = 0;
  for (let group: usize = 0; group < groups; group++) {
    const from = query + (group << 4);
    const least: f32 = sumOfGroup(query, group);
    offset += least;
    for (let signs: usize = 0; signs < 16; signs++) {
      let sum: f32 = least;
      for (let nth: usize = 0; nth < 4; nth++) {
        const value = load<f32>(from + (nth << 2));
        sum += ((signs >> nth) & 1) != 0 ? value : -value;
      }
      const number = <u8>max<f32>(0, min<f32>(tableMost, nearest<f32>(sum * perStep)));
      store<u8>(bytes + tablesStart + (group << 4) + signs, number);
    }
  }
  store<f32>(bytes + dimensions + 12, step);
  store<f32>(bytes + dimensions + 16, -offset);
  // Rounding of a number is uniform: its standard deviation is step / sqrt(12).
  store<f32>(bytes + dimensions + 20, deviations * step * sqrt<f32>(<f32>groups / 12));
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

/** Add the four lanes of each of four sums. */
// @ts-ignore: decorator
@inline
function addLanes(s0: v128, s1: v128, s2: v128, s3: v128): v128 {
  const s01 = i32x4.add(v128.shuffle<i32>(s0, s1, 0, 4, 1, 5), v128.shuffle<i32>(s0, s1, 2, 6, 3, 7));
  const s23 = i32x4.add(v128.shuffle<i32>(s2, s3, 0, 4, 1, 5), v128.shuffle<i32>(s2, s3, 2, 6, 3, 7));
  return i32x4.add(v128.shuffle<i32>(s01, s23, 0, 1, 4, 5), v128.shuffle<i32>(s01, s23, 2, 3, 6, 7));
}

// @ts-ignore: decorator
@inline
function lookUp(table: v128, indexes: v128): v128 {
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
 * add the margins: upper bounds f32 [256] at `bounds`. Rows beyond those that are written have any bound.
 */
export function scan(block: usize, rows: usize, bytes: usize, bounds: usize): void {
  const step = f32x4.splat(load<f32>(bytes + dimensions + 12));
  const offset = f32x4.splat(load<f32>(bytes + dimensions + 16));
  const rounding = f32x4.splat(load<f32>(bytes + dimensions + 20));
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
        const margins = f32x4.add(v128.load(at, signMarginsStart), f32x4.mul(f32x4.add(c0, c1), rounding));
        v128.store(bounds + (row << 2), f32x4.add(dots, margins));
      }
    }
  }
}

/** Four floats of rows of a block, from `start` of the block on. */
// @ts-ignore: decorator
@inline
function ofRows(start: usize, r0: usize, r1: usize, r2: usize, r3: usize): v128 {
  let values = v128.load32_splat(start + (r0 << 2));
  values = f32x4.replace_lane(values, 1, load<f32>(start + (r1 << 2)));
  values = f32x4.replace_lane(values, 2, load<f32>(start + (r2 << 2)));
  return f32x4.replace_lane(values, 3, load<f32>(start + (r3 << 2)));
}

/**
 * Estimate the dot products of some rows of a block with the query by their highest 4 bits, and add the margins of row and
 * query. The rows are u32 [count] at `list`; f32 [count] at `bounds` are their upper bounds, with room for three more.
 */
export function estimate(block: usize, list: usize, count: i32, bytes: usize, bounds: usize): void {
  const queryStep = f32x4.splat(load<f32>(bytes + dimensions) * 4096);
  const offset = f32x4.splat(7.5 * load<f32>(bytes + dimensions + 4));
  const queryMargin = f32x4.splat(load<f32>(bytes + dimensions + 8));
  const fours = i8x16.splat(15);
  for (let nth: i32 = 0; nth < count; nth += 4) {
    const many = min(4, count - nth);
    const r0: usize = load<u32>(list + (nth << 2));
    const r1: usize = many > 1 ? <usize>load<u32>(list + (nth << 2), 4) : r0;
    const r2: usize = many > 2 ? <usize>load<u32>(list + (nth << 2), 8) : r0;
    const r3: usize = many > 3 ? <usize>load<u32>(list + (nth << 2), 12) : r0;
    const h0 = block + r0 * highRowBytes;
    const h1 = block + r1 * highRowBytes;
    const h2 = block + r2 * highRowBytes;
    const h3 = block + r3 * highRowBytes;
    let t0 = i32x4.splat(0);
    let t1 = t0;
    let t2 = t0;
    let t3 = t0;
    // Four groups add at most 8 x 2 x 127 x 15 to a lane, which 16 bits hold.
    for (let run: usize = 0; run < highRowBytes; run += 64) {
      let s0 = i16x8.splat(0);
      let s1 = s0;
      let s2 = s0;
      let s3 = s0;
      for (let at = run; at < run + 64; at += 16) {
        const q0 = v128.load(bytes + (at << 1));
        const q1 = v128.load(bytes + (at << 1), 16);
        let packed = v128.load(h0 + at);
        s0 = addProducts(s0, v128.and(packed, fours), q0);
        s0 = addProducts(s0, v128.and(i16x8.shr_u(packed, 4), fours), q1);
        packed = v128.load(h1 + at);
        s1 = addProducts(s1, v128.and(packed, fours), q0);
        s1 = addProducts(s1, v128.and(i16x8.shr_u(packed, 4), fours), q1);
        packed = v128.load(h2 + at);
        s2 = addProducts(s2, v128.and(packed, fours), q0);
        s2 = addProducts(s2, v128.and(i16x8.shr_u(packed, 4), fours), q1);
        packed = v128.load(h3 + at);
        s3 = addProducts(s3, v128.and(packed, fours), q0);
        s3 = addProducts(s3, v128.and(i16x8.shr_u(packed, 4), fours), q1);
      }
      t0 = i32x4.add(t0, i32x4.extadd_pairwise_i16x8_s(s0));
      t1 = i32x4.add(t1, i32x4.extadd_pairwise_i16x8_s(s1));
      t2 = i32x4.add(t2, i32x4.extadd_pairwise_i16x8_s(s2));
      t3 = i32x4.add(t3, i32x4.extadd_pairwise_i16x8_s(s3));
    }
    const totals = f32x4.sub(f32x4.convert_i32x4_s(addLanes(t0, t1, t2, t3)), offset);
    const steps = f32x4.mul(ofRows(block + stepsStart, r0, r1, r2, r3), queryStep);
    const margins = f32x4.add(ofRows(block + marginsStart, r0, r1, r2, r3), queryMargin);
    v128.store(bounds + (nth << 2), f32x4.add(f32x4.mul(steps, totals), margins));
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
