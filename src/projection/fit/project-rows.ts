import { matmul } from '../kernel/matmul.ts';
import type { FitMethod } from '../schema.ts';
import { centreRows, cutColumns, normaliseRows } from './rows.ts';

/** Fitted map of a model into the canonical space. */
export interface FittedMap {
  readonly method: FitMethod;
  readonly nativeDimension: number;
  /** Number of axes that the map fills; the rest are zero. */
  readonly rank: number;
  /** Float32Array [nativeDimension], mean of the normalised native vectors */
  readonly mean: Float32Array;
  /**
   * Float32Array [nativeDimension x rank], row-major: columns in the order of the canonical axes, then private axes by
   * variance. Rows are orthonormal, so the map preserves all angles between centred vectors.
   */
  readonly weights: Float32Array;
}

/**
 * Project vectors: normalise, subtract the mean, multiply, keep the first axes, normalise.
 *
 * @param vectors Float32Array [n x map.nativeDimension], row-major, of any length
 * @returns Float32Array [n x dimensions]; zeros beyond the map's rank. A vector equal to the mean stays zero.
 */
export function projectRows(map: FittedMap, vectors: Float32Array, dimensions: number): Float32Array {
  const { nativeDimension, rank, mean, weights } = map;
  const centred = centreRows(vectors, nativeDimension, mean);
  const mapped = matmul(centred, centred.length / nativeDimension, nativeDimension, weights, rank);
  return normaliseRows(cutColumns(mapped, rank, dimensions), dimensions);
}
