/**
 * Products of large float32 matrices, for fitting and evaluation. They are synchronous and use one core: run them on a
 * worker thread or in a separate process if the event loop must stay free.
 *
 * All matrices are row-major. Sums are computed in runs of 384 terms (see `kernel.as.ts`), which keeps the result
 * within 1e-5 of exact sums, relative to the product of the norms of the row and the column. NaN and infinities
 * propagate.
 */
import { PANEL_COLUMNS, packColumns, packRows, paddedColumns } from './pack-panels.ts';
import { allocateKernelMemory, instantiateKernel, type Kernel, kernelModule } from './wasm-kernel.ts';

/** Maximum number of left rows per product, in whole register tiles of 6 rows. */
const BLOCK_ROWS_MAX = 96;
const TILE_ROWS = 6;
/** Maximum bytes of these rows, so that they stay in the second-level cache. */
const LEFT_BYTES_MAX = 4 * 2 ** 20;
/** Maximum bytes of the right matrix to pack at once. */
const RIGHT_BYTES_MAX = 32 * 2 ** 20;

/**
 * Compute A · B.
 *
 * @param a Float32Array [aRows x aCols]
 * @param b Float32Array [aCols x bCols]
 * @returns Float32Array [aRows x bCols]
 * @throws RangeError if lengths and shapes do not match
 */
export function matmul(a: Float32Array, aRows: number, aCols: number, b: Float32Array, bCols: number): Float32Array {
  checkShape('a', a, aRows, aCols);
  checkShape('b', b, aCols, bCols);
  return multiplyBlocks(aRows, aCols, bCols, {
    loadLeft: (scratch, from, to) => scratch.left.set(a.subarray(from * aCols, to * aCols)),
    packRight: (target, from, to) => packColumns(target, b, aCols, bCols, from, to),
  });
}

/**
 * Compute Aᵀ · B: a cross-covariance, or the Gram matrix of the columns if `b` is `a` (then exactly symmetric).
 *
 * @param a Float32Array [rows x aCols]
 * @param b Float32Array [rows x bCols]
 * @returns Float32Array [aCols x bCols]
 * @throws RangeError if lengths and shapes don't match
 */
export function transposeTimes(
  a: Float32Array,
  b: Float32Array,
  rows: number,
  aCols: number,
  bCols: number,
): Float32Array {
  checkShape('a', a, rows, aCols);
  checkShape('b', b, rows, bCols);
  return multiplyBlocks(aCols, rows, bCols, {
    loadLeft: (scratch, from, to) => {
      const width = to - from;
      for (let row = 0; row < rows; row++) {
        scratch.untransposed.set(a.subarray(row * aCols + from, row * aCols + to), row * width);
      }
      scratch.kernel.transpose(scratch.untransposed.byteOffset, rows, width, scratch.left.byteOffset);
    },
    packRight: (target, from, to) => packColumns(target, b, rows, bCols, from, to),
  });
}

/**
 * Compute A · Bᵀ: the inner products of the rows of two matrices.
 *
 * @param a Float32Array [aRows x cols]
 * @param b Float32Array [bRows x cols]
 * @returns Float32Array [aRows x bRows]
 * @throws RangeError if lengths and shapes do not match
 */
export function timesTranspose(
  a: Float32Array,
  b: Float32Array,
  aRows: number,
  cols: number,
  bRows: number,
): Float32Array {
  checkShape('a', a, aRows, cols);
  checkShape('b', b, bRows, cols);
  return multiplyBlocks(aRows, cols, bRows, {
    loadLeft: (scratch, from, to) => scratch.left.set(a.subarray(from * cols, to * cols)),
    packRight: (target, from, to) => packRows(target, b, cols, from, to),
  });
}

/** Access to the two matrices. */
interface Operands {
  /** Copy rows [from .. to) of the left matrix to `scratch.left`, row-major. */
  loadLeft(scratch: Scratch, from: number, to: number): void;
  /** Pack columns [from .. to) of the right matrix. */
  packRight(target: Float32Array, from: number, to: number): void;
}

/** Views of the memory of a kernel. */
interface Scratch {
  readonly kernel: Kernel;
  readonly right: Float32Array;
  readonly left: Float32Array;
  readonly untransposed: Float32Array;
  readonly product: Float32Array;
}

/** Compute [rows x columns] = left [rows x k] · right [k x columns] by blocks. */
function multiplyBlocks(rows: number, k: number, columns: number, operands: Operands): Float32Array {
  const product = new Float32Array(rows * columns);
  if (product.length === 0 || k === 0) return product;
  const blockRows = Math.min(BLOCK_ROWS_MAX, wholeTiles(LEFT_BYTES_MAX / (4 * k), TILE_ROWS));
  const blockColumns = Math.min(paddedColumns(columns), wholeTiles(RIGHT_BYTES_MAX / (4 * k), PANEL_COLUMNS));
  const scratch = openScratch(blockRows, k, blockColumns);
  for (let column = 0; column < columns; column += blockColumns) {
    const columnEnd = Math.min(columns, column + blockColumns);
    operands.packRight(scratch.right, column, columnEnd);
    const stride = paddedColumns(columnEnd - column);
    for (let row = 0; row < rows; row += blockRows) {
      const rowEnd = Math.min(rows, row + blockRows);
      operands.loadLeft(scratch, row, rowEnd);
      const { kernel, left, right, product: block } = scratch;
      const panels = stride / PANEL_COLUMNS;
      const [a, w, c] = [left.byteOffset, right.byteOffset, block.byteOffset];
      kernel.multiply(a, 4 * k, rowEnd - row, k, w, panels, c, 4 * stride);
      for (let i = row, from = 0; i < rowEnd; i++, from += stride) {
        product.set(block.subarray(from, from + columnEnd - column), i * columns + column);
      }
    }
  }
  return product;
}

/** Return the largest multiple of `tile` up to `count`, but at least one tile. */
function wholeTiles(count: number, tile: number): number {
  return Math.max(1, Math.floor(count / tile)) * tile;
}

/** Memory kept by the thread for the next product, since first access to new pages is slow. */
let threadMemory: { readonly buffer: SharedArrayBuffer; readonly kernel: Kernel } | undefined;

function openScratch(blockRows: number, k: number, blockColumns: number): Scratch {
  const lengths = [k * blockColumns, blockRows * k, blockRows * k, blockRows * blockColumns] as const;
  const bytes = 4 * (lengths[0] + lengths[1] + lengths[2] + lengths[3]);
  if (threadMemory === undefined || threadMemory.buffer.byteLength < bytes) {
    const memory = allocateKernelMemory(bytes);
    threadMemory = { buffer: memory.buffer, kernel: instantiateKernel(kernelModule(), memory) };
  }
  const { buffer, kernel } = threadMemory;
  let at = 0;
  const view = (length: number) => {
    const floats = new Float32Array(buffer as unknown as ArrayBuffer, at, length);
    at += 4 * length;
    return floats;
  };
  return {
    kernel,
    right: view(lengths[0]),
    left: view(lengths[1]),
    untransposed: view(lengths[2]),
    product: view(lengths[3]),
  };
}

function checkShape(name: string, matrix: Float32Array, rows: number, columns: number): void {
  if (!(Number.isSafeInteger(rows) && Number.isSafeInteger(columns) && rows >= 0 && columns >= 0)) {
    throw new RangeError(`${name} cannot have ${rows} x ${columns} values`);
  }
  if (matrix.length !== rows * columns) {
    throw new RangeError(`${name} of ${rows} x ${columns} has ${rows * columns} values, not ${matrix.length}`);
  }
}
