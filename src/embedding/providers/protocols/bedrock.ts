import { faultsOf } from '../../../platform/upstream/classify.ts';
import { field, parseJson } from '../../../platform/upstream/parse-json.ts';
import { bearer, postJson, wellFormed } from '../../../platform/upstream/request-parts.ts';
import { header } from '../../../platform/upstream/retry-after.ts';
import { COHERE_INPUT_TYPES } from './cohere.ts';
import type { Protocol, UpstreamCall, UpstreamCaps } from './protocol.ts';
import { placeInOrder, tokensOf } from './vectors.ts';

/** Group of models with the same body. */
interface Family {
  readonly name: RegExp;
  readonly caps: UpstreamCaps;
  body(call: UpstreamCall): object;
}

const ONE: UpstreamCaps = { itemsMax: 1, tokensMax: null };
const inputText = ({ texts }: UpstreamCall) => wellFormed(texts)[0];

/**
 * Families by the id of the model, also behind an inference profile such as `us.cohere.embed-v4:0`. Another id counts
 * as Titan Text Embeddings V2.
 */
const FAMILIES: readonly Family[] = [
  {
    name: /\bcohere\.embed-/,
    caps: { itemsMax: 96, tokensMax: null },
    body: (call) => ({
      texts: wellFormed(call.texts),
      input_type: COHERE_INPUT_TYPES[call.taskType ?? 'retrieval_document'],
      embedding_types: ['float'],
      output_dimension: call.dimensions ?? undefined,
      truncate: 'NONE',
    }),
  },
  {
    name: /\bamazon\.titan-embed-image-/,
    caps: ONE,
    body: (call) => ({
      inputText: inputText(call),
      embeddingConfig: call.dimensions === null ? undefined : { outputEmbeddingLength: call.dimensions },
    }),
  },
  { name: /\bamazon\.titan-embed-(g1-)?text-(v1|02)\b/, caps: ONE, body: (call) => ({ inputText: inputText(call) }) },
  {
    name: /^/,
    caps: ONE,
    body: (call) => ({ inputText: inputText(call), dimensions: call.dimensions ?? undefined, normalize: true }),
  },
];

function familyOf(model: string): Family {
  return FAMILIES.find(({ name }) => name.test(model)) as Family;
}

/** Errors of signatures and tokens. Some have status 400. */
const CREDENTIAL_CODES = new Set([
  'IncompleteSignature',
  'IncompleteSignatureException',
  'ExpiredTokenException',
  'InvalidSignatureException',
  'MissingAuthenticationTokenException',
  'UnrecognizedClientException',
]);

/**
 * Protocol of Amazon Bedrock's `InvokeModel`, `POST /model/{id}/invoke`
 * (docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-titan-embed-text.html, …-titan-embed-mm.html,
 * …-embed-v3.html, …-embed-v4.html and troubleshooting-api-error-codes.html, November 2026). Titan takes one text per
 * call and no task type; Cohere takes 96 texts. The key is a Bedrock API key. Without one, requests are signed.
 */
export const bedrock: Protocol = {
  caps: ONE,
  capsOf: (model) => familyOf(model).caps,
  request: (call) => {
    const path = `/model/${encodeURIComponent(call.upstreamModel)}/invoke`;
    return postJson(path, bearer(call.apiKey), familyOf(call.upstreamModel).body(call));
  },
  parse: (reply, expected) => {
    const answer = parseJson(reply.body);
    const embeddings = field(answer, 'embeddings');
    const ofCohere = field(embeddings, 'float') ?? embeddings;
    return {
      vectors: placeInOrder(ofCohere ?? [field(answer, 'embedding')], expected),
      tokens:
        tokensOf(field(answer, 'inputTextTokenCount')) ??
        tokensOf(Number(header(reply.headers, 'x-amzn-bedrock-input-token-count') ?? 0)),
    };
  },
  faultOf: faultsOf((status, { codes, message }) => {
    if (codes.some((code) => CREDENTIAL_CODES.has(code))) return 'refused';
    // A wrong API key and a model without access have the same code. Only the former concerns other models, too.
    if (codes.includes('AccessDeniedException')) return /\bAPI key\b/i.test(message ?? '') ? 'refused' : 'unavailable';
    // Errors in our settings and in the input have the same code. Only the message distinguishes them.
    if (status === 400 && /\b(model identifier|inference profile|on-demand throughput)\b/i.test(message ?? '')) {
      return 'unavailable';
    }
    if (codes.includes('ServiceQuotaExceededException')) return 'unavailable';
    // 424: the model failed on the call.
    return status === 424 ? 'transient' : null;
  }),
};
