import type { Caller } from '../access/caller.ts';
import { findBucket, findCollection } from '../documents/store.ts';
import { type EmbeddedTexts, type Embedder, embedForIndex } from '../embedding/embedder.ts';
import { AppError } from '../platform/errors.ts';
import type { Sql } from '../platform/postgres.ts';
import { analyse, type WeightedTerms, weighTerms } from './analyser.ts';
import { fuseRankings, type LegWeights, weightsFor } from './fuse.ts';
import {
  type DocumentScope,
  findLiveDocuments,
  getIndexTable,
  type IndexTable,
  type LiveDocument,
  listLiveDocumentIds,
} from './index-store.ts';
import type { LanceTables } from './lance.ts';
import { type Candidate, searchKeywords, searchVectors } from './legs.ts';
import type { Locator, SearchRequest, SearchResponse, SearchResult } from './schema.ts';

/** Candidates that each leg fetches first, and the most it is asked for when most of them may not be seen. */
const CANDIDATES_MIN = 60;
const CANDIDATES_MAX = 3_200;
/** A filter that leaves at most this many documents is handed to the index; a wider one is applied after it. */
const PREFILTER_DOCUMENTS_MAX = 1_000;
/** When what may be seen is crowded out by what may not, up to this many documents are named to the index. */
const VISIBLE_DOCUMENTS_MAX = 10_000;

export interface SearchContext {
  readonly sql: Sql;
  readonly tables: LanceTables;
  readonly embedder: Embedder;
}

/**
 * Find the chunks of a bucket that answer a query, best first: BM25 over the analysed text and cosine similarity
 * in the latent space, fused by weighted reciprocal rank; what the caller may see is decided by PostgreSQL.
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
  const bucket = await findBucket(sql, caller.orgId, bucketRef);
  const collection = request.collection ? await findCollection(sql, caller.orgId, bucket.id, request.collection) : null;
  const scope: DocumentScope = {
    bucketId: bucket.id,
    collectionId: collection?.id ?? null,
    filter: request.filter ?? null,
  };
  const indexTable = await getIndexTable(sql, bucket.id);
  const { reply, isOvertaken } = await searchIndex(context, caller, scope, request, indexTable, signal);
  if (!isOvertaken) return reply;
  const present = await getIndexTable(sql, bucket.id);
  if (present?.name === indexTable?.name && present?.version === indexTable?.version) return reply;
  // What is visible now was written under the search: into a newer version of the table, or another table.
  return (await searchIndex(context, caller, scope, request, present, signal)).reply;
}

interface Found {
  readonly reply: SearchResponse;
  /** Of a document that was found, PostgreSQL names newer chunks by now, and none of those was found. */
  readonly isOvertaken: boolean;
}

async function searchIndex(
  context: SearchContext,
  caller: Caller,
  scope: DocumentScope,
  request: SearchRequest,
  indexTable: IndexTable | null,
  signal?: AbortSignal,
): Promise<Found> {
  const { sql } = context;
  const warnings: string[] = [];
  if (request.rerank) warnings.push('no reranker is configured; results are in fused order');
  const query = await prepareQuery(context, caller, request, indexTable?.space ?? null, warnings, signal);
  const reply = {
    object: 'list' as const,
    bucket_id: scope.bucketId,
    model: query.embedded?.model ?? null,
    usage: { tokens: query.embedded?.tokens ?? 0 },
    warnings,
  };
  const table = indexTable && (await context.tables.read(indexTable.name, indexTable.version));
  const nothing = { reply: { ...reply, results: [] }, isOvertaken: false };
  if (!table) return nothing;

  const isNarrowed = scope.filter !== null || scope.collectionId !== null;
  let documentIds = isNarrowed ? await listLiveDocumentIds(sql, caller, scope, PREFILTER_DOCUMENTS_MAX) : null;
  if (documentIds?.length === 0) return nothing;

  let isOvertaken = false;
  const finish = (ranked: SearchResult[]): Found => {
    const results = ranked.filter((result) => result.score >= (request.score_threshold ?? 0)).slice(0, request.top_k);
    return { reply: { ...reply, results }, isOvertaken };
  };
  for (let limit = Math.max(CANDIDATES_MIN, request.top_k * 4); ; limit = Math.min(CANDIDATES_MAX, limit * 4)) {
    const options = { limit, documentIds };
    const [keyword, vector] = await Promise.all([
      query.mode === 'vector' ? [] : searchKeywords(table, query.terms, options),
      query.vector ? searchVectors(table, query.vector, options) : [],
    ]);
    const found = new Set([...keyword, ...vector].map((candidate) => candidate.documentId));
    const live = await findLiveDocuments(sql, caller, scope, [...found]);
    isOvertaken = isAnyOvertaken([...keyword, ...vector], live);
    const ranked = rank(keyword, vector, live, query);
    const isExhausted = keyword.length < limit && vector.length < limit;
    if (ranked.length >= request.top_k || isExhausted || (limit === CANDIDATES_MAX && documentIds !== null)) {
      return finish(ranked);
    }
    if (limit < CANDIDATES_MAX) continue;
    // Nearly all that matches may not be seen: name what may be, so that it cannot be crowded out.
    documentIds = await listLiveDocumentIds(sql, caller, scope, VISIBLE_DOCUMENTS_MAX);
    if (documentIds === null) {
      warnings.push(
        'too many matches may not be shown, so some that may be are missing; narrow the search by a filter',
      );
      return finish(ranked);
    }
    if (documentIds.length === 0) return nothing;
  }
}

