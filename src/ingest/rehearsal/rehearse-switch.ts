import { setImmediate } from 'node:timers/promises';
import { recordAudit } from '../../access/audit.ts';
import { type Caller, requireScope } from '../../access/caller.ts';
import { findBucket, requireReach } from '../../documents/buckets.ts';
import type { Embedder } from '../../embedding/embedder.ts';
import { getIndexTable } from '../../index/index-store.ts';
import type { JudgedQuery } from '../../insight/tune-weights.ts';
import { conflict } from '../../platform/errors.ts';
import type { SearchLogSettings } from '../../platform/search-settings.ts';
import { INDEX_DIMENSIONS } from '../../projection/resize.ts';
import { CANDIDATES_MIN, type LegHit } from '../../search/fuse.ts';
import { SearchRequest, type SearchResult } from '../../search/schema.ts';
import { type SearchContext, searchBucket } from '../../search/search.ts';
import type { Ingest } from '../open-ingest.ts';
import { planReembed, type ReembedContext, type ReembedPlan, tokensOfChunk } from '../reindex/plan-reembed.ts';
import { describePlan } from '../reindex/reembed-job.ts';
import { chooseQueries } from './choose-queries.ts';
import { compareRankings, rounded, roundQuery } from './compare-rankings.ts';
import { embedTexts } from './embed-texts.ts';
import type { Rehearsal, RehearsalBody, RehearsedQuery } from './schema.ts';
import { type Sample, takeSample } from './take-sample.ts';

export interface RehearsalContext extends ReembedContext {
  readonly embedder: Embedder;
  readonly search: SearchContext;
  readonly logSettings: SearchLogSettings;
}

/** Build the context of rehearsals from the parts of an installation. */
export function rehearsalContext(parts: {
  readonly ingest: Pick<Ingest, 'reembed' | 'reindex'>;
  readonly search: SearchContext;
  readonly config: { readonly search: { readonly log: SearchLogSettings } };
}): RehearsalContext {
  const { ingest, search, config } = parts;
  return { ...ingest.reembed, embedder: ingest.reindex.embedder, search, logSettings: config.search.log };
}

const FOUND_OF_LEG = 10;
/** Mean characters per token, for estimating the tokens of queries. */
const CHARS_PER_TOKEN = 4;
const FLOAT_BYTES = 4;
const HALF_BYTES = 2;

interface Options {
  readonly signal: AbortSignal;
  /** Called with the number of chunks embedded by the candidate. */
  readonly onProgress?: (done: number) => void;
}

/**
 * Compare a candidate model with a bucket's current model before moving the bucket: embed a sample of its chunks and
 * some queries with the candidate, and rank the sample with both models. The texts are metered, and the audit log gets
 * an entry, since they go to the candidate's vendor. Write nothing else.
 *
 * @throws AppError those of `planReembed`, of `chooseQueries` and of the embedder; `scope_missing`, `out_of_reach`
 *   (403): a document is hidden from the caller; `same_model` (409); `not_comparable` (409): no model of the
 *   installation embeds queries for the current vectors; the reason of the signal
 */
export async function rehearseSwitch(
  context: RehearsalContext,
  caller: Caller,
  bucketRef: string,
  request: RehearsalBody,
  options: Options,
): Promise<Rehearsal> {
  requireScope(caller, 'buckets:manage');
  const bucket = await findBucket(context.sql, caller, bucketRef);
  await requireReach(context.sql, caller, bucket.id);
  const plan = await planReembed(context, caller, { bucket: bucket.id, model: request.model });
  if (plan.origin.model === plan.from.model && plan.origin.space === plan.from.space) {
    throw conflict(`the bucket already has vectors of ${plan.origin.model}; name another model`, 'same_model');
  }
  const queries = await chooseQueries(context, caller, bucket.id, request.queries);
  if (request.dry_run) return estimate(context, caller, plan, request, queries);
  const detail = { model: request.model, sample: request.sample, queries: queries.length };
  const { orgId, actor } = caller;
  await recordAudit(context.sql, { orgId, actor, action: 'bucket.rehearse', target: bucket.id, detail });
  const legs = await searchNow(context, caller, bucket.id, queries, options.signal);
  const sample = await takeSample(
    context,
    caller,
    {
      bucketId: bucket.id,
      space: plan.from.space,
      size: request.sample,
      found: chunksToFind(legs),
      judged: new Set(queries.flatMap(({ relevant }) => [...relevant.keys()])),
    },
    options.signal,
  );
  return compare(context, caller, { plan, request, queries, legs, sample }, options);
}

