import { z } from 'zod';
import { KnowledgeReply, KnowledgeRequest, searchKnowledge } from '../../src/search/knowledge.ts';
import {
  chunksForDocuments,
  DocumentSearchResponse,
  GroupBy,
  groupByDocument,
} from '../../src/search/results/group-documents.ts';
import { linkResults, type ResultLinks } from '../../src/search/results/link-results.ts';
import { SearchRequest, SearchResponse } from '../../src/search/schema.ts';
import { type SearchContext, searchBucket } from '../../src/search/search.ts';
import { SeveralDocuments, SeveralRequest, SeveralResponse, searchSeveral } from '../../src/search/search-several.ts';
import {
  searchVectorStore,
  VectorStoreSearchPage,
  VectorStoreSearchRequest,
} from '../../src/vector-stores/search-vector-store.ts';
import { SMALL_BODY_BYTES_MAX } from '../body/body-limits.ts';
import { defineRoute, type Route } from '../route.ts';
import { EMBEDDING_REFUSALS } from './embeddings.ts';

const params = z.object({ bucket: z.string().min(1).describe('id or name') });

/** Refusals of a search: those of embedding the query, and 409 if the state of the index forbids the search. */
const SEARCH_REFUSALS = [...EMBEDDING_REFUSALS, 409] as const;

/** Run a search for chunks, or for documents if the request asks for them, and link its results to their pages. */
async function grouped<
  Request extends SearchRequest | SeveralRequest,
  Response extends SearchResponse | SeveralResponse,
>(
  groupBy: z.output<typeof GroupBy>,
  request: Request,
  find: (request: Request) => Promise<Response>,
  links: ResultLinks,
  to: Parameters<typeof linkResults>[2],
) {
  if (groupBy === 'chunk') return linkResults(await find(request), links, to);
  const response = linkResults(await find(chunksForDocuments(request)), links, to);
  return { ...response, group_by: groupBy, results: groupByDocument(response.results, request.top_k) };
}

/** Common parts of search routes. An unknown field may be a misspelt filter. */
const search = {
  access: 'search',
  refusesUnknownFields: true,
  bodyLimitBytes: SMALL_BODY_BYTES_MAX,
  axis: () => 'search' as const,
  capacity: 'search',
} as const;

export function searchRoutes(context: SearchContext): Route[] {
  return [
    defineRoute({
      method: 'POST',
      path: '/v2/buckets/:bucket/search',
      whileMoving: true,
      operationId: 'searchBucket',
      summary: 'Find the chunks that answer a query',
      ...search,
      params,
      body: SearchRequest.extend({ group_by: GroupBy }),
      responses: {
        200: {
          description: 'Chunks or documents, best first',
          schema: z.union([SearchResponse, DocumentSearchResponse]),
        },
      },
      refusals: SEARCH_REFUSALS,
      async handle({ caller, params, body: { group_by: groupBy, ...request }, origin, signal }) {
        const find = (search: SearchRequest) => searchBucket(context, caller, params.bucket, search, signal);
        return { body: await grouped(groupBy, request, find, context.links, { caller, origin }) };
      },
    }),
    defineRoute({
      method: 'POST',
      path: '/v2/search',
      whileMoving: true,
      operationId: 'searchBuckets',
      summary: 'Find the chunks of several buckets that answer a query',
      ...search,
      body: SeveralRequest.extend({ group_by: GroupBy }),
      responses: {
        200: {
          description: 'Chunks or documents, best first',
          schema: z.union([SeveralResponse, SeveralDocuments]),
        },
      },
      refusals: [...SEARCH_REFUSALS, 404],
      async handle({ caller, body: { group_by: groupBy, ...request }, origin, signal }) {
        const find = (search: SeveralRequest) => searchSeveral(context, caller, search, signal);
        return { body: await grouped(groupBy, request, find, context.links, { caller, origin }) };
      },
    }),
    defineRoute({
      method: 'POST',
      path: '/v1/vector_stores/:bucket/search',
      whileMoving: true,
      operationId: 'searchVectorStore',
      summary: "Find the chunks that answer a query, in the shape of OpenAI's vector stores",
      access: 'search',
      errors: 'both',
      bodyLimitBytes: 2 * SMALL_BODY_BYTES_MAX,
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
    defineRoute({
      method: 'POST',
      path: '/retrieval',
      whileMoving: true,
      operationId: 'retrieveKnowledge',
      summary: "Find the chunks of a bucket, in the shape of Dify's external knowledge API",
      access: 'search',
      errors: 'knowledge',
      bodyLimitBytes: SMALL_BODY_BYTES_MAX,
      axis: () => 'search',
      capacity: 'search',
      body: KnowledgeRequest,
      responses: { 200: { description: 'Records, best first', schema: KnowledgeReply } },
      refusals: [...SEARCH_REFUSALS, 404],
      async handle({ caller, body, origin, signal }) {
        return { body: await searchKnowledge(context, caller, body, { origin, signal }) };
      },
    }),
  ];
}

/**
 * Replace characters that a header value can't contain (line breaks, non-ASCII). The warnings name only models and
 * buckets.
 */
function printable(warnings: readonly string[]): string {
  return warnings.join('; ').replace(/[^\x20-\x7e]/g, '?');
}
