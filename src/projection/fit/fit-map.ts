import { matmul, timesTranspose, transposeTimes } from '../kernel/matmul.ts';
import { type FitMethod, SPACE_DIMENSIONS } from '../schema.ts';
import { polarFactor, refineOrthonormal } from './polar-factor.ts';
import type { FittedMap } from './project-rows.ts';
import { centreRows, cutColumns, meanOfRows, normaliseRows, secondMoment } from './rows.ts';
import { symmetricEigen } from './symmetric-eigen.ts';

/** Regularisation of `--method ridge`, as a multiple of the mean eigenvalue of the model's second moment. */
const RIDGE = 10;

/**
 * Fit the centred orthogonal Procrustes map from a model's vectors to the canonical vectors of the same texts.
 *
 * If the model has fewer native dimensions than the reference has axes, its space becomes a subspace of the canonical
 * space. If it has more, the remaining directions become private axes after those of the reference, in order of
 * variance. Directions that the pairs don't determine (fewer pairs than dimensions) go to unused canonical axes first.
 * In both cases the map is an isometry: at full dimension, it preserves the model's own neighbourhoods.
 *
 * @param vectors Float32Array [n x nativeDimension], row-major, of any length; see `checkPairs`
 * @param canonical Float32Array [n x rank]: canonical vectors of the same texts, as in `CanonicalSpace.corpus`
 * @param method `ridge` uses the polar factor of the ridge regression instead of that of the cross-covariance
 */
export function fitMap({
  vectors,
  nativeDimension,
  canonical,
  rank,
  method = 'procrustes',
}: {
  readonly vectors: Float32Array;
  readonly nativeDimension: number;
  readonly canonical: Float32Array;
  readonly rank: number;
  readonly method?: FitMethod;
}): FittedMap {
  const pairs = vectors.length / nativeDimension;
  if (!Number.isInteger(pairs) || pairs * rank !== canonical.length) {
    throw new RangeError(`${pairs} vectors of the model do not match ${canonical.length / rank} canonical ones`);
  }
  const mean = meanOfRows(normaliseRows(vectors, nativeDimension), nativeDimension);
  const centred = centreRows(vectors, nativeDimension, mean);
  const target = centreColumns(canonical, rank);
  let agreement = transposeTimes(centred, target, pairs, nativeDimension, rank);
  const moment = method === 'ridge' || nativeDimension > rank ? secondMoment(centred, nativeDimension) : null;
  if (method === 'ridge' && moment) agreement = ridgeRegression(moment, nativeDimension, agreement, rank);
  const shared = polarFactor(agreement, nativeDimension, rank);
  if (moment === null || nativeDimension <= rank) {
    return { method, nativeDimension, rank, mean, weights: shared };
  }
  const columns = Math.min(nativeDimension, SPACE_DIMENSIONS);
  const weights = appendColumns(
    shared,
    rank,
    privateAxes(moment, shared, nativeDimension, rank),
    nativeDimension - rank,
    columns,
  );
  // Refine the rows of a square matrix. A truncated matrix has no orthonormal rows.
  const refined = columns === nativeDimension ? refineOrthonormal(weights, nativeDimension, columns) : weights;
  return { method, nativeDimension, rank: columns, mean, weights: refined };
}

/** Centre the canonical vectors, whose mean is not zero if the pairs are a subset of the space's pairs. */
function centreColumns(canonical: Float32Array, rank: number): Float32Array {
  const mean = meanOfRows(canonical, rank);
  return canonical.map((value, i) => value - (mean[i % rank] as number));
}

function ridgeRegression(moment: Float32Array, n: number, agreement: Float32Array, rank: number): Float32Array {
  const { values, vectors } = symmetricEigen(moment, n);
  const ridge = (RIDGE * values.reduce((sum, value) => sum + value, 0)) / n;
  const rotated = transposeTimes(vectors, agreement, n, n, rank);
  for (let i = 0; i < rotated.length; i++) {
    rotated[i] = (rotated[i] as number) / (Math.max(values[Math.floor(i / rank)] as number, 0) + ridge);
  }
  return matmul(vectors, n, n, rotated, rank);
}

/**
 * Compute an orthonormal basis of the complement of the columns of `shared`, in order of variance.
 *
 * @returns Float32Array [n x (n - rank)]
 */
function privateAxes(moment: Float32Array, shared: Float32Array, n: number, rank: number): Float32Array {
  // P (moment + shift) P, with projector P. The shift separates remaining directions without variance from the shared
  // ones, whose eigenvalue is zero.
  let shift = 0;
  for (let i = 0; i < n; i++) shift += (moment[i * n + i] as number) / n;
  const projector = timesTranspose(shared, shared, n, rank, n).map((value) => -value);
  for (let i = 0; i < n; i++) projector[i * n + i] = (projector[i * n + i] as number) + 1;
  const shifted = Float32Array.from(moment);
  for (let i = 0; i < n; i++) shifted[i * n + i] = (shifted[i * n + i] as number) + Math.max(shift, Number.MIN_VALUE);
  const leftover = matmul(projector, n, n, matmul(shifted, n, n, projector, n), n);
  return cutColumns(symmetricEigen(leftover, n).vectors, n, n - rank);
}

/** Return [a | b], truncated to `columns`. */
function appendColumns(a: Float32Array, aColumns: number, b: Float32Array, bColumns: number, columns: number) {
  const rows = a.length / aColumns;
  const joined = new Float32Array(rows * columns);
  for (let row = 0; row < rows; row++) {
    joined.set(a.subarray(row * aColumns, (row + 1) * aColumns), row * columns);
    const room = Math.min(bColumns, columns - aColumns);
    joined.set(b.subarray(row * bColumns, row * bColumns + room), row * columns + aColumns);
  }
  return joined;
}
