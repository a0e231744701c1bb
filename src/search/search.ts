import type { Table } from '@lancedb/lancedb';
import type { Caller } from '../access/caller.ts';
import { findCollection } from '../documents/store.ts';
import type { EmbeddedTexts, Embedder } from '../embedding/embedder.ts';
import { AppError } from '../platform/errors.ts';
import type { Sql } from '../platform/postgres.ts';
import { analyse, type WeightedTerms, weighTerms } from './analyser.ts';
import { collapse } from './collapse.ts';
import {
  type DocumentScope,
  findBucketIndex,
  findLiveDocuments,
  getIndexTable,
  type IndexTable,
  listLiveDocumentIds,
} from './index-store.ts';
import type { LanceTables } from './lance.ts';
import { type Candidate, type LegOptions, searchKeywords, searchVectors } from './legs.ts';
import { embedQuery, type PreparedQuery, prepareQuery, type QueryVector } from './prepare-query.ts';
import { isAnyOvertaken, type RankedChunk, rank, toResult } from './rank.ts';
import { rerankResults } from './rerank/rerank-results.ts';
import type { Reranker } from './rerank/reranker.ts';
import type { SearchRequest, SearchResponse } from './schema.ts';

/** Candidates that each leg fetches first, and the most it is asked for when most of them may not be seen. */
const CANDIDATES_MIN = 60;
const CANDIDATES_MAX = 3_200;
/** A filter that leaves at most this many documents is handed to the index; a wider one is applied after it. */
const PREFILTER_DOCUMENTS_MAX = 1_000;
/** When what may be seen is crowded out by what may not, up to this many documents are named to the index. */
const VISIBLE_DOCUMENTS_MAX = 10_000;
/** How often a search is done on an index that moves on under it. */
const TRIES_MAX = 3;

export interface SearchContext {
  readonly sql: Sql;
  readonly tables: LanceTables;
  readonly embedder: Embedder;
  readonly reranker: Reranker | null;
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
  const { sql } = context;
  const { bucketId, indexTable } = await findBucketIndex(sql, caller.orgId, bucketRef);
  const collection = request.collection ? await findCollection(sql, caller.orgId, bucketId, request.collection) : null;
  const rerankTopK = (request.rerank ? request.rerank_top_k : undefined) ?? request.top_k;
  const search: IndexSearch = {
    ...{ context, caller, request, signal },
    scope: { bucketId, collectionId: collection?.id ?? null, filter: request.filter ?? null },
    terms: weighTerms(analyse(request.query)),
    wanted: Math.max(request.top_k, rerankTopK),
  };
  const found = await searchNewest(search, indexTable);
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

interface IndexSearch {
  readonly context: SearchContext;
  readonly caller: Caller;
  readonly scope: DocumentScope;
  readonly request: SearchRequest;
  /** Of the query, analysed. */
  readonly terms: readonly WeightedTerms[];
  /** Chunks to find. */
  readonly wanted: number;
  readonly signal: AbortSignal | undefined;
}

interface Found {
  readonly embedded: EmbeddedTexts | null;
  readonly warnings: readonly string[];
  /** At most as many as are wanted, best first. */
  readonly chunks: readonly RankedChunk[];
  /** Of a document that was found, PostgreSQL names other chunks by now, and none of those was found. */
  readonly isOvertaken: boolean;
}

/**
 * What is visible now may have been written under the search, into a newer version of the table or another table; and
 * where a deletion took the older one off the storage meanwhile, reading it fails. Then it is searched where it is now.
 */
async function searchNewest(search: IndexSearch, newest: IndexTable | null): Promise<Found> {
  const { context, caller, request, signal } = search;
  const embed = () => withoutWaiting(embedQuery(context.embedder, caller, request, signal));
  let indexTable = newest;
  let embedding = embed();
  for (let tries = 1; ; tries++) {
    const outcome = await searchIndex(search, indexTable, embedding).catch((error: unknown) => {
      if (error instanceof AppError || signal?.aborted) throw error;
      return { error };
    });
    if (!('error' in outcome) && !outcome.isOvertaken) return outcome;
    const present = await getIndexTable(context.sql, search.scope.bucketId);
    const isThere = present?.name === indexTable?.name && present?.version === indexTable?.version;
    if (isThere || tries === TRIES_MAX) {
      if ('error' in outcome) throw outcome.error;
      return outcome;
    }
    // Moved to another space, the bucket may be comparable by now.
    if (present?.space !== indexTable?.space) embedding = embed();
    indexTable = present;
  }
}

/** A promise that is awaited later, if at all: that it fails is no news before. */
function withoutWaiting<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined);
  return promise;
}