/** Estimate the cost of a rehearsal from the mean chunk length. */
async function estimate(
  context: RehearsalContext,
  { orgId }: Caller,
  plan: ReembedPlan,
  request: RehearsalBody,
  queries: readonly JudgedQuery[],
): Promise<Rehearsal> {
  const chunks = Math.min(request.sample, plan.chunks);
  const chars = queries.reduce((sum, { query }) => sum + query.length, 0);
  const perChunk = await tokensOfChunk(context, orgId, plan.bucketId);
  const tokens = Math.ceil(chunks * perChunk + chars / CHARS_PER_TOKEN);
  const price = context.backends.indexModelsOf(plan.model).models[0]?.pricePerMillion ?? 0;
  return {
    ...describeRequest(plan, request, queries),
    sample: { documents: null, chunks },
    rehearsal: { texts: chunks + queries.length, tokens, cost: (tokens * price) / 1e6, seconds: null },
    whole_bucket: wholeBucket(context, plan, null),
    overlap: null,
    mean_move: null,
    ndcg: null,
    results: [],
    warnings: [],
  };
}

interface Rehearsed {
  readonly plan: ReembedPlan;
  readonly request: RehearsalBody;
  readonly queries: readonly JudgedQuery[];
  readonly legs: readonly FoundNow[];
  readonly sample: Sample;
}

async function compare(
  context: RehearsalContext,
  caller: Caller,
  { plan, request, queries, legs, sample }: Rehearsed,
  { signal, onProgress }: Options,
): Promise<Rehearsal> {
  const { embedder } = context;
  const { chunks } = sample;
  const ofQueries = {
    texts: queries.map(({ query }) => query),
    taskType: 'retrieval_query',
    orgId: caller.orgId,
  } as const;
  const search = { account: caller, axis: 'embed', internal: true } as const;
  const present = await embedTexts(embedder, { ...ofQueries, origin: plan.from, charge: search }, { signal });
  const candidate = {
    model: (plan.embedder ?? plan.model).id,
    origin: plan.origin,
    orgId: caller.orgId,
    charge: { account: caller, axis: 'embed_batch' },
  } as const;
  const beganMs = performance.now();
  const asked = await embedTexts(embedder, { ...candidate, ...ofQueries }, { signal });
  const texts = chunks.map(({ embedText }) => embedText);
  const made = await embedTexts(
    embedder,
    { ...candidate, texts, taskType: 'retrieval_document', isBulk: true },
    { signal, ...(onProgress ? { onProgress } : {}) },
  );
  const seconds = (performance.now() - beganMs) / 1_000;
  const weights = (await getIndexTable(context.sql, plan.bucketId))?.weights ?? null;
  const results: RehearsedQuery[] = [];
  const ids = new Set(chunks.map(({ id }) => id));
  const vectors = chunks.map(({ vector }) => vector);
  for (const [at, judged] of queries.entries()) {
    signal.throwIfAborted();
    const before = { kind: present.kind, weights, query: present.vectors[at] as Float32Array, vectors };
    const after = { kind: made.kind, weights: null, query: asked.vectors[at] as Float32Array, vectors: made.vectors };
    const keyword = request.mode === 'vector' ? [] : (legs[at]?.keyword ?? []).filter(({ id }) => ids.has(id));
    results.push(compareRankings(judged, { chunks, mode: request.mode, keyword, before, after }));
    await setImmediate();
  }
  const textsCount = chunks.length + queries.length;
  return {
    ...describeRequest(plan, request, queries),
    sample: { documents: sample.documents, chunks: chunks.length },
    rehearsal: {
      texts: textsCount,
      tokens: asked.tokens + made.tokens,
      cost: asked.cost + made.cost,
      seconds: rounded(seconds),
    },
    whole_bucket: wholeBucket(context, plan, seconds / textsCount),
    overlap: mean(results.map(({ overlap }) => overlap)),
    mean_move: mean(results.map(({ mean_move: move }) => move)),
    ndcg: meanNdcg(results),
    results: results.map(roundQuery),
    warnings: [...sample.warnings],
  };
}

