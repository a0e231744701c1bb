import { z } from 'zod';
import { Relevance, RelevanceScore, relevanceOfAnswer } from '../relevance/schema.ts';
import { type SearchRequest, SearchResponse, SearchResult } from '../schema.ts';

/** Maximum number of passages to show for a document. */
const PASSAGES_MAX = 3;
/** Maximum number of chunks to rerank in a search for documents. */
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

/** Response of a search for documents in one bucket. */
export const DocumentSearchResponse = SearchResponse.extend({
  group_by: z.literal('document'),
  results: z.array(DocumentResult),
}).meta({ id: 'DocumentSearchResults' });

/** Request for the chunks that a search for documents needs. */
export function chunksForDocuments<R extends Omit<SearchRequest, 'collection'>>(request: R): R {
  const { top_k: topK, max_per_document: perDocumentMax = PASSAGES_MAX, rerank } = request;
  const chunks = topK * PASSAGES_MAX;
  return {
    ...request,
    top_k: rerank ? Math.min(chunks, RERANKED_MAX) : chunks,
    max_per_document: Math.min(perDocumentMax, PASSAGES_MAX),
  };
}

/** Group ranked chunks into at most `topK` documents, in the order of their best chunks. */
export function groupByDocument<R extends SearchResult & { readonly bucket_id?: string }>(
  chunks: readonly R[],
  topK: number,
): DocumentResult[] {
  const groups = Map.groupBy(chunks, ({ document_id: id }) => id);
  return [...groups.values()].slice(0, topK).map((passages) => {
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
