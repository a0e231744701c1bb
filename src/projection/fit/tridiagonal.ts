import { matmul, transposeTimes } from '../kernel/matmul.ts';

/** Decomposition A = Q T Qᵀ, with T tridiagonal and Q stored as Householder reflectors. */
export interface Tridiagonal {
  /** Float64Array [n] */
  readonly diagonal: Float64Array;
  /** Float64Array [n - 1] */
  readonly offDiagonal: Float64Array;
  /** Float64Array [n x n]: row j holds the j-th reflector from column j + 1 on; earlier columns are undefined. */
  readonly reflectors: Float64Array;
  /** Float64Array [n]: the j-th transformation is I - scales[j] v vᵀ. */
  readonly scales: Float64Array;
}

/** Number of reflectors applied by one product. */
const BLOCK = 128;

/**
 * Reduce a symmetric matrix to tridiagonal form by Householder reflections in double precision (Golub and Van Loan,
 * Matrix Computations, 4th ed., 8.3.1). Read and overwrite only the upper triangle. Memory bandwidth is the bottleneck,
 * so the rank-2 update of a step and the product of the next step share one pass over memory.
 *
 * @param a Float64Array [n x n], row-major, symmetric
 */
export function reduceToTridiagonal(a: Float64Array, n: number): Tridiagonal {
  const diagonal = new Float64Array(n);
  const offDiagonal = new Float64Array(Math.max(n - 1, 0));
  const scales = new Float64Array(n);
  let v = new Float64Array(n);
  let w = new Float64Array(n);
  let vNext = new Float64Array(n);
  let wNext = new Float64Array(n);
  for (let j = 0; j < n; j++) {
    const row = j * n;
    const vj = v[j] as number;
    const wj = w[j] as number;
    for (let c = j; c < n; c++) {
      a[row + c] = (a[row + c] as number) - vj * (w[c] as number) - wj * (v[c] as number);
    }
    diagonal[j] = a[row + j] as number;
    if (j === n - 1) break;
    const { scale, offDiagonal: beta } = makeReflector(a, row + j + 1, n - j - 1);
    offDiagonal[j] = beta;
    scales[j] = scale;
    vNext.fill(0);
    for (let c = j + 1; c < n; c++) vNext[c] = a[row + c] as number;
    wNext.fill(0);
    updateAndMultiply(a, n, j + 1, v, w, vNext, wNext);
    let dot = 0;
    for (let c = j + 1; c < n; c++) dot += (wNext[c] as number) * (vNext[c] as number);
    const half = (scale * dot) / 2;
    for (let c = j + 1; c < n; c++) wNext[c] = scale * ((wNext[c] as number) - half * (vNext[c] as number));
    [v, vNext] = [vNext, v];
    [w, wNext] = [wNext, w];
  }
  return { diagonal, offDiagonal, reflectors: a, scales };
}

/** Replace x = a[at .. at + length) by v with v[0] = 1, such that (I - scale v vᵀ) x = (offDiagonal, 0, …). */
function makeReflector(a: Float64Array, at: number, length: number): { scale: number; offDiagonal: number } {
  const head = a[at] as number;
  let squares = 0;
  for (let i = 1; i < length; i++) squares += (a[at + i] as number) ** 2;
  a[at] = 1;
  // The other components are zero or so small that their squares underflow.
  if (squares < 1e-290) {
    a.fill(0, at + 1, at + length);
    return { scale: 0, offDiagonal: head };
  }
  const norm = Math.sqrt(head * head + squares);
  const beta = head > 0 ? -norm : norm;
  const factor = 1 / (head - beta);
  for (let i = 1; i < length; i++) a[at + i] = (a[at + i] as number) * factor;
  return { scale: (beta - head) / beta, offDiagonal: beta };
}

/**
 * Update A -= v wᵀ + w vᵀ and then product += A x, for rows and columns from `first` on, in the upper triangle of A.
 */
function updateAndMultiply(
  a: Float64Array,
  n: number,
  first: number,
  v: Float64Array,
  w: Float64Array,
  x: Float64Array,
  product: Float64Array,
): void {
  for (let i = first; i < n; i++) {
    const row = i * n;
    const vi = v[i] as number;
    const wi = w[i] as number;
    const xi = x[i] as number;
    const corner = (a[row + i] as number) - 2 * vi * wi;
    a[row + i] = corner;
    let sum = corner * xi;
    for (let c = i + 1; c < n; c++) {
      const value = (a[row + c] as number) - vi * (w[c] as number) - wi * (v[c] as number);
      a[row + c] = value;
      sum += value * (x[c] as number);
      product[c] = (product[c] as number) + value * xi;
    }
    product[i] = (product[i] as number) + sum;
  }
}

/**
 * Compute Q Z for the Q of a reduction, by blocks of reflectors in their compact WY form (Schreiber and Van Loan,
 * 1989).
 *
 * @param z Float32Array [n x columns], row-major; overwritten with the result
 */
export function applyReflectors(tridiagonal: Tridiagonal, z: Float32Array, columns: number): void {
  const { reflectors, scales } = tridiagonal;
  const n = scales.length;
  for (let begin = Math.floor(Math.max(n - 2, 0) / BLOCK) * BLOCK; begin >= 0; begin -= BLOCK) {
    const count = Math.min(BLOCK, n - 1 - begin);
    if (count <= 0) continue;
    // Reflector begin + b acts on the rows from begin + b + 1 on.
    const rows = n - begin - 1;
    const block = new Float32Array(rows * count);
    for (let b = 0; b < count; b++) {
      for (let i = b; i < rows; i++) {
        block[i * count + b] = reflectors[(begin + b) * n + begin + 1 + i] as number;
      }
    }
    const factor = compactFactor(block, rows, count, scales.subarray(begin, begin + count));
    const part = z.subarray((begin + 1) * columns);
    const inner = matmul(factor, count, count, transposeTimes(block, part, rows, count, columns), columns);
    const change = matmul(block, rows, count, inner, columns);
    for (let i = 0; i < change.length; i++) part[i] = (part[i] as number) - (change[i] as number);
  }
}

/** Compute the upper triangular T of H₀ H₁ … = I - V T Vᵀ. */
function compactFactor(block: Float32Array, rows: number, count: number, scales: Float64Array): Float32Array {
  const gram = transposeTimes(block, block, rows, count, count);
  const factor = new Float32Array(count * count);
  for (let b = 0; b < count; b++) {
    const scale = scales[b] as number;
    factor[b * count + b] = scale;
    for (let i = 0; i < b; i++) {
      let sum = 0;
      for (let j = i; j < b; j++) sum += (factor[i * count + j] as number) * (gram[j * count + b] as number);
      factor[i * count + b] = -scale * sum;
    }
  }
  return factor;
}
