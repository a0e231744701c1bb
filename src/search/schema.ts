import { z } from 'zod';
import { Locator } from '../documents/locator.ts';
import { TaskType } from '../models/task-types.ts';
import { Filter } from './filter/filter.ts';
import { Relevance, RelevanceScore } from './relevance/schema.ts';
import { CorrectedWord } from './results/describe-corrections.ts';
import { Explanation } from './results/explanation.ts';
import { Highlight } from './results/highlight.ts';

export const TOP_K_MAX = 100;
/** Maximum number of buckets per search. */
export const BUCKETS_MAX = 100;

/** Body of `POST /v2/buckets/{bucket}/search`. */
export const SearchRequest = z.object({
  query: z.string().min(1, 'must not be empty').max(8000),
  top_k: z.int().min(1).max(TOP_K_MAX).default(10),
  collection: z.string().normalize('NFC').min(1).optional().describe('id or name'),
  filter: Filter.optional(),
  task: TaskType.default('retrieval_query'),
  mode: z.enum(['hybrid', 'vector', 'keyword']).default('hybrid'),
  rerank: z.boolean().default(false),
  rerank_top_k: z.int().min(1).max(TOP_K_MAX).optional(),
  score_threshold: z.number().min(0).max(1).optional(),
  max_per_document: z.int().min(1).max(TOP_K_MAX).optional().describe('maximum number of results from one document'),
  highlights: z.boolean().default(false).describe('show the sentences of each result that have words of the query'),
  explain: z.boolean().optional().describe('show the rank of each result in each leg, and the terms that it matched'),
  correct: z
    .boolean()
    .default(true)
    .describe(
      'replace a word of the query that no document of the bucket contains with the most similar one that occurs',
    ),
});
export type SearchRequest = z.output<typeof SearchRequest>;

export const SearchResult = z
  .object({
    id: z.string().describe('chunk id'),
    document_id: z.string(),
    chunk_index: z.int(),
    text: z.string(),
    highlights: z
      .array(Highlight)
      .optional()
      .describe('with highlights: true, at most 3 sentences that contain words of the query, in the order of the text'),
    score: z.number().describe('0..1: the fused score over its possible maximum, or the rerank score'),
    relevance: Relevance,
    relevance_score: RelevanceScore,
    scores: z.object({
      vector_score: z.number().nullable(),
      bm25_score: z
        .number()
        .nullable()
        .describe(
          'BM25 score; 1 / rank in the keyword leg if the bucket contains documents that the caller may not see',
        ),
      rrf_score: z.number().nullable(),
      rerank_score: z.number().nullable(),
    }),
    explain: Explanation.optional().describe('with explain: true, the reasons for the rank of the result'),
    metadata: z.record(z.string(), z.string()),
    citation: z.object({
      file_name: z.string(),
      source_path: z.string().nullable(),
      locator: Locator,
      url: z.string().nullable(),
    }),
  })
  .meta({ id: 'SearchResult' });
export type SearchResult = z.output<typeof SearchResult>;

export const SearchResponse = z
  .object({
    object: z.literal('list'),
    search_id: z
      .string()
      .nullable()
      .describe('id of this search in the search log, for feedback; null: the log keeps no queries'),
    bucket_id: z.string(),
    model: z.string().nullable().describe('the model of the query vector; null in keyword mode'),
    results: z.array(SearchResult),
    relevance: Relevance.describe('relevance of the most relevant result; none: no result seems to answer the query'),
    relevance_score: RelevanceScore.describe('that of the most relevant result'),
    corrected: z.array(CorrectedWord).describe('words of the query that were replaced'),
    usage: z.object({ tokens: z.int() }),
    warnings: z.array(z.string()),
  })
  .meta({ id: 'SearchResults' });
export type SearchResponse = z.output<typeof SearchResponse>;