async function searchIndex(
  search: IndexSearch,
  indexTable: IndexTable | null,
  embedding: Promise<QueryVector>,
): Promise<Found> {
  const { context, caller, scope, request, terms, wanted } = search;
  const { sql } = context;
  const table = indexTable && (await context.tables.read(indexTable.name, indexTable.version));
  const isNarrowed = scope.filter !== null || scope.collectionId !== null;
  let documentIds = table && isNarrowed ? await listLiveDocumentIds(sql, caller, scope, PREFILTER_DOCUMENTS_MAX) : null;
  const preparing = withoutWaiting(
    embedding.then((vector) => prepareQuery(request, terms, vector, indexTable?.space ?? null)),
  );
  const finish = async (chunks: readonly RankedChunk[], isOvertaken: boolean, ...more: string[]): Promise<Found> => {
    const { embedded } = await embedding;
    return { embedded, warnings: [...(await preparing).warnings, ...more], chunks, isOvertaken };
  };
  if (!table || documentIds?.length === 0) return finish([], false);

  for (let limit = Math.max(CANDIDATES_MIN, wanted * 4); ; limit = Math.min(CANDIDATES_MAX, limit * 4)) {
    const { keyword, vector } = await context.tables.reach(
      searchLegs(table, search, preparing, { limit, documentIds }),
    );
    const ids = new Set([...keyword, ...vector].map((candidate) => candidate.documentId));
    const live = await findLiveDocuments(sql, caller, scope, [...ids]);
    const candidates = { keyword, vector, live };
    const perDocumentMax = request.max_per_document ?? null;
    const chunks = collapse(rank(candidates, await preparing), { wanted, perDocumentMax });
    const isOvertaken = isAnyOvertaken(candidates);
    const isExhausted = keyword.length < limit && vector.length < limit;
    if (chunks.length >= wanted || isExhausted || (limit === CANDIDATES_MAX && documentIds !== null)) {
      return finish(chunks, isOvertaken);
    }
    if (limit < CANDIDATES_MAX) continue;
    // Nearly all that matches may not be seen: name what may be, so that it cannot be crowded out.
    documentIds = await listLiveDocumentIds(sql, caller, scope, VISIBLE_DOCUMENTS_MAX);
    if (documentIds === null) {
      const warning =
        'too many matches may not be shown, so some that may be are missing; narrow the search by a filter';
      return finish(chunks, isOvertaken, warning);
    }
    if (documentIds.length === 0) return finish([], false);
  }
}

/** Both legs at once; keywords are looked up while the query is still being embedded. */
async function searchLegs(
  table: Table,
  { request, terms }: IndexSearch,
  preparing: Promise<PreparedQuery>,
  options: LegOptions,
): Promise<{ keyword: Candidate[]; vector: Candidate[] }> {
  const searchByTerms = () => searchKeywords(table, terms, options);
  const [keyword, vector] = await Promise.all([
    request.mode === 'vector'
      ? preparing.then(({ mode }) => (mode === 'keyword' ? searchByTerms() : []))
      : searchByTerms(),
    preparing.then((query) => (query.vector ? searchVectors(table, query.vector, options) : [])),
  ]);
  return { keyword, vector };
}
