/**
 * Products of float32 matrices. This is AssemblyScript, compiled by `build.ts`; `tsc` does not check it.
 *
 * The host imports the memory and decides its layout; arguments that name matrices are byte addresses in it. A and C
 * are row-major. W is packed: panels of 8 columns one after the other, each [k x 8] row-major, the last one padded with
 * zeros (`pack-panels.ts`). Its values are float32, or bfloat16 (`pack-bfloat16.ts`), of which half as many bytes are
 * read from memory.
 *
 * Register tiles are 6 rows x 8 columns, 12 sums of 4 lanes. With two vectors of W and one value of A they fill the 15
 * registers that V8 provides on x86-64. (Measured: 4 x 8 was 15 % slower, unrolled loops 5 %.) The remaining rows use
 * tiles of 1 x 32: 8 sums, the least number that lets two multiply-adds of 4 cycles start in each cycle. Every element
 * of C is summed in the same order in all tiles, so that the result of a row does not depend on the other rows.
 */

/**
 * Length of the runs into which k is cut; each run is summed separately. A run of a panel (12 KiB) stays in the
 * first-level cache for all rows, and rounding errors grow with the length and the number of runs, not with k.
 */
const runLength: usize = 384;

/** Squared norm below which the reciprocal of the norm may be too large for float32. */
const tinySquares: f64 = 1e-70;

/** Bytes of one row of a panel of float32, and of bfloat16. */
const panelRowBytes: usize = 32;
const halfRowBytes: usize = 16;

/**
 * Compute C [rows x 8 * panels] = A [rows x k] · W, packed. `aStride` and `cStride` are the bytes from one row to the
 * next.
 *
 * With `scratch` = 0, W is float32. Else it is bfloat16: each run of W is converted once into `scratch`, which has room for
 * four panels of `runLength` rows of float32; a single row converts it in registers.
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
  scratch: usize,
): void {
  const rowBytes = scratch == 0 ? panelRowBytes : halfRowBytes;
  const panelBytes = k * rowBytes;
  let group: usize = 4;
  for (let panel: usize = 0; panel < panels; panel += group) {
    if (panels - panel < 4) group = 1;
    for (let from: usize = 0; from < k; from += runLength) {
      const run = min(runLength, k - from);
      const add = from != 0;
      const aRun = a + (from << 2);
      const wRun = w + panel * panelBytes + from * rowBytes;
      const cRun = c + panel * panelRowBytes;
      if (scratch == 0) {
        multiplyRun(aRun, aStride, rows, run, wRun, panelBytes, group, cRun, cStride, add);
      } else if (rows == 1 && group == 4) {
        tile1x32<u16>(aRun, run, wRun, panelBytes, cRun, add);
      } else {
        const runBytes = run * panelRowBytes;
        for (let i: usize = 0; i < group; i++) convertRun(run, wRun + i * panelBytes, scratch + i * runBytes);
        multiplyRun(aRun, aStride, rows, run, scratch, runBytes, group, cRun, cStride, add);
      }
    }
  }
}

/** Compute a run of a group of panels, `panelBytes` apart, for all rows; add to C, or replace it. */
function multiplyRun(
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
      tile6x8(a + row * aStride, aStride, run, w + i * panelBytes, c + row * cStride + i * panelRowBytes, cStride, add);
    }
  }
  for (let row = tiledRows; row < rows; row++) {
    if (group == 4) tile1x32<f32>(a + row * aStride, run, w, panelBytes, c + row * cStride, add);
    else tile1x8(a + row * aStride, run, w, c + row * cStride, add);
  }
}

/** Convert rows of a panel from bfloat16 to float32. */
function convertRun(run: usize, w: usize, target: usize): void {
  const end = w + run * halfRowBytes;
  while (w < end) {
    const row = v128.load(w);
    v128.store(target, low<u16>(row));
    v128.store(target, high<u16>(row, w), 16);
    w += halfRowBytes;
    target += panelRowBytes;
  }
}

/** Subtract the mean [k], at `mean`, from every row of A [rows x k], in place. */
export function subtractMean(a: usize, rows: usize, k: usize, mean: usize): void {
  const bytes = k << 2;
  const wide = bytes & ~15;
  for (let row: usize = 0; row < rows; row++) {
    let i: usize = 0;
    for (; i < wide; i += 16) v128.store(a + i, f32x4.sub(v128.load(a + i), v128.load(mean + i)));
    for (; i < bytes; i += 4) store<f32>(a + i, load<f32>(a + i) - load<f32>(mean + i));
    a += bytes;
  }
}

/**
 * Cut every row of C, `cStride` bytes apart, to its first d columns and normalise it to unit length; the rows are then
 * contiguous from `c` on. A row of zeros becomes the unit vector of the first axis. Returns the first row that contains
 * a NaN or an infinity, or -1.
 */
