/**
 * Sketches of vectors: the signs of their components after the rotation, from which the dot product with a query is
 * estimated roughly (Charikar, STOC 2002). Those of the first 512 components are read for all rows of a table, and packed
 * as the signs of signs.as.ts are: for 32 rows and each group of 4 components, 16 bytes; byte j has the signs of row j in
 * its low half and of row 16 + j in its high half. Those of the other 512 are read for few rows; they follow
 * those of 2,048 rows, 64 bytes for each row, a bit for each component. This is AssemblyScript, compiled with scan.as.ts.
 */
import { dimensions } from './layout.as';
import { lookUp, tablesStart } from './signs.as';

const tileRows: usize = 32;
const groups: usize = 128;
const tileBytes: usize = groups * 16;
/** Rows of a block of sketches. */
const sketchedRows: usize = 2048;
/** Components and bytes of the second sketch. */
const secondFrom: usize = 512;
const secondBytes: usize = 64;
/** Planes of the query's components, which are rounded to 4 bits: its bits of the same weight, after the tables. */
const planesStart: usize = tablesStart + (dimensions / 4) * 16;
const planes: usize = 4;
/** Number that is added to the sum of a row when its second sketch is. */
const addedMark: i32 = 8192;

/** Store the sketches of the rotated vector f32 [1024] at `x` as a row of a block. */
export function encodeSketches(x: usize, sketches: usize, row: usize): void {
  const second = secondOf(sketches, row);
  const tile = sketches + (row / tileRows) * tileBytes + (row & 15);
  const shift: u32 = (row & 16) != 0 ? 4 : 0;
  const kept: u32 = 240 >> shift;
  for (let group: usize = 0; group < groups; group++) {
    const from = x + (group << 4);
    let signs: u32 = 0;
    for (let nth: usize = 0; nth < 4; nth++) {
      if (load<f32>(from + (nth << 2)) >= 0) signs |= 1 << (<u32>nth);
    }
    const at = tile + (group << 4);
    store<u8>(at, <u8>((<u32>load<u8>(at) & kept) | (signs << shift)));
  }
  for (let at: usize = 0; at < secondBytes; at++) {
    let signs: u32 = 0;
    for (let nth: usize = 0; nth < 8; nth++) {
      if (load<f32>(x + ((secondFrom + (at << 3) + nth) << 2)) >= 0) signs |= 1 << (<u32>nth);
    }
    store<u8>(second + at, <u8>signs);
  }
}

// @ts-ignore: decorator
@inline
function secondOf(sketches: usize, row: usize): usize {
  return sketches + (sketchedRows / tileRows) * tileBytes + row * secondBytes;
}

/** Round the components of the prepared query at `bytes` to 4 bits, and store their planes. */
export function preparePlanes(bytes: usize): void {
  memory.fill(bytes + planesStart, 0, planes * secondBytes);
  for (let nth: usize = 0; nth < dimensions - secondFrom; nth++) {
    const number: i32 = min<i32>(15, max<i32>(0, ((<i32>load<i8>(bytes + secondFrom + nth) + 8) >> 4) + 8));
    for (let plane: usize = 0; plane < planes; plane++) {
      const at = bytes + planesStart + plane * secondBytes + (nth >> 3);
      if (((number >> (<i32>plane)) & 1) != 0) store<u8>(at, load<u8>(at) | <u8>(<u32>1 << (<u32>nth & 7)));
    }
  }
}

/** Count the bits that two second sketches have in common, in 16 lanes. */
// @ts-ignore: decorator
@inline
function commonBits(s0: v128, s1: v128, s2: v128, s3: v128, plane: usize): v128 {
  return i8x16.add(
    i8x16.add(i8x16.popcnt(v128.and(s0, v128.load(plane))), i8x16.popcnt(v128.and(s1, v128.load(plane, 16)))),
    i8x16.add(i8x16.popcnt(v128.and(s2, v128.load(plane, 32))), i8x16.popcnt(v128.and(s3, v128.load(plane, 48)))),
  );
}

// @ts-ignore: decorator
@inline
function totalOf(lanes: v128): i32 {
  const sums = i32x4.extadd_pairwise_i16x8_s(lanes);
  return (
    i32x4.extract_lane(sums, 0) + i32x4.extract_lane(sums, 1) + i32x4.extract_lane(sums, 2) + i32x4.extract_lane(sums, 3)
  );
}

/** Sum the query's components under the second sketch at `signs`, in steps of the tables. */
// @ts-ignore: decorator
@inline
function secondSum(signs: usize, first: usize, scale: f32): i32 {
  const s0 = v128.load(signs);
  const s1 = v128.load(signs, 16);
  const s2 = v128.load(signs, 32);
  const s3 = v128.load(signs, 48);
  let lanes = i16x8.extadd_pairwise_i8x16_u(commonBits(s0, s1, s2, s3, first));
  lanes = i16x8.add(lanes, i16x8.shl(i16x8.extadd_pairwise_i8x16_u(commonBits(s0, s1, s2, s3, first + 64)), 1));
  lanes = i16x8.add(lanes, i16x8.shl(i16x8.extadd_pairwise_i8x16_u(commonBits(s0, s1, s2, s3, first + 128)), 2));
  lanes = i16x8.add(lanes, i16x8.shl(i16x8.extadd_pairwise_i8x16_u(commonBits(s0, s1, s2, s3, first + 192)), 3));
  const ones = i8x16.add(
    i8x16.add(i8x16.popcnt(s0), i8x16.popcnt(s1)),
    i8x16.add(i8x16.popcnt(s2), i8x16.popcnt(s3)),
  );
  lanes = i16x8.sub(lanes, i16x8.shl(i16x8.extadd_pairwise_i8x16_u(ones), 3));
  return <i32>nearest<f32>(<f32>totalOf(lanes) * scale);
}

