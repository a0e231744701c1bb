import type { Relevance } from './schema.ts';

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
 * Coefficients by kind of model. `npm run eval -- relevance` fitted them on judged results of Cranfield and korquad-a:
 * those of normal searches, and those of the same searches after the answers were removed (docs/search-quality.md).
 */
const COEFFICIENTS: Readonly<Record<'lexical' | 'semantic' | 'keyword', Coefficients>> = {
  lexical: { constant: -6.73, coverage: 4.65, distance: 0.63 },
  semantic: { constant: -6.69, coverage: 6.66, distance: 0.57 },
  keyword: { constant: -5.36, coverage: 7.39, distance: 0 },
};

/** Minimum probability of each level. */
export const LEVELS: readonly { readonly relevance: Relevance; readonly min: number }[] = [
  { relevance: 'high', min: 0.6 },
  { relevance: 'medium', min: 0.3 },
  { relevance: 'low', min: 0.1 },
  { relevance: 'none', min: 0 },
];

/** @param kind kind of the model of the query's vector; null if it has none */
export function estimateRelevance(features: RelevanceFeatures, kind: 'lexical' | 'semantic' | null): Relevance {
  if (kind === 'semantic' && features.distance === null) return null;
  const own = COEFFICIENTS[features.distance === null ? 'keyword' : (kind ?? 'keyword')];
  const probability = probabilityOf(features, own);
  return LEVELS.find(({ min }) => probability >= min)?.relevance ?? 'none';
}

export function probabilityOf({ coverage, distance }: RelevanceFeatures, own: Coefficients): number {
  return 1 / (1 + Math.exp(-(own.constant + own.coverage * coverage + own.distance * (distance ?? 0))));
}