export function normalizeRows(c: usize, rows: usize, cStride: usize, d: usize): i32 {
  const bytes = d << 2;
  const wide = bytes & ~15;
  let target = c;
  for (let row: usize = 0; row < rows; row++) {
    const squares = sumOfSquares(c, bytes);
    if (!(squares < Infinity)) return <i32>row;
    let i: usize = 0;
    if (squares == 0) {
      memory.fill(target, 0, bytes);
      store<f32>(target, 1);
    } else if (squares < tinySquares) {
      const scale = 1 / Math.sqrt(squares);
      for (; i < bytes; i += 4) store<f32>(target + i, <f32>(<f64>load<f32>(c + i) * scale));
    } else {
      const scale = <f32>(1 / Math.sqrt(squares));
      const scales = f32x4.splat(scale);
      for (; i < wide; i += 16) v128.store(target + i, f32x4.mul(v128.load(c + i), scales));
      for (; i < bytes; i += 4) store<f32>(target + i, load<f32>(c + i) * scale);
    }
    target += bytes;
    c += cStride;
  }
  return -1;
}

/** Sum the squares in float64, in which squares of float32 neither overflow nor underflow. */
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

/** Return columns 0 to 3 of the row of a panel at which `row` was loaded. A bfloat16 is the upper half of a float32. */
// @ts-ignore: decorator
@inline
function low<T>(row: v128): v128 {
  return sizeof<T>() == 4 ? row : v128.shuffle<u16>(i16x8.splat(0), row, 0, 8, 1, 9, 2, 10, 3, 11);
}

/** Return columns 4 to 7 of the row of a panel at address w, at which `row` was loaded. */
// @ts-ignore: decorator
@inline
function high<T>(row: v128, w: usize): v128 {
  return sizeof<T>() == 4 ? v128.load(w, 16) : v128.shuffle<u16>(i16x8.splat(0), row, 4, 12, 5, 13, 6, 14, 7, 15);
}

/** Store the sums, or add them to those of earlier runs. */
// @ts-ignore: decorator
@inline
function put(c: usize, sums: v128, add: bool): void {
  v128.store(c, add ? f32x4.add(v128.load(c), sums) : sums);
}

function tile6x8(a: usize, aStride: usize, k: usize, w: usize, c: usize, cStride: usize, add: bool): void {
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
    s00 = multiplyAdd(x, w0, s00);
    s01 = multiplyAdd(x, w1, s01);
    x = v128.load32_splat(a1);
    s10 = multiplyAdd(x, w0, s10);
    s11 = multiplyAdd(x, w1, s11);
    x = v128.load32_splat(a2);
    s20 = multiplyAdd(x, w0, s20);
    s21 = multiplyAdd(x, w1, s21);
    x = v128.load32_splat(a3);
    s30 = multiplyAdd(x, w0, s30);
    s31 = multiplyAdd(x, w1, s31);
    x = v128.load32_splat(a4);
    s40 = multiplyAdd(x, w0, s40);
    s41 = multiplyAdd(x, w1, s41);
    x = v128.load32_splat(a5);
    s50 = multiplyAdd(x, w0, s50);
    s51 = multiplyAdd(x, w1, s51);
    a += 4;
    a1 += 4;
    a2 += 4;
    a3 += 4;
    a4 += 4;
    a5 += 4;
    w += panelRowBytes;
  }
  put(c, s00, add);
  put(c + 16, s01, add);
  c += cStride;
  put(c, s10, add);
  put(c + 16, s11, add);
  c += cStride;
  put(c, s20, add);
  put(c + 16, s21, add);
  c += cStride;
  put(c, s30, add);
  put(c + 16, s31, add);
  c += cStride;
  put(c, s40, add);
  put(c + 16, s41, add);
  c += cStride;
  put(c, s50, add);
  put(c + 16, s51, add);
}

/** Compute one row of four panels, whose values have the type T: `f32`, or `u16` for bfloat16. */
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
    const row0 = v128.load(w);
    s0 = multiplyAdd(x, low<T>(row0), s0);
    s1 = multiplyAdd(x, high<T>(row0, w), s1);
    const row1 = v128.load(w1);
    s2 = multiplyAdd(x, low<T>(row1), s2);
    s3 = multiplyAdd(x, high<T>(row1, w1), s3);
    const row2 = v128.load(w2);
    s4 = multiplyAdd(x, low<T>(row2), s4);
    s5 = multiplyAdd(x, high<T>(row2, w2), s5);
    const row3 = v128.load(w3);
    s6 = multiplyAdd(x, low<T>(row3), s6);
    s7 = multiplyAdd(x, high<T>(row3, w3), s7);
    a += 4;
    w += 8 * sizeof<T>();
    w1 += 8 * sizeof<T>();
    w2 += 8 * sizeof<T>();
    w3 += 8 * sizeof<T>();
  }
  put(c, s0, add);
  put(c + 16, s1, add);
  put(c + 32, s2, add);
  put(c + 48, s3, add);
  put(c + 64, s4, add);
  put(c + 80, s5, add);
  put(c + 96, s6, add);
  put(c + 112, s7, add);
}

function tile1x8(a: usize, k: usize, w: usize, c: usize, add: bool): void {
  let s0 = f32x4.splat(0);
  let s1 = s0;
  const end = a + (k << 2);
  while (a < end) {
    const x = v128.load32_splat(a);
    s0 = multiplyAdd(x, v128.load(w), s0);
    s1 = multiplyAdd(x, v128.load(w, 16), s1);
    a += 4;
    w += panelRowBytes;
  }
  put(c, s0, add);
  put(c + 16, s1, add);
}
