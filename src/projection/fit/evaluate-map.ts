import { INDEX_DIMENSIONS } from '../resize.ts';
import { type Grade, SPACE_DIMENSIONS } from '../schema.ts';
import { nearestOthers, overlap, rankOf, topK, visitSimilarities } from './neighbours.ts';
import { type FittedMap, projectRows } from './project-rows.ts';
import { centreRows, cutColumns, normaliseRows } from './rows.ts';
import { shuffledIndices } from './split-pairs.ts';

export const EVALUATED_DIMENSIONS = [64, 256, INDEX_DIMENSIONS, SPACE_DIMENSIONS] as const;

/** Minimum scores: `GOOD_SCORE` for a search as good as native, `WARN_SCORE` for one that needs care. */
export const GOOD_SCORE = 0.95;
export const WARN_SCORE = 0.9;

/** Minimum number of texts, since a search needs other texts to rank against. */
const HELD_OUT_MIN = 2;
const NEIGHBOURS = 10;
/** Number of histogram bins, each 0.05 wide, from -1 to 1. */
export const HISTOGRAM_BINS = 40;

/** Figures in both directions. `forward`: the model's vectors search the reference's; `backward`: the reverse. */
export interface BothWays {
  readonly forward: number;
  readonly backward: number;
}

/** Figures at one output dimension, all 0..1 except the cosine. */
export interface DimensionScores {
  readonly dimensions: number;
  /** Share of texts for which the search finds the same text first. */
  readonly recallAt1: BothWays;
  /** Share of texts for which the search finds the same text among the first ten. */
  readonly recallAt10: BothWays;
  /** Share of the ten nearest of a cross-model search that a native search with the document model also finds. */
  readonly overlapAt10: BothWays;
  /** Share of the ten nearest among the model's mean-centred native vectors that are also nearest after mapping. */
  readonly retention: number;
  /** Retention of native vectors truncated to the same dimension without rotation, as the baseline for the space. */
  readonly unrotatedRetention: number;
  /** Share of the top ten from the query model if each model embeds half of the documents. 0.5 is fair. */
  readonly mixedIndexShare: BothWays;
  /** Cosine between the two vectors of the same text; diagnostic only. */
  readonly meanCosine: number;
}

export interface Evaluation {
  /** Number of texts that the evaluated map was not fitted on. */
  readonly heldOut: number;
  /** Recall@1 of the same text at the index dimension, in the worse direction. */
  readonly score: number;
  readonly grade: Grade;
  readonly scores: readonly DimensionScores[];
  /** Histogram of cosines at the index dimension: share of pairs in each of `HISTOGRAM_BINS` equal bins of -1..1. */
  readonly cosines: { readonly sameText: readonly number[]; readonly otherText: readonly number[] };
}

/**
 * Evaluate a map on texts that it was not fitted on.
 *
 * @param vectors Float32Array [n x map.nativeDimension]: native vectors of the held-out texts, n >= 2
 * @param canonical Float32Array [n x rank]: canonical vectors of the same texts, of any length
 * @param seed seed of the split for the mixed index
 */
export function evaluateMap({
  map,
  vectors,
  canonical,
  rank,
  seed = 1,
  dimensions = EVALUATED_DIMENSIONS,
}: {
  readonly map: FittedMap;
  readonly vectors: Float32Array;
  readonly canonical: Float32Array;
  readonly rank: number;
  readonly seed?: number;
  readonly dimensions?: readonly number[];
}): Evaluation {
  const heldOut = vectors.length / map.nativeDimension;
  if (!Number.isInteger(heldOut) || heldOut < HELD_OUT_MIN || heldOut * rank !== canonical.length) {
    throw new RangeError(`${heldOut} vectors of the model do not match ${canonical.length / rank} canonical ones`);
  }
  // Axes beyond both ranks are zero.
  const width = Math.max(map.rank, rank);
  const prefixes: Prefixes = {
    model: projectRows(map, vectors, width),
    reference: cutColumns(canonical, rank, width),
    native: centreRows(vectors, map.nativeDimension, map.mean),
    width,
    nativeDimension: map.nativeDimension,
  };
  const neighbours = {
    model: nearestOthers(
      ...pairOf(normaliseRows(prefixes.native, map.nativeDimension)),
      map.nativeDimension,
      NEIGHBOURS,
    ),
    reference: nearestOthers(...pairOf(normaliseRows(canonical, rank)), rank, NEIGHBOURS),
  };
  const scores = dimensions.map((count) => scoreAt(count, prefixes, neighbours, seed));
  const atIndex = prefixAt(INDEX_DIMENSIONS, prefixes);
  const indexScores =
    scores.find((entry) => entry.dimensions === INDEX_DIMENSIONS) ??
    scoreAt(INDEX_DIMENSIONS, prefixes, neighbours, seed);
  const score = Math.min(indexScores.recallAt1.forward, indexScores.recallAt1.backward);
  return { heldOut, score, grade: gradeOf(score), scores, cosines: histograms(atIndex) };
}

