import type { ChunkPlace, Locator } from '../../documents/locator.ts';
import { analyse } from '../../language/analyser.ts';
import { segmentSentences } from '../../language/sentences.ts';
import { languageOfText } from '../../language/text-language.ts';
import { mapYielding } from '../../platform/map-yielding.ts';
import type { SearchResult } from '../schema.ts';

/** Number of results to process before yielding. Each takes up to half a millisecond. */
export const RESULTS_AT_ONCE = 10;

/** Apply `citePlace` to each result. */
export function citePlaces<R extends SearchResult>(results: readonly R[], terms: ReadonlySet<string>): Promise<R[]> {
  return mapYielding(results, RESULTS_AT_ONCE, (result) => citePlace(result, terms));
}

/**
 * Narrow the citation of a result to the page and headings of the sentence that best matches the query. Terms in fewer
 * sentences count more. Keep the citation if the chunk has only one place or contains no query term.
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
  // A table header may precede the chunk's own text.
  const shift = text.length - end;
  const language = languageOfText(text);
  const sentences = places.flatMap((place, at) => {
    const from = place.start + shift;
    const part = text.slice(from, (places[at + 1]?.start ?? end) + shift);
    return segmentSentences(part).map((range) => {
      const found = analyse(part.slice(range.start, range.end), language).filter((term) => terms.has(term));
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
