import { field, parseJson } from '../../../platform/upstream/parse-json.ts';
import { bearer, postJson, wellFormed } from '../../../platform/upstream/request-parts.ts';
import { GEMINI_TASK_TYPES, gemini } from './gemini.ts';
import type { ExpectedVectors, ParsedVectors, Protocol, UpstreamCall, UpstreamCaps } from './protocol.ts';
import { placeInOrder, tokensOf } from './vectors.ts';

/** Group of models with the same method and body. */
interface Family {
  readonly name: RegExp;
  readonly method: 'predict' | 'embedContent';
  readonly caps: UpstreamCaps;
  body(call: UpstreamCall): object;
}

const ONE: UpstreamCaps = { itemsMax: 1, tokensMax: null };
const MANY: UpstreamCaps = { itemsMax: 250, tokensMax: 20_000 };

const textEmbedding = (call: UpstreamCall) => ({
  instances: wellFormed(call.texts).map((content) => ({ content, task_type: taskOf(call) })),
  parameters: { autoTruncate: false, outputDimensionality: call.dimensions ?? undefined },
});

/** Families by model name. Any other name counts as a text model, such as `text-embedding-005`. */
const FAMILIES: readonly Family[] = [
  {
    name: /^gemini-embedding-2\b/,
    method: 'embedContent',
    caps: ONE,
    body: (call) => ({
      content: { parts: wellFormed(call.texts).map((text) => ({ text })) },
      taskType: taskOf(call),
      outputDimensionality: call.dimensions ?? undefined,
      autoTruncate: false,
    }),
  },
  {
    name: /^multimodalembedding\b/,
    method: 'predict',
    caps: ONE,
    body: (call) => ({
      instances: wellFormed(call.texts).map((text) => ({ text })),
      parameters: { dimension: call.dimensions ?? undefined },
    }),
  },
  { name: /^gemini-embedding-001\b/, method: 'predict', caps: ONE, body: textEmbedding },
  { name: /^/, method: 'predict', caps: MANY, body: textEmbedding },
];

function familyOf(model: string): Family {
  return FAMILIES.find(({ name }) => name.test(model)) as Family;
}

function taskOf({ taskType }: UpstreamCall): string | undefined {
  return taskType === null ? undefined : GEMINI_TASK_TYPES[taskType];
}

/**
 * Protocol of Vertex AI: `publishers/google/models/{model}:predict`, and `:embedContent` for Gemini Embedding 2
 * (docs.cloud.google.com/vertex-ai/generative-ai/docs/model-reference/text-embeddings-api, …/multimodal-embeddings-api
 * and …/reference/rest/v1/projects.locations.publishers.models/embedContent, November 2026). The Gemini models and the
 * multimodal one take one text per call. The multimodal model has no task types. The key is an access token.
 */
export const vertex: Protocol = {
  caps: MANY,
  capsOf: (model) => familyOf(model).caps,
  request: (call) => {
    const { method, body } = familyOf(call.upstreamModel);
    const path = `/publishers/google/models/${encodeURIComponent(call.upstreamModel)}:${method}`;
    return postJson(path, bearer(call.apiKey), body(call));
  },
  parse: (reply, expected) => {
    const answer = parseJson(reply.body);
    return field(answer, 'predictions') === undefined
      ? parseContent(answer, expected)
      : parsePredictions(answer, expected);
  },
  faultOf: gemini.faultOf,
};

/** Parse an answer to `embedContent`: `{embedding: {values}, usageMetadata: {promptTokenCount}}`. */
function parseContent(answer: unknown, expected: ExpectedVectors): ParsedVectors {
  return {
    vectors: placeInOrder([field(answer, 'embedding')], expected, 'values'),
    tokens: tokensOf(field(field(answer, 'usageMetadata'), 'promptTokenCount')),
  };
}

/** Parse `{predictions: [{embeddings: {values, statistics: {token_count}}}]}`, or `[{textEmbedding}]`. */
function parsePredictions(answer: unknown, expected: ExpectedVectors): ParsedVectors {
  const predictions = field(answer, 'predictions');
  const list = Array.isArray(predictions) ? predictions : [];
  const vectors = list.map((each) => field(field(each, 'embeddings'), 'values') ?? field(each, 'textEmbedding'));
  const counts = list.map((each) => field(field(field(each, 'embeddings'), 'statistics'), 'token_count'));
  const total = counts.reduce<number>((sum, count) => sum + (typeof count === 'number' ? count : Number.NaN), 0);
  return { vectors: placeInOrder(vectors, expected), tokens: tokensOf(total) };
}
