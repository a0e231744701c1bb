import type { Reranker } from '../../rerank/reranker.ts';
import type { SearchRequest, SearchResult } from '../schema.ts';
import { rerankResults } from './rerank-results.ts';

type Ordering = Pick<SearchRequest, 'query' | 'top_k' | 'rerank' | 'rerank_top_k' | 'score_threshold'>;

/** Compute the number of chunks that a search needs to find. */
export function wantedOf({ top_k: topK, rerank, rerank_top_k: rerankTopK }: Ordering): number {
  return Math.max(topK, (rerank ? rerankTopK : undefined) ?? topK);
}

/**
 * Order and cut found chunks as the request asks. With `rerank`, the reranker scores all of them, and the best
 * `min(top_k, rerank_top_k)` by that score are returned.
 *
 * @param warnings gets a line if the reranker cannot be used
 */
export async function orderResults<R extends SearchResult>(
  reranker: Reranker | null,
  request: Ordering,
  fused: readonly R[],
  warnings: string[],
  signal: AbortSignal | undefined,
): Promise<R[]> {
  const { query, top_k: topK, rerank, rerank_top_k: rerankTopK, score_threshold: threshold = 0 } = request;
  const ordered = rerank ? await rerankResults(reranker, query, fused, warnings, signal) : fused;
  const returnedMax = Math.min(topK, (rerank ? rerankTopK : undefined) ?? topK);
  return ordered.filter((result) => result.score >= threshold).slice(0, returnedMax);
}
