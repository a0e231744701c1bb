import { openAiShaped } from './openai.ts';

/**
 * Protocol of Mixedbread's `POST /embeddings` (mixedbread.com/api-reference, mixedbread-python, November 2026). It
 * takes no task type. Search queries start with a prompt, which is one of the model's prefixes. The API accepts 256
 * texts.
 */
export const mixedbread = openAiShaped({ itemsMax: 256, tokensMax: null }, ({ dimensions }) => ({
  dimensions: dimensions ?? undefined,
  normalized: true,
  encoding_format: 'base64',
}));
