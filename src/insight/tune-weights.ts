import { recordAudit } from '../access/audit.ts';
import { type Caller, requireScope } from '../access/caller.ts';
import { filterHiding } from '../documents/store.ts';
import { type LegWeights, updateLegWeights } from '../index/index-store.ts';
import { conflict, invalidRequest } from '../platform/errors.ts';
import { inTransaction } from '../platform/postgres.ts';
import { findBucketIndex } from '../search/bucket-index-store.ts';
import { CANDIDATES_MIN, fuseRankings, fusionFor, type LegHit } from '../search/fuse.ts';
import { SearchRequest, type SearchResult } from '../search/schema.ts';
import { type SearchContext, searchBucket } from '../search/search.ts';
import { ndcgOf } from './ndcg.ts';

/** Query with the documents that answer it (by id or file name) and their gains. */
export interface JudgedQuery {
  readonly query: string;
  readonly relevant: ReadonlyMap<string, number>;
}

/** Result of trying weights on judged queries. */
export interface TunedWeights {
  readonly bucket_id: string;
  readonly queries: number;
  /** Current weights, and their mean nDCG@10 over all queries. */
  readonly present: LegWeights & { readonly ndcg: number };
  /** Best weights found. */
  readonly best: LegWeights & { readonly ndcg: number };
  /** All weights tried, by increasing weight of the vector leg. */
  readonly tried: readonly (LegWeights & { readonly ndcg: number })[];
  /**
   * Expected gain for unseen queries, by two-fold cross-validation: the mean over two halves, each scored with the
   * weights tuned on the other.
   */
  readonly held_out_gain: number;
  readonly applied: boolean;
}

/** Vector weights to try with a keyword weight of 1. The last candidate uses vectors alone. */
const VECTOR_WEIGHTS = [0, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1, 1.5, 2, 3, 5, 10];
const TRIED_WEIGHTS: readonly LegWeights[] = [
  ...VECTOR_WEIGHTS.map((vector) => ({ keyword: 1, vector })),
  { keyword: 0, vector: 1 },
];
/** Minimum number of queries for a meaningful result. */
const QUERIES_MIN = 10;
const QUERIES_MAX = 10_000;

/** Chunks that each leg found for a query, with the names of their documents. */
interface Legs {
  readonly kind: 'lexical' | 'semantic';
  readonly keyword: readonly LegHit[];
  readonly vector: readonly LegHit[];
  /** False if the bucket hides documents. Searches then neither show BM25 scores nor fuse by them. */
  readonly showsScores: boolean;
  readonly documents: ReadonlyMap<string, string>;
  readonly relevant: ReadonlyMap<string, number>;
}

/**
 * Find the leg weights that rank the judged documents of a bucket best. With `apply`, store them.
 *
 * @throws AppError `bucket_not_found` (404), `scope_missing` (403), `invalid_request` (400), `bucket_empty` (409)
 */
export async function tuneWeights(
  context: SearchContext,
  caller: Caller,
  bucketRef: string,
  judged: readonly JudgedQuery[],
  options: { readonly apply: boolean; readonly signal: AbortSignal; readonly onQuery?: (done: number) => void },
): Promise<TunedWeights> {
  requireScope(caller, 'buckets:manage');
  if (judged.length < QUERIES_MIN || judged.length > QUERIES_MAX) {
    throw invalidRequest(`give ${QUERIES_MIN} to ${QUERIES_MAX} judged queries, not ${judged.length}`, 'queries');
  }
  const { bucketId, indexTable } = await findBucketIndex(context.sql, caller, bucketRef);
  if (indexTable?.origin === null || indexTable === null) throw conflict('the bucket is empty', 'bucket_empty');
  // If documents are hidden, `bm25_score` is derived from ranks and shows no clear lead.
  const showsScores = (await filterHiding(context.sql, caller, [bucketId])).size === 0;
  const legs: Legs[] = [];
  for (const each of judged) {
    legs.push(await searchLegs(context, caller, { bucketRef, showsScores }, each, options.signal));
    options.onQuery?.(legs.length);
  }
  if (!legs.some(({ documents, relevant }) => [...documents.values()].some((name) => relevant.has(name)))) {
    throw invalidRequest(
      'no search found a document that is judged relevant; name documents by id or file name',
      'queries',
    );
  }
  const present = indexTable.weights ?? fusionFor(legs.at(-1)?.kind ?? 'semantic', undefined, { showsScores }).weights;
  const best = bestOf(legs, present);
  if (options.apply) await keep(context, caller, bucketId, present, best);
  return {
    bucket_id: bucketId,
    queries: legs.length,
    applied: options.apply,
    present: { ...present, ndcg: round(meanNdcg(legs, present)) },
    best: { ...best, ndcg: round(meanNdcg(legs, best)) },
    tried: TRIED_WEIGHTS.map((weights) => ({ ...weights, ndcg: round(meanNdcg(legs, weights)) })),
    held_out_gain: round(heldOutGain(legs, present)),
  };
}

