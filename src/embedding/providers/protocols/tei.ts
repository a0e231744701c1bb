import { faultsOf } from '../../../platform/upstream/classify.ts';
import { badReply, field, parseJson } from '../../../platform/upstream/parse-json.ts';
import { bearer, postJson, wellFormed } from '../../../platform/upstream/request-parts.ts';
import { header } from '../../../platform/upstream/retry-after.ts';
import type { Protocol } from './protocol.ts';
import { placeInOrder, tokensOf } from './vectors.ts';

/**
 * Protocol of Hugging Face text-embeddings-inference, `POST /embed`. The server holds one model, so requests name none.
 * `--max-client-batch-size` is 32 unless the server's operator sets it. `GET /info` returns it.
 */
export const tei: Protocol = {
  caps: { itemsMax: 32, tokensMax: null },
  request: (call) =>
    postJson('/embed', bearer(call.apiKey), { inputs: wellFormed(call.texts), normalize: true, truncate: false }),
  parse: (reply, expected) => ({
    vectors: placeInOrder(parseJson(reply.body), expected),
    tokens: tokensOf(Number(header(reply.headers, 'x-compute-tokens') ?? 0)),
  }),
  faultOf: faultsOf((status, { message }) => {
    // Too many texts in one call is our bug. Otherwise this status and type mean that a text is too long.
    if (/^batch size \d+ > /.test(message ?? '')) return 'unavailable';
    // 424: the model's backend failed.
    return status === 424 ? 'transient' : null;
  }),
  discover: {
    request: (apiKey) => ({ method: 'GET', path: '/info', headers: bearer(apiKey), body: null }),
    parse: (reply) => {
      const itemsMax = field(parseJson(reply.body), 'max_client_batch_size');
      if (typeof itemsMax !== 'number' || !Number.isSafeInteger(itemsMax) || itemsMax < 1) {
        throw badReply('bad_shape', 'max_client_batch_size is missing');
      }
      return { itemsMax, tokensMax: null };
    },
  },
};
