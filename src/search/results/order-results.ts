import type { Reranker } from '../../rerank/reranker.ts';
import type { SearchRequest, SearchResult } from '../schema.ts';
import { rerankResults } from './rerank-results.ts';

type Ordering = Pick<SearchRequest, 'query' | 'top_k' | 'rerank' | 'rerank_top_k' | 'score_threshold'>;

/** Return the number of chunks that a search must find. */
export function wantedOf({ top_k: topK, rerank, rerank_top_k: rerankTopK }: Ordering): number {
  return Math.max(topK, (rerank ? rerankTopK : undefined) ?? topK);
}

/**
 * Order and truncate found chunks as requested. With `rerank`, the reranker scores all of them, and the best
 * `min(top_k, rerank_top_k)` by that score remain.
 *
 * @param warnings receives a line if the reranker is unavailable
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
