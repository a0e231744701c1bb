import { type ChunkPlace, ChunkPlace as Place } from '../documents/locator.ts';
import { AppError } from '../platform/errors.ts';
import type { ArtifactChunk } from './artifact.ts';

/** Place in a document: its start, page and headings. */
export const DocumentPlace = Place;

/** Place in a document, with the index of its chunk. */
export interface FoundPlace extends ChunkPlace {
  readonly index: number;
}

/** Place to find: a character offset, a page or a heading. */
interface WantedPlace {
  readonly offset: number | undefined;
  readonly page: number | undefined;
  readonly heading: string | undefined;
}

/**
 * Find a place in a document. A page without text resolves to the next page with text. The headings of a place found by
 * its heading end with that heading.
 *
 * @param see calls its argument with each chunk in order until it returns false
 * @throws AppError `place_not_found` (404)
 */
export async function findPlace(
  see: (each: (chunk: ArtifactChunk) => boolean) => Promise<void>,
  wanted: WantedPlace,
): Promise<FoundPlace> {
  const { offset, page, heading } = wanted;
  const match =
    heading !== undefined ? matchHeading(heading) : page !== undefined ? matchPage(page) : matchOffset(offset ?? 0);
  let best: { readonly place: FoundPlace; readonly isExact: boolean } | null = null;
  await see((chunk) => {
    for (const place of placesOf(chunk)) {
      const found = match(place);
      if (found === null || (best !== null && !found.isExact)) continue;
      best = { place: { ...found.place, index: chunk.index }, isExact: found.isExact };
      if (found.isExact) return false;
    }
    return true;
  });
  if (best === null) throw placeNotFound(wanted);
  return (best as { readonly place: FoundPlace }).place;
}

/** Part of a chunk with the same page and headings. */
interface ChunkPart extends ChunkPlace {
  readonly end: number;
}

type Match = (part: ChunkPart) => { readonly place: ChunkPlace; readonly isExact: boolean } | null;

function placesOf({ locator }: ArtifactChunk): ChunkPart[] {
  const { start, end, page, heading_path, places = [{ start, page, heading_path }] } = locator;
  return places.map((place, nth) => ({ ...place, end: places[nth + 1]?.start ?? end }));
}

function matchOffset(offset: number): Match {
  return ({ end, ...place }) => (end > offset ? { place: { ...place, start: offset }, isExact: true } : null);
}

function matchPage(page: number): Match {
  return ({ end: _, ...place }) => (place.page !== null && place.page >= page ? { place, isExact: true } : null);
}

/** Match a heading, or a path of headings joined by " > ", as shown in results. */
function matchHeading(heading: string): Match {
  const wanted = heading.split(' > ').map(normalise);
  const contained = wanted.at(-1) as string;
  return ({ end: _, ...place }) => {
    const path = place.heading_path.map(normalise);
    const upTo = (depth: number) => ({ ...place, heading_path: place.heading_path.slice(0, depth) });
    for (let depth = wanted.length; depth <= path.length; depth++) {
      const isSame = wanted.every((part, nth) => path[depth - wanted.length + nth] === part);
      if (isSame) return { place: upTo(depth), isExact: true };
    }
    const at = path.findIndex((part) => part.includes(contained));
    return at < 0 ? null : { place: upTo(at + 1), isExact: false };
  };
}

function normalise(heading: string): string {
  return heading.normalize('NFKC').toLowerCase().replace(/\s+/g, ' ').trim();
}

function placeNotFound({ offset, page, heading }: WantedPlace): AppError {
  const message =
    heading !== undefined
      ? `heading: the document has no heading "${heading}"; use "find" to search its text`
      : page !== undefined
        ? `page: the document has no text on page ${page} or later; see "page_count" for its number of pages`
        : `offset: the text of the document ends before character ${offset}`;
  const param = heading !== undefined ? 'heading' : page !== undefined ? 'page' : 'offset';
  return new AppError({ code: 'place_not_found', status: 404, message, param });
}
