import { z } from 'zod';
import type { Caller } from '../access/caller.ts';
import { QUERY_MS, type Sql } from '../platform/postgres.ts';
import { Filter } from '../search/filter/filter.ts';
import { Relevance, RelevanceScore } from '../search/relevance/schema.ts';
import { Highlight } from '../search/results/highlight.ts';
import { SearchRequest, type SearchResponse } from '../search/schema.ts';
import { type SearchContext, searchBucket } from '../search/search.ts';
import { AttributesView, attributesOf } from './attributes.ts';
import { selectIdentities } from './store-files-store.ts';
import { requireLive } from './vector-stores.ts';

const RESULTS_MAX = 50;
const query = SearchRequest.shape.query;

/** Body of `POST /v1/vector_stores/{bucket}/search`: a search in the shape of OpenAI's vector stores. */
export const VectorStoreSearchRequest = z.object({
  query: z
    .union([query, z.array(query).min(1).max(10)])
    .describe('query or queries; several are searched separately, and a result has its best score'),
  filters: Filter.optional(),
  highlights: SearchRequest.shape.highlights,
  max_num_results: z.int().min(1).max(RESULTS_MAX).default(10),
  ranking_options: z
    .object({
      ranker: z
        .enum(['none', 'auto', 'default-2024-11-15'])
        .optional()
        .describe('any value except none: use the reranker of the service, if there is one; default: none'),
      score_threshold: z.number().min(0).max(1).optional(),
    })
    .optional(),
  rewrite_query: z.boolean().optional().describe('accepted; queries are never rewritten'),
});
export type VectorStoreSearchRequest = z.output<typeof VectorStoreSearchRequest>;

export const VectorStoreSearchPage = z
  .object({
    object: z.literal('vector_store.search_results.page'),
    search_query: z.array(z.string()),
    data: z.array(
      z.object({
        file_id: z.string().describe('as the list of files names it'),
        filename: z.string(),
        score: z.number(),
        relevance: Relevance,
        relevance_score: RelevanceScore,
        highlights: z.array(Highlight).optional().describe('with highlights: true, as in searches of /v2'),
        attributes: AttributesView,
        content: z.array(z.object({ type: z.literal('text'), text: z.string() })),
      }),
    ),
    has_more: z.literal(false),
    next_page: z.null(),
  })
  .meta({ id: 'VectorStoreSearchPage' });
export type VectorStoreSearchPage = z.output<typeof VectorStoreSearchPage>;

type Result = SearchResponse['results'][number];

const NOT_REWRITTEN = 'rewrite_query has no effect, since the service does not rewrite queries';

/**
 * Search as in `/v2`, with request and response in OpenAI's shape. Each item is one chunk.
 *
 * @returns page, and the `warnings`, for which it has no field
 * @throws AppError `vector_store_expired` (400), and the errors of `searchBucket`
 */
export async function searchVectorStore(
  context: SearchContext,
  caller: Caller,
  bucketRef: string,
  request: VectorStoreSearchRequest,
  signal?: AbortSignal,
): Promise<{ page: VectorStoreSearchPage; warnings: readonly string[] }> {
  const share = { gate: context.queryShares, owner: caller.orgId };
  const sql = context.sql.limited({ ms: QUERY_MS.search, signal, share });
  const { id } = await requireLive(sql, caller, bucketRef);
  const queries = [request.query].flat();
  const warnings = new Set(request.rewrite_query ? [NOT_REWRITTEN] : []);
  const found: Result[] = [];
  for (const each of queries) {
    const response = await searchBucket(context, caller, id, searchOf(context, request, each), signal);
    found.push(...response.results);
    for (const warning of response.warnings) warnings.add(warning);
  }
  const results = bestOf(found).slice(0, request.max_num_results);
  const data = await itemsOf(sql, results);
  const object = 'vector_store.search_results.page';
  return {
    page: { object, search_query: queries, data, has_more: false, next_page: null },
    warnings: [...warnings],
  };
}

function searchOf({ reranker }: SearchContext, request: VectorStoreSearchRequest, text: string): SearchRequest {
  const { ranker = 'none', score_threshold } = request.ranking_options ?? {};
  const { max_num_results: top_k, highlights, filters: filter } = request;
  const rerank = ranker !== 'none' && reranker !== null;
  return { ...SearchRequest.parse({ query: text, top_k, highlights, rerank }), filter, score_threshold };
}

/** Merge the results of several searches by score. A chunk found by several searches is one result. */
function bestOf(found: readonly Result[]): Result[] {
  const sorted = found.toSorted((a, b) => b.score - a.score);
  const ids = new Set<string>();
  return sorted.filter(({ id }) => !ids.has(id) && ids.add(id));
}

async function itemsOf(sql: Sql, results: readonly Result[]): Promise<VectorStoreSearchPage['data']> {
  const identities = await selectIdentities(sql, [...new Set(results.map((result) => result.document_id))]);
  return results.map((result) => {
    const { fileId, scalars } = identities.get(result.document_id) ?? { fileId: result.document_id, scalars: {} };
    return {
      file_id: fileId,
      filename: result.citation.file_name,
      score: result.score,
      relevance: result.relevance,
      relevance_score: result.relevance_score,
      ...(result.highlights === undefined ? {} : { highlights: result.highlights }),
      attributes: attributesOf(result.metadata, scalars),
      content: [{ type: 'text', text: result.text }],
    };
  });
}
