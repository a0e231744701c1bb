import { INDEX_DIMENSIONS } from '../../projection/resize.ts';

/**
 * Compute the dot products of a vector with others.
 *
 * @param vector Float32Array [1024]
 * @param parts Float32Array [n x 1024] each
 * @returns Float64Array [all n]
 */
export function dotProducts(vector: Float32Array, parts: readonly Float32Array[]): Float64Array {
  const products = new Float64Array(parts.reduce((sum, { length }) => sum + length / INDEX_DIMENSIONS, 0));
  let nth = 0;
  for (const part of parts) {
    for (let from = 0; from < part.length; from += INDEX_DIMENSIONS) products[nth++] = productAt(vector, part, from);
  }
  return products;
}

/** Sum in four parts, which a processor adds at the same time. */
function productAt(vector: Float32Array, others: Float32Array, from: number): number {
  let [s0, s1, s2, s3] = [0, 0, 0, 0];
  for (let at = 0; at < INDEX_DIMENSIONS; at += 4) {
    s0 += (vector[at] as number) * (others[from + at] as number);
    s1 += (vector[at + 1] as number) * (others[from + at + 1] as number);
    s2 += (vector[at + 2] as number) * (others[from + at + 2] as number);
    s3 += (vector[at + 3] as number) * (others[from + at + 3] as number);
  }
  return s0 + s1 + (s2 + s3);
}
