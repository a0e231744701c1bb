import { termsOf } from './words.ts';

/** LanceDB takes about 1 ms for each thirty terms of a query. */
const QUERY_TERMS_MAX = 1_024;
/** Each weight is a clause of its own in the index query. */
const TERM_WEIGHT_MAX = 8;

/**
 * The terms that keyword search matches: of a chunk at index time (stored joined by single spaces, in a column with
 * a whitespace tokenizer) and of a query. The same function for both; the rules are in `words.ts`.
 */
export function analyse(text: string): string[] {
  return termsOf(text);
}

/** Terms of a query that weigh the same. */
export interface WeightedTerms {
  readonly terms: readonly string[];
  /** How often each of them stands in the query, 1..8: a factor of its BM25 score. */
  readonly weight: number;
}

/**
 * Distinct terms of a query, grouped by how often they occur, most frequent first. BM25 multiplies a term's score by
 * its frequency in the query, and LanceDB does not: it counts each distinct term once.
 *
 * @param terms what `analyse` made of the query
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
