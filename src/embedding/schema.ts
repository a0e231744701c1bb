import { z } from 'zod';
import { TaskType } from '../models/task-types.ts';
import { DIMENSIONS_MAX } from '../projection/resize.ts';

export const SYNCHRONOUS_TEXTS_MAX = 100;

/** One text or a list of them; checked by hand so that a fault names its item (`input[3]`). */
const Input = z
  .unknown()
  .superRefine((input, context) => {
    const fault = (path: (string | number)[], message: string) => context.addIssue({ code: 'custom', path, message });
    if (input === undefined) return fault([], 'is required: a string or a list of strings');
    const items: unknown = typeof input === 'string' ? [input] : input;
    if (!Array.isArray(items)) return fault([], 'must be a string or a list of strings');
    if (items.length === 0) return fault([], 'must have at least one text');
    if (items.length > SYNCHRONOUS_TEXTS_MAX) {
      return fault([], `takes up to ${SYNCHRONOUS_TEXTS_MAX} texts; use POST /v1/embed/jobs for up to 10,000`);
    }
    for (const [index, item] of items.entries()) {
      const path = typeof input === 'string' ? [] : [index];
      if (typeof item !== 'string') return fault(path, 'items must be strings; token ids are not accepted');
      if (item === '') return fault(path, 'must not be empty');
    }
  })
  .transform((input) => (typeof input === 'string' ? [input] : (input as string[])))
  .meta({
    oneOf: [
      { type: 'string', minLength: 1 },
      { type: 'array', items: { type: 'string', minLength: 1 }, minItems: 1, maxItems: SYNCHRONOUS_TEXTS_MAX },
    ],
  });

/** `POST /v1/embeddings` (contract 4.1). */
export const EmbeddingsRequest = z.object({
  input: Input,
  model: z.string().min(1).max(200).optional(),
  dimensions: z.int().min(1).max(DIMENSIONS_MAX).nullish(),
  task_type: TaskType.nullish(),
  encoding_format: z.string().max(32).nullish().describe('accepted and ignored unless the operator honours base64'),
  user: z.string().nullish().describe('accepted and ignored'),
});
export type EmbeddingsRequest = z.output<typeof EmbeddingsRequest>;

export const EmbeddingsResponse = z
  .object({
    object: z.literal('list'),
    data: z.array(z.object({ object: z.literal('embedding'), index: z.int(), embedding: z.array(z.number()) })),
    model: z.string(),
    usage: z.object({ prompt_tokens: z.int(), total_tokens: z.int() }),
  })
  .meta({ id: 'Embeddings' });
