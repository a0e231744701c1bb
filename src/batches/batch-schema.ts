import { z } from 'zod';
import { LifetimeSeconds } from '../files/file-schema.ts';
import { cursorOf } from '../files/list-page.ts';
import { Metadata } from '../files/metadata.ts';
import { textInteger } from '../platform/zod-integers.ts';

/** Value of `bucket_id`, `file_type` and `processing_type` in the row of a batch in `jobs`. */
export const BATCH_JOB = 'openai_batch';

export const ENDPOINT = '/v1/embeddings';
/** Completion window as requests name it: `BATCH_WINDOW_MS`. */
export const WINDOW = '24h';
/** Maximum number of requests of a batch, and of texts in all its requests. */
export const REQUESTS_MAX = 50_000;
export const TEXTS_MAX = 50_000;

const PAGE_BATCHES_MAX = 100;

/** Body of `POST /v1/batches`. */
export const BatchRequest = z.object({
  input_file_id: z.string().min(1).max(128),
  endpoint: z.literal(ENDPOINT),
  completion_window: z.literal(WINDOW),
  metadata: Metadata.nullish(),
  output_expires_after: z.object({ anchor: z.literal('created_at'), seconds: LifetimeSeconds }).nullish(),
});
export type BatchRequest = z.output<typeof BatchRequest>;

export const BATCH_STATUSES = [
  'validating',
  'failed',
  'in_progress',
  'finalizing',
  'completed',
  'expired',
  'cancelling',
  'cancelled',
] as const;
export type BatchStatus = (typeof BATCH_STATUSES)[number];

export const BatchError = z.object({
  code: z.string(),
  message: z.string(),
  param: z.string().nullable(),
  line: z.int().nullable(),
});
export type BatchError = z.output<typeof BatchError>;

const Time = z.int().nullable().describe('Unix time in seconds');

export const BatchView = z
  .object({
    id: z.string(),
    object: z.literal('batch'),
    endpoint: z.string(),
    model: z.string().nullable(),
    errors: z.object({ object: z.literal('list'), data: z.array(BatchError) }).nullable(),
    input_file_id: z.string(),
    completion_window: z.string(),
    status: z.enum(BATCH_STATUSES),
    output_file_id: z.string().nullable(),
    error_file_id: z.string().nullable(),
    created_at: z.int().describe('Unix time in seconds'),
    in_progress_at: Time,
    expires_at: Time,
    finalizing_at: Time,
    completed_at: Time,
    failed_at: Time,
    expired_at: Time,
    cancelling_at: Time,
    cancelled_at: Time,
    request_counts: z.object({ total: z.int(), completed: z.int(), failed: z.int() }),
    usage: z
      .object({
        input_tokens: z.int(),
        input_tokens_details: z.object({ cached_tokens: z.int() }),
        output_tokens: z.int(),
        output_tokens_details: z.object({ reasoning_tokens: z.int() }),
        total_tokens: z.int(),
      })
      .nullable(),
    metadata: z.record(z.string(), z.string()).nullable(),
  })
  .meta({ id: 'Batch' });
export type BatchView = z.output<typeof BatchView>;

export const ListBatchesQuery = z.object({
  after: cursorOf('batch'),
  limit: textInteger(z.int().min(1).max(PAGE_BATCHES_MAX).default(20)),
});
export type ListBatchesQuery = z.output<typeof ListBatchesQuery>;