function describeRequest(plan: ReembedPlan, { mode, dry_run }: RehearsalBody, queries: readonly JudgedQuery[]) {
  return {
    bucket_id: plan.bucketId,
    from_model: plan.from.model,
    model: plan.model.id,
    mode,
    dry_run,
    queries: queries.length,
    judged: queries.filter(({ relevant }) => relevant.size > 0).length,
  };
}

/** Estimate moving the entire bucket. @param secondsPerText null if not measured */
function wholeBucket({ backends }: RehearsalContext, plan: ReembedPlan, secondsPerText: number | null) {
  const { documents, chunks, texts, tokens, estimated_cost } = describePlan(plan, null, true);
  const natives = backends
    .indexModelsOf(plan.model)
    .models.map(({ kind, nativeDimension }) => (kind === 'lexical' ? 0 : nativeDimension * HALF_BYTES));
  // The index and the stored chunks each hold the index vectors. The stored chunks also hold native ones.
  const bytesOfChunk = 2 * INDEX_DIMENSIONS * FLOAT_BYTES + Math.max(...natives);
  return {
    documents,
    chunks,
    texts,
    tokens,
    estimated_cost,
    estimated_seconds: secondsPerText === null ? null : rounded(texts * secondsPerText),
    vector_bytes: chunks * bytesOfChunk,
  };
}

/** Chunks that searches currently find for a query. */
interface FoundNow {
  readonly keyword: readonly LegHit[];
  /** Best chunks of both legs with their documents, best first. */
  readonly best: readonly Pick<SearchResult, 'id' | 'document_id'>[];
}

async function searchNow(
  context: RehearsalContext,
  caller: Caller,
  bucketId: string,
  queries: readonly JudgedQuery[],
  signal: AbortSignal,
): Promise<FoundNow[]> {
  const search = async (query: string, mode: 'keyword' | 'vector', top_k: number) =>
    searchBucket(
      { ...context.search, log: null },
      caller,
      bucketId,
      SearchRequest.parse({ query, mode, top_k }),
      signal,
    );
  const found: FoundNow[] = [];
  for (const { query } of queries) {
    const vector = await search(query, 'vector', FOUND_OF_LEG);
    if (vector.model === null) {
      const reason = vector.warnings[0] ?? 'no model';
      throw conflict(`the present model cannot embed "${query}" (${reason}); rehearse later`, 'not_embedded');
    }
    const keyword = await search(query, 'keyword', CANDIDATES_MIN);
    found.push({
      keyword: keyword.results.map(({ id, scores }) => ({ id, score: scores.bm25_score ?? 0 })),
      best: Array.from({ length: FOUND_OF_LEG }).flatMap((_, at) =>
        [vector.results[at], keyword.results[at]].filter((each) => each !== undefined),
      ),
    });
  }
  return found;
}

/** List the chunks that the sample must contain, with their documents: the best of each query first. */
function chunksToFind(legs: readonly FoundNow[]): Map<string, string> {
  const found = new Map<string, string>();
  for (let at = 0; at < 2 * FOUND_OF_LEG; at++) {
    for (const { best } of legs) {
      const hit = best[at];
      if (hit !== undefined) found.set(hit.id, hit.document_id);
    }
  }
  return found;
}

function mean(values: readonly number[]): number {
  return rounded(values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length));
}

function meanNdcg(results: readonly RehearsedQuery[]): Rehearsal['ndcg'] {
  const judged = results.flatMap(({ ndcg }) => ndcg ?? []);
  if (judged.length === 0) return null;
  return { before: mean(judged.map(({ before }) => before)), after: mean(judged.map(({ after }) => after)) };
}
