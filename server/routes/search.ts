import { z } from 'zod';
import type { KeyRing } from '../../src/platform/secret-key.ts';
import { linkResults } from '../../src/search/link-results.ts';
import { SearchRequest, SearchResponse } from '../../src/search/schema.ts';
import { type SearchContext, searchBucket } from '../../src/search/search.ts';
import { searchVectorStore, VectorStoreSearchPage, VectorStoreSearchRequest } from '../../src/search/vector-store.ts';
import { SMALL_BODY_BYTES_MAX } from '../body/body-limits.ts';
import { defineRoute, type Route } from '../route.ts';
import { EMBEDDING_REFUSALS } from './embeddings.ts';

const params = z.object({ bucket: z.string().min(1).max(128).describe('id or name') });

/** Refusals of a search: its query is embedded, and the index can be in a state that does not allow it. */
const SEARCH_REFUSALS = [...EMBEDDING_REFUSALS, 409] as const;

export function searchRoutes(context: SearchContext, keyRing: Pick<KeyRing, 'linkSigning'>): Route[] {
  return [
    defineRoute({
      method: 'POST',
      path: '/v2/buckets/:bucket/search',
      operationId: 'searchBucket',
      summary: 'Find the chunks that answer a query',
      access: 'search',
      errors: 'detail',
      reads: 'json',
      bodyLimitBytes: SMALL_BODY_BYTES_MAX,
      axis: () => 'search',
      capacity: 'search',
      params,
      body: SearchRequest,
      responses: { 200: { description: 'Chunks, best first', schema: SearchResponse } },
      refusals: SEARCH_REFUSALS,
      async handle({ caller, params, body, origin, signal }) {
        const response = await searchBucket(context, caller, params.bucket, body, signal);
        return { body: linkResults(response, { caller, origin, keyRing }) };
      },
    }),
    defineRoute({
      method: 'POST',
      path: '/v1/vector_stores/:bucket/search',
      operationId: 'searchVectorStore',
      summary: "Find the chunks that answer a query, in the shape of OpenAI's vector stores",
      access: 'search',
      errors: 'both',
      reads: 'json',
      bodyLimitBytes: SMALL_BODY_BYTES_MAX,
      axis: () => 'search',
      capacity: 'search',
      params,
      body: VectorStoreSearchRequest,
      responses: {
        200: { description: 'Chunks, best first', schema: VectorStoreSearchPage, headers: ['X-Service-Warning'] },
      },
      refusals: SEARCH_REFUSALS,
      async handle({ caller, params, body, signal }) {
        const { page, warnings } = await searchVectorStore(context, caller, params.bucket, body, signal);
        return warnings.length === 0
          ? { body: page }
          : { body: page, headers: { 'X-Service-Warning': printable(warnings) } };
      },
    }),
  ];
}

/**
 * Replace what a header value cannot hold (line breaks, all beyond ASCII). The warnings name models and buckets only.
 */
function printable(warnings: readonly string[]): string {
  return warnings.join('; ').replace(/[^\x20-\x7e]/g, '?');
}
