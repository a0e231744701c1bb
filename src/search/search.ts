import type { Caller } from '../access/caller.ts';
import { type Asked, type AttemptContext, finishAttempt } from './attempt.ts';
import { beginSearch, type LastSeenIndexes } from './early-start.ts';
import { toResult } from './rank.ts';
import { rerankResults } from './rerank/rerank-results.ts';
import type { Reranker } from './rerank/reranker.ts';
import type { SearchRequest, SearchResponse } from './schema.ts';

export interface SearchContext extends AttemptContext {
  readonly reranker: Reranker | null;
  readonly lastSeen: LastSeenIndexes;
}

/**
 * Find the chunks of a bucket that answer a query, best first: BM25 over the analysed text and cosine similarity
 * in the latent space, fused by weighted reciprocal rank; what the caller may see is decided by PostgreSQL. With
 * `rerank` the best `max(top_k, rerank_top_k)` of them are scored by the reranker, and the best
 * `min(top_k, rerank_top_k)` by that are given.
 *
 * @throws AppError `bucket_not_found`, `collection_not_found` (404)
 */
export async function searchBucket(
  context: SearchContext,
  caller: Caller,
  bucketRef: string,
  request: SearchRequest,
  signal?: AbortSignal,
): Promise<SearchResponse> {
  const rerankTopK = (request.rerank ? request.rerank_top_k : undefined) ?? request.top_k;
  const wanted = Math.max(request.top_k, rerankTopK);
  const asked: Asked = { context, caller, bucketRef, request, signal, wanted };
  const attempt = await beginSearch(asked, context.lastSeen);
  const found = await finishAttempt(asked, attempt);
  const warnings = [...found.warnings];
  const fused = found.chunks.map(toResult);
  const ordered = request.rerank
    ? await rerankResults(context.reranker, request.query, fused, warnings, signal)
    : fused;
  const given = Math.min(request.top_k, rerankTopK);
  return {
    object: 'list',
    bucket_id: attempt.at.bucketId,
    model: found.embedded?.model ?? null,
    results: ordered.filter((result) => result.score >= (request.score_threshold ?? 0)).slice(0, given),
    usage: { tokens: found.embedded?.tokens ?? 0 },
    warnings,
  };
}
