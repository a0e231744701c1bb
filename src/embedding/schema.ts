import { z } from 'zod';
import { TaskType } from '../models/task-types.ts';
import { DIMENSIONS_MAX } from '../projection/resize.ts';
import { OutputType } from './output-types.ts';

export const SYNCHRONOUS_TEXTS_MAX = 100;

interface Fault {
  readonly path: (string | number)[];
  readonly message: string;
}

/**
 * Find the first fault of a list of texts, or return null. The hand-written check names the faulty item (`input[3]`)
 * after one pass.
 */
function faultOfTexts(input: unknown, form: string): Fault | null {
  if (input === undefined) return { path: [], message: `is required: ${form}` };
  const items: unknown = typeof input === 'string' ? [input] : input;
  if (!Array.isArray(items)) return { path: [], message: `must be ${form}` };
  if (items.length === 0) return { path: [], message: 'must have at least one text' };
  // Check this before the number of items, because a text given as token ids has many items.
  const other = items.findIndex((item) => typeof item !== 'string');
  if (other !== -1) return { path: [other], message: 'items must be strings; token ids are not accepted' };
  if (items.length > SYNCHRONOUS_TEXTS_MAX) {
    const message = `takes up to ${SYNCHRONOUS_TEXTS_MAX} texts; use POST /v1/embed/jobs for up to 10,000`;
    return { path: [], message };
  }
  const empty = items.indexOf('');
  return empty === -1 ? null : { path: typeof input === 'string' ? [] : [empty], message: 'must not be empty' };
}

const LIST_OF_TEXTS = {
  type: 'array',
  items: { type: 'string', minLength: 1 },
  minItems: 1,
  maxItems: SYNCHRONOUS_TEXTS_MAX,
} as const;

/** Schema of one text or a list of texts. */
const Input = z
  .unknown()
  .superRefine((input, context) => {
    const fault = faultOfTexts(input, 'a string or a list of strings');
    if (fault) context.addIssue({ code: 'custom', ...fault });
  })
  .transform((input) => input as string | string[])
  .meta({ oneOf: [{ type: 'string', minLength: 1 }, LIST_OF_TEXTS] });

const Texts = z
  .unknown()
  .superRefine((texts, context) => {
    // Otherwise a string would count as a list of one text.
    const fault = faultOfTexts(typeof texts === 'string' ? null : texts, 'a list of strings');
    if (fault) context.addIssue({ code: 'custom', ...fault });
  })
  .transform((texts) => texts as string[])
  .meta({ ...LIST_OF_TEXTS });

const ModelId = z.string().min(1).max(200);
const Dimensions = z.int().min(1).max(DIMENSIONS_MAX);

/** Body of `POST /v1/embeddings` (contract 4.1). */
export const EmbeddingsRequest = z.object({
  input: Input,
  model: ModelId.optional(),
  dimensions: Dimensions.nullish(),
  task_type: TaskType.nullish(),
  encoding_format: z
    .string()
    .max(32)
    .nullish()
    .describe('base64: used unless the client is known to read lists; other values are ignored'),
  output_dtype: OutputType.nullish().describe(
    'number format of the vectors: floats (the default), bytes (200 steps to 1.0), or one bit per dimension, eight to a byte',
  ),
  user: z.string().nullish().describe('accepted and ignored'),
});
export type EmbeddingsRequest = z.output<typeof EmbeddingsRequest>;

export const EmbeddingsResponse = z
  .object({
    object: z.literal('list'),
    data: z.array(
      z.object({
        object: z.literal('embedding'),
        index: z.int(),
        embedding: z
          .union([z.array(z.number()), z.string()])
          .describe(
            'numbers, or their bytes (little-endian) in base64 if the client asks for it and is not known to read lists',
          ),
      }),
    ),
    model: z.string(),
    usage: z.object({ prompt_tokens: z.int(), total_tokens: z.int() }),
  })
  .meta({ id: 'Embeddings' });

/** Body of `POST /v1/embed/batch` (contract 4.3, deprecated). */
export const EmbedBatchRequest = z.object({
  texts: Texts,
  model: ModelId.optional(),
  dimensions: Dimensions.nullish(),
  task_type: TaskType.nullish(),
});

export const EmbedBatchResponse = z
  .object({
    embeddings: z.array(z.array(z.number())),
    model: z.string(),
    dimensions: z.int(),
    usage: z.object({ tokens: z.int(), count: z.int() }),
  })
  .meta({ id: 'EmbeddedBatch' });
