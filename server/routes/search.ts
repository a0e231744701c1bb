import { z } from 'zod';
import { SearchRequest, SearchResponse } from '../../src/search/schema.ts';
import { type SearchContext, searchBucket } from '../../src/search/search.ts';
import { defineRoute, type Route } from '../route.ts';

export function searchRoutes(context: SearchContext): Route[] {
  return [
    defineRoute({
      method: 'POST',
      path: '/v2/buckets/:bucket/search',
      operationId: 'searchBucket',
      summary: 'Find the chunks that answer a query',
      access: 'search',
      errors: 'detail',
      reads: 'json',
      params: z.object({ bucket: z.string().min(1).max(128).describe('id or name') }),
      body: SearchRequest,
      responses: { 200: { description: 'Chunks, best first', schema: SearchResponse } },
      handle: async ({ caller, params, body, signal }) => ({
        body: await searchBucket(context, caller, params.bucket, body, signal),
      }),
    }),
  ];
}
