import { z } from 'zod';
import { completeOptions, IngestFields, type IngestOptions } from '../documents/schema.ts';

/** Limits of OpenAI's API (openapi.yaml of openai/openai-openapi, August 2026). */
const TOKENS_MIN = 100;
const TOKENS_MAX = 4096;

const StaticChunking = z.object({
  max_chunk_size_tokens: z.int().min(TOKENS_MIN).max(TOKENS_MAX),
  chunk_overlap_tokens: z.int().min(0).describe('at most half of max_chunk_size_tokens'),
});

/** Chunking strategy in a request. `auto` means the defaults of uploads. */
export const ChunkingStrategy = z.discriminatedUnion('type', [
  z.object({ type: z.literal('auto') }),
  z.object({
    type: z.literal('static'),
    static: StaticChunking.refine(
      ({ max_chunk_size_tokens: size, chunk_overlap_tokens: overlap }) => overlap <= size / 2,
      { path: ['chunk_overlap_tokens'], message: 'must be at most half of max_chunk_size_tokens' },
    ),
  }),
]);
export type ChunkingStrategy = z.output<typeof ChunkingStrategy>;

/** Chunking strategy in a response: the one that was used. */
export const UsedChunking = z.object({
  type: z.literal('static'),
  static: z.object({ max_chunk_size_tokens: z.int(), chunk_overlap_tokens: z.int() }),
});

const DEFAULTS = completeOptions(IngestFields.parse({}));

export function ingestOptionsOf(strategy: ChunkingStrategy | undefined): IngestOptions {
  if (strategy?.type !== 'static') return DEFAULTS;
  const { max_chunk_size_tokens: chunk_size, chunk_overlap_tokens: chunk_overlap } = strategy.static;
  return { ...DEFAULTS, chunk_size, chunk_overlap };
}

export function usedChunkingOf({ chunk_size, chunk_overlap }: IngestOptions): z.output<typeof UsedChunking> {
  return { type: 'static', static: { max_chunk_size_tokens: chunk_size, chunk_overlap_tokens: chunk_overlap } };
}
