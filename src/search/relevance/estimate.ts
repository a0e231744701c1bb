import type { RelevanceScore } from './schema.ts';

/** Relevance features of a result for a query. */
export interface RelevanceFeatures {
  /** Weighted share of the query's terms in the text: 0..1. */
  readonly coverage: number;
  /**
   * Cosine rescaled to 0 for unrelated texts and 1 for the query itself. Null: the text has no vector. Undefined: the
   * cosine of unrelated texts is unknown.
   */
  readonly excess: number | null | undefined;
  /** Number of sampled rows behind the cosine of unrelated texts. */
  readonly rows: number;
  /** Number of words in the query, counted up to `COUNTED_WORDS_MAX`. */
  readonly words: number;
}

/** Coefficients of the logistic regression. */
export interface Coefficients {
  readonly constant: number;
  readonly coverage: number;
  readonly excess: number;
  /** Coefficient of the logarithm of the number of rows: among more texts, the best accidental match is better. */
  readonly rows: number;
  /** Coefficients of the length of a long query (0..1) and of its product with the excess. */
  readonly long: number;
  readonly longExcess: number;
}

/**
 * Fitted coefficients: for words alone, and for words and the vector of a semantic model. `npm run eval -- relevance`
 * fitted them to judged results of three kinds of searches: with answers, with the answers removed, and about other
 * subjects (docs/search-quality.md).
 */
export const COEFFICIENTS: Readonly<Record<'words' | 'semantic', Coefficients>> = {
  words: { constant: -5.07, coverage: 7.06, excess: 0, rows: 0, long: 2.4, longExcess: 0 },
  semantic: { constant: -0.09, coverage: 2.6, excess: 11.73, rows: -1.29, long: 1.62, longExcess: -3.9 },
};

/** Number of words above which a query is long, and up to which its length is counted. */
const LONG_WORDS = 25;
export const COUNTED_WORDS_MAX = Math.ceil(LONG_WORDS * Math.E);
/** Offset added to the number of rows, so that the first few rows don't count much more than others. */
const ROWS_OFFSET = 8;
/** Sample size of a large table. Samples of several tables are larger. */
const COUNTED_ROWS_MAX = 128;
/** Minimum estimate by words alone for a long query, which a text can answer with few of its words. */
const LONG_MIN = 0.1;

/**
 * Estimate the probability that a result answers the query, in steps of 0.01. Ignore the vector of a lexical model,
 * which only knows the same words. A result therefore has the same estimate in each mode. Estimate a text without a
 * vector by words alone.
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

/** Return the length of a query from its number of words: 0 up to 25 words, 1 from 68. */
export function lengthOf(words: number): number {
  return words <= LONG_WORDS ? 0 : Math.min(1, Math.log(words / LONG_WORDS));
}

export function rowsTerm(rows: number): number {
  return Math.log(Math.min(rows, COUNTED_ROWS_MAX) + ROWS_OFFSET);
}