interface PreparedQuery {
  /** The legs that are really searched. */
  readonly mode: SearchRequest['mode'];
  readonly terms: readonly WeightedTerms[];
  readonly vector: Float32Array | null;
  readonly embedded: EmbeddedTexts | null;
  readonly weights: LegWeights;
}

/** Analyse and embed. A query vector of another space than the bucket's leaves the keyword leg alone. */
async function prepareQuery(
  context: SearchContext,
  caller: Caller,
  request: SearchRequest,
  space: string | null,
  warnings: string[],
  signal?: AbortSignal,
): Promise<PreparedQuery> {
  const terms = weighTerms(analyse(request.query));
  if (request.mode === 'keyword') {
    return { mode: 'keyword', terms, vector: null, embedded: null, weights: weightsFor('lexical') };
  }
  const embedded = await embedQuery(context.embedder, caller, request, warnings, signal);
  if (embedded === null) return { mode: 'keyword', terms, vector: null, embedded, weights: weightsFor('lexical') };
  const weights = weightsFor(embedded.kind);
  if (space !== null && space !== embedded.space) {
    warnings.push(
      `the bucket's vectors (${space}) cannot be compared with ${embedded.model} (${embedded.space}); searched by keyword only`,
    );
    return { mode: 'keyword', terms, vector: null, embedded, weights };
  }
  // A query of stop words or punctuation has no direction worth following.
  const vector = terms.length === 0 && embedded.kind === 'lexical' ? null : embedded.vectors;
  return { mode: request.mode, terms, vector, embedded, weights };
}

/** Reasons for which a search does without the query's vector instead of failing. */
const DEGRADES = new Set([
  'provider_unavailable',
  'upstream_rejected',
  'projection_unusable',
  'quota_exceeded',
  'axis_not_in_plan',
]);

/** Null, with a warning: there is no vector for this query now. */
async function embedQuery(
  embedder: Embedder,
  caller: Caller,
  request: SearchRequest,
  warnings: string[],
  signal: AbortSignal | undefined,
): Promise<EmbeddedTexts | null> {
  const account = { orgId: caller.orgId, plan: caller.plan };
  try {
    return await embedForIndex(embedder, {
      texts: [request.query],
      taskType: request.task,
      orgId: caller.orgId,
      charge: { account, axis: 'embed', internal: true },
      signal,
    });
  } catch (error) {
    if (!(error instanceof AppError) || !DEGRADES.has(error.code) || signal?.aborted) throw error;
    warnings.push(`the query could not be embedded (${error.message}); searched by keyword only`);
    return null;
  }
}

function isAnyOvertaken(candidates: readonly Candidate[], live: ReadonlyMap<string, LiveDocument>): boolean {
  const present = new Set(
    candidates
      .filter((each) => live.get(each.documentId)?.generation === each.generation)
      .map((each) => each.documentId),
  );
  return candidates.some((each) => {
    const document = live.get(each.documentId);
    return document !== undefined && document.generation > each.generation && !present.has(each.documentId);
  });
}

function rank(
  keyword: Candidate[],
  vector: Candidate[],
  live: ReadonlyMap<string, LiveDocument>,
  { weights, mode }: PreparedQuery,
): SearchResult[] {
  const visible = (candidate: Candidate) => live.get(candidate.documentId)?.generation === candidate.generation;
  const byKeyword = new Map(keyword.filter(visible).map((candidate) => [candidate.chunkId, candidate]));
  const byVector = new Map(vector.filter(visible).map((candidate) => [candidate.chunkId, candidate]));
  const fused = fuseRankings({ keyword: [...byKeyword.keys()], vector: [...byVector.keys()] }, weights, mode);
  return fused.map((hit) => {
    const candidate = (byKeyword.get(hit.id) ?? byVector.get(hit.id)) as Candidate;
    const { document } = live.get(candidate.documentId) as LiveDocument;
    return {
      id: candidate.chunkId,
      document_id: candidate.documentId,
      chunk_index: candidate.chunkIndex,
      text: candidate.text,
      score: hit.score,
      scores: {
        vector_score: byVector.get(hit.id)?.score ?? null,
        bm25_score: byKeyword.get(hit.id)?.score ?? null,
        rrf_score: hit.rrf,
        rerank_score: null,
      },
      metadata: document.metadata,
      citation: {
        file_name: document.file_name,
        source_path: document.source_path,
        locator: JSON.parse(candidate.locator) as Locator,
        url: null,
      },
    };
  });
}
