import type { ComparedRow } from '../../index/chunk-index.ts';
import { isCommonTerm } from '../../language/common-terms.ts';

/** Distribution of a query's cosine similarity to unrelated texts. */
export interface CosineBackground {
  readonly mean: number;
  readonly deviation: number;
}

/** Minimum number of rows for a background. */
const ROWS_MIN = 24;
const DEVIATION_MIN = 0.01;

/**
 * Estimate the background of a query from a sample of the index. Return null if it has too few rows.
 *
 * @param sample rows, compared with the vector of the query
 */
export function backgroundOf(sample: readonly ComparedRow[]): CosineBackground | null {
  if (sample.length < ROWS_MIN) return null;
  let sum = 0;
  let squares = 0;
  for (const { cosine } of sample) {
    sum += cosine ?? 0;
    squares += (cosine ?? 0) ** 2;
  }
  const mean = sum / sample.length;
  const variance = Math.max(0, squares / sample.length - mean * mean);
  return { mean, deviation: Math.max(DEVIATION_MIN, Math.sqrt(variance)) };
}

/** Rows that the usual share of a term counts for, and those of them that have the term. */
const USUAL_ROWS = 4;
const USUAL_ROWS_WITH_TERM = 2;
/** Factor of the weight of common words. A small bucket lacks many of them, so that they seem to be rare. */
const COMMON_SHARE = 0.4;

/**
 * Return the weight of a term: its inverse document frequency in the sample, smoothed so that a term of every row still
 * counts, and a term of no row doesn't count much more than one of a single row.
 */
export function weightOf(term: string, sample: readonly ComparedRow[]): number {
  const rows = countTerms(sample).get(term) ?? 0;
  const rarity = Math.log(1 + (sample.length + USUAL_ROWS) / (rows + USUAL_ROWS_WITH_TERM));
  return isCommonTerm(term) ? rarity * COMMON_SHARE : rarity;
}

const counted = new WeakMap<readonly ComparedRow[], ReadonlyMap<string, number>>();

/** Count, once for each sample, the rows that have each term of the query. */
function countTerms(sample: readonly ComparedRow[]): ReadonlyMap<string, number> {
  const known = counted.get(sample);
  if (known) return known;
  const rows = new Map<string, number>();
  for (const { terms } of sample) for (const term of terms) rows.set(term, (rows.get(term) ?? 0) + 1);
  counted.set(sample, rows);
  return rows;
}
