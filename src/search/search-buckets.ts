import type { Caller } from '../access/caller.ts';
import { type AttemptContext, searchTarget } from './attempt.ts';
import type { DocumentCondition } from './documents/document-store.ts';
import { fuseRankings, type LegHit, weightsFor } from './fuse.ts';
import { type JudgedChunk, toResult } from './rank.ts';
import { readBucketsTarget } from './read-target.ts';
import { citePlaces } from './results/cite-place.ts';
import type { CorrectedWord } from './results/describe-corrections.ts';
import type { SearchRequest, SearchResult } from './schema.ts';

/** Result with the id of its bucket. */
export type BucketResult = SearchResult & { readonly bucket_id: string };

export interface BucketsResult {
  readonly bucketIds: readonly string[];
  /** Models of the query, joined by `+`; null if only keywords were searched. */
  readonly model: string | null;
  readonly results: readonly BucketResult[];
  /** Analysed terms of the search. */
  readonly terms: ReadonlySet<string>;
  readonly corrected: readonly CorrectedWord[];
  readonly tokens: number;
  readonly warnings: readonly string[];
}

/** Chunk of one of the buckets. Cosines are comparable only within a latent space. */
type BucketChunk = JudgedChunk & { readonly space: string | null };

/**
 * Search several buckets as one. One pass searches all buckets of a latent space, and ranks their chunks together by
 * BM25 score and cosine similarity, so the time hardly depends on the number of buckets. Results of different spaces
 * are fused in a second step. BM25 weighs a word by its frequency within a bucket, so scores of buckets with different
 * subjects are only roughly comparable.
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
  const input = { context, caller, request, signal, condition, wanted: request.top_k };
  const { target, found } = await searchTarget(input, () => readBucketsTarget(context, caller, bucketRefs));
  const chunks = found.flatMap(({ chunks: own, embedded }) => {
    const space = embedded?.space ?? null;
    return own.map((chunk): BucketChunk => ({ ...chunk, space }));
  });
  const vectors = found.flatMap(({ embedded }) => embedded ?? []);
  const results = fuseChunks(chunks, request, {
    kinds: vectors.map(({ kind }) => kind),
    showsScores: target.hiding.size === 0,
  });
  const terms = new Set(found.flatMap((each) => [...each.terms]));
  const asResults = results.map((chunk) => ({ ...toResult(chunk, request), bucket_id: chunk.document.bucketId }));
  return {
    bucketIds: target.indexes.map(({ bucketId }) => bucketId),
    model: [...new Set(vectors.map(({ model }) => model))].join('+') || null,
    results: await citePlaces(asResults, terms),
    terms,
    corrected: found.flatMap(({ corrected }) => corrected),
    tokens: vectors.reduce((sum, { tokens }) => sum + tokens, 0),
    warnings: [...new Set(found.flatMap(({ warnings }) => warnings))],
  };
}

/**
 * Fuse chunks of several spaces, best first. Chunks of one space are already fused, from more candidates.
 *
 * @param options.kinds kinds of the query's models; empty if it has no vector
 * @param options.showsScores false if a bucket hides documents, so that BM25 scores of its chunks are reciprocal ranks
 */
function fuseChunks(
  chunks: readonly BucketChunk[],
  { mode, top_k: topK }: SearchRequest,
  options: { readonly kinds: readonly ('lexical' | 'semantic')[]; readonly showsScores: boolean },
): readonly BucketChunk[] {
  const { kinds, showsScores } = options;
  const bySpace = Map.groupBy(chunks, ({ space }) => space);
  if (bySpace.size <= 1) return chunks;
  const byId = new Map(chunks.map((chunk) => [chunk.chunkId, chunk]));
  const spaces = [...bySpace.values()];
  const rankings = {
    keyword: interleave((showsScores ? [chunks] : spaces).map((own) => ranking(own, ({ bm25 }) => bm25))),
    vector: interleave(spaces.map((own) => ranking(own, ({ cosine }) => cosine))),
  };
  const weights = weightsFor(kinds.includes('semantic') ? 'semantic' : 'lexical', 'ranks');
  const searched = kinds.length === 0 ? 'keyword' : mode;
  // Scores of different indexes aren't comparable, so fuse by ranks.
  return fuseRankings(rankings, { weights, rule: 'ranks' }, searched)
    .slice(0, topK)
    .map((hit) => {
      const { score, rrf } = hit;
      return { ...(byId.get(hit.id) as BucketChunk), score, rrf, share: 1, ranks: { hit, weights, mode: searched } };
    });
}

/** Rank the chunks that have a score, best first. */
function ranking(chunks: readonly BucketChunk[], scoreOf: (chunk: BucketChunk) => number | null): LegHit[] {
  return chunks
    .flatMap((chunk) => {
      const score = scoreOf(chunk);
      return score === null ? [] : { id: chunk.chunkId, score };
    })
    .sort((a, b) => b.score - a.score || (a.id < b.id ? -1 : 1));
}

/** Merge rankings with incomparable scores: the first of each, then the second of each, and so on. */
function interleave(rankings: readonly (readonly LegHit[])[]): LegHit[] {
  const longest = Math.max(0, ...rankings.map(({ length }) => length));
  return Array.from({ length: longest }, (_, place) => rankings.flatMap((hits) => hits[place] ?? [])).flat();
}
