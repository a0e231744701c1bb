/**
 * Estimates of dot products from the highest 4 bits of the quantised vectors. rows.as.ts describes their layout. This
 * is AssemblyScript, compiled with rows.as.ts.
 */
import { dimensions, highRowBytes, marginsAfter, offsetsAfter } from './layout.as';

/** Add the products of 16 numbers (0 to 15) and 16 signed bytes to 16-bit lanes. */
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

/** Return, for each of four sums, the sum of its lanes. */
// @ts-ignore: decorator
@inline
function addLanes(s0: v128, s1: v128, s2: v128, s3: v128): v128 {
  const s01 = i32x4.add(v128.shuffle<i32>(s0, s1, 0, 4, 1, 5), v128.shuffle<i32>(s0, s1, 2, 6, 3, 7));
  const s23 = i32x4.add(v128.shuffle<i32>(s2, s3, 0, 4, 1, 5), v128.shuffle<i32>(s2, s3, 2, 6, 3, 7));
  return i32x4.add(v128.shuffle<i32>(s01, s23, 0, 1, 4, 5), v128.shuffle<i32>(s01, s23, 2, 3, 6, 7));
}

// @ts-ignore: decorator
@inline
function floatsAt(a0: usize, a1: usize, a2: usize, a3: usize): v128 {
  let values = v128.load32_splat(a0);
  values = f32x4.replace_lane(values, 1, load<f32>(a1));
  values = f32x4.replace_lane(values, 2, load<f32>(a2));
  return f32x4.replace_lane(values, 3, load<f32>(a3));
}

/**
 * Estimate the dot products of the listed rows of a block with the query, from the highest 4 bits. Add to each estimate
 * the margins of row and query, and the offset of the row.
 *
 * @param high address of the highest 4 bits of the block's rows, 512 bytes each
 * @param steps address of the quantisation steps of the block's rows, f32 [2048]; margins and offsets follow, f32
 *   [2048] each
 * @param list numbers of the rows: u32 [count]
 * @param bytes address of the query in the form of `prepareQuery`
 * @param bounds address for the upper bounds: f32 [count], with room for three more
 * @param added address for the added margins: f32 [count], with room for three more
 * @returns a number without meaning, which keeps the compiler from removing loads
 */
export function estimate(
  high: usize,
  steps: usize,
  list: usize,
  count: i32,
  bytes: usize,
  bounds: usize,
  added: usize,
): u32 {
  let loaded: u32 = 0;
  const queryStep = f32x4.splat(load<f32>(bytes + dimensions) * 4096);
  const offset = f32x4.splat(7.5 * load<f32>(bytes + dimensions + 4));
  const queryMargin = f32x4.splat(load<f32>(bytes + dimensions + 8));
  const length = f32x4.splat(load<f32>(bytes + dimensions + 12));
  const fours = i8x16.splat(15);
  for (let nth: i32 = 0; nth < count; nth += 4) {
    if ((nth & 15) == 0) loaded += loadRows(high, steps, list + (<usize>nth << 2), min(16, count - nth));
    const many = min(4, count - nth);
    const r0: usize = load<u32>(list + (nth << 2));
    const r1: usize = many > 1 ? <usize>load<u32>(list + (nth << 2), 4) : r0;
    const r2: usize = many > 2 ? <usize>load<u32>(list + (nth << 2), 8) : r0;
    const r3: usize = many > 3 ? <usize>load<u32>(list + (nth << 2), 12) : r0;
    const h0 = high + r0 * highRowBytes;
    const h1 = high + r1 * highRowBytes;
    const h2 = high + r2 * highRowBytes;
    const h3 = high + r3 * highRowBytes;
    let t0 = i32x4.splat(0);
    let t1 = t0;
    let t2 = t0;
    let t3 = t0;
    // Four groups add at most 8 x 2 x 127 x 15 to a lane, which fits into 16 bits.
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
    const a0 = steps + (r0 << 2);
    const a1 = steps + (r1 << 2);
    const a2 = steps + (r2 << 2);
    const a3 = steps + (r3 << 2);
    const scales = f32x4.mul(floatsAt(a0, a1, a2, a3), queryStep);
    const margins = floatsAt(a0 + marginsAfter, a1 + marginsAfter, a2 + marginsAfter, a3 + marginsAfter);
    const offsets = floatsAt(a0 + offsetsAfter, a1 + offsetsAfter, a2 + offsetsAfter, a3 + offsetsAfter);
    const errors = f32x4.add(f32x4.mul(margins, length), queryMargin);
    v128.store(bounds + (nth << 2), f32x4.add(f32x4.add(f32x4.mul(scales, totals), errors), offsets));
    v128.store(added + (nth << 2), errors);
  }
  // The compiler keeps loads only if a result depends on them.
  return loaded;
}

/** Load the data of some rows into the cache. These loads depend on nothing, so the CPU does them at the same time. */
// @ts-ignore: decorator
@inline
function loadRows(high: usize, steps: usize, list: usize, count: i32): u32 {
  let loaded: u32 = 0;
  for (let nth: i32 = 0; nth < count; nth++) {
    const row: usize = load<u32>(list + (<usize>nth << 2));
    for (let at: usize = 0; at < highRowBytes; at += 64) loaded += load<u8>(high + row * highRowBytes + at);
    const own = steps + (row << 2);
    loaded += <u32>load<u8>(own) + <u32>load<u8>(own + marginsAfter) + <u32>load<u8>(own + offsetsAfter);
  }
  return loaded;
}
