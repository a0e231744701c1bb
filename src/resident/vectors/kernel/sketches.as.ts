/**
 * Sketches of vectors: the signs of their rotated components. They give a rough estimate of the dot product with a
 * query (Charikar, STOC 2002). Large components of the query say the most about it. A search therefore counts only the
 * signs of 192 components: the 96 largest and the 96 smallest of the query.
 *
 * The signs of one component are stored together (vertical layout): 2,048 bits, one for each row of a block, for each
 * of 1,024 components. Carry-save adders count 128 rows at a time (Harley and Seal, in Warren, Hacker's Delight). The
 * counts of 128 rows are eight vectors of 128 bits, called planes. Plane i has bit i of each count.
 *
 * This is AssemblyScript, compiled with rows.as.ts.
 */
import { dimensions } from './layout.as';

/** Bytes of the signs of one component, for all rows of a block. */
const componentBytes: usize = 256;
/** Number of largest components to count, and of smallest ones: a multiple of 16, at most 127. */
const counted: i32 = 96;
/** Bytes of the eight planes for 128 rows. */
const planesBytes: usize = 128;

/**
 * Store the signs of a quantised vector as a row of a block: 0 for a number below the middle.
 *
 * @param high address of the highest 4 bits of the vector [512 bytes], packed as in rows.as.ts
 */
export function encodeSketch(high: usize, sketches: usize, row: usize): void {
  const first = sketches + (row >> 3);
  const shift: u32 = <u32>row & 7;
  const others: u32 = ~(1 << shift);
  for (let group: usize = 0; group < dimensions / 32; group++) {
    const packed = v128.load(high + (group << 4));
    const signs = <u32>i8x16.bitmask(i8x16.shl(packed, 4)) | ((<u32>i8x16.bitmask(packed)) << 16);
    const start = first + (group << 5) * componentBytes;
    for (let nth: usize = 0; nth < 32; nth++) {
      const at = start + nth * componentBytes;
      store<u8>(at, <u8>((<u32>load<u8>(at) & others) | (((signs >> (<u32>nth)) & 1) << shift)));
    }
  }
}

/**
 * List the components to count, as offsets in the signs of a block: u32 [96] for the largest components of the rotated
 * query f32 [1024] at `query`, then u32 [96] for the smallest.
 */
export function listComponents(query: usize, list: usize): void {
  listLargest(query, 1, list);
  listLargest(query, -1, list + (<usize>counted << 2));
}

/** List the `counted` largest components after multiplying each by `sign`, in ascending order of their numbers. */
function listLargest(query: usize, sign: f32, list: usize): void {
  // Bisect the threshold. Each step halves the interval. After the last step, only practically equal values are
  // undecided.
  let low: f32 = -2;
  let high: f32 = 2;
  for (let step = 0; step < 26; step++) {
    const middle: f32 = (low + high) / 2;
    const found = countFrom(query, sign, middle);
    if (found >= counted) low = middle;
    if (found <= counted) high = middle;
    if (found == counted) break;
  }
  let rest = counted - countFrom(query, sign, high);
  let count: usize = 0;
  for (let nth: usize = 0; nth < dimensions && count < <usize>counted; nth++) {
    const value: f32 = load<f32>(query + (nth << 2)) * sign;
    if (value < low) continue;
    if (value < high && rest-- <= 0) continue;
    store<u32>(list + (count++ << 2), <u32>(nth * componentBytes));
  }
}

/** Count the components that are at least `least` after multiplication by `sign`. */
function countFrom(query: usize, sign: f32, least: f32): i32 {
  const signs = f32x4.splat(sign);
  const lowest = f32x4.splat(least);
  let found = i32x4.splat(0);
  for (let at: usize = 0; at < dimensions << 2; at += 16) {
    found = i32x4.sub(found, f32x4.ge(f32x4.mul(v128.load(query + at), signs), lowest));
  }
  return (
    i32x4.extract_lane(found, 0) + i32x4.extract_lane(found, 1) + (i32x4.extract_lane(found, 2) + i32x4.extract_lane(found, 3))
  );
}

// @ts-ignore: decorator
@inline
function addSums(a: v128, b: v128, c: v128): v128 {
  return v128.xor(v128.xor(a, b), c);
}

// @ts-ignore: decorator
@inline
function addCarries(a: v128, b: v128, c: v128): v128 {
  return v128.or(v128.and(a, b), v128.and(v128.xor(a, b), c));
}

