import { faultsOf } from '../../../platform/upstream/classify.ts';
import { field, parseJson } from '../../../platform/upstream/parse-json.ts';
import { bearer, postJson, wellFormed } from '../../../platform/upstream/request-parts.ts';
import type { UpstreamReply } from '../../../platform/upstream/upstream-message.ts';
import { extractBase64 } from './extract-base64.ts';
import type { ExpectedVectors, ParsedVectors, Protocol, UpstreamCall, UpstreamCaps } from './protocol.ts';
import { placeByIndex, tokensOf } from './vectors.ts';

/** Parse an answer in OpenAI's form: `{data: [{index, embedding}], usage: {prompt_tokens, total_tokens}}`. */
export function parseOpenAiShape(reply: UpstreamReply, expected: ExpectedVectors): ParsedVectors {
  const extracted = extractBase64(reply.body, expected);
  const answer = extracted ? extracted.answer : parseJson(reply.body);
  const usage = field(answer, 'usage');
  return {
    vectors: placeByIndex(field(answer, 'data'), expected, extracted?.base64Of),
    tokens: tokensOf(field(usage, 'prompt_tokens')) ?? tokensOf(field(usage, 'total_tokens')),
  };
}

/**
 * Create a protocol for `POST /embeddings` in OpenAI's shape.
 * `parseOn` has fast paths for replies that `parseOpenAiShape` parses. A vendor with another `parse` doesn't get them.
 *
 * @param fields returns body members besides `input` and `model`; `undefined` members are omitted
 */
export function openAiShaped(caps: UpstreamCaps, fields: (call: UpstreamCall) => object): Protocol {
  return {
    caps,
    request: (call) =>
      postJson('/embeddings', bearer(call.apiKey), {
        input: wellFormed(call.texts),
        model: call.upstreamModel,
        ...fields(call),
      }),
    parse: parseOpenAiShape,
    faultOf: faultsOf(),
  };
}

/** OpenAI's `POST /embeddings`, which vLLM, Infinity, LiteLLM, llama.cpp and LocalAI also support. */
export const openai = openAiShaped({ itemsMax: 2048, tokensMax: 300_000 }, ({ dimensions }) => ({
  dimensions: dimensions ?? undefined,
  encoding_format: 'base64',
}));