async function keep(
  context: SearchContext,
  { orgId, actor }: Caller,
  bucketId: string,
  before: LegWeights,
  after: LegWeights,
): Promise<void> {
  await inTransaction(context.sql, async (tx) => {
    await updateLegWeights(tx, bucketId, after);
    await recordAudit(tx, { orgId, actor, action: 'index.tune', target: bucketId, detail: { before, after } });
  });
}

async function searchLegs(
  context: SearchContext,
  caller: Caller,
  { bucketRef, showsScores }: { readonly bucketRef: string; readonly showsScores: boolean },
  { query, relevant }: JudgedQuery,
  signal: AbortSignal,
): Promise<Legs> {
  const search = async (mode: 'keyword' | 'vector') =>
    searchBucket(
      { ...context, log: null },
      caller,
      bucketRef,
      SearchRequest.parse({ query, mode, top_k: CANDIDATES_MIN }),
      signal,
    );
  const [keyword, vector] = [await search('keyword'), await search('vector')];
  if (vector.model === null) {
    throw conflict(`the queries cannot be embedded (${vector.warnings[0] ?? 'no model'}); tune later`, 'not_embedded');
  }
  const results = [...keyword.results, ...vector.results];
  const documents = new Map(results.map((result) => [result.id, nameOf(result, relevant)]));
  return {
    kind: vector.model.startsWith('local/lexical') ? 'lexical' : 'semantic',
    keyword: keyword.results.map(({ id, scores }) => ({ id, score: showsScores ? (scores.bm25_score as number) : 1 })),
    vector: vector.results.map(({ id, scores }) => ({ id, score: scores.vector_score ?? 0 })),
    showsScores,
    documents,
    relevant,
  };
}

/** Return the name that the judgements use for a document: its file name or its id. */
function nameOf({ document_id, citation }: SearchResult, relevant: ReadonlyMap<string, number>): string {
  return relevant.has(citation.file_name) ? citation.file_name : document_id;
}

/** Choose the best weights. Break ties by distance to the current weights. */
function bestOf(legs: readonly Legs[], present: LegWeights): LegWeights {
  let best = present;
  let score = meanNdcg(legs, present);
  for (const weights of TRIED_WEIGHTS) {
    const own = meanNdcg(legs, weights);
    if (own > score + 1e-9) [best, score] = [weights, own];
  }
  return best;
}

function heldOutGain(legs: readonly Legs[], present: LegWeights): number {
  const halves = [0, 1].map((half) => legs.filter((_, at) => at % 2 === half));
  const gains = halves.map((half, at) => {
    const tuned = bestOf(halves[1 - at] as Legs[], present);
    return meanNdcg(half, tuned) - meanNdcg(half, present);
  });
  return gains.reduce((sum, gain) => sum + gain, 0) / gains.length;
}

function meanNdcg(legs: readonly Legs[], weights: LegWeights): number {
  return legs.reduce((sum, each) => sum + ndcg(each, weights), 0) / legs.length;
}

/** Compute nDCG@10 of the documents of the fused chunks. Each document ranks at its first chunk. */
function ndcg({ kind, keyword, vector, showsScores, documents, relevant }: Legs, weights: LegWeights): number {
  const fusion = fusionFor(kind, weights, { showsScores });
  const fused = fuseRankings({ keyword, vector }, fusion, 'hybrid').filter(({ score }) => score > 0);
  return ndcgOf(
    fused.map(({ id }) => documents.get(id) as string),
    relevant,
  );
}

function round(value: number): number {
  return Math.round(value * 1e4) / 1e4;
}
