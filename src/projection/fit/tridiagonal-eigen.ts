import { timesTranspose } from '../kernel/matmul.ts';
import { type SecularRoots, solveSecular } from './secular.ts';

/** Ascending eigenvalues (Float64Array [n]) and eigenvectors (Float32Array [n x n], row-major, one per column). */
export interface Eigen {
  readonly values: Float64Array;
  readonly vectors: Float32Array;
}

/** Maximum size for which plane rotations are as fast as products. */
const LEAF = 48;
const SWEEPS_MAX = 60;
/** Relative size below which couplings are neglected, since float32 vectors can't represent their effect. */
const DEFLATION = 1e-9;

/**
 * Compute the eigenvectors of a symmetric tridiagonal matrix by divide and conquer (Cuppen 1981; Gu and Eisenstat, SIAM
 * J. Matrix Anal. Appl. 16, 1995). Matrix products are nearly all of the work.
 *
 * @param diagonal Float64Array [n]
 * @param offDiagonal Float64Array [n - 1]
 */
export function eigenOfTridiagonal(diagonal: Float64Array, offDiagonal: Float64Array): Eigen {
  const n = diagonal.length;
  if (n <= LEAF) return eigenByRotations(diagonal, offDiagonal);
  const half = n >> 1;
  const coupling = offDiagonal[half - 1] as number;
  const rho = Math.abs(coupling);
  const first = diagonal.slice(0, half);
  const second = diagonal.slice(half);
  first[half - 1] = (first[half - 1] as number) - rho;
  second[0] = (second[0] as number) - rho;
  const upper = eigenOfTridiagonal(first, offDiagonal.slice(0, half - 1));
  const lower = eigenOfTridiagonal(second, offDiagonal.slice(half));
  return joinHalves(upper, lower, rho, coupling < 0 ? -1 : 1);
}

/** Compute the eigenvectors of diag(upper, lower) + rho u uᵀ, u = (last unit vector, sign · first unit vector). */
function joinHalves(upper: Eigen, lower: Eigen, rho: number, sign: number): Eigen {
  const half = upper.values.length;
  const n = half + lower.values.length;
  const values = new Float64Array(n);
  const z = new Float64Array(n);
  for (let i = 0; i < half; i++) {
    values[i] = upper.values[i] as number;
    z[i] = upper.vectors[(half - 1) * half + i] as number;
  }
  for (let i = half; i < n; i++) {
    values[i] = lower.values[i - half] as number;
    z[i] = sign * (lower.vectors[i - half] as number);
  }
  const order = Int32Array.from(values.keys()).sort((a, b) => (values[a] as number) - (values[b] as number));
  // Rows are eigenvectors of the halves, in ascending order.
  const rows = new Float32Array(n * n);
  const d = new Float64Array(n);
  const zOrdered = new Float64Array(n);
  for (let at = 0; at < n; at++) {
    const i = order[at] as number;
    d[at] = values[i] as number;
    zOrdered[at] = z[i] as number;
    const [from, size, offset, column] = i < half ? [upper, half, 0, i] : [lower, n - half, half, i - half];
    for (let row = 0; row < size; row++) {
      rows[at * n + offset + row] = from.vectors[row * size + column] as number;
    }
  }
  const kept = deflate(d, zOrdered, rho, rows);
  if (kept.length > 0) {
    const poles = Float64Array.from(kept, (i) => d[i] as number);
    const weights = Float64Array.from(kept, (i) => zOrdered[i] as number);
    const roots = solveSecular(poles, weights, rho);
    const mixed = mixVectors(poles, weights, roots, rows, kept, n);
    for (let j = 0; j < kept.length; j++) {
      const i = kept[j] as number;
      d[i] = (poles[roots.origins[j] as number] as number) + (roots.offsets[j] as number);
      for (let row = 0; row < n; row++) rows[i * n + row] = mixed[row * kept.length + j] as number;
    }
  }
  return sortColumns(d, rows, n);
}

/**
 * Deflate the entries that the coupling doesn't change: those with a tiny z, and all but one of equal poles (after a
 * plane rotation).
 *
 * @returns indices that remain coupled, ascending; `z` of the others is 0
 */
function deflate(d: Float64Array, z: Float64Array, rho: number, rows: Float32Array): number[] {
  const n = d.length;
  const scale = Math.max(Math.abs(d[0] as number), Math.abs(d[n - 1] as number), rho);
  const tolerance = DEFLATION * scale;
  const kept: number[] = [];
  for (let i = 0; i < n; i++) {
    if (rho * Math.abs(z[i] as number) <= tolerance) {
      z[i] = 0;
      continue;
    }
    const before = kept.at(-1);
    if (before !== undefined) {
      const length = Math.hypot(z[before] as number, z[i] as number);
      const cosine = (z[i] as number) / length;
      const sine = (z[before] as number) / length;
      const difference = (d[i] as number) - (d[before] as number);
      if (Math.abs(difference * cosine * sine) <= tolerance) {
        const a = d[before] as number;
        const b = d[i] as number;
        d[before] = a * cosine * cosine + b * sine * sine;
        d[i] = a * sine * sine + b * cosine * cosine;
        z[before] = 0;
        z[i] = length;
        rotateRows(rows, n, before, i, cosine, sine);
        kept.pop();
      }
    }
    kept.push(i);
  }
  return kept;
}

