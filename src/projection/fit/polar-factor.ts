import { matmul, timesTranspose } from '../kernel/matmul.ts';

/** Coefficients of p(s) = a s + b s³ + c s⁵, applied to every singular value by three matrix products. */
type Quintic = readonly [a: number, b: number, c: number];

/** Polynomial that maps (0, 1] into (0, 1.21], as steep at zero as possible (Jordan et al., Muon, 2024). */
const GROW: Quintic = [3.4445, -4.775, 2.0315];
/** Newton–Schulz iteration of fifth order, with cubic convergence to 1 (Higham, Functions of Matrices, 8.3). */
const REFINE: Quintic = [15 / 8, -10 / 8, 3 / 8];

/** Number of steps, enough for singular values down to 1e-8 of the largest. Smaller ones are below float32 rounding. */
const GROW_STEPS = 15;
const REFINE_STEPS_MAX = 40;
/** Frobenius norm of (gram - identity) below which one more step reaches float32 precision. */
const NEARLY_ORTHONORMAL = 1e-2;
/** Weight of the arbitrary directions that replace those without data, relative to the largest singular value. */
const FILL = 1e-6;

/**
 * Compute the nearest matrix with orthonormal rows (or columns, if they are the shorter side): U Vᵀ of m = U S Vᵀ
 * (Schönemann, Psychometrika 31, 1966). Directions in which `m` is zero or lost in rounding are paired by a fixed
 * pseudo-random rule, orthonormal to all others.
 *
 * @param m Float32Array [rows x columns], row-major
 * @returns Float32Array [rows x columns]
 */
export function polarFactor(m: Float32Array, rows: number, columns: number): Float32Array {
  if (rows > columns) return transpose(polarFactor(transpose(m, rows, columns), columns, rows), columns, rows);
  let y = scaleAndFill(m, rows, columns);
  for (let step = 0; step < GROW_STEPS; step++) y = applyQuintic(y, gramOf(y, rows, columns), rows, columns, GROW);
  return refineOrthonormal(y, rows, columns);
}

/** Compute the polar factor of a nearly orthonormal matrix, which removes accumulated rounding errors. */
export function refineOrthonormal(nearly: Float32Array, rows: number, columns: number): Float32Array {
  let y = nearly;
  for (let step = 0; step < REFINE_STEPS_MAX; step++) {
    const gram = gramOf(y, rows, columns);
    const deviation = deviationFromIdentity(gram, rows);
    y = applyQuintic(y, gram, rows, columns, REFINE);
    if (deviation < NEARLY_ORTHONORMAL) break;
  }
  return y;
}

function gramOf(y: Float32Array, rows: number, columns: number): Float32Array {
  return timesTranspose(y, y, rows, columns, rows);
}

function applyQuintic(y: Float32Array, gram: Float32Array, rows: number, columns: number, [a, b, c]: Quintic) {
  const polynomial = matmul(gram, rows, rows, gram, rows);
  for (let i = 0; i < polynomial.length; i++) {
    polynomial[i] = c * (polynomial[i] as number) + b * (gram[i] as number);
  }
  for (let i = 0; i < rows; i++) polynomial[i * rows + i] = (polynomial[i * rows + i] as number) + a;
  return matmul(polynomial, rows, rows, y, columns);
}

function deviationFromIdentity(gram: Float32Array, n: number): number {
  let squares = 0;
  for (let i = 0; i < n; i++) {
    for (let j = 0; j < n; j++) squares += ((gram[i * n + j] as number) - (i === j ? 1 : 0)) ** 2;
  }
  return Math.sqrt(squares);
}

/** Scale the singular values to at most 1, and raise them to at least about `FILL`. */
function scaleAndFill(m: Float32Array, rows: number, columns: number): Float32Array {
  let squares = 0;
  for (const value of m) squares += value * value;
  const filling = cosineRows(rows, columns);
  if (squares === 0) return filling;
  const unit = m.map((value) => value / Math.sqrt(squares));
  // The fourth root of Σ s⁴ bounds the largest s much more tightly than the Frobenius norm.
  let gramSquares = 0;
  for (const value of gramOf(unit, rows, columns)) gramSquares += value * value;
  const bound = gramSquares ** 0.25;
  for (let i = 0; i < unit.length; i++) unit[i] = (unit[i] as number) / bound + FILL * (filling[i] as number);
  return unit;
}

/** Create unstructured orthonormal rows: a discrete cosine transform with pseudo-random column signs. */
function cosineRows(rows: number, columns: number): Float32Array {
  const filling = new Float32Array(rows * columns);
  let state = 0x9e3779b9;
  for (let j = 0; j < columns; j++) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    const sign = state < 0 ? -1 : 1;
    for (let i = 0; i < rows; i++) {
      const scale = Math.sqrt((i === 0 ? 1 : 2) / columns);
      filling[i * columns + j] = sign * scale * Math.cos((Math.PI * (j + 0.5) * i) / columns);
    }
  }
  return filling;
}

/** @param m Float32Array [rows x columns] @returns Float32Array [columns x rows] */
function transpose(m: Float32Array, rows: number, columns: number): Float32Array {
  const transposed = new Float32Array(m.length);
  for (let i = 0; i < rows; i++) {
    for (let j = 0; j < columns; j++) transposed[j * rows + i] = m[i * columns + j] as number;
  }
  return transposed;
}
