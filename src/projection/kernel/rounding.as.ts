/**
 * Rounding of float32 rows to 16-bit integers, so that all rows have the same norm. By the Cauchy-Schwarz inequality,
 * the product of two rows is then at most the product of their norms, which fits into 32 bits. The same bound holds for
 * every partial sum.
 *
 * Rounding changes each of k numbers by at most half a unit. That turns a row by at most sqrt(k) / 2 / 32,767, which is
 * 6e-4 for k = 1,536. In practice it is six tenths of that. This is AssemblyScript, compiled with kernel.as.ts.
 */

/**
 * Norm of rounded rows: the largest norm with which every number fits into 16 bits, even if the row has only one number
 * that is not zero.
 */
const roundedNorm: f64 = 32_767;

/** Bytes of one row of a panel. */
export const panelRowBytes: usize = 32;

/** Sum of squares below which the scale is too large for float32. */
const tinySquares: f64 = 1e-60;

/** Return the scale for a row with this sum of squares; 0 for a row of zeros. */
export function roundingScale(squares: f64): f64 {
  return squares == 0 ? 0 : roundedNorm / Math.sqrt(squares);
}

/** Multiply k numbers by `scale` and round them in place to i16 [k]. If k is odd, append a zero. */
export function roundRow(row: usize, k: usize, scale: f64): void {
  const eights = k & ~7;
  let i: usize = 0;
  if (scale < roundedNorm / Math.sqrt(tinySquares)) {
    const scales = f32x4.splat(<f32>scale);
    for (; i < eights; i += 8) {
      const low = rounded(v128.load(row + (i << 2)), scales);
      const high = rounded(v128.load(row + (i << 2), 16), scales);
      v128.store(row + (i << 1), i16x8.narrow_i32x4_s(low, high));
    }
  }
  for (; i < k; i++) store<i16>(row + (i << 1), <i16>Math.round(<f64>load<f32>(row + (i << 2)) * scale));
  if ((k & 1) != 0) store<i16>(row + (k << 1), 0);
}

// @ts-ignore: decorator
@inline
function rounded(values: v128, scales: v128): v128 {
  return i32x4.trunc_sat_f32x4_s(f32x4.nearest(f32x4.mul(values, scales)));
}

/**
 * Round a panel of W, f32 [k x 8], to pairs of integers, i16 [ceil(k / 2) x 8 x 2]. The norm of each column becomes
 * `roundedNorm`.
 *
 * @param norms address for the norms of the columns before rounding: f64 [8]
 */
export function roundPanel(panel: usize, k: usize, target: usize, norms: usize): void {
  const end = panel + k * panelRowBytes;
  let scales0 = f32x4.splat(0);
  let scales1 = scales0;
  for (let pair: usize = 0; pair < 4; pair++) {
    let squares = f64x2.splat(0);
    for (let row = panel + (pair << 3); row < end; row += panelRowBytes) {
      const values = f64x2.promote_low_f32x4(v128.load64_zero(row));
      squares = f64x2.add(squares, f64x2.mul(values, values));
    }
    v128.store(norms + (pair << 4), f64x2.sqrt(squares));
  }
  scales0 = f32x4.replace_lane(scales0, 0, scaleOf(norms));
  scales0 = f32x4.replace_lane(scales0, 1, scaleOf(norms + 8));
  scales0 = f32x4.replace_lane(scales0, 2, scaleOf(norms + 16));
  scales0 = f32x4.replace_lane(scales0, 3, scaleOf(norms + 24));
  scales1 = f32x4.replace_lane(scales1, 0, scaleOf(norms + 32));
  scales1 = f32x4.replace_lane(scales1, 1, scaleOf(norms + 40));
  scales1 = f32x4.replace_lane(scales1, 2, scaleOf(norms + 48));
  scales1 = f32x4.replace_lane(scales1, 3, scaleOf(norms + 56));
  for (let row = panel; row < end; row += 2 * panelRowBytes) {
    let second0 = i32x4.splat(0);
    let second1 = second0;
    if (row + panelRowBytes < end) {
      second0 = rounded(v128.load(row, 32), scales0);
      second1 = rounded(v128.load(row, 48), scales1);
    }
    v128.store(target, joined(rounded(v128.load(row), scales0), second0));
    v128.store(target, joined(rounded(v128.load(row, 16), scales1), second1), 16);
    target += panelRowBytes;
  }
}

/**
 * Return the scale of the column whose norm is at this address. Return 0 for a column of zeros, or for one so short
 * that its scale is not finite.
 */
// @ts-ignore: decorator
@inline
function scaleOf(norm: usize): f32 {
  const scale = <f32>(roundedNorm / load<f64>(norm));
  return scale < Infinity ? scale : 0;
}

/** Join the integers of a row and of the next row to pairs. */
// @ts-ignore: decorator
@inline
function joined(first: v128, second: v128): v128 {
  return v128.or(v128.and(first, i32x4.splat(0xffff)), i32x4.shl(second, 16));
}