function rotateRows(rows: Float32Array, n: number, a: number, b: number, cosine: number, sine: number): void {
  for (let k = 0; k < n; k++) {
    const x = rows[a * n + k] as number;
    const y = rows[b * n + k] as number;
    rows[a * n + k] = cosine * x - sine * y;
    rows[b * n + k] = sine * x + cosine * y;
  }
}

/**
 * Compute the new eigenvectors, Float32Array [n x kept]. Recomputing the weights from the roots keeps the vectors
 * orthogonal even for close roots (Gu and Eisenstat).
 */
function mixVectors(
  poles: Float64Array,
  weights: Float64Array,
  { origins, offsets }: SecularRoots,
  rows: Float32Array,
  kept: readonly number[],
  n: number,
): Float32Array {
  const count = poles.length;
  /** Compute root j minus pole i. */
  const distance = (j: number, i: number) =>
    (poles[origins[j] as number] as number) - (poles[i] as number) + (offsets[j] as number);
  const exact = new Float64Array(count);
  for (let i = 0; i < count; i++) {
    let product = Math.abs(distance(i, i));
    for (let j = 0; j < count; j++) {
      if (j !== i) product *= Math.abs(distance(j, i) / ((poles[j] as number) - (poles[i] as number)));
    }
    exact[i] = Math.sqrt(product) * Math.sign(weights[i] as number);
  }
  const mixing = new Float32Array(count * count);
  const vector = new Float64Array(count);
  for (let j = 0; j < count; j++) {
    let squares = 0;
    for (let i = 0; i < count; i++) {
      const value = -(exact[i] as number) / distance(j, i);
      vector[i] = value;
      squares += value * value;
    }
    const scale = 1 / Math.sqrt(squares);
    for (let i = 0; i < count; i++) mixing[j * count + i] = (vector[i] as number) * scale;
  }
  const columns = new Float32Array(n * count);
  for (let i = 0; i < count; i++) {
    const row = (kept[i] as number) * n;
    for (let k = 0; k < n; k++) columns[k * count + i] = rows[row + k] as number;
  }
  return timesTranspose(columns, mixing, n, count, count);
}

/** Convert one eigenvector per row, in any order, to one per column in ascending order. */
function sortColumns(d: Float64Array, rows: Float32Array, n: number): Eigen {
  const order = Int32Array.from(d.keys()).sort((a, b) => (d[a] as number) - (d[b] as number));
  const vectors = new Float32Array(n * n);
  for (let column = 0; column < n; column++) {
    const row = (order[column] as number) * n;
    for (let k = 0; k < n; k++) vectors[k * n + column] = rows[row + k] as number;
  }
  return { values: Float64Array.from(order, (i) => d[i] as number), vectors };
}

/** Compute eigenvectors of a small matrix by implicit QL with Wilkinson's shift (Golub and Van Loan, 8.3.3). */
function eigenByRotations(diagonal: Float64Array, offDiagonal: Float64Array): Eigen {
  const n = diagonal.length;
  const d = Float64Array.from(diagonal);
  const e = new Float64Array(n);
  e.set(offDiagonal);
  const rows = new Float64Array(n * n);
  for (let i = 0; i < n; i++) rows[i * n + i] = 1;
  for (let l = 0; l < n; l++) {
    for (let sweep = 0; sweep < SWEEPS_MAX; sweep++) {
      let m = l;
      while (m < n - 1) {
        const size = Math.abs(d[m] as number) + Math.abs(d[m + 1] as number);
        if (Math.abs(e[m] as number) <= Number.EPSILON * size) break;
        m++;
      }
      if (m === l) break;
      sweepOnce(d, e, rows, l, m);
    }
  }
  return sortColumns(d, Float32Array.from(rows), n);
}

/** Apply one QL sweep to the unreduced block l..m. */
function sweepOnce(d: Float64Array, e: Float64Array, rows: Float64Array, l: number, m: number): void {
  const n = d.length;
  const el = e[l] as number;
  const half = ((d[l + 1] as number) - (d[l] as number)) / (2 * el);
  const root = Math.hypot(half, 1);
  let g = (d[m] as number) - (d[l] as number) + el / (half + (half >= 0 ? root : -root));
  let sine = 1;
  let cosine = 1;
  let p = 0;
  for (let i = m - 1; i >= l; i--) {
    const f = sine * (e[i] as number);
    const b = cosine * (e[i] as number);
    const length = Math.hypot(f, g);
    e[i + 1] = length;
    if (length === 0) {
      d[i + 1] = (d[i + 1] as number) - p;
      e[m] = 0;
      return;
    }
    sine = f / length;
    cosine = g / length;
    g = (d[i + 1] as number) - p;
    const r = ((d[i] as number) - g) * sine + 2 * cosine * b;
    p = sine * r;
    d[i + 1] = g + p;
    g = cosine * r - b;
    for (let k = 0; k < n; k++) {
      const x = rows[i * n + k] as number;
      const y = rows[(i + 1) * n + k] as number;
      rows[(i + 1) * n + k] = sine * x + cosine * y;
      rows[i * n + k] = cosine * x - sine * y;
    }
  }
  d[l] = (d[l] as number) - p;
  e[l] = g;
  e[m] = 0;
}
