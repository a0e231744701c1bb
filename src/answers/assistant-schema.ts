import { z } from 'zod';
import { BucketRef } from '../documents/schema.ts';
import { Filter } from '../search/filter/filter.ts';

const PROMPT_CHARS_MAX = 8_000;

/** Settings of an assistant. */
export const AssistantDefinition = z.object({
  buckets: z.array(BucketRef).min(1).max(20).describe('ids or names of the buckets to search'),
  filter: Filter.optional().describe('conditions on the metadata of documents, in addition to those of a request'),
  prompt: z
    .string()
    .trim()
    .min(1)
    .max(PROMPT_CHARS_MAX)
    .optional()
    .describe('instructions for the model, in addition to the built-in rules'),
  language: z
    .string()
    .regex(/^[a-z]{2}$/, 'must be a code of ISO 639-1, such as en or ko')
    .optional()
    .describe('language of the answers; default: that of the question'),
  top_k: z.int().min(1).max(50).optional().describe('maximum number of passages to answer from'),
});

/** Body of `POST /v1/assistants`. */
export const AssistantRequest = AssistantDefinition.extend({
  name: z
    .string()
    .regex(/^[a-z0-9][a-z0-9._-]{0,63}$/, 'must be lower-case letters, digits, ".", "_" and "-"')
    .describe('name; chat requests name the assistant as the model assistant/NAME'),
});
export type AssistantRequest = z.output<typeof AssistantRequest>;

export const AssistantView = AssistantRequest.extend({
  id: z.string(),
  object: z.literal('assistant'),
  filter: z.unknown().optional(),
  created_at: z.iso.datetime(),
}).meta({ id: 'Assistant' });
export type AssistantView = z.output<typeof AssistantView>;

export interface Assistant {
  readonly id: string;
  readonly name: string;
  readonly definition: z.output<typeof AssistantDefinition>;
  readonly createdAt: Date;
}

export function viewAssistant({ id, name, definition, createdAt }: Assistant): AssistantView {
  return { id, object: 'assistant', name, ...definition, created_at: createdAt.toISOString() };
}
