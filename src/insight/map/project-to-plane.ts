/** Maximum number of rows per projection. More rows don't make the directions clearer. */
export const PLANE_ROWS_MAX = 2_000;
/** Maximum power iterations per direction, 1 ms each for 500 rows. More don't change the picture visibly. */
const STEPS_MAX = 20;
/** Convergence threshold: change of the unit vector between two iterations. */
const CHANGE_MIN = 1e-3;

export interface PlaneTask {
  /** Float32Array [n x dimensions], row-major. */
  readonly vectors: Float32Array;
  readonly dimensions: number;
}

export interface Plane {
  /** Float64Array [n x 2], row-major: coordinates along the two directions of the largest variance. */
  readonly points: Float64Array;
  /** Shares of the total variance along the two directions. */
  readonly explained: readonly [number, number];
}

/**
 * Project vectors onto the plane of largest variance: principal component analysis by power iteration with deflation
 * (Hotelling, 1933). The signs of the directions are fixed, so equal input gives an equal picture.
 */
export function projectToPlane({ vectors, dimensions }: PlaneTask): Plane {
  const n = vectors.length / dimensions;
  const rows = centred(vectors, n, dimensions);
  let variance = 0;
  for (const value of rows) variance += value * value;
  const points = new Float64Array(n * 2);
  const explained: [number, number] = [0, 0];
  for (const axis of [0, 1] as const) {
    const scores = firstScores(rows, n, dimensions);
    if (scores === null || variance === 0) break;
    let sum = 0;
    for (let i = 0; i < n; i++) {
      const score = scores[i] as number;
      points[2 * i + axis] = score;
      sum += score * score;
    }
    explained[axis] = Math.min(1, sum / variance);
  }
  return { points, explained };
}

function centred(vectors: Float32Array, n: number, d: number): Float32Array {
  const sums = new Float64Array(d);
  for (let i = 0; i < n; i++)
    for (let k = 0; k < d; k++) sums[k] = (sums[k] as number) + (vectors[i * d + k] as number);
  const rows = new Float32Array(n * d);
  for (let i = 0; i < n; i++) {
    for (let k = 0; k < d; k++) rows[i * d + k] = (vectors[i * d + k] as number) - (sums[k] as number) / n;
  }
  return rows;
}

/**
 * Compute the scores of the rows along their direction of largest variance, and subtract that direction from the rows.
 * Return null if the rows have no variance.
 */
function firstScores(rows: Float32Array, n: number, d: number): Float64Array | null {
  // Start from the longest row, which can't be orthogonal to all rows.
  let longest = 0;
  let longestSquare = 0;
  for (let i = 0; i < n; i++) {
    let square = 0;
    for (let k = 0; k < d; k++) square += (rows[i * d + k] as number) ** 2;
    if (square > longestSquare) [longest, longestSquare] = [i, square];
  }
  if (longestSquare < 1e-20) return null;
  let direction = unit(Float64Array.from(rows.subarray(longest * d, (longest + 1) * d)));
  for (let step = 0; step < STEPS_MAX; step++) {
    const next = unit(stepFrom(rows, n, d, direction));
    let change = 0;
    for (let k = 0; k < d; k++) change += ((next[k] as number) - (direction[k] as number)) ** 2;
    direction = next;
    if (change < CHANGE_MIN ** 2) break;
  }
  const strongest = direction.reduce((best, value) => (Math.abs(value) > Math.abs(best) ? value : best), 0);
  if (strongest < 0) direction = direction.map((value) => -value);
  const scores = along(rows, n, d, direction);
  for (let i = 0; i < n; i++) {
    for (let k = 0; k < d; k++) {
      rows[i * d + k] = (rows[i * d + k] as number) - (scores[i] as number) * (direction[k] as number);
    }
  }
  return scores;
}

/** Multiply the rows by a direction. Return Float64Array [n]. */
function along(rows: Float32Array, n: number, d: number, direction: Float64Array): Float64Array {
  const scores = new Float64Array(n);
  for (let i = 0; i < n; i++) {
    let sum = 0;
    for (let k = 0; k < d; k++) sum += (rows[i * d + k] as number) * (direction[k] as number);
    scores[i] = sum;
  }
  return scores;
}

/** Multiply the transposed rows by the rows by a direction, one power iteration. Return Float64Array [d]. */
function stepFrom(rows: Float32Array, n: number, d: number, direction: Float64Array): Float64Array {
  const sums = new Float64Array(d);
  for (let i = 0; i < n; i++) {
    const row = rows.subarray(i * d, (i + 1) * d);
    let score = 0;
    for (let k = 0; k < d; k++) score += (row[k] as number) * (direction[k] as number);
    for (let k = 0; k < d; k++) sums[k] = (sums[k] as number) + score * (row[k] as number);
  }
  return sums;
}

function unit(vector: Float64Array): Float64Array {
  const length = Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0));
  return length === 0 ? vector : vector.map((value) => value / length);
}
