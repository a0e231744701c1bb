import type { Caller } from '../access/caller.ts';
import { findCollection } from '../documents/store.ts';
import type { Embedder } from '../embedding/embedder.ts';
import { analyse, weighTerms } from '../language/analyser.ts';
import { AppError } from '../platform/errors.ts';
import type { Sql } from '../platform/postgres.ts';
import { withoutWaiting } from '../platform/without-waiting.ts';
import { type BucketIndex, findBucketIndex, getIndexTable, isSameTable } from './index-store.ts';
import type { LanceTables } from './lance.ts';
import { embedQuery, type QueryVector } from './prepare-query.ts';
import { toResult } from './rank.ts';
import { rerankResults } from './rerank/rerank-results.ts';
import type { Reranker } from './rerank/reranker.ts';
import type { SearchRequest, SearchResponse } from './schema.ts';
import { type Found, type IndexSearch, searchIndex } from './search-index.ts';
import type { SeenIndexes } from './seen-indexes.ts';

/** How often a search is done on an index that moves on under it. */
const TRIES_MAX = 3;

export interface SearchContext {
  readonly sql: Sql;
  readonly tables: LanceTables;
  readonly embedder: Embedder;
  readonly reranker: Reranker | null;
  readonly seen: SeenIndexes;
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
  const asked: Asked = {
    ...{ context, caller, bucketRef, request, signal },
    wanted: Math.max(request.top_k, rerankTopK),
  };
  const { bucketId, found } = await searchPresent(asked);
  const warnings = [...found.warnings];
  const fused = found.chunks.map(toResult);
  const ordered = request.rerank
    ? await rerankResults(context.reranker, request.query, fused, warnings, signal)
    : fused;
  const given = Math.min(request.top_k, rerankTopK);
  return {
    object: 'list',
    bucket_id: bucketId,
    model: found.embedded?.model ?? null,
    results: ordered.filter((result) => result.score >= (request.score_threshold ?? 0)).slice(0, given),
    usage: { tokens: found.embedded?.tokens ?? 0 },
    warnings,
  };
}

interface Asked {
  readonly context: SearchContext;
  readonly caller: Caller;
  readonly bucketRef: string;
  readonly request: SearchRequest;
  /** Chunks to find. */
  readonly wanted: number;
  readonly signal: AbortSignal | undefined;
}

/** A search that is under way. */
interface Attempt {
  readonly search: IndexSearch;
  readonly at: BucketIndex;
  readonly embedding: Promise<QueryVector>;
  readonly outcome: Promise<Found>;
}

/**
 * Search the bucket's index as it is now. While PostgreSQL says which that is, it is searched where this process last saw
 * it, which is nearly always there; what was found elsewhere is thrown away.
 */
async function searchPresent(asked: Asked): Promise<{ bucketId: string; found: Found }> {
  const { context, caller, bucketRef, request } = asked;
  const seen = request.collection === undefined ? context.seen.get(caller.orgId, bucketRef) : undefined;
  const early = seen && begin(asked, seen, null);
  const at = await findBucketIndex(context.sql, caller.orgId, bucketRef).catch((error: unknown) => {
    // Gone, maybe: no query is embedded for a bucket that is not there.
    context.seen.forget(caller.orgId, bucketRef);
    throw error;
  });
  context.seen.remember(caller.orgId, bucketRef, at);
  if (early && early.at.bucketId === at.bucketId && isSameTable(early.at.indexTable, at.indexTable)) {
    return { bucketId: at.bucketId, found: await searchNewest(asked, early) };
  }
  const { collection } = request;
  const collectionId = collection
    ? (await findCollection(context.sql, caller.orgId, at.bucketId, collection)).id
    : null;
  return { bucketId: at.bucketId, found: await searchNewest(asked, begin(asked, at, collectionId, early?.embedding)) };
}

function begin(
  { context, caller, request, wanted, signal }: Asked,
  at: BucketIndex,
  collectionId: string | null,
  embedding = withoutWaiting(embedQuery(context.embedder, caller, request, signal)),
): Attempt {
  const search: IndexSearch = {
    ...{ sql: context.sql, tables: context.tables, caller, request, wanted },
    scope: { bucketId: at.bucketId, collectionId, filter: request.filter ?? null },
    terms: weighTerms(analyse(request.query)),
  };
  return { search, at, embedding, outcome: withoutWaiting(searchIndex(search, at.indexTable, embedding)) };
}

/**
 * What is visible now may have been written under the search, into a newer version of the table or another table; and
 * where a deletion took the older one off the storage meanwhile, reading it fails. Then it is searched where it is now.
 */
async function searchNewest(asked: Asked, first: Attempt): Promise<Found> {
  const { bucketId } = first.at;
  let attempt = first;
  for (let tries = 1; ; tries++) {
    const outcome = await attempt.outcome.catch((error: unknown) => {
      if (error instanceof AppError || asked.signal?.aborted) throw error;
      return { error };
    });
    if (!('error' in outcome) && !outcome.isOvertaken) return outcome;
    const indexTable = await getIndexTable(asked.context.sql, bucketId);
    if (isSameTable(indexTable, attempt.at.indexTable) || tries === TRIES_MAX) {
      if ('error' in outcome) throw outcome.error;
      return outcome;
    }
    attempt = begin(asked, { bucketId, indexTable }, attempt.search.scope.collectionId, attempt.embedding);
  }
}
