import pLimit from 'p-limit';
import type { Caller } from '../access/caller.ts';
import { awaitLater } from '../platform/await-later.ts';
import { type AttemptContext, beginAttempt, finishAttempt, type SearchInput } from './attempt.ts';
import { fuseRankings, weightsFor } from './fuse.ts';
import { type BucketIndex, type DocumentCondition, findBucketIndexes } from './index-store.ts';
import { embedQuery, type QueryVector } from './prepare-query.ts';
import { type RankedChunk, toResult } from './rank.ts';
import type { SearchRequest, SearchResult } from './schema.ts';

/** Buckets that are searched at a time. */
const SEARCHES_IN_PROGRESS = 20;

/** Result with the bucket that it was found in. */
export type BucketResult = SearchResult & { readonly bucket_id: string };

export interface BucketsResult {
  readonly bucketIds: readonly string[];
  /** Models of the query, joined by `+`; null if it was searched by keyword only. */
  readonly model: string | null;
  readonly results: readonly BucketResult[];
  readonly tokens: number;
  readonly warnings: readonly string[];
}

/** Chunk of one of the buckets; cosines are comparable within a latent space only. */
interface FoundChunk extends RankedChunk {
  readonly bucketId: string;
  readonly space: string | null;
}

/**
 * Search several buckets as one: the query is embedded once for each latent space of their vectors, the buckets are
 * searched side by side, and their chunks are fused once, by BM25 score over all of them and by cosine similarity over
 * those of one space. BM25 weighs a word by its frequency within a bucket, so that scores of buckets of different
 * subjects are comparable only roughly.
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
  // Before the query is embedded, since that may cost money.
  const indexes = await findBucketIndexes(context.sql, caller.orgId, bucketRefs);
  const embeddings = embedForSpaces(context, caller, request, indexes, signal);
  const withSlot = pLimit(SEARCHES_IN_PROGRESS);
  const found = await Promise.all(
    indexes.map((index) =>
      withSlot(async () => {
        const input: SearchInput = {
          ...{ context, caller, request, signal, condition },
          ...{ bucketRef: index.bucketId, wanted: request.top_k },
        };
        const { chunks, ...rest } = await finishAttempt(input, beginAttempt(input, index, null, embeddings.of(index)));
        const { bucketId } = index;
        const space = rest.embedded?.space ?? null;
        return { ...rest, chunks: chunks.map((chunk): FoundChunk => ({ ...chunk, bucketId, space })) };
      }),
    ),
  );
  const vectors = (await Promise.all(embeddings.all)).flatMap(({ embedded }) => embedded ?? []);
  return {
    bucketIds: indexes.map(({ bucketId }) => bucketId),
    model: [...new Set(vectors.map(({ model }) => model))].join('+') || null,
    results: fuseChunks(
      found.flatMap(({ chunks }) => chunks),
      vectors.map(({ kind }) => kind),
      request,
    ),
    tokens: vectors.reduce((sum, { tokens }) => sum + tokens, 0),
    warnings: [...new Set(found.flatMap(({ warnings }) => warnings))],
  };
}

/** Embed the query once for each latent space of the buckets' vectors; empty buckets take any of them. */
function embedForSpaces(
  { embedder }: AttemptContext,
  caller: Caller,
  request: SearchRequest,
  indexes: readonly BucketIndex[],
  signal: AbortSignal | undefined,
): { readonly all: readonly Promise<QueryVector>[]; of(index: BucketIndex): Promise<QueryVector> } {
  const bySpace = new Map<string, Promise<QueryVector>>();
  for (const { indexTable } of indexes) {
    const origin = indexTable?.origin;
    if (!origin || bySpace.has(origin.space)) continue;
    bySpace.set(origin.space, awaitLater(embedQuery(embedder, caller, request, origin, signal)));
  }
  const [first = awaitLater(embedQuery(embedder, caller, request, null, signal)), ...rest] = bySpace.values();
  return {
    all: [first, ...rest],
    of: ({ indexTable }) => bySpace.get(indexTable?.origin?.space ?? '') ?? first,
  };
}

/**
 * Fuse chunks of several buckets, best first. Those of one bucket are fused already, with more candidates.
 *
 * @param kinds kinds of the models of the query; empty if it has no vector
 */
function fuseChunks(
  chunks: readonly FoundChunk[],
  kinds: readonly ('lexical' | 'semantic')[],
  { mode, top_k: topK }: SearchRequest,
): BucketResult[] {
  const isOneBucket = chunks.every(({ bucketId }) => bucketId === chunks[0]?.bucketId);
  if (isOneBucket) return chunks.map((chunk) => ({ ...toResult(chunk), bucket_id: chunk.bucketId }));
  const byId = new Map(chunks.map((chunk) => [chunk.chunkId, chunk]));
  const bySpace = Map.groupBy(chunks, ({ space }) => space);
  const rankings = {
    keyword: ranking(chunks, ({ bm25 }) => bm25),
    vector: interleave([...bySpace.values()].map((own) => ranking(own, ({ cosine }) => cosine))),
  };
  const weights = weightsFor(kinds.includes('semantic') ? 'semantic' : 'lexical');
  const fused = fuseRankings(rankings, weights, kinds.length === 0 ? 'keyword' : mode);
  return fused.slice(0, topK).map(({ id, score, rrf }) => {
    const chunk = byId.get(id) as FoundChunk;
    return { ...toResult({ ...chunk, score, rrf }), bucket_id: chunk.bucketId };
  });
}

/** List ids of the chunks that have a score, best first. */
function ranking(chunks: readonly FoundChunk[], scoreOf: (chunk: FoundChunk) => number | null): string[] {
  return chunks
    .filter((chunk) => scoreOf(chunk) !== null)
    .sort((a, b) => (scoreOf(b) as number) - (scoreOf(a) as number) || (a.chunkId < b.chunkId ? -1 : 1))
    .map(({ chunkId }) => chunkId);
}

/** Merge rankings whose scores cannot be compared: the first of each, then the second of each. */
function interleave(rankings: readonly (readonly string[])[]): string[] {
  const longest = Math.max(0, ...rankings.map(({ length }) => length));
  return Array.from({ length: longest }, (_, place) => rankings.flatMap((ids) => ids[place] ?? [])).flat();
}
