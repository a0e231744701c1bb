import { postJson, wellFormed } from '../../../platform/upstream/request-parts.ts';
import { openai } from './openai.ts';
import type { Protocol } from './protocol.ts';

/**
 * Protocol of Azure OpenAI: OpenAI's body with the key in `api-key`. The v1 API takes the deployment as `model`. The
 * dated API has it in the path instead: `/deployments/{deployment}/embeddings?api-version=2024-10-21`
 * (learn.microsoft.com/azure/foundry/openai/latest and …/openai/reference, November 2026).
 */
export const azure: Protocol = {
  ...openai,
  request: ({ upstreamModel, texts, dimensions, apiKey, apiVersion }) => {
    const path =
      apiVersion === null
        ? '/embeddings'
        : `/deployments/${encodeURIComponent(upstreamModel)}/embeddings?api-version=${apiVersion}`;
    return postJson(path, apiKey === null ? {} : { 'api-key': apiKey.reveal() }, {
      input: wellFormed(texts),
      model: apiVersion === null ? upstreamModel : undefined,
      dimensions: dimensions ?? undefined,
      encoding_format: 'base64',
    });
  },
};
