import type { Caller } from '../../access/caller.ts';
import { documentUrl } from '../../documents/document-link.ts';
import type { SearchSettings } from '../../platform/search-settings.ts';
import type { KeyRing } from '../../platform/secret-key.ts';
import type { SearchResponse } from '../schema.ts';

/** Target pages of result links, and the keys that sign links. */
export interface ResultLinks {
  readonly to: SearchSettings['resultLinks'];
  readonly keyRing: Pick<KeyRing, 'linkSigning'>;
}

interface LinkReader {
  readonly caller: Caller;
  /** Base URL of this service; null if unknown. */
  readonly origin: string | null;
}

/** Add the URL of the page that shows each result, if the service's URL is known. */
export function linkResults<R extends Pick<SearchResponse, 'results'> & { readonly search_id?: string | null }>(
  response: R,
  links: ResultLinks,
  reader: LinkReader,
): R {
  if (reader.origin === null) return response;
  const results = response.results.map((result) => {
    const { document_id: documentId, chunk_index: chunkIndex } = result;
    const url = linkToPlace(links, reader, { documentId, chunkIndex, searchId: response.search_id ?? null });
    return { ...result, citation: { ...result.citation, url } };
  });
  return { ...response, results };
}

/** Return the URL of the page that shows a chunk of a document; null if the service's URL is unknown. */
export function linkToPlace(
  links: ResultLinks,
  { caller, origin }: LinkReader,
  place: { readonly documentId: string; readonly chunkIndex: number; readonly searchId?: string | null },
): string | null {
  if (origin === null) return null;
  const { documentId, chunkIndex, searchId = null } = place;
  // The search id lets the search log record which documents were opened.
  const query = searchId === null ? '' : `?search=${searchId}`;
  return links.to === 'console'
    ? `${origin}/console/documents/${encodeURIComponent(documentId)}${query}#${chunkIndex}`
    : documentUrl(links.keyRing, { caller, origin, documentId, chunkIndex });
}
