import type { Caller } from '../../access/caller.ts';
import { documentUrl } from '../../documents/document-link.ts';
import type { SearchSettings } from '../../platform/search-settings.ts';
import type { KeyRing } from '../../platform/secret-key.ts';
import type { SearchResponse } from '../schema.ts';

/** Pages that the links of results open, and the keys of signed links. */
export interface ResultLinks {
  readonly to: SearchSettings['resultLinks'];
  readonly keyRing: Pick<KeyRing, 'linkSigning'>;
}

/** Add to each result the URL of the page that shows it, if the URL of the service is known. */
export function linkResults<R extends Pick<SearchResponse, 'results'>>(
  response: R,
  links: ResultLinks,
  { caller, origin }: { readonly caller: Caller; readonly origin: string | null },
): R {
  if (origin === null) return response;
  const results = response.results.map((result) => {
    const { document_id: documentId, chunk_index: chunkIndex } = result;
    const url =
      links.to === 'console'
        ? `${origin}/console/documents/${encodeURIComponent(documentId)}#${chunkIndex}`
        : documentUrl(links.keyRing, { caller, origin, documentId, chunkIndex });
    return { ...result, citation: { ...result.citation, url } };
  });
  return { ...response, results };
}
