import { matmul } from '../kernel/matmul.ts';
import { SPACE_DIMENSIONS } from '../schema.ts';
import { fitMap } from './fit-map.ts';
import type { FittedMap } from './project-rows.ts';
import { centreRows, cutColumns, meanOfRows, normaliseRows, secondMoment } from './rows.ts';
import { symmetricEigen } from './symmetric-eigen.ts';

/** Canonical space, frozen at its creation. A later reference model would create another space. */
export interface CanonicalSpace {
  readonly dimensions: typeof SPACE_DIMENSIONS;
  /** Native dimension of the reference model. */
  readonly nativeDimension: number;
  /** Number of axes that the reference model fills: the lower of its native dimension and `dimensions`. */
  readonly rank: number;
  /** Float32Array [nativeDimension] */
  readonly mean: Float32Array;
  /** Float32Array [nativeDimension x rank], row-major, orthonormal columns in order of variance */
  readonly rotation: Float32Array;
  /** Canonical vectors of the calibration texts, before normalisation: Float32Array [n x rank], row-major */
  readonly corpus: Float32Array;
}

/** Row-aligned vectors of the same texts by one model: Float32Array [n x nativeDimension], of any length. */
export interface ModelVectors {
  readonly vectors: Float32Array;
  readonly nativeDimension: number;
}

/**
 * Create the space from a reference model's vectors of the calibration texts: L2-normalise, centre, and rotate them so
 * that the variance decreases from axis to axis (by the eigenvectors of the covariance).
 *
 * @param aligned vectors of the same texts by further models, mapped onto the reference. The axes are then those of the
 *   mean of all models' second moments, each scaled to the same total variance
 */
export function createSpace(reference: ModelVectors, aligned: readonly ModelVectors[] = []): CanonicalSpace {
  const { vectors, nativeDimension } = reference;
  const rank = Math.min(nativeDimension, SPACE_DIMENSIONS);
  const mean = meanOfRows(normaliseRows(vectors, nativeDimension), nativeDimension);
  const centred = centreRows(vectors, nativeDimension, mean);
  const axes = symmetricEigen(secondMoment(centred, nativeDimension), nativeDimension).vectors;
  let rotation = cutColumns(axes, nativeDimension, rank);
  let corpus = matmul(centred, vectors.length / nativeDimension, nativeDimension, rotation, rank);
  if (aligned.length > 0) {
    const pooledRotation = symmetricEigen(pooledMoment(corpus, rank, aligned), rank).vectors;
    rotation = matmul(rotation, nativeDimension, rank, pooledRotation, rank);
    corpus = matmul(corpus, corpus.length / rank, rank, pooledRotation, rank);
  }
  return { dimensions: SPACE_DIMENSIONS, nativeDimension, rank, mean, rotation, corpus };
}

function pooledMoment(corpus: Float32Array, rank: number, aligned: readonly ModelVectors[]): Float32Array {
  const pooled = unitTrace(secondMoment(corpus, rank), rank);
  for (const model of aligned) {
    const map = fitMap({ ...model, canonical: corpus, rank });
    const centred = centreRows(model.vectors, map.nativeDimension, map.mean);
    const mapped = matmul(centred, centred.length / map.nativeDimension, map.nativeDimension, map.weights, map.rank);
    const moment = unitTrace(secondMoment(cutColumns(mapped, map.rank, rank), rank), rank);
    for (let i = 0; i < pooled.length; i++) pooled[i] = (pooled[i] as number) + (moment[i] as number);
  }
  return pooled;
}

function unitTrace(moment: Float32Array, n: number): Float32Array {
  let trace = 0;
  for (let i = 0; i < n; i++) trace += moment[i * n + i] as number;
  return trace > 0 ? moment.map((value) => value / trace) : moment;
}

export function mapOfReference(space: CanonicalSpace): FittedMap {
  const { nativeDimension, rank, mean, rotation } = space;
  return { method: 'procrustes', nativeDimension, rank, mean, weights: rotation };
}
