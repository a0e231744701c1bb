import type { Caller } from '../access/caller.ts';
import { awaitLater } from '../platform/await-later.ts';
import { type AttemptContext, beginAttempt, finishAttempts } from './attempt.ts';
import { findBucketIndexes } from './bucket-index-store.ts';
import { citePlaces } from './cite-place.ts';
import type { CorrectedWord } from './describe-corrections.ts';
import type { DocumentCondition } from './documents/document-store.ts';
import { fuseRankings, type KeywordHit, weightsFor } from './fuse.ts';
import { originOf } from './index-store.ts';
import { embedQuery, type QueryVector } from './prepare-query.ts';
import { type JudgedChunk, toResult } from './rank.ts';
import type { SearchRequest, SearchResult } from './schema.ts';
import type { SearchedIndex } from './synonyms/synonym-cache.ts';

/** Result with the bucket that it was found in. */
export type BucketResult = SearchResult & { readonly bucket_id: string };

export interface BucketsResult {
  readonly bucketIds: readonly string[];
  /** Models of the query, joined by `+`; null if it was searched by keyword only. */
  readonly model: string | null;
  readonly results: readonly BucketResult[];
  /** Analysed terms that were searched. */
  readonly terms: ReadonlySet<string>;
  readonly corrected: readonly CorrectedWord[];
  readonly tokens: number;
  readonly warnings: readonly string[];
}

/** Chunk of one of the buckets; cosines are comparable within a latent space only. */
type BucketChunk = JudgedChunk & { readonly space: string | null };

/**
 * Search several buckets as one. Those whose vectors are of one latent space are searched in one pass: their chunks are
 * ranked together by BM25 score and by cosine similarity, so that the time hardly depends on the number of buckets. What
 * was found in several spaces is fused once more. BM25 weighs a word by its frequency within a bucket, so that scores
 * of buckets of different subjects are comparable only roughly.
 *
 * @throws AppError `bucket_not_found` (404)
 */
export async function searchBuckets(
  context: AttemptContext,
  caller: Caller,
  bucketRefs: readonly string[],
  request: SearchRequest,
  options: { readonly condition?: DocumentCondition | undefined; readonly signal?: AbortSignal | undefined } = {},
): Promise<BucketsResult> {
  const { signal, condition } = options;
  const readIndexes = async () =>
    context.synonyms.load(context.sql, await findBucketIndexes(context.sql, caller.orgId, bucketRefs));
  const embeddings = new Map<string, Promise<QueryVector>>();
  const input = { ...{ context, caller, request, signal, condition }, wanted: request.top_k };
  const begin = (indexes: readonly SearchedIndex[]) =>
    groupBySpace(indexes).map((group) => {
      const origin = originOf(group.map(({ indexTable }) => indexTable));
      const space = origin?.space ?? '';
      const embedding =
        embeddings.get(space) ?? awaitLater(embedQuery(context.embedder, caller, request, origin, signal));
      embeddings.set(space, embedding);
      return beginAttempt(input, group, { collectionId: null, embedding });
    });
  // Before the query is embedded, since that may cost money.
  const indexes = await readIndexes();
  const { found } = await finishAttempts(begin(indexes), signal, { readIndexes, begin });
  const chunks = found.flatMap(({ chunks: own, embedded }) => {
    const space = embedded?.space ?? null;
    return own.map((chunk): BucketChunk => ({ ...chunk, space }));
  });
  const vectors = found.flatMap(({ embedded }) => embedded ?? []);
  const results = fuseChunks(
    chunks,
    vectors.map(({ kind }) => kind),
    request,
  );
  const terms = new Set(found.flatMap((each) => [...each.terms]));
  const asResults = results.map((chunk) => ({ ...toResult(chunk, request), bucket_id: chunk.document.bucketId }));
  return {
    bucketIds: indexes.map(({ bucketId }) => bucketId),
    model: [...new Set(vectors.map(({ model }) => model))].join('+') || null,
    results: await citePlaces(asResults, terms),
    terms,
    corrected: found.flatMap(({ corrected }) => corrected),
    tokens: vectors.reduce((sum, { tokens }) => sum + tokens, 0),
    warnings: [...new Set(found.flatMap(({ warnings }) => warnings))],
  };
}

/** Group buckets by the latent space of their vectors. Buckets without vectors are in the first group. */
function groupBySpace(indexes: readonly SearchedIndex[]): SearchedIndex[][] {
  const spaceOf = ({ indexTable }: SearchedIndex) => indexTable?.origin?.space;
  const first = indexes.map(spaceOf).find((space) => space !== undefined);
  return [...Map.groupBy(indexes, (index) => spaceOf(index) ?? first).values()];
}

/**
 * Fuse chunks of several spaces, best first. Those of one space are fused already, with more candidates.
 *
 * @param kinds kinds of the models of the query; empty if it has no vector
 */
function fuseChunks(
  chunks: readonly BucketChunk[],
  kinds: readonly ('lexical' | 'semantic')[],
  { mode, top_k: topK }: SearchRequest,
): readonly BucketChunk[] {
  const bySpace = Map.groupBy(chunks, ({ space }) => space);
  if (bySpace.size <= 1) return chunks;
  const byId = new Map(chunks.map((chunk) => [chunk.chunkId, chunk]));
  const rankings = {
    keyword: ranking(chunks, ({ bm25 }) => bm25),
    vector: interleave([...bySpace.values()].map((own) => ranking(own, ({ cosine }) => cosine).map(({ id }) => id))),
  };
  const weights = weightsFor(kinds.includes('semantic') ? 'semantic' : 'lexical');
  const searched = kinds.length === 0 ? 'keyword' : mode;
  // Scores of several indexes give no clear lead.
  return fuseRankings(rankings, { weights, keepsClearLeads: false }, searched)
    .slice(0, topK)
    .map((hit) => {
      const { score, rrf } = hit;
      return { ...(byId.get(hit.id) as BucketChunk), score, rrf, ranks: { hit, weights, mode: searched } };
    });
}

/** List the chunks that have a score, best first. */
function ranking(chunks: readonly BucketChunk[], scoreOf: (chunk: BucketChunk) => number | null): KeywordHit[] {
  return chunks
    .flatMap((chunk) => {
      const score = scoreOf(chunk);
      return score === null ? [] : { id: chunk.chunkId, score };
    })
    .sort((a, b) => b.score - a.score || (a.id < b.id ? -1 : 1));
}

/** Merge rankings whose scores cannot be compared: the first of each, then the second of each. */
function interleave(rankings: readonly (readonly string[])[]): string[] {
  const longest = Math.max(0, ...rankings.map(({ length }) => length));
  return Array.from({ length: longest }, (_, place) => rankings.flatMap((ids) => ids[place] ?? [])).flat();
}
