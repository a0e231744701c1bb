import { z } from 'zod';
import type { Caller } from '../access/caller.ts';
import { Filter } from './filter/filter.ts';
import { Relevance, RelevanceScore } from './relevance/schema.ts';
import { Highlight } from './results/highlight.ts';
import { SearchRequest } from './schema.ts';
import { type SearchContext, searchBucket } from './search.ts';

const RESULTS_MAX = 50;
const query = z.string().min(1, 'must not be empty').max(8000);

/** `POST /v1/vector_stores/{bucket}/search`: a search in the shape of OpenAI's vector stores. */
export const VectorStoreSearchRequest = z.object({
  query: z
    .union([query, z.array(query).min(1).max(10)])
    .refine((given) => [given].flat().join('\n').length <= 8000, 'must not be longer than 8,000 characters altogether')
    .describe('several are searched as one text'),
  filters: Filter.optional(),
  highlights: SearchRequest.shape.highlights,
  max_num_results: z.int().min(1).max(RESULTS_MAX).default(10),
  ranking_options: z.object({ score_threshold: z.number().min(0).max(1).optional() }).optional(),
});
export type VectorStoreSearchRequest = z.output<typeof VectorStoreSearchRequest>;

export const VectorStoreSearchPage = z
  .object({
    object: z.literal('vector_store.search_results.page'),
    search_query: VectorStoreSearchRequest.shape.query,
    data: z.array(
      z.object({
        file_id: z.string().describe('document id'),
        filename: z.string(),
        score: z.number(),
        relevance: Relevance,
        relevance_score: RelevanceScore,
        highlights: z.array(Highlight).optional().describe('with highlights: true, as in searches of /v2'),
        attributes: z.record(z.string(), z.string()),
        content: z.array(z.object({ type: z.literal('text'), text: z.string() })),
      }),
    ),
    has_more: z.literal(false),
    next_page: z.null(),
  })
  .meta({ id: 'VectorStoreSearchPage' });
export type VectorStoreSearchPage = z.output<typeof VectorStoreSearchPage>;

/**
 * Search as in `/v2`, with request and response in OpenAI's shape. One item is one chunk.
 *
 * @returns the page, and separately `warnings`, for which it has no field
 * @throws AppError as `searchBucket` does
 */
export async function searchVectorStore(
  context: SearchContext,
  caller: Caller,
  bucketRef: string,
  request: VectorStoreSearchRequest,
  signal?: AbortSignal,
): Promise<{ page: VectorStoreSearchPage; warnings: readonly string[] }> {
  const text = [request.query].flat().join('\n');
  const search = {
    ...SearchRequest.parse({ query: text, top_k: request.max_num_results, highlights: request.highlights }),
    filter: request.filters,
    score_threshold: request.ranking_options?.score_threshold,
  };
  const { results, warnings } = await searchBucket(context, caller, bucketRef, search, signal);
  const page: VectorStoreSearchPage = {
    object: 'vector_store.search_results.page',
    search_query: request.query,
    data: results.map((result) => ({
      file_id: result.document_id,
      filename: result.citation.file_name,
      score: result.score,
      relevance: result.relevance,
      relevance_score: result.relevance_score,
      ...(result.highlights === undefined ? {} : { highlights: result.highlights }),
      attributes: result.metadata,
      content: [{ type: 'text', text: result.text }],
    })),
    has_more: false,
    next_page: null,
  };
  return { page, warnings };
}