/**
 * Sum the query's components under the first sketches of rows, by the tables that `prepareQuery` stored at `bytes`:
 * u16 [rows] at `sums`, below 8,192. What the second sketch tells, and 8,192, is added to sums of at least `least`. Rows
 * beyond those that are written have any sum.
 */
export function scanSketches(sketches: usize, rows: usize, bytes: usize, sums: usize, least: i32): void {
  const lowest = i16x8.splat(<i16>least);
  const planes = bytes + planesStart;
  // A component of 4 bits is 16 steps of the bytes, and its sign counts twice.
  const tableStep = load<f32>(bytes + dimensions + 12);
  const scale: f32 = tableStep > 0 ? (32 * load<f32>(bytes + dimensions)) / tableStep : 0;
  const fours = i8x16.splat(15);
  const tables = bytes + tablesStart;
  for (let first: usize = 0; first < rows; first += tileRows) {
    const tile = sketches + (first / tileRows) * tileBytes;
    // Sums of 16 bits for 16 rows each: those of all bytes, in which odd ones count 256 times, and those of odd bytes.
    let all0 = i16x8.splat(0);
    let odd0 = all0;
    let all1 = all0;
    let odd1 = all0;
    for (let at: usize = 0; at < tileBytes; at += 64) {
      let table = v128.load(tables + at);
      let signs = v128.load(tile + at);
      let s0 = lookUp(table, v128.and(signs, fours));
      let s1 = lookUp(table, v128.and(i16x8.shr_u(signs, 4), fours));
      for (let nth: usize = 16; nth < 64; nth += 16) {
        table = v128.load(tables + at + nth);
        signs = v128.load(tile + at + nth);
        s0 = i8x16.add(s0, lookUp(table, v128.and(signs, fours)));
        s1 = i8x16.add(s1, lookUp(table, v128.and(i16x8.shr_u(signs, 4), fours)));
      }
      all0 = i16x8.add(all0, s0);
      odd0 = i16x8.add(odd0, i16x8.shr_u(s0, 8));
      all1 = i16x8.add(all1, s1);
      odd1 = i16x8.add(odd1, i16x8.shr_u(s1, 8));
    }
    const even0 = i16x8.sub(all0, i16x8.shl(odd0, 8));
    const even1 = i16x8.sub(all1, i16x8.shl(odd1, 8));
    const at = sums + (first << 1);
    const sums0 = v128.shuffle<i16>(even0, odd0, 0, 8, 1, 9, 2, 10, 3, 11);
    const sums1 = v128.shuffle<i16>(even0, odd0, 4, 12, 5, 13, 6, 14, 7, 15);
    const sums2 = v128.shuffle<i16>(even1, odd1, 0, 8, 1, 9, 2, 10, 3, 11);
    const sums3 = v128.shuffle<i16>(even1, odd1, 4, 12, 5, 13, 6, 14, 7, 15);
    v128.store(at, sums0);
    v128.store(at, sums1, 16);
    v128.store(at, sums2, 32);
    v128.store(at, sums3, 48);
    const larger0 = i8x16.narrow_i16x8_s(i16x8.ge_s(sums0, lowest), i16x8.ge_s(sums1, lowest));
    const larger1 = i8x16.narrow_i16x8_s(i16x8.ge_s(sums2, lowest), i16x8.ge_s(sums3, lowest));
    let larger = <u32>i8x16.bitmask(larger0) | (<u32>i8x16.bitmask(larger1) << 16);
    for (; larger != 0; larger &= larger - 1) {
      const row = <usize>ctz(larger);
      const sum = <i32>load<u16>(at + (row << 1)) + secondSum(secondOf(sketches, first + row), planes, scale);
      store<u16>(at + (row << 1), <u16>(max<i32>(0, min<i32>(addedMark - 1, sum)) + addedMark));
    }
  }
}

/** List the rows whose sum is at least `least`: u32 [count] at `list`. @returns count */
export function selectSums(sums: usize, rows: i32, least: i32, list: usize): i32 {
  const lowest = i16x8.splat(<i16>least);
  let count: i32 = 0;
  for (let row: i32 = 0; row < rows; row += 8) {
    let found = i16x8.bitmask(i16x8.ge_s(v128.load(sums + (<usize>row << 1)), lowest));
    if (rows - row < 8) found &= (1 << (rows - row)) - 1;
    for (; found != 0; found &= found - 1) {
      store<u32>(list + (<usize>count << 2), row + ctz(found));
      count++;
    }
  }
  return count;
}