/** Grade a map by its score on held-out texts. */
export function gradeOf(score: number): Grade {
  if (score >= GOOD_SCORE) return 'good';
  return score >= WARN_SCORE ? 'warn' : 'fail';
}

/** Full vectors of the held-out texts before truncation: [n x width] and [n x nativeDimension]. */
interface Prefixes {
  readonly model: Float32Array;
  readonly reference: Float32Array;
  readonly native: Float32Array;
  readonly width: number;
  readonly nativeDimension: number;
}

/** Truncated and renormalised vectors: [n x columns] each. */
interface Prefix {
  readonly model: Float32Array;
  readonly reference: Float32Array;
  readonly columns: number;
}

interface NativeNeighbours {
  readonly model: Int32Array;
  readonly reference: Int32Array;
}

const pairOf = <T>(value: T): [T, T] => [value, value];

function prefixAt(dimensions: number, { model, reference, width }: Prefixes): Prefix {
  const columns = Math.min(dimensions, width);
  const cut = (vectors: Float32Array) => normaliseRows(cutColumns(vectors, width, columns), columns);
  return { model: cut(model), reference: cut(reference), columns };
}

function scoreAt(dimensions: number, prefixes: Prefixes, native: NativeNeighbours, seed: number): DimensionScores {
  const { model, reference, columns } = prefixAt(dimensions, prefixes);
  const unrotatedColumns = Math.min(dimensions, prefixes.nativeDimension);
  const unrotated = normaliseRows(
    cutColumns(prefixes.native, prefixes.nativeDimension, unrotatedColumns),
    unrotatedColumns,
  );
  const count = model.length / columns;
  const width = Math.min(NEIGHBOURS, count - 1);
  const overlapOf = (a: Float32Array, b: Float32Array, size: number, wanted: Int32Array) =>
    overlap(nearestOthers(a, b, size, NEIGHBOURS), wanted, width);
  const forward = identityRecall(model, reference, columns);
  const backward = identityRecall(reference, model, columns);
  let cosine = 0;
  for (let i = 0; i < model.length; i++) cosine += (model[i] as number) * (reference[i] as number);
  return {
    dimensions,
    recallAt1: { forward: forward.at1, backward: backward.at1 },
    recallAt10: { forward: forward.at10, backward: backward.at10 },
    overlapAt10: {
      forward: overlapOf(model, reference, columns, native.reference),
      backward: overlapOf(reference, model, columns, native.model),
    },
    retention: overlapOf(model, model, columns, native.model),
    unrotatedRetention: overlapOf(unrotated, unrotated, unrotatedColumns, native.model),
    mixedIndexShare: {
      forward: mixedIndexShare(model, reference, columns, seed),
      backward: mixedIndexShare(reference, model, columns, seed),
    },
    meanCosine: cosine / count,
  };
}

function identityRecall(queries: Float32Array, documents: Float32Array, columns: number) {
  let at1 = 0;
  let at10 = 0;
  visitSimilarities(queries, documents, columns, (query, similarities) => {
    const rank = rankOf(similarities, query);
    if (rank < 1) at1++;
    if (rank < 10) at10++;
  });
  const count = queries.length / columns;
  return { at1: at1 / count, at10: at10 / count };
}

/** Compute the mean over a random half of the texts and its complement, so that each model embeds each half once. */
function mixedIndexShare(own: Float32Array, other: Float32Array, columns: number, seed: number): number {
  const count = own.length / columns;
  const isFirstHalf = new Uint8Array(count);
  for (const i of shuffledIndices(count, seed).subarray(0, Math.ceil(count / 2))) isFirstHalf[i] = 1;
  let places = 0;
  let owned = 0;
  for (const half of [1, 0]) {
    const index = new Float32Array(own.length);
    for (let i = 0; i < count; i++) {
      const from = isFirstHalf[i] === half ? own : other;
      index.set(from.subarray(i * columns, (i + 1) * columns), i * columns);
    }
    visitSimilarities(own, index, columns, (query, similarities) => {
      for (const found of topK(similarities, NEIGHBOURS, query)) {
        places++;
        if (isFirstHalf[found] === half) owned++;
      }
    });
  }
  return places === 0 ? 0 : owned / places;
}

function histograms({ model, reference, columns }: Prefix): Evaluation['cosines'] {
  const sameText = new Array<number>(HISTOGRAM_BINS).fill(0);
  const otherText = new Array<number>(HISTOGRAM_BINS).fill(0);
  const count = model.length / columns;
  visitSimilarities(model, reference, columns, (query, similarities) => {
    for (let i = 0; i < count; i++) {
      const bin = Math.floor((((similarities[i] as number) + 1) / 2) * HISTOGRAM_BINS);
      const within = Math.min(Math.max(bin, 0), HISTOGRAM_BINS - 1);
      const histogram = i === query ? sameText : otherText;
      histogram[within] = (histogram[within] as number) + (i === query ? 1 / count : 1 / (count * (count - 1)));
    }
  });
  return { sameText, otherText };
}
