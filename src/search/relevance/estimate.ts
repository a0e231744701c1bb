import type { RelevanceScore } from './schema.ts';

/** Facts about a result and a query. */
export interface RelevanceFeatures {
  /** Share of the query's terms that the text has, weighted: 0..1. */
  readonly coverage: number;
  /**
   * Position of the cosine between that of unrelated texts, 0, and that of the query itself, 1. Null: the text has no
   * vector. Undefined: the cosine of unrelated texts is unknown.
   */
  readonly excess: number | null | undefined;
  /** Number of rows of the sample that the cosine of unrelated texts comes from. */
  readonly rows: number;
  /** Number of words of the query. It may stop at `COUNTED_WORDS_MAX`. */
  readonly words: number;
}

/** Coefficients of a logistic regression. */
export interface Coefficients {
  readonly constant: number;
  readonly coverage: number;
  readonly excess: number;
  /** Factor of the logarithm of the number of rows: among more texts, one that fits by chance fits better. */
  readonly rows: number;
  /** Factor of the length of a long query, 0..1, and of its product with the excess. */
  readonly long: number;
  readonly longExcess: number;
}

/**
 * Coefficients of an estimate by words alone, and by words and the vector of a semantic model. `npm run eval --
 * relevance` fitted them to judged results of searches with answers, of the same searches after the answers were
 * removed, and of searches for other subjects (docs/search-quality.md).
 */
export const COEFFICIENTS: Readonly<Record<'words' | 'semantic', Coefficients>> = {
  words: { constant: -5.07, coverage: 7.06, excess: 0, rows: 0, long: 2.4, longExcess: 0 },
  semantic: { constant: -0.09, coverage: 2.6, excess: 11.73, rows: -1.29, long: 1.62, longExcess: -3.9 },
};

/** Number of words above which a query is long, and of those that its length counts to. */
const LONG_WORDS = 25;
export const COUNTED_WORDS_MAX = Math.ceil(LONG_WORDS * Math.E);
/** Number of rows to add to those of the sample, so that the first few do not count much more than the others. */
const ROWS_OFFSET = 8;
/** Number of rows that a sample of a large table has. Samples of several tables have more. */
const COUNTED_ROWS_MAX = 128;
/** Lowest estimate by words alone for a long query: a text answers it with a few of its words. */
const LONG_MIN = 0.1;

/**
 * Estimate the probability that a result answers the query, in steps of 0.01. The vector of a lexical model does not
 * count, since it knows the same words: a result has the same estimate in each mode. For a text without a vector, the
 * estimate is by words alone.
 *
 * @param kind kind of the model of the query's vector; null if it has none
 * @returns null for a semantic model if the cosine of unrelated texts is unknown
 */
export function estimateRelevance(features: RelevanceFeatures, kind: 'lexical' | 'semantic' | null): RelevanceScore {
  if (kind === 'semantic' && features.excess === undefined) return null;
  const isSemantic = kind === 'semantic' && features.excess !== null;
  const probability = probabilityOf(features, COEFFICIENTS[isSemantic ? 'semantic' : 'words']);
  const isLong = features.words > LONG_WORDS;
  return Math.round(Math.max(isLong && !isSemantic ? LONG_MIN : 0, probability) * 100) / 100;
}

export function probabilityOf(features: RelevanceFeatures, own: Coefficients): number {
  const { coverage, words, rows } = features;
  const excess = features.excess ?? 0;
  const long = lengthOf(words);
  const ofLong = long * (own.long + own.longExcess * excess);
  const sum = own.constant + own.coverage * coverage + own.excess * excess + own.rows * rowsTerm(rows) + ofLong;
  return 1 / (1 + Math.exp(-sum));
}

/** Return the length of a query by its words: 0 up to 25 of them, 1 from 68. */
export function lengthOf(words: number): number {
  return words <= LONG_WORDS ? 0 : Math.min(1, Math.log(words / LONG_WORDS));
}

export function rowsTerm(rows: number): number {
  return Math.log(Math.min(rows, COUNTED_ROWS_MAX) + ROWS_OFFSET);
}
