import { setImmediate } from 'node:timers/promises';
import { analyse } from '../language/analyser.ts';
import { segmentSentences } from '../language/sentences.ts';
import type { ChunkPlace, Locator, SearchResult } from './schema.ts';

/** Results after which the event loop is yielded to: each takes up to half a millisecond. */
const RESULTS_AT_ONCE = 10;

/** Apply `citePlace` to each result. */
export async function citePlaces<R extends SearchResult>(
  results: readonly R[],
  terms: ReadonlySet<string>,
): Promise<R[]> {
  const cited: R[] = [];
  for (const result of results) {
    if (cited.length > 0 && cited.length % RESULTS_AT_ONCE === 0) await setImmediate();
    cited.push(citePlace(result, terms));
  }
  return cited;
}

/**
 * Let the citation of a result name the page and headings of the sentence that has most of the query: a term counts
 * the more, the fewer sentences of the chunk have it. A chunk with one place, or without any term of the query, is
 * cited as it is.
 *
 * @param terms analysed terms of the query
 */
function citePlace<R extends SearchResult>(result: R, terms: ReadonlySet<string>): R {
  const { locator } = result.citation;
  const { places } = locator;
  if (places === undefined) return result;
  const place = bestPlace(result.text, locator, places, terms);
  if (place === null) return result;
  const { page, heading_path } = place;
  return { ...result, citation: { ...result.citation, locator: { ...locator, page, page_end: page, heading_path } } };
}

function bestPlace(
  text: string,
  { end }: Locator,
  places: readonly ChunkPlace[],
  terms: ReadonlySet<string>,
): ChunkPlace | null {
  // The header of a table may stand before the text of the chunk.
  const shift = text.length - end;
  const sentences = places.flatMap((place, at) => {
    const from = place.start + shift;
    const part = text.slice(from, (places[at + 1]?.start ?? end) + shift);
    return segmentSentences(part).map((range) => {
      const found = analyse(part.slice(range.start, range.end)).filter((term) => terms.has(term));
      return { place, found: new Set(found) };
    });
  });
  const counts = new Map<string, number>();
  for (const { found } of sentences) for (const term of found) counts.set(term, (counts.get(term) ?? 0) + 1);
  let best: { place: ChunkPlace | null; weight: number } = { place: null, weight: 0 };
  for (const { place, found } of sentences) {
    let weight = 0;
    for (const term of found) weight += Math.log(1 + sentences.length / (counts.get(term) as number));
    if (weight > best.weight) best = { place, weight };
  }
  return best.place;
}
