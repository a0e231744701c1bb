import { FUNCTION_WORDS } from './function-words.ts';
import { termsOf } from './words.ts';

/** Maximum number of query terms. LanceDB takes about 1 ms per thirty terms. */
const QUERY_TERMS_MAX = 1_024;
/** Maximum weight of a term, since each weight is a separate clause of the index query. */
const TERM_WEIGHT_MAX = 8;
/** Weight factor of a function word, and the number of function words that determine a query's language. */
const FUNCTION_WEIGHT = 0.1;
const FUNCTION_WORDS_MIN = 2;

/**
 * Extract the terms that keyword search matches, from a chunk at index time (stored joined by single spaces, in a
 * column with a whitespace tokenizer) and from a query. The rules are in `words.ts`.
 */
export function analyse(text: string): string[] {
  return termsOf(text);
}

/** Query terms with the same weight. */
export interface WeightedTerms {
  readonly terms: readonly string[];
  /** Factor of each term's BM25 score: its occurrences in the query, 1..8, or a tenth of them for a function word. */
  readonly weight: number;
}

/**
 * Group the distinct terms of a query by their number of occurrences, most frequent first. BM25 multiplies the score of
 * a term by its frequency in the query, while LanceDB counts each distinct term once. Function words of a German or
 * Spanish query weigh a tenth. In a small bucket they are so rare that they would outweigh the meaningful words.
 *
 * @param terms the result of `analyse` for the query
 */
export function weighTerms(terms: readonly string[]): WeightedTerms[] {
  const counts = new Map<string, number>();
  for (const term of terms) {
    const count = counts.get(term);
    if (count !== undefined || counts.size < QUERY_TERMS_MAX) counts.set(term, (count ?? 0) + 1);
  }
  const functionTerms = functionTermsOf(counts);
  const groups = new Map<number, string[]>();
  for (const [term, count] of counts) {
    const weight = Math.min(count, TERM_WEIGHT_MAX) * (functionTerms?.has(term) ? FUNCTION_WEIGHT : 1);
    groups.set(weight, [...(groups.get(weight) ?? []), term]);
  }
  return [...groups].sort(([a], [b]) => b - a).map(([weight, members]) => ({ terms: members, weight }));
}

const FUNCTION_TERMS = FUNCTION_WORDS.map(({ own, shared }) => {
  const ownTerms = new Set(termsOf(own));
  return { own: ownTerms, all: new Set([...ownTerms, ...termsOf(shared)]) };
});

/** Find the function words of a query's language. Return null if it has none of them, or only such words. */
function functionTermsOf(terms: ReadonlyMap<string, number>): ReadonlySet<string> | null {
  for (const { own, all } of FUNCTION_TERMS) {
    let found = 0;
    let others = 0;
    for (const term of terms.keys()) {
      if (own.has(term)) found++;
      if (!all.has(term)) others++;
    }
    if (found >= FUNCTION_WORDS_MIN) return others > 0 ? all : null;
  }
  return null;
}
