import { setImmediate } from 'node:timers/promises';
import { highlight } from './highlight.ts';
import type { SearchRequest, SearchResult } from './schema.ts';

/** Results after which the event loop is yielded to: each takes up to half a millisecond. */
const RESULTS_AT_ONCE = 10;

/**
 * Add the sentences that have words of the query to results, if the request wants them.
 *
 * @param terms analysed terms of the query
 */
export async function highlightResults<R extends SearchResult>(
  results: readonly R[],
  terms: ReadonlySet<string>,
  { highlights }: Pick<SearchRequest, 'highlights'>,
): Promise<R[]> {
  if (!highlights) return [...results];
  const highlighted: R[] = [];
  for (const result of results) {
    if (highlighted.length > 0 && highlighted.length % RESULTS_AT_ONCE === 0) await setImmediate();
    highlighted.push({ ...result, highlights: highlight(result.text, terms) });
  }
  return highlighted;
}
