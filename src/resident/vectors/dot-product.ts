import { INDEX_DIMENSIONS } from '../../projection/resize.ts';

/** Maximum number of non-zero components for skipping zeros. Vectors of the built-in model have few. */
const SPARSE_MAX = INDEX_DIMENSIONS / 4;

/**
 * Return a function that computes dot products with a vector. It is faster if most components of the vector are zero.
 *
 * @param vector Float32Array [1024]
 * @returns function of a Float32Array and the index at which the other vector's 1,024 numbers start
 */
export function dotProductWith(vector: Float32Array): (others: Float32Array, from?: number) => number {
  const used: number[] = [];
  for (let at = 0; at < INDEX_DIMENSIONS; at++) if (vector[at] !== 0) used.push(at);
  if (used.length > SPARSE_MAX) return (others, from = 0) => dotProduct(vector, others, from);
  return (others, from = 0) => {
    let sum = 0;
    for (let nth = 0; nth < used.length; nth++) {
      const at = used[nth] as number;
      sum += (vector[at] as number) * (others[from + at] as number);
    }
    return sum;
  };
}

/** Use four sums: each addition to a single sum would wait for the previous one. */
function dotProduct(vector: Float32Array, others: Float32Array, from: number): number {
  let [sum0, sum1, sum2, sum3] = [0, 0, 0, 0];
  for (let at = 0; at < INDEX_DIMENSIONS; at += 4) {
    sum0 += (vector[at] as number) * (others[from + at] as number);
    sum1 += (vector[at + 1] as number) * (others[from + at + 1] as number);
    sum2 += (vector[at + 2] as number) * (others[from + at + 2] as number);
    sum3 += (vector[at + 3] as number) * (others[from + at + 3] as number);
  }
  return sum0 + sum1 + (sum2 + sum3);
}
