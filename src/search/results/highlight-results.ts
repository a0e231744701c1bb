import { mapYielding } from '../../platform/map-yielding.ts';
import type { SearchRequest, SearchResult } from '../schema.ts';
import { RESULTS_AT_ONCE } from './cite-place.ts';
import { highlight } from './highlight.ts';

/**
 * Add matching sentences to results if the request asks for highlights.
 *
 * @param terms analysed terms of the query
 */
export async function highlightResults<R extends SearchResult>(
  results: readonly R[],
  terms: ReadonlySet<string>,
  { highlights }: Pick<SearchRequest, 'highlights'>,
): Promise<R[]> {
  if (!highlights) return [...results];
  return mapYielding(results, RESULTS_AT_ONCE, (result) => ({
    ...result,
    highlights: highlight(result.text, terms),
  }));
}
