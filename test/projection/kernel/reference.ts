/** Slow reference implementation in float64. Matrices are row-major. */
import { createRandom } from '../../support/random.ts';

/** Generate a random Float32Array of values in (-1, 1); a seed always gives the same one. */
export function randomValues(length: number, seed: number): Float32Array {
  const { real } = createRandom(seed);
  return new Float32Array(length).map(() => 2 * real() - 1);
}

/** Normalise rows to unit length. */
export function unitRows(values: Float32Array, columns: number): Float32Array {
  const rows = values.slice();
  for (let from = 0; from < rows.length; from += columns) {
    const row = rows.subarray(from, from + columns);
    const length = norm(row);
    for (let i = 0; i < columns; i++) row[i] = (row[i] as number) / length;
  }
  return rows;
}

/** Compute [m x n] = A [m x k] · B [k x n]. */
export function product(a: ArrayLike<number>, b: ArrayLike<number>, m: number, k: number, n: number): Float64Array {
  const c = new Float64Array(m * n);
  for (let i = 0; i < m; i++) {
    for (let p = 0; p < k; p++) {
      const x = a[i * k + p] as number;
      for (let j = 0; j < n; j++) c[i * n + j] = (c[i * n + j] as number) + x * (b[p * n + j] as number);
    }
  }
  return c;
}

/** Transpose [rows x columns]. */
export function transposed(values: Float32Array, rows: number, columns: number): Float32Array {
  const result = new Float32Array(values.length);
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      result[column * rows + row] = values[row * columns + column] as number;
    }
  }
  return result;
}

export function norm(vector: Float32Array): number {
  let squares = 0;
  for (const value of vector) squares += value * value;
  return Math.sqrt(squares);
}

/** Project: subtract the mean, multiply, keep the first d axes, normalise. `weights` is [k x D], D >= d. */
export function projection(
  native: Float32Array,
  weights: Float32Array,
  mean: Float32Array | null,
  k: number,
  d: number,
): Float64Array {
  const columns = weights.length / k;
  const rows = native.length / k;
  const centred = Float64Array.from(native, (value, i) => value - (mean ? (mean[i % k] as number) : 0));
  const full = product(centred, weights, rows, k, columns);
  const projected = new Float64Array(rows * d);
  for (let row = 0; row < rows; row++) {
    const kept = full.subarray(row * columns, row * columns + d);
    const length = Math.sqrt(kept.reduce((sum, x) => sum + x * x, 0));
    projected.set(
      kept.map((x, i) => (length === 0 ? Number(i === 0) : x / length)),
      row * d,
    );
  }
  return projected;
}

/** Compute the largest difference between a value and its reference. */
export function largestError(values: ArrayLike<number>, reference: ArrayLike<number>): number {
  if (values.length !== reference.length) return Number.POSITIVE_INFINITY;
  let worst = 0;
  for (let i = 0; i < values.length; i++) {
    const error = Math.abs((values[i] as number) - (reference[i] as number));
    if (!(error <= worst)) worst = Number.isNaN(error) ? Number.POSITIVE_INFINITY : error;
  }
  return worst;
}
