import { AppError } from '../platform/errors.ts';
import { checkPairs } from './fit/check-pairs.ts';
import { type CanonicalSpace, createSpace, mapOfReference } from './fit/create-space.ts';
import { type Evaluation, evaluateMap } from './fit/evaluate-map.ts';
import { fitMap } from './fit/fit-map.ts';
import { type FittedMap, projectRows } from './fit/project-rows.ts';
import { pickRows } from './fit/rows.ts';
import { splitPairs } from './fit/split-pairs.ts';
import type { FitMethod } from './schema.ts';

/** Share of the pairs held out for evaluation. The stored map is fitted on all pairs. */
const HELD_OUT_SHARE = 0.1;
const SPLIT_SEED = 1;

/** Input of a fit, which takes up to two minutes on one core. A worker thread receives it as a structured clone. */
export interface FitTask {
  readonly vectors: Float32Array;
  readonly nativeDimension: number;
  /** Canonical vectors; null if this model creates the space. */
  readonly canonical: Float32Array | null;
  readonly rank: number;
  readonly method: FitMethod;
  readonly allowFewPairs: boolean;
}

export interface FitResult {
  /** New space, if the model creates one. */
  readonly space: CanonicalSpace | null;
  readonly map: FittedMap;
  readonly evaluation: Evaluation;
  /** Indices of the pairs used. All other pairs are repeats of these. */
  readonly kept: Int32Array;
  readonly warnings: readonly string[];
}

/** Result of a fit. A fault is plain fields, since errors lose their class between threads. */
export type FitOutcome = FitResult | { readonly fault: { code: string; message: string } };

/** Check the pairs, fit a map on all of them, and evaluate a map fitted without the held-out pairs. */
export function fitOnThread(task: FitTask): FitOutcome {
  try {
    return fitTask(task);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return { fault: { code: error.code, message: error.message } };
  }
}

function fitTask(task: FitTask): FitResult {
  const { nativeDimension: k, method, allowFewPairs } = task;
  const given = { vectors: task.vectors, canonical: task.canonical ?? task.vectors };
  const rank = task.canonical === null ? k : task.rank;
  const { kept, warnings } = checkPairs({ ...given, nativeDimension: k, rank, allowFewPairs });
  const vectors = pickRows(given.vectors, k, kept);
  if (task.canonical === null) {
    const space = createSpace({ vectors, nativeDimension: k });
    return { space, map: mapOfReference(space), evaluation: evaluateReference(vectors, k), kept, warnings };
  }
  const canonical = pickRows(given.canonical, rank, kept);
  const map = fitMap({ vectors, nativeDimension: k, canonical, rank, method });
  const evaluation = evaluateHeldOut(vectors, k, canonical, rank, method);
  return { space: null, map, evaluation, kept, warnings };
}

/** Evaluate a map on a tenth of the pairs, fitted on the rest. */
function evaluateHeldOut(
  vectors: Float32Array,
  k: number,
  canonical: Float32Array,
  rank: number,
  method: FitMethod,
): Evaluation {
  const { fitted, heldOut } = splitPairs(vectors.length / k, HELD_OUT_SHARE, SPLIT_SEED);
  const map = fitMap({
    vectors: pickRows(vectors, k, fitted),
    nativeDimension: k,
    canonical: pickRows(canonical, rank, fitted),
    rank,
    method,
  });
  return evaluateMap({
    map,
    vectors: pickRows(vectors, k, heldOut),
    canonical: pickRows(canonical, rank, heldOut),
    rank,
  });
}

/** Evaluate the reference model against itself, in a space created without the held-out texts. */
function evaluateReference(vectors: Float32Array, k: number): Evaluation {
  const { fitted, heldOut } = splitPairs(vectors.length / k, HELD_OUT_SHARE, SPLIT_SEED);
  const space = createSpace({ vectors: pickRows(vectors, k, fitted), nativeDimension: k });
  const map = mapOfReference(space);
  const own = pickRows(vectors, k, heldOut);
  return evaluateMap({ map, vectors: own, canonical: projectRows(map, own, space.rank), rank: space.rank });
}

/** Input of an evaluation: the pairs of a model. */
export interface EvaluateTask {
  readonly vectors: Float32Array;
  readonly canonical: Float32Array;
  readonly nativeDimension: number;
  readonly rank: number;
  readonly method: FitMethod;
}

export function evaluateOnThread({ vectors, canonical, nativeDimension, rank, method }: EvaluateTask): Evaluation {
  return evaluateHeldOut(vectors, nativeDimension, canonical, rank, method);
}
