/**
 * Roots of a secular equation, each relative to its nearest pole: this preserves the precision of differences to poles.
 */
export interface SecularRoots {
  /** Index of the pole nearest to each root. */
  readonly origins: Int32Array;
  /** Root minus that pole. */
  readonly offsets: Float64Array;
}

const ITERATIONS_MAX = 200;
const EPSILON = Number.EPSILON;

/**
 * Compute the eigenvalues of diag(d) + rho z zᵀ: the roots of 1 + rho Σ zᵢ² / (dᵢ - λ), one to the right of every pole.
 * Interpolate one pole of psi and one of phi (Bunch, Nielsen and Sorensen, Numer. Math. 31, 1978), with bisection as a
 * safeguard.
 *
 * @param d strictly ascending
 * @param z without zeros
 * @param rho positive
 */
export function solveSecular(d: Float64Array, z: Float64Array, rho: number): SecularRoots {
  const n = d.length;
  const origins = new Int32Array(n);
  const offsets = new Float64Array(n);
  const squares = z.map((value) => rho * value * value);
  const total = squares.reduce((sum, value) => sum + value, 0);
  const shifted = new Float64Array(n);
  for (let j = 0; j < n; j++) {
    const gap = j === n - 1 ? total : (d[j + 1] as number) - (d[j] as number);
    let origin = j;
    if (j < n - 1) {
      const middle = (d[j] as number) + gap / 2;
      let value = 1;
      for (let i = 0; i < n; i++) value += (squares[i] as number) / ((d[i] as number) - middle);
      if (value < 0) origin = j + 1;
    }
    const pole = d[origin] as number;
    for (let i = 0; i < n; i++) shifted[i] = (d[i] as number) - pole;
    const low = origin === j ? 0 : -gap / 2;
    const high = origin === j ? (j === n - 1 ? gap : gap / 2) : 0;
    origins[j] = origin;
    offsets[j] = findRoot(shifted, squares, j, low, high);
  }
  return { origins, offsets };
}

/** Find the root in (from, to), between the poles `shifted[left]` and `shifted[left + 1]`. */
function findRoot(shifted: Float64Array, squares: Float64Array, left: number, from: number, to: number): number {
  const n = shifted.length;
  let low = from;
  let high = to;
  let x = (low + high) / 2;
  for (let iteration = 0; iteration < ITERATIONS_MAX; iteration++) {
    let psi = 0;
    let psiSlope = 0;
    for (let i = 0; i <= left; i++) {
      const distance = (shifted[i] as number) - x;
      const term = (squares[i] as number) / distance;
      psi += term;
      psiSlope += term / distance;
    }
    let phi = 0;
    let phiSlope = 0;
    for (let i = left + 1; i < n; i++) {
      const distance = (shifted[i] as number) - x;
      const term = (squares[i] as number) / distance;
      phi += term;
      phiSlope += term / distance;
    }
    const value = 1 + psi + phi;
    if (Math.abs(value) <= 4 * EPSILON * (1 + phi - psi)) return x;
    if (value > 0) high = x;
    else low = x;
    if (high - low <= 2 * EPSILON * Math.max(Math.abs(low), Math.abs(high))) return x;
    const toLeft = (shifted[left] as number) - x;
    const step =
      left === n - 1
        ? toLeft + (toLeft * toLeft * psiSlope) / (1 + psi - toLeft * psiSlope)
        : stepBetween(toLeft, (shifted[left + 1] as number) - x, value, psiSlope, phiSlope);
    const next = x + step;
    x = next > low && next < high ? next : (low + high) / 2;
  }
  return x;
}

/** Step to the zero of c + s / (toLeft - step) + S / (toRight - step), equal to psi and phi in value and slope. */
function stepBetween(toLeft: number, toRight: number, value: number, psiSlope: number, phiSlope: number): number {
  const c = value - toLeft * psiSlope - toRight * phiSlope;
  const a = c * (toLeft + toRight) + toLeft * toLeft * psiSlope + toRight * toRight * phiSlope;
  const b = toLeft * toRight * value;
  const root = Math.sqrt(Math.max(a * a - 4 * b * c, 0));
  return a <= 0 ? (a - root) / (2 * c) : (2 * b) / (a + root);
}
