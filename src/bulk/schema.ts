import { z } from 'zod';
import { JobStatus } from '../jobs/schema.ts';
import { TaskType } from '../models/task-types.ts';
import { textInteger } from '../platform/zod-integers.ts';
import { DIMENSIONS_MAX } from '../projection/resize.ts';
import { type PackedTexts, packTexts } from './input.ts';

export const BULK_TEXTS_MAX = 10_000;
export const PAGE_TEXTS_MAX = 1_000;

/** Value of `bucket_id`, `file_type` and `processing_type` in the row of a bulk job in `jobs`. */
export const EMBED_BULK = 'embed_bulk';

/**
 * Schema that packs a list of strings, so that a submission never holds the texts twice. Packing would block the event
 * loop for too long, so parse such a body on a thread.
 */
const Texts = z
  .unknown()
  .transform((texts, context): PackedTexts => {
    const refuse = (path: number[], message: string) => {
      context.addIssue({ code: 'custom', path, message });
      return z.NEVER;
    };
    if (texts === undefined) return refuse([], 'is required: a list of strings');
    if (!Array.isArray(texts)) return refuse([], 'must be a list of strings');
    if (texts.length === 0) return refuse([], 'must have at least one text');
    const other = texts.findIndex((text) => typeof text !== 'string');
    if (other !== -1) return refuse([other], 'items must be strings; token ids are not accepted');
    if (texts.length > BULK_TEXTS_MAX) return refuse([], `takes up to ${BULK_TEXTS_MAX.toLocaleString('en')} texts`);
    const empty = texts.indexOf('');
    if (empty !== -1) return refuse([empty], 'must not be empty');
    return packTexts(texts);
  })
  .meta({ type: 'array', items: { type: 'string', minLength: 1 }, minItems: 1, maxItems: BULK_TEXTS_MAX });

/** Body of `POST /v1/embed/jobs` (contract 4.4). */
export const BulkRequest = z.object({
  texts: Texts,
  model: z.string().min(1).max(200).optional(),
  dimensions: z.int().min(1).max(DIMENSIONS_MAX).nullish(),
  task_type: TaskType.nullish(),
});
export type BulkRequest = z.output<typeof BulkRequest>;

export const BulkReply = z
  .object({
    id: z.string(),
    status: z.literal('queued'),
    model: z.string(),
    usage: z.object({
      tokens: z.int().describe('tokens of all texts, counted when the job was submitted'),
      count: z.int(),
    }),
    chunk_size: z.int(),
  })
  .meta({ id: 'SubmittedBulkJob' });
export type BulkReply = z.output<typeof BulkReply>;

/** Bulk job in the API (contract 2.3). `error` is set only if the job failed. */
export const BulkJobView = z
  .object({
    id: z.string(),
    status: JobStatus.exclude(['extracting', 'chunking']),
    org_id: z.string(),
    metadata: z.object({
      mode: z.literal(EMBED_BULK),
      model: z.string(),
      dimensions: z.int().nullable().describe('requested number of dimensions; null: not specified'),
      task_type: TaskType.nullable(),
      input_count: z.int(),
      chunk_size: z.int(),
      token_count: z.int(),
      completed_count: z.int().describe('texts whose vectors are stored'),
    }),
    error: z
      .object({
        failed_phase: z.string().nullable(),
        category: z.string().nullable(),
        message: z.string().nullable(),
        retryable: z.boolean().nullable(),
      })
      .optional(),
  })
  .meta({ id: 'BulkJob' });
export type BulkJobView = z.output<typeof BulkJobView>;

export const CancelledReply = z.object({ status: z.literal('cancelled') });
export type CancelledReply = z.output<typeof CancelledReply>;

export const ResultQuery = z.object({
  offset: textInteger(z.int().min(0).max(Number.MAX_SAFE_INTEGER).default(0)),
  limit: textInteger(z.int().min(1).max(PAGE_TEXTS_MAX).default(100)),
});
export type ResultQuery = z.output<typeof ResultQuery>;

/** Response of `GET /v1/embed/jobs/{job_id}/result` (contract 4.7). */
export const BulkResultPage = z
  .object({
    object: z.literal('list'),
    data: z.array(z.object({ object: z.literal('embedding'), index: z.int(), embedding: z.array(z.number()) })),
    model: z.string(),
    dimensions: z.int(),
    usage: z.object({ count: z.int() }),
    pagination: z.object({
      offset: z.int(),
      limit: z.int(),
      returned: z.int(),
      total: z.int(),
      has_more: z.boolean(),
    }),
  })
  .meta({ id: 'BulkResultPage' });
