import { AppError } from '../../platform/errors.ts';
import { leavePlaceFor } from '../../platform/work-context.ts';
import type { Reranker } from '../../rerank/reranker.ts';
import type { SearchResult } from '../schema.ts';

/** Error codes after which results keep their order. */
const FAILURES = new Set(['provider_unavailable', 'upstream_rejected', 'server_busy']);

/**
 * Reorder results by reranker scores. Results without text, which a reranker can't read, come last with score 0.
 * Without a reranker, or if it fails or times out, keep the order and add a warning.
 *
 * @throws the reason of the signal once it is aborted
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
  const readable = results.filter(({ text }) => text !== '');
  const unread = results.length - readable.length;
  if (unread > 0) warnings.push(`the reranker did not read ${unread} of the results, which have no text`);
  if (readable.length === 0) return results;
  let scores: readonly number[];
  try {
    const texts = readable.map((result) => result.text.toWellFormed());
    ({ scores } = await leavePlaceFor(() => reranker.score({ query, texts }, signal)));
  } catch (error) {
    if (signal?.aborted || !(error instanceof AppError) || !FAILURES.has(error.code)) throw error;
    const isLate = error.details?.['cause'] === 'timeout';
    warnings.push(`the reranker ${isLate ? 'did not answer in time' : 'is not available'}; results are in fused order`);
    return results;
  }
  const reranked = readable
    .map((result, index) => ({ result, score: scores[index] as number }))
    // The sort is stable, so equal scores keep the fused order.
    .sort((a, b) => b.score - a.score)
    .map(({ result, score: raw }) => {
      const score = Math.min(1, Math.max(0, raw));
      return { ...result, score, scores: { ...result.scores, rerank_score: score } };
    });
  return [...reranked, ...results.filter(({ text }) => text === '').map((result) => ({ ...result, score: 0 }))];
}
