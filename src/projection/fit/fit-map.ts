import { matmul, timesTranspose, transposeTimes } from '../kernel/matmul.ts';
import { type FitMethod, SPACE_DIMENSIONS } from '../schema.ts';
import { polarFactor, settle } from './polar-factor.ts';
import type { FittedMap } from './project-rows.ts';
import { centreRows, cutColumns, meanOfRows, normaliseRows, secondMoment } from './rows.ts';
import { symmetricEigen } from './symmetric-eigen.ts';

/** Ridge of `--method ridge`, as a multiple of the mean eigenvalue of the model's second moment. */
const RIDGE = 10;

/**
 * The centred orthogonal Procrustes map from a model's vectors to the canonical vectors of the same texts.
 *
 * Where the model has fewer native dimensions than the reference has axes, its space becomes a subspace of them; where
 * it has more, the directions left over become private axes behind the reference's, by variance. Directions that the
 * pairs say nothing about (fewer pairs than dimensions) go to unused canonical axes first. Either way the map is an
 * isometry: no neighbourhood of the model itself changes at full dimension.
 *
 * @param vectors Float32Array [n x nativeDimension], row-major, of any length; see `checkPairs`
 * @param canonical Float32Array [n x rank]: canonical vectors of the same texts, as `CanonicalSpace.corpus` keeps them
 * @param method `ridge` takes the polar factor of the ridge regression instead of that of the cross-covariance
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
    throw new RangeError(`${pairs} vectors of the model do not go with ${canonical.length / rank} canonical ones`);
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
  // Of a square one the rows are settled, of a cut one the columns stay as they are.
  const settled = columns === nativeDimension ? settle(weights, nativeDimension, columns) : weights;
  return { method, nativeDimension, rank: columns, mean, weights: settled };
}

/** The pairs may be a part of those that the space was made from: their mean is not zero then. */
function centreColumns(canonical: Float32Array, rank: number): Float32Array {
  const mean = meanOfRows(canonical, rank);
  return canonical.map((value, i) => value - (mean[i % rank] as number));
}

/** (moment + ridge)⁻¹ · agreement */
function ridgeRegression(moment: Float32Array, n: number, agreement: Float32Array, rank: number): Float32Array {
  const { values, vectors } = symmetricEigen(moment, n);
  const ridge = (RIDGE * values.reduce((sum, value) => sum + value, 0)) / n;
  const turned = transposeTimes(vectors, agreement, n, n, rank);
  for (let i = 0; i < turned.length; i++) {
    turned[i] = (turned[i] as number) / (Math.max(values[Math.floor(i / rank)] as number, 0) + ridge);
  }
  return matmul(vectors, n, n, turned, rank);
}

/**
 * An orthonormal basis, by variance, of what is orthogonal to the columns of `shared`.
 *
 * @returns Float32Array [n x (n - rank)]
 */
function privateAxes(moment: Float32Array, shared: Float32Array, n: number, rank: number): Float32Array {
  // P (moment + shift) P, with P the projector: the shift tells leftover directions without any variance from the
  // shared ones, whose eigenvalue is zero.
  let shift = 0;
  for (let i = 0; i < n; i++) shift += (moment[i * n + i] as number) / n;
  const projector = timesTranspose(shared, shared, n, rank, n).map((value) => -value);
  for (let i = 0; i < n; i++) projector[i * n + i] = (projector[i * n + i] as number) + 1;
  const shifted = Float32Array.from(moment);
  for (let i = 0; i < n; i++) shifted[i * n + i] = (shifted[i * n + i] as number) + Math.max(shift, Number.MIN_VALUE);
  const leftover = matmul(projector, n, n, matmul(shifted, n, n, projector, n), n);
  return cutColumns(symmetricEigen(leftover, n).vectors, n, n - rank);
}

/** [a | b], cut to `columns`. */
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
