import type { LegWeights } from '../../index/index-store.ts';
import { locateTerms } from '../../language/locate-terms.ts';
import { mapYielding } from '../../platform/map-yielding.ts';
import type { FusedHit } from '../fuse.ts';
import type { SearchRequest, SearchResult } from '../schema.ts';
import { RESULTS_AT_ONCE } from './cite-place.ts';
import { type Explanation, TERMS_MAX, WORDS_MAX } from './explanation.ts';

/** Ranks of a chunk in the legs, and the weights that fused them. */
export interface FusedRanks {
  readonly hit: FusedHit;
  readonly weights: LegWeights;
  /** Searched legs. */
  readonly mode: SearchRequest['mode'];
}

/**
 * Explain the fused score of a chunk by leg. `explainTerms` adds the terms.
 *
 * @param share score factor of the chunk, which is below 1 for boilerplate
 */
export function explainLegs({ hit, weights, mode }: FusedRanks, share: number): Explanation {
  const legOf = (rank: number | null, weight: number, part: number) => ({ rank, weight, contribution: share * part });
  return {
    keyword: mode === 'vector' ? null : { ...legOf(hit.keywordRank, weights.keyword, hit.keywordPart), terms: [] },
    vector: mode === 'keyword' ? null : legOf(hit.vectorRank, weights.vector, hit.vectorPart),
  };
}

/**
 * Add the matching query terms to the explanations of results, with the words in text and headings that match each.
 *
 * @param terms analysed terms of the query
 */
export async function explainTerms<R extends SearchResult>(
  results: readonly R[],
  terms: ReadonlySet<string>,
): Promise<R[]> {
  return mapYielding(results, RESULTS_AT_ONCE, (result) => {
    const { explain } = result;
    if (!explain?.keyword) return result;
    return { ...result, explain: { ...explain, keyword: { ...explain.keyword, terms: termsOf(result, terms) } } };
  });
}

function termsOf({ text, citation }: SearchResult, terms: ReadonlySet<string>) {
  const { heading_path, places = [] } = citation.locator;
  const headings = new Set([...heading_path, ...places.flatMap((place) => place.heading_path)]);
  const found = new Map<string, Map<string, string>>();
  for (const part of [text, ...headings]) {
    for (const located of locateTerms(part, terms)) {
      const word = part.slice(located.start, located.end);
      for (const term of located.terms) {
        const words = found.get(term) ?? new Map<string, string>();
        if (words.size < WORDS_MAX && !words.has(word.toLowerCase())) words.set(word.toLowerCase(), word);
        found.set(term, words);
      }
    }
  }
  // Keep the order of the query.
  return [...terms]
    .flatMap((term) => {
      const words = found.get(term);
      return words === undefined ? [] : { term, words: [...words.values()] };
    })
    .slice(0, TERMS_MAX);
}
