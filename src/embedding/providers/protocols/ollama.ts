import { faultsOf } from '../../../platform/upstream/classify.ts';
import { field, parseJson } from '../../../platform/upstream/parse-json.ts';
import { bearer, postJson, wellFormed } from '../../../platform/upstream/request-parts.ts';
import type { Protocol } from './protocol.ts';
import { placeInOrder, tokensOf } from './vectors.ts';

/** Protocol of Ollama's `POST /api/embed`. Its queue holds 512 requests, and every text of a call counts as one. */
export const ollama: Protocol = {
  caps: { itemsMax: 512, tokensMax: null },
  request: (call) =>
    postJson('/api/embed', bearer(call.apiKey), {
      model: call.upstreamModel,
      input: wellFormed(call.texts),
      truncate: false,
      dimensions: call.dimensions ?? undefined,
    }),
  parse: (reply, expected) => {
    const answer = parseJson(reply.body);
    return {
      vectors: placeInOrder(field(answer, 'embeddings'), expected),
      tokens: tokensOf(field(answer, 'prompt_eval_count')),
    };
  },
  // Ollama sends no codes. A text that is too long is a 400 in some versions and a 500 in others.
  faultOf: faultsOf((status, { message }) =>
    status === 500 && /\bexceeds\b.*\bcontext length\b/i.test(message ?? '') ? 'rejected' : null,
  ),
};
