import { z } from 'zod';
import { BucketRef } from '../documents/schema.ts';
import { Filter } from '../search/filter/filter.ts';
import { Relevance, RelevanceScore } from '../search/relevance/schema.ts';
import { SearchResult } from '../search/schema.ts';

/** Maximum number of buckets per question. */
const BUCKETS_MAX = 20;
/** Maximum number of passages per answer, which keeps their numbers short. */
const PASSAGES_MAX = 50;
const HISTORY_MAX = 100;
const MESSAGE_CHARS_MAX = 32_000;

export const QUESTION_CHARS_MAX = 8_000;

export const HistoryMessage = z.object({
  role: z.enum(['user', 'assistant']),
  content: z.string().max(MESSAGE_CHARS_MAX),
});
export type HistoryMessage = z.output<typeof HistoryMessage>;

export const AnswerStyle = z.enum(['short', 'normal', 'detailed']);
export type AnswerStyle = z.output<typeof AnswerStyle>;

const TopK = z.int().min(1).max(PASSAGES_MAX);

/** Body of `POST /v1/answers`. */
export const AnswerRequest = z
  .object({
    query: z.string().trim().min(1, 'must not be empty').max(QUESTION_CHARS_MAX).describe('question'),
    buckets: z.array(BucketRef).min(1).max(BUCKETS_MAX).optional().describe('ids or names of the buckets to search'),
    assistant: z.string().min(1).max(200).optional().describe('id or name of an assistant, instead of buckets'),
    history: z
      .array(HistoryMessage)
      .max(HISTORY_MAX)
      .default([])
      .describe(
        'earlier messages of the conversation, the oldest first; the service uses them to rewrite the question',
      ),
    filter: Filter.optional().describe('conditions on the metadata of documents'),
    top_k: TopK.optional().describe(
      'maximum number of passages to answer from; default: 10, or the value of the assistant',
    ),
    style: AnswerStyle.default('normal').describe('length of the answer'),
    stream: z.boolean().default(false).describe('send the answer as server-sent events while it is written'),
  })
  .refine(({ buckets, assistant }) => (buckets === undefined) !== (assistant === undefined), {
    message: 'give either buckets or assistant',
    path: ['buckets'],
  });
export type AnswerRequest = z.output<typeof AnswerRequest>;

export const AnswerPassage = z
  .object({
    number: z.int().describe('number of the passage in citations, from 1'),
    chunk_id: z.string(),
    document_id: z.string(),
    bucket_id: z.string(),
    chunk_index: z.int(),
    text: z.string().describe('text that the model read: the chunk, and the text around it'),
    relevance_score: RelevanceScore,
    citation: SearchResult.shape.citation,
  })
  .meta({ id: 'AnswerPassage' });
export type AnswerPassage = z.output<typeof AnswerPassage>;

/**
 * Outcome of an answer. `nothing_found`: no passage answers the question, and the model was not asked. `refused`: the
 * model declined. `cut_off`: the token limit was reached. `timed_out`, `interrupted`: the answer is incomplete.
 */
export const AnswerStatus = z.enum(['answered', 'nothing_found', 'refused', 'cut_off', 'timed_out', 'interrupted']);
export type AnswerStatus = z.output<typeof AnswerStatus>;

export const Answer = z
  .object({
    id: z.string(),
    object: z.literal('answer'),
    created_at: z.iso.datetime(),
    status: AnswerStatus,
    query: z.string(),
    searched: z.string().describe('question used for the search; with history, the rewritten one'),
    answer: z.string().describe('text with citations such as [1]'),
    sentences: z.array(
      z.object({
        text: z.string().describe('sentence without its citations'),
        start: z.int().describe('position in the answer, in UTF-16 units'),
        end: z.int(),
        citations: z.array(z.int()).describe('numbers of the passages that the sentence cites'),
      }),
    ),
    passages: z.array(AnswerPassage).describe('passages that the model read, the most relevant first'),
    relevance: Relevance,
    relevance_score: RelevanceScore,
    dropped_citations: z
      .int()
      .describe('number of removed citations, because they named passages that the model did not receive'),
    model: z.string(),
    usage: z.object({
      input_tokens: z.int().describe('tokens that the model read; an estimate if its vendor reports none'),
      output_tokens: z.int(),
    }),
    warnings: z.array(z.string()),
    search_id: z.string().optional().describe('id of its search, if the search log keeps queries'),
    kept_until: z.iso
      .datetime()
      .nullable()
      .describe('time until which the answer can be read again and rated; null: it is not kept'),
  })
  .meta({ id: 'Answer' });
export type Answer = z.output<typeof Answer>;

/** Body of `PUT /v1/answers/{answer}/rating`. */
export const RatingRequest = z.object({
  rating: z.enum(['up', 'down']),
  reason: z.string().trim().max(1_000).optional().describe('comment of the person who asked'),
});
export type RatingRequest = z.output<typeof RatingRequest>;

/** Answer that its asker has rated. */
export const RatedAnswer = z
  .object({
    id: z.string(),
    rating: RatingRequest.shape.rating,
    reason: z.string().nullable(),
    rated_at: z.iso.datetime(),
    status: AnswerStatus,
    query: z.string(),
    searched: z.string(),
    answer: z.string(),
    model: z.string(),
  })
  .meta({ id: 'RatedAnswer' });
export type RatedAnswer = z.output<typeof RatedAnswer>;

/** Part of an answer that is known before the model writes. */
export type AnswerStart = Pick<
  Answer,
  'id' | 'searched' | 'passages' | 'relevance' | 'relevance_score' | 'warnings' | 'search_id'
>;

/** Event of an answer in progress. `end` is the last one. */
export type AnswerEvent =
  | { readonly kind: 'passages'; readonly start: AnswerStart }
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'end'; readonly answer: Answer };
