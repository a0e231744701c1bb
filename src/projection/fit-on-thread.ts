import { AppError } from '../platform/errors.ts';
import { checkPairs } from './fit/check-pairs.ts';
import { type CanonicalSpace, createSpace, mapOfReference } from './fit/create-space.ts';
import { type Evaluation, evaluateMap } from './fit/evaluate-map.ts';
import { fitMap } from './fit/fit-map.ts';
import { type FittedMap, projectRows } from './fit/project-rows.ts';
import { pickRows } from './fit/rows.ts';
import { splitPairs } from './fit/split-pairs.ts';
import type { FitMethod } from './schema.ts';

/** Share of the pairs that figures are measured on; the map in use is fitted on all of them. */
const HELD_OUT_SHARE = 0.1;
const SPLIT_SEED = 1;

/** Everything structured-cloneable: a fit takes up to two minutes of one core and runs on a worker thread. */
export interface FitTask {
  readonly vectors: Float32Array;
  readonly nativeDimension: number;
  /** Null: this model makes the space. */
  readonly canonical: Float32Array | null;
  readonly rank: number;
  readonly method: FitMethod;
  readonly allowFewPairs: boolean;
}

export interface FitResult {
  /** Where the model makes the space. */
  readonly space: CanonicalSpace | null;
  readonly map: FittedMap;
  readonly evaluation: Evaluation;
  /** Pairs that were used, by their place in the task; the others repeat one of them. */
  readonly kept: Int32Array;
  readonly warnings: readonly string[];
}

/** Errors lose their class between threads, so that a fault travels as its fields. */
export type FitOutcome = FitResult | { readonly fault: { code: string; message: string } };

/** Check, hold out, fit, evaluate, fit again on all. */
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

/** A map fitted without a tenth of the pairs, measured on that tenth. */
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

/** The reference against itself, in a space made without the texts it is measured on. */
function evaluateReference(vectors: Float32Array, k: number): Evaluation {
  const { fitted, heldOut } = splitPairs(vectors.length / k, HELD_OUT_SHARE, SPLIT_SEED);
  const space = createSpace({ vectors: pickRows(vectors, k, fitted), nativeDimension: k });
  const map = mapOfReference(space);
  const own = pickRows(vectors, k, heldOut);
  return evaluateMap({ map, vectors: own, canonical: projectRows(map, own, space.rank), rank: space.rank });
}

/** A model's pairs, to be measured again. */
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