/** Load the signs of the nth listed component for 128 rows. */
// @ts-ignore: decorator
@inline
function signsOf(signs: usize, list: usize, nth: usize): v128 {
  return v128.load(signs + load<u32>(list + (nth << 2)));
}

/**
 * Count, for each of 128 rows, the ones among the listed components.
 *
 * @param first initial planes 5 and 6, all zeros or all ones: counting starts at 0 or at 96
 */
// @ts-ignore: decorator
@inline
function countOnes(signs: usize, list: usize, first: v128, planes: usize): void {
  const zero = i64x2.splat(0);
  let p0 = zero;
  let p1 = zero;
  let p2 = zero;
  let p3 = zero;
  let p4 = zero;
  let p5 = first;
  let p6 = first;
  let p7 = zero;
  for (let from = list; from < list + (<usize>counted << 2); from += 64) {
    let a = signsOf(signs, from, 0);
    let b = signsOf(signs, from, 1);
    let two = addCarries(p0, a, b);
    p0 = addSums(p0, a, b);
    a = signsOf(signs, from, 2);
    b = signsOf(signs, from, 3);
    let carry = addCarries(p0, a, b);
    p0 = addSums(p0, a, b);
    let four = addCarries(p1, two, carry);
    p1 = addSums(p1, two, carry);
    a = signsOf(signs, from, 4);
    b = signsOf(signs, from, 5);
    two = addCarries(p0, a, b);
    p0 = addSums(p0, a, b);
    a = signsOf(signs, from, 6);
    b = signsOf(signs, from, 7);
    carry = addCarries(p0, a, b);
    p0 = addSums(p0, a, b);
    let otherFour = addCarries(p1, two, carry);
    p1 = addSums(p1, two, carry);
    const eight = addCarries(p2, four, otherFour);
    p2 = addSums(p2, four, otherFour);
    a = signsOf(signs, from, 8);
    b = signsOf(signs, from, 9);
    two = addCarries(p0, a, b);
    p0 = addSums(p0, a, b);
    a = signsOf(signs, from, 10);
    b = signsOf(signs, from, 11);
    carry = addCarries(p0, a, b);
    p0 = addSums(p0, a, b);
    four = addCarries(p1, two, carry);
    p1 = addSums(p1, two, carry);
    a = signsOf(signs, from, 12);
    b = signsOf(signs, from, 13);
    two = addCarries(p0, a, b);
    p0 = addSums(p0, a, b);
    a = signsOf(signs, from, 14);
    b = signsOf(signs, from, 15);
    carry = addCarries(p0, a, b);
    p0 = addSums(p0, a, b);
    otherFour = addCarries(p1, two, carry);
    p1 = addSums(p1, two, carry);
    const otherEight = addCarries(p2, four, otherFour);
    p2 = addSums(p2, four, otherFour);
    carry = addCarries(p3, eight, otherEight);
    p3 = addSums(p3, eight, otherEight);
    const c4 = v128.and(p4, carry);
    p4 = v128.xor(p4, carry);
    const c5 = v128.and(p5, c4);
    p5 = v128.xor(p5, c4);
    const c6 = v128.and(p6, c5);
    p6 = v128.xor(p6, c5);
    p7 = v128.xor(p7, c6);
  }
  v128.store(planes, p0);
  v128.store(planes, p1, 16);
  v128.store(planes, p2, 32);
  v128.store(planes, p3, 48);
  v128.store(planes, p4, 64);
  v128.store(planes, p5, 80);
  v128.store(planes, p6, 96);
  v128.store(planes, p7, 112);
}

/**
 * Count, for each row, the listed components that have the same sign as the query: 0 to 192. A larger count suggests a
 * larger dot product. Unwritten rows have arbitrary counts.
 *
 * @param list address of the list of `listComponents`
 * @param scratch address of 128 bytes
 * @param planes address for the planes of all rows, 128 bytes for each 128 rows
 * @returns a number without meaning, which keeps the compiler from removing loads
 */
