import { z } from 'zod';
import type { Caller } from '../access/caller.ts';
import { BucketRef } from '../documents/schema.ts';
import { QUERY_MS } from '../platform/postgres.ts';
import { relevanceOfAnswer } from './relevance/schema.ts';
import { explainTerms } from './results/explain-results.ts';
import { DocumentResult } from './results/group-documents.ts';
import { highlightResults } from './results/highlight-results.ts';
import { orderResults, wantedOf } from './results/order-results.ts';
import { BUCKETS_MAX, SearchRequest, SearchResponse, SearchResult } from './schema.ts';
import type { SearchContext } from './search.ts';
import { searchBuckets } from './search-buckets.ts';

/** Body of `POST /v2/search`: that of a search of one bucket, without the collection. */
export const SeveralRequest = SearchRequest.omit({ collection: true }).extend({
  buckets: z.array(BucketRef).min(1).max(BUCKETS_MAX),
});
export type SeveralRequest = z.output<typeof SeveralRequest>;

const SeveralResult = SearchResult.extend({ bucket_id: z.string() }).meta({ id: 'BucketSearchResult' });

export const SeveralResponse = SearchResponse.omit({ bucket_id: true })
  .extend({
    bucket_ids: z.array(z.string()),
    results: z.array(SeveralResult),
  })
  .meta({ id: 'SeveralSearchResults' });
/** Response of a document search in several buckets. */
export const SeveralDocuments = SeveralResponse.extend({
  group_by: z.literal('document'),
  results: z.array(
    DocumentResult.extend({ bucket_id: z.string(), passages: z.array(SeveralResult) }).meta({
      id: 'BucketDocumentResult',
    }),
  ),
}).meta({ id: 'SeveralDocumentSearchResults' });

export type SeveralResponse = z.output<typeof SeveralResponse>;

/**
 * Search several buckets like `searchBuckets`, with the reranking and the threshold of a search of one bucket.
 *
 * @throws AppError `bucket_not_found` (404)
 */
export async function searchSeveral(
  context: SearchContext,
  caller: Caller,
  request: SeveralRequest,
  signal?: AbortSignal,
): Promise<SeveralResponse> {
  const beganMs = performance.now();
  const share = { gate: context.queryShares, owner: caller.orgId };
  const sql = context.sql.limited({ ms: QUERY_MS.search, signal, share });
  const search = { ...request, top_k: wantedOf(request) };
  const found = await searchBuckets({ ...context, sql }, caller, request.buckets, search, { signal });
  const warnings = [...found.warnings];
  const ordered = await orderResults(context.reranker, request, found.results, warnings, signal);
  const highlighted = await highlightResults(ordered, found.terms, request);
  const results = await explainTerms(highlighted, found.terms);
  const answer = relevanceOfAnswer(results);
  const { query, mode } = request;
  const searched = { query, mode, beganMs, bucketIds: found.bucketIds, results: results.length };
  return {
    object: 'list',
    search_id: context.log?.record(caller, { ...searched, relevance: answer.relevance }) ?? null,
    bucket_ids: [...found.bucketIds],
    model: found.model,
    results,
    ...answer,
    corrected: [...found.corrected],
    usage: { tokens: found.tokens },
    warnings,
  };
}
