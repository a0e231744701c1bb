import { termsOf } from './words.ts';

/** Bound of the terms of a query: LanceDB takes about 1 ms for each thirty of them. */
const QUERY_TERMS_MAX = 1_024;
/** Bound of a term's weight: each weight is a clause of its own in the index query. */
const TERM_WEIGHT_MAX = 8;

/**
 * Extract the terms that keyword search matches, both of a chunk at index time (stored joined by single spaces, in a
 * column with a whitespace tokenizer) and of a query. The rules are in `words.ts`.
 */
export function analyse(text: string): string[] {
  return termsOf(text);
}

/** Terms of a query that have one weight. */
export interface WeightedTerms {
  readonly terms: readonly string[];
  /** Occurrences of each term in the query, 1..8: a factor of its BM25 score. */
  readonly weight: number;
}

/**
 * Group the distinct terms of a query by their number of occurrences, most frequent first. BM25 multiplies the score of
 * a term by its frequency in the query, while LanceDB counts each distinct term once.
 *
 * @param terms the result of `analyse` for the query
 */
export function weighTerms(terms: readonly string[]): WeightedTerms[] {
  const counts = new Map<string, number>();
  for (const term of terms) {
    const count = counts.get(term);
    if (count !== undefined || counts.size < QUERY_TERMS_MAX) counts.set(term, (count ?? 0) + 1);
  }
  const groups = new Map<number, string[]>();
  for (const [term, count] of counts) {
    const weight = Math.min(count, TERM_WEIGHT_MAX);
    groups.set(weight, [...(groups.get(weight) ?? []), term]);
  }
  return [...groups].sort(([a], [b]) => b - a).map(([weight, members]) => ({ terms: members, weight }));
}
