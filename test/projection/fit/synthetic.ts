import { createRandom } from '../../support/random.ts';

/** Generate standard normal numbers (Box and Muller); a seed always gives the same ones. */
export function gaussians(count: number, seed: number): Float64Array {
  const random = createRandom(seed).real;
  return Float64Array.from(
    { length: count },
    () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random()),
  );
}

/**
 * Generate vectors [n x columns] whose variance decreases from column to column, as in the principal components of a
 * model.
 */
export function latentVectors(n: number, columns: number, seed: number): Float32Array {
  return Float32Array.from(gaussians(n * columns, seed), (value, i) => value / Math.sqrt(1 + (i % columns)));
}

/** Generate orthonormal rows [rows x columns], rows <= columns, by Gram and Schmidt in double precision. */
export function orthonormalRows(rows: number, columns: number, seed: number): Float64Array {
  const basis = gaussians(rows * columns, seed);
  for (let i = 0; i < rows; i++) {
    const row = basis.subarray(i * columns, (i + 1) * columns);
    for (let pass = 0; pass < 2; pass++) {
      for (let j = 0; j < i; j++) {
        let dot = 0;
        for (let c = 0; c < columns; c++) dot += (row[c] as number) * (basis[j * columns + c] as number);
        for (let c = 0; c < columns; c++) row[c] = (row[c] as number) - dot * (basis[j * columns + c] as number);
      }
    }
    const length = Math.hypot(...row);
    for (let c = 0; c < columns; c++) row[c] = (row[c] as number) / length;
  }
  return basis;
}

/** Compute a [n x inner] · b [inner x columns] without optimisation. */
export function multiply(a: ArrayLike<number>, b: ArrayLike<number>, inner: number, columns: number): Float32Array {
  const n = a.length / inner;
  const product = new Float32Array(n * columns);
  for (let i = 0; i < n; i++) {
    for (let c = 0; c < columns; c++) {
      let sum = 0;
      for (let k = 0; k < inner; k++) sum += (a[i * inner + k] as number) * (b[k * columns + c] as number);
      product[i * columns + c] = sum;
    }
  }
  return product;
}

/**
 * Create a second model of the same texts: the latent vectors rotated into `columns` dimensions, with noise of the
 * given share and a common mean of the given length (a narrow cone, as in anisotropic models).
 */
export function otherModel(
  latent: Float32Array,
  rank: number,
  columns: number,
  { noise = 0, cone = 0, seed = 7 }: { noise?: number; cone?: number; seed?: number } = {},
): Float32Array {
  const rotation =
    columns >= rank
      ? orthonormalRows(rank, columns, seed)
      : transpose(orthonormalRows(columns, rank, seed), columns, rank);
  const vectors = multiply(latent, rotation, rank, columns);
  const disturbance = gaussians(vectors.length, seed + 1);
  const axis = orthonormalRows(1, columns, seed + 2);
  const perValue = noise / Math.sqrt(columns);
  return vectors.map(
    (value, i) => value + perValue * (disturbance[i] as number) + cone * (axis[i % columns] as number),
  );
}

export function transpose(m: ArrayLike<number>, rows: number, columns: number): Float64Array {
  return Float64Array.from(
    { length: rows * columns },
    (_, i) => m[(i % rows) * columns + Math.floor(i / rows)] as number,
  );
}

/** Compute the largest deviation of m · mᵀ from the identity. */
export function deviationOfRows(m: ArrayLike<number>, rows: number, columns: number): number {
  const gram = multiply(m, transpose(m, rows, columns), columns, rows);
  return gram.reduce((most, value, i) => {
    const expected = i % rows === Math.floor(i / rows) ? 1 : 0;
    return Math.max(most, Math.abs(value - expected));
  }, 0);
}

/** Compute the largest difference between two arrays of equal length. */
export function difference(a: ArrayLike<number>, b: ArrayLike<number>): number {
  if (a.length !== b.length) return Number.POSITIVE_INFINITY;
  let most = 0;
  for (let i = 0; i < a.length; i++) most = Math.max(most, Math.abs((a[i] as number) - (b[i] as number)));
  return most;
}