export function countSigns(sketches: usize, rows: usize, list: usize, scratch: usize, planes: usize): u32 {
  const loaded = loadSigns(sketches, list);
  const smallest = list + (<usize>counted << 2);
  for (let first: usize = 0; first < rows; first += 128) {
    const signs = sketches + (first >> 3);
    const own = planes + (first >> 7) * planesBytes;
    // Among the largest components, ones agree with the query. Among the smallest, zeros agree: 96 minus the ones.
    countOnes(signs, list, i64x2.splat(-1), own);
    countOnes(signs, smallest, i64x2.splat(0), scratch);
    let borrow = i64x2.splat(0);
    for (let plane: usize = 0; plane < planesBytes; plane += 16) {
      const a = v128.load(own + plane);
      const b = v128.load(scratch + plane);
      const either = v128.xor(a, b);
      v128.store(own + plane, v128.xor(either, borrow));
      borrow = v128.or(v128.andnot(b, a), v128.andnot(borrow, either));
    }
  }
  // The compiler keeps loads only if a result depends on them.
  return loaded;
}

/**
 * Load the signs of the listed components into the cache. These loads depend on nothing, so the CPU does them at the
 * same time.
 */
// @ts-ignore: decorator
@inline
function loadSigns(sketches: usize, list: usize): u32 {
  let loaded: u32 = 0;
  for (let nth: usize = 0; nth < 2 * <usize>counted; nth++) {
    const at = sketches + load<u32>(list + (nth << 2));
    loaded += <u32>load<u8>(at) + <u32>load<u8>(at, 64) + <u32>load<u8>(at, 128) + <u32>load<u8>(at, 192);
  }
  return loaded;
}

/** Return a bit for each of 128 rows: 1 if its count is at least `least`. */
// @ts-ignore: decorator
@inline
function reaching(planes: usize, least: u32): v128 {
  let found = i64x2.splat(-1);
  for (let nth: usize = 0; nth < 8; nth++) {
    const plane = v128.load(planes + (nth << 4));
    found = ((least >> (<u32>nth)) & 1) != 0 ? v128.and(found, plane) : v128.or(found, plane);
  }
  return found;
}

/** Count the rows whose count is at least `least`. @param allowed address of one bit for each row: 1 to include it */
export function countReaching(planes: usize, rows: usize, least: u32, allowed: usize): i32 {
  let count: i64 = 0;
  for (let first: usize = 0; first < rows; first += 128) {
    const found = v128.and(reaching(planes + (first >> 7) * planesBytes, least), v128.load(allowed + (first >> 3)));
    count += popcnt<i64>(i64x2.extract_lane(found, 0)) + popcnt<i64>(i64x2.extract_lane(found, 1));
  }
  return <i32>count;
}

/**
 * List the rows whose count is at least `least` and below `below`: u32 [count] at `list`.
 *
 * @param allowed address of one bit for each row: 1 to include it
 * @returns the number of listed rows
 */
export function listReaching(planes: usize, rows: usize, least: u32, below: u32, allowed: usize, list: usize): i32 {
  const isBounded = below <= 2 * <u32>counted;
  let end = list;
  for (let first: usize = 0; first < rows; first += 128) {
    const own = planes + (first >> 7) * planesBytes;
    let found = v128.and(reaching(own, least), v128.load(allowed + (first >> 3)));
    if (isBounded) found = v128.andnot(found, reaching(own, below));
    if (!v128.any_true(found)) continue;
    end = listOnes(i64x2.extract_lane(found, 0), <u32>first, end);
    end = listOnes(i64x2.extract_lane(found, 1), <u32>first + 64, end);
  }
  return <i32>((end - list) >> 2);
}

// @ts-ignore: decorator
@inline
function listOnes(bits: i64, first: u32, end: usize): usize {
  for (let left = bits; left != 0; left &= left - 1) {
    store<u32>(end, first + <u32>ctz<i64>(left));
    end += 4;
  }
  return end;
}

/**
 * Pack the flags u8 [rows], each 0 or 1, into bits. Bits beyond the last row are zero. This reads up to 128 bytes
 * behind the flags.
 */
export function packFlags(flags: usize, rows: usize, bits: usize): void {
  const zero = i8x16.splat(0);
  for (let first: usize = 0; first < rows; first += 128) {
    for (let row = first; row < first + 128; row += 16) {
      let found: i32 = i8x16.bitmask(i8x16.ne(v128.load(flags + row), zero));
      if (row + 16 > rows) found = row >= rows ? 0 : found & ((1 << (<i32>(rows - row))) - 1);
      store<u16>(bits + (row >> 3), <u16>found);
    }
  }
}
