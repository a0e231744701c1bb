import { z } from 'zod';
import { Relevance, RelevanceScore, relevanceOfAnswer } from '../relevance/schema.ts';
import { type SearchRequest, SearchResponse, SearchResult } from '../schema.ts';

/** Maximum number of passages per document. */
const PASSAGES_MAX = 3;
/** Weight of a document's chunk relative to its next better one. */
const NEXT_SHARE = 0.1;
/** Maximum number of chunks reranked in a document search. */
const RERANKED_MAX = 100;

export const GroupBy = z
  .enum(['chunk', 'document'])
  .default('chunk')
  .describe('document: results are documents, each with its best passages');

/** Document that answers a query. */
export const DocumentResult = z
  .object({
    document_id: z.string(),
    score: z.number().describe('that of its best passage'),
    relevance: Relevance.describe('that of its most relevant passage'),
    relevance_score: RelevanceScore.describe('that of its most relevant passage'),
    metadata: z.record(z.string(), z.string()),
    citation: z.object({
      file_name: z.string(),
      source_path: z.string().nullable(),
      url: z.string().nullable().describe('page that shows the best passage'),
    }),
    passages: z.array(SearchResult).describe(`the best chunks of the document, at most ${PASSAGES_MAX}`),
  })
  .meta({ id: 'DocumentResult' });
export type DocumentResult = z.output<typeof DocumentResult>;

/** Response of a document search in one bucket. */
export const DocumentSearchResponse = SearchResponse.extend({
  group_by: z.literal('document'),
  results: z.array(DocumentResult),
}).meta({ id: 'DocumentSearchResults' });

/** Convert a document search to the chunk search that it needs. */
export function chunksForDocuments<R extends Omit<SearchRequest, 'collection'>>(request: R): R {
  const { top_k: topK, max_per_document: perDocumentMax = PASSAGES_MAX, rerank } = request;
  const chunks = topK * PASSAGES_MAX;
  return {
    ...request,
    top_k: rerank ? Math.min(chunks, RERANKED_MAX) : chunks,
    max_per_document: Math.min(perDocumentMax, PASSAGES_MAX),
  };
}

/**
 * Group ranked chunks into at most `topK` documents, ordered by their best chunk. Further good chunks can move a
 * document up.
 */
export function groupByDocument<R extends SearchResult & { readonly bucket_id?: string }>(
  chunks: readonly R[],
  topK: number,
): DocumentResult[] {
  const groups = [...Map.groupBy(chunks, ({ document_id: id }) => id).values()];
  return orderDocuments(groups)
    .slice(0, topK)
    .map((passages) => {
      const { document_id, bucket_id, score, metadata, citation } = passages[0] as R;
      const { file_name, source_path, url } = citation;
      const place = bucket_id === undefined ? { document_id } : { document_id, bucket_id };
      return {
        ...place,
        score,
        ...relevanceOfAnswer(passages),
        metadata,
        citation: { file_name, source_path, url },
        passages,
      };
    });
}

/**
 * Move a document ahead of its predecessor if its total BM25 score is higher while its best chunk's isn't. If the best
 * chunks contradict the order, it comes from vectors or a reranker, and stays.
 */
function orderDocuments<R extends SearchResult>(groups: readonly R[][]): R[][] {
  const ordered: { readonly passages: R[]; readonly best: number; readonly whole: number }[] = [];
  for (const passages of groups) {
    const own = { passages, ...keywordScoreOf(passages) };
    let at = ordered.length;
    for (; at > 0; at--) {
      const before = ordered[at - 1] as (typeof ordered)[number];
      if (!(own.whole > before.whole && own.best <= before.best)) break;
    }
    ordered.splice(at, 0, own);
  }
  return ordered.map(({ passages }) => passages);
}

/** Return the best chunk's BM25 score and the total, in which each chunk weighs a tenth of the previous one. */
function keywordScoreOf(passages: readonly SearchResult[]): { readonly best: number; readonly whole: number } {
  const scores = passages.map(({ scores }) => (scores.rerank_score === null ? (scores.bm25_score ?? 0) : 0));
  const sorted = scores.toSorted((a, b) => b - a);
  return { best: sorted[0] ?? 0, whole: sorted.reduce((sum, score, nth) => sum + score * NEXT_SHARE ** nth, 0) };
}
