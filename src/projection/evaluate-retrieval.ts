import { detectLanguage } from '../language/detect-language.ts';
import type { Model } from '../models/catalog.ts';
import { invalidRequest } from '../platform/errors.ts';
import type { EmbedNative } from './calibration.ts';
import { topK, visitSimilarities } from './fit/neighbours.ts';
import type { Projections } from './projections.ts';
import { INDEX_DIMENSIONS } from './resize.ts';
import { ndcgAt, recallAt } from './retrieval-metrics.ts';

export interface JudgedText {
  readonly id: string;
  readonly text: string;
}

/** Documents and queries with relevance judgements. */
export interface JudgedCollection {
  readonly documents: readonly JudgedText[];
  readonly queries: readonly JudgedText[];
  /** Ids of the relevant documents, by query id. */
  readonly relevant: ReadonlyMap<string, ReadonlySet<string>>;
}

export interface RetrievalScores {
  /** ISO 639-1, `all`, or `und` for an undetected language. */
  readonly language: string;
  readonly queries: number;
  /** Search of the reference model's documents with this model's queries, both in the canonical space. */
  readonly cross: { readonly ndcg: number; readonly recall: number };
  /** Search with this model's own native vectors. */
  readonly native: { readonly ndcg: number; readonly recall: number };
  /** Ratio cross / native: 1 if both searches are equally good, null if the native search finds nothing. */
  readonly relative: { readonly ndcg: number | null; readonly recall: number | null };
}

const DEPTH = 10;
const BATCH_TEXTS = 100;

interface RetrievalContext {
  readonly embed: EmbedNative;
  readonly projections: Projections;
}

/**
 * Compute nDCG@10 and recall@10 for searching one model's documents with another model's queries, relative to the query
 * model's own search.
 *
 * @throws AppError `not_calibrated`, `nothing_judged` (400), `provider_unavailable` (502), and the reason of the signal
 */
export async function evaluateRetrieval(
  context: RetrievalContext,
  models: { model: Model; reference: Model },
  collection: JudgedCollection,
  options: { signal: AbortSignal; onProgress?: (embedded: number) => void },
): Promise<RetrievalScores[]> {
  const queries = collection.queries.filter(({ id }) => (collection.relevant.get(id)?.size ?? 0) > 0);
  if (queries.length === 0)
    throw invalidRequest(
      'no query has a relevant document; check that the ids of the judgements match the files',
      'qrels',
      'nothing_judged',
    );
  let embedded = 0;
  const embedAll = async (model: Model, texts: readonly JudgedText[], isQuery: boolean) => {
    const k = model.nativeDimension;
    const vectors = new Float32Array(texts.length * k);
    for (let from = 0; from < texts.length; from += BATCH_TEXTS) {
      const batch = texts.slice(from, from + BATCH_TEXTS).map(({ text }) => text);
      const taskType = isQuery ? 'retrieval_query' : 'retrieval_document';
      vectors.set(await context.embed({ model, texts: batch, taskType, signal: options.signal }), from * k);
      embedded += batch.length;
      options.onProgress?.(embedded);
    }
    return vectors;
  };
  const { model, reference } = models;
  const ownQueries = await embedAll(model, queries, true);
  const ownDocuments = await embedAll(model, collection.documents, false);
  const theirDocuments = await embedAll(reference, collection.documents, false);
  const canonicalQueries = await toCanonical(context, model, ownQueries);
  const canonicalDocuments = await toCanonical(context, reference, theirDocuments);
  const cross = rankAll(canonicalQueries, canonicalDocuments, INDEX_DIMENSIONS, collection);
  const native = rankAll(ownQueries, ownDocuments, model.nativeDimension, collection);
  const languages = await Promise.all(queries.map(async ({ text }) => (await detectLanguage(text)).language ?? 'und'));
  return ['all', ...new Set(languages)].map((language) => {
    const rows = queries.flatMap((_, row) => (language === 'all' || languages[row] === language ? [row] : []));
    const scoreOf = (ranked: readonly string[][]) => meanScores(rows, ranked, queries, collection);
    const [crossed, own] = [scoreOf(cross), scoreOf(native)];
    const share = (part: number, whole: number) => (whole > 0 ? part / whole : null);
    const relative = { ndcg: share(crossed.ndcg, own.ndcg), recall: share(crossed.recall, own.recall) };
    return { language, queries: rows.length, cross: crossed, native: own, relative };
  });
}

/** Return the number of texts that `evaluateRetrieval` embeds. */
export function textsToEmbed(collection: JudgedCollection): number {
  return 2 * collection.documents.length + collection.queries.length;
}

async function toCanonical(context: RetrievalContext, model: Model, native: Float32Array): Promise<Float32Array> {
  const map = context.projections.mapOf(model);
  if (map) return map.project(native, INDEX_DIMENSIONS);
  throw invalidRequest(
    `${model.id} has no map in use; run "service projections fit --model ${model.id}" first`,
    'model',
    'not_calibrated',
  );
}

function rankAll(
  queries: Float32Array,
  documents: Float32Array,
  columns: number,
  collection: JudgedCollection,
): string[][] {
  const ranked: string[][] = [];
  visitSimilarities(queries, documents, columns, (query, similarities) => {
    ranked[query] = [...topK(similarities, DEPTH, -1)].map((row) => collection.documents[row]?.id ?? '');
  });
  return ranked;
}

function meanScores(
  rows: readonly number[],
  ranked: readonly string[][],
  queries: readonly JudgedText[],
  { relevant }: JudgedCollection,
): { ndcg: number; recall: number } {
  let ndcg = 0;
  let recall = 0;
  for (const row of rows) {
    const wanted = relevant.get(queries[row]?.id ?? '') ?? new Set<string>();
    ndcg += ndcgAt(ranked[row] ?? [], wanted, DEPTH);
    recall += recallAt(ranked[row] ?? [], wanted, DEPTH);
  }
  return { ndcg: ndcg / rows.length, recall: recall / rows.length };
}
