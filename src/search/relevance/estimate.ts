import type { RelevanceScore } from './schema.ts';

/** Facts about a result and a query. */
export interface RelevanceFeatures {
  /** Share of the query's terms that the text has, weighted: 0..1. */
  readonly coverage: number;
  /** Number of standard deviations by which the cosine exceeds that of unrelated texts; null if unknown. */
  readonly distance: number | null;
}

/** Coefficients of a logistic regression. */
export interface Coefficients {
  readonly constant: number;
  readonly coverage: number;
  readonly distance: number;
}

/**
 * Coefficients of an estimate by words alone, and by words and the vector of a semantic model. `npm run eval --
 * relevance` fitted them on judged results of Cranfield and korquad-a: those of normal searches, and those of the same
 * searches after the answers were removed (docs/search-quality.md).
 */
export const COEFFICIENTS: Readonly<Record<'words' | 'semantic', Coefficients>> = {
  words: { constant: -5.07, coverage: 7.06, distance: 0 },
  semantic: { constant: -6.69, coverage: 6.66, distance: 0.57 },
};

/**
 * Estimate the probability that a result answers the query, in steps of 0.01. The vector of the built-in model does not
 * count, since it knows the same words: a result has the same estimate in each mode.
 *
 * @param kind kind of the model of the query's vector; null if it has none
 * @returns null for a semantic model without a background
 */
export function estimateRelevance(features: RelevanceFeatures, kind: 'lexical' | 'semantic' | null): RelevanceScore {
  if (kind === 'semantic' && features.distance === null) return null;
  return Math.round(probabilityOf(features, COEFFICIENTS[kind === 'semantic' ? kind : 'words']) * 100) / 100;
}

export function probabilityOf({ coverage, distance }: RelevanceFeatures, own: Coefficients): number {
  return 1 / (1 + Math.exp(-(own.constant + own.coverage * coverage + own.distance * (distance ?? 0))));
}
