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
/** Rows whose second sketches are loaded together. */
const loadedTogether: i32 = 64;

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

/** Sum the query's components under the second sketch at `signs`, in steps of the tables. */
// @ts-ignore: decorator
@inline
function secondSum(signs: usize, first: usize, scale: f32): i32 {
  let sum: i64 = 0;
  for (let at: usize = 0; at < secondBytes; at += 8) {
    const bits = load<u64>(signs + at);
    const plane = first + at;
    sum += popcnt<u64>(bits & load<u64>(plane));
    sum += popcnt<u64>(bits & load<u64>(plane, 64)) << 1;
    sum += popcnt<u64>(bits & load<u64>(plane, 128)) << 2;
    sum += popcnt<u64>(bits & load<u64>(plane, 192)) << 3;
    sum -= popcnt<u64>(bits) << 3;
  }
  return <i32>nearest<f32>(<f32>sum * scale);
}

/**
 * Sum the query's components under the first sketches of rows, by the tables that `prepareQuery` stored at `bytes`:
 * u16 [rows] at `sums`, below 8,192. What the second sketch tells, and 8,192, is added to sums of at least `least`. Rows
 * beyond those that are written have any sum.
 *
 * @param list address of scratch space: u32 [rows]
 * @returns a number without meaning
 */
export function scanSketches(sketches: usize, rows: usize, bytes: usize, sums: usize, least: i32, list: usize): u32 {
  sumFirst(sketches, rows, bytes, sums);
  // A component of 4 bits is 16 steps of the bytes, and its sign counts twice.
  const tableStep = load<f32>(bytes + dimensions + 12);
  const scale: f32 = tableStep > 0 ? (32 * load<f32>(bytes + dimensions)) / tableStep : 0;
  const second = secondOf(sketches, 0);
  const count = selectSums(sums, <i32>rows, least, list);
  let loaded: u32 = 0;
  for (let from: i32 = 0; from < count; from += loadedTogether) {
    const end = min(count, from + loadedTogether);
    // These rows are far from each other: loads that wait for nothing bring them into the cache at the same time.
    for (let nth = from; nth < end; nth++) loaded += load<u8>(second + rowAt(list, nth) * secondBytes);
    for (let nth = from; nth < end; nth++) {
      const row = rowAt(list, nth);
      const at = sums + (row << 1);
      const sum = <i32>load<u16>(at) + secondSum(second + row * secondBytes, bytes + planesStart, scale);
      store<u16>(at, <u16>(max<i32>(0, min<i32>(addedMark - 1, sum)) + addedMark));
    }
  }
  // The compiler keeps loads that a result depends on.
  return loaded;
}

// @ts-ignore: decorator
@inline
function rowAt(list: usize, nth: i32): usize {
  return load<u32>(list + (<usize>nth << 2));
}

// @ts-ignore: decorator
@inline
function sumFirst(sketches: usize, rows: usize, bytes: usize, sums: usize): void {
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
    v128.store(at, v128.shuffle<i16>(even0, odd0, 0, 8, 1, 9, 2, 10, 3, 11));
    v128.store(at, v128.shuffle<i16>(even0, odd0, 4, 12, 5, 13, 6, 14, 7, 15), 16);
    v128.store(at, v128.shuffle<i16>(even1, odd1, 0, 8, 1, 9, 2, 10, 3, 11), 32);
    v128.store(at, v128.shuffle<i16>(even1, odd1, 4, 12, 5, 13, 6, 14, 7, 15), 48);
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
