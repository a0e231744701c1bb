import { openAiShaped } from './openai.ts';

/**
 * Protocol of Mistral's `POST /embeddings` (docs.mistral.ai/api/endpoint/embeddings, November 2026). It takes no task
 * type. The API accepts 256 texts of 16,000 tokens in all, and refuses more as "Too many inputs" or "Too many tokens
 * overall", code 3210. The page documents neither limit: the first was found by testing, the second is that of
 * Mistral's own integrations.
 */
export const mistral = openAiShaped({ itemsMax: 256, tokensMax: 16_000 }, ({ dimensions }) => ({
  output_dimension: dimensions ?? undefined,
  encoding_format: 'base64',
}));
