import { AppError } from '../../platform/errors.ts';
import { leavePlaceFor } from '../../platform/work-context.ts';
import type { SearchResult } from '../schema.ts';
import type { Reranker } from './reranker.ts';

/**
 * Reorder results by the scores of a reranker. Without a reranker, or if it fails or times out, they stay in their
 * order and a warning is added.
 *
 * @throws the signal's reason once it is aborted
 */
export async function rerankResults<R extends SearchResult>(
  reranker: Reranker | null,
  query: string,
  results: readonly R[],
  warnings: string[],
  signal: AbortSignal | undefined,
): Promise<readonly R[]> {
  if (reranker === null) {
    warnings.push('no reranker is configured; results are in fused order');
    return results;
  }
  if (results.length === 0) return results;
  let scores: readonly number[];
  try {
    const texts = results.map((result) => result.text.toWellFormed());
    scores = await leavePlaceFor(() => reranker.score(query, texts, signal));
  } catch (error) {
    if (signal?.aborted || !(error instanceof AppError) || error.code !== 'provider_unavailable') throw error;
    const isLate = error.details?.['cause'] === 'timeout';
    warnings.push(`the reranker ${isLate ? 'did not answer in time' : 'is not available'}; results are in fused order`);
    return results;
  }
  return (
    results
      .map((result, index) => {
        const score = scores[index] as number;
        return { ...result, score, scores: { ...result.scores, rerank_score: score } };
      })
      // The sort is stable: results of equal score stay in fused order.
      .sort((a, b) => b.score - a.score)
  );
}
