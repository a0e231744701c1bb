import type { Caller } from '../access/caller.ts';
import type { FairGate } from '../platform/fair-gate.ts';
import { QUERY_MS } from '../platform/postgres.ts';
import type { Reranker } from '../rerank/reranker.ts';
import { type AttemptContext, searchTarget } from './attempt.ts';
import { toResult } from './rank.ts';
import { readBucketTarget } from './read-target.ts';
import { relevanceOfAnswer } from './relevance/schema.ts';
import { citePlaces } from './results/cite-place.ts';
import { explainTerms } from './results/explain-results.ts';
import { highlightResults } from './results/highlight-results.ts';
import type { ResultLinks } from './results/link-results.ts';
import { orderResults, wantedOf } from './results/order-results.ts';
import type { SearchRequest, SearchResponse } from './schema.ts';
import type { Found } from './search-index.ts';
import type { SearchRecorder } from './search-recorder.ts';

export interface SearchContext extends AttemptContext {
  readonly reranker: Reranker | null;
  readonly links: ResultLinks;
  /** Recorder of searches; null for internal searches. */
  readonly log: SearchRecorder | null;
  /** Each organization's share of the connections to PostgreSQL. */
  readonly queryShares: FairGate;
}

/**
 * Find the chunks of a bucket that answer a query, best first: BM25 over the analysed text and cosine similarity in the
 * latent space, fused as `fuse.ts` says. PostgreSQL decides which chunks the caller may see. With `rerank`,
 * the reranker scores the best `max(top_k, rerank_top_k)` chunks, and the best `min(top_k, rerank_top_k)` by that score
 * are returned.
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
  const beganMs = performance.now();
  const share = { gate: context.queryShares, owner: caller.orgId };
  const sql = context.sql.limited({ ms: QUERY_MS.search, signal, share });
  const input = { context: { ...context, sql }, caller, request, signal, wanted: wantedOf(request) };
  const { target, found } = await searchTarget(input, () =>
    readBucketTarget(input.context, caller, bucketRef, request.collection),
  );
  const [{ chunks, terms, corrected, embedded, warnings: notes }] = found as [Found];
  const warnings = [...notes];
  const fused = chunks.map((chunk) => toResult(chunk, request));
  const returned = await orderResults(context.reranker, request, fused, warnings, signal);
  const highlighted = await highlightResults(await citePlaces(returned, terms), terms, request);
  const results = await explainTerms(highlighted, terms);
  const bucketId = target.indexes[0]?.bucketId as string;
  const answer = relevanceOfAnswer(results);
  const { query, mode } = request;
  const searched = { query, mode, beganMs, bucketIds: [bucketId], results: results.length };
  return {
    object: 'list',
    search_id: context.log?.record(caller, { ...searched, relevance: answer.relevance }) ?? null,
    bucket_id: bucketId,
    model: embedded?.model ?? null,
    results,
    ...answer,
    corrected: [...corrected],
    usage: { tokens: embedded?.tokens ?? 0 },
    warnings,
  };
}
