import type { Caller } from '../access/caller.ts';
import { documentUrl } from '../documents/document-link.ts';
import type { KeyRing } from '../platform/secret-key.ts';
import type { SearchResponse } from './schema.ts';

/** Add to each result the address of the page that shows it, if the address of the service is known. */
export function linkResults<R extends Pick<SearchResponse, 'results'>>(
  response: R,
  link: {
    readonly caller: Caller;
    readonly origin: string | null;
    readonly keyRing: Pick<KeyRing, 'linkSigning'>;
  },
): R {
  const { caller, origin, keyRing } = link;
  if (origin === null) return response;
  const results = response.results.map((result) => {
    const { document_id: documentId, chunk_index: chunkIndex } = result;
    const url = documentUrl(keyRing, { caller, origin, documentId, chunkIndex });
    return { ...result, citation: { ...result.citation, url } };
  });
  return { ...response, results };
}
