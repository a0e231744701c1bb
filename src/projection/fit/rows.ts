import { transposeTimes } from '../kernel/matmul.ts';

/**
 * Normalise every row to unit length; a row of zeros stays zero.
 *
 * @param vectors Float32Array [n x columns], row-major
 */
export function normaliseRows(vectors: Float32Array, columns: number): Float32Array {
  const unit = new Float32Array(vectors.length);
  for (let at = 0; at < vectors.length; at += columns) {
    let squares = 0;
    for (let i = at; i < at + columns; i++) squares += (vectors[i] as number) ** 2;
    if (squares === 0) continue;
    const scale = 1 / Math.sqrt(squares);
    for (let i = at; i < at + columns; i++) unit[i] = (vectors[i] as number) * scale;
  }
  return unit;
}

/** Compute the mean of the rows, Float32Array [columns], summed in double precision. */
export function meanOfRows(vectors: Float32Array, columns: number): Float32Array {
  const sums = new Float64Array(columns);
  for (let at = 0; at < vectors.length; at += columns) {
    for (let i = 0; i < columns; i++) sums[i] = (sums[i] as number) + (vectors[at + i] as number);
  }
  const rows = Math.max(vectors.length / columns, 1);
  return Float32Array.from(sums, (sum) => sum / rows);
}

/** Normalise every row and subtract `mean`: the first step of every map and of the space. */
export function centreRows(vectors: Float32Array, columns: number, mean: Float32Array): Float32Array {
  const centred = normaliseRows(vectors, columns);
  for (let at = 0; at < centred.length; at += columns) {
    for (let i = 0; i < columns; i++) centred[at + i] = (centred[at + i] as number) - (mean[i] as number);
  }
  return centred;
}

/** Compute the mean of the outer products of the rows, Float32Array [columns x columns]. */
export function secondMoment(vectors: Float32Array, columns: number): Float32Array {
  const rows = vectors.length / columns;
  return transposeTimes(vectors, vectors, rows, columns, columns).map((value) => value / rows);
}

/** Copy the rows with these indices, in this order. */
export function pickRows(vectors: Float32Array, columns: number, indices: ArrayLike<number>): Float32Array {
  const picked = new Float32Array(indices.length * columns);
  for (let row = 0; row < indices.length; row++) {
    const at = (indices[row] as number) * columns;
    picked.set(vectors.subarray(at, at + columns), row * columns);
  }
  return picked;
}

/** Copy the first `kept` columns, padding with zeros if there are fewer. */
export function cutColumns(vectors: Float32Array, columns: number, kept: number): Float32Array {
  if (kept === columns) return vectors;
  const rows = vectors.length / columns;
  const cut = new Float32Array(rows * kept);
  for (let row = 0; row < rows; row++) {
    cut.set(vectors.subarray(row * columns, row * columns + Math.min(columns, kept)), row * kept);
  }
  return cut;
}
