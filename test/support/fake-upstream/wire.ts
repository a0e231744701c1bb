import { z } from 'zod';
import type { ProtocolName } from '../../../src/embedding/providers/provider.ts';
import { base64Of } from './vectors.ts';

/** What a request says, in words that all protocols share. */
export interface WireRequest {
  readonly model: string;
  readonly texts: readonly string[];
  /** As the protocol calls it; null where it was not said. */
  readonly taskType: string | null;
  readonly dimensions: number | null;
  readonly base64: boolean;
}

/** What will be answered; a fault may have spoilt it. */
export interface WireReply {
  readonly model: string;
  readonly vectors: readonly Float32Array[];
  /** `data[].index` of each vector, where the protocol has one. */
  readonly indices: readonly number[];
  readonly tokens: number;
  readonly base64: boolean;
}

export interface WireProtocol {
  /** Where the base URL of this protocol points to, below the server's root. */
  readonly base: string;
  /** @returns the model named in the path, '' where none is; null if the path, below the base, is another */
  path(path: string): string | null;
  readonly auth: 'bearer' | 'x-goog-api-key';
  readonly itemsMax: number;
  /** Whether an answer says which text a vector belongs to; else the order does. */
  readonly indexed: boolean;
  /** @throws ZodError for anything that the real server does not know */
  read(body: unknown, pathModel: string): WireRequest;
  render(reply: WireReply): { body: unknown; headers?: Record<string, string> };
  /** An error body in the vendor's shape. */
  error(status: number, message: string, code: string): unknown;
}

const text = z.string().min(1);
const texts = z.array(text).min(1);
const model = z.string().min(1);
const dimensions = z.int().positive().optional();
const exactly = (path: string) => (given: string) => (given === path ? '' : null);

function numbers(vector: Float32Array): (number | null)[] {
  return Array.from(vector, (value) => (Number.isFinite(value) ? value : null));
}

function openAiShape(reply: WireReply, usage: object): { body: unknown } {
  const data = reply.vectors.map((vector, at) => ({
    object: 'embedding',
    index: reply.indices[at],
    embedding: reply.base64 ? base64Of(vector) : numbers(vector),
  }));
  return { body: { object: 'list', data, model: reply.model, usage } };
}

const OpenAi = z.strictObject({
  input: texts,
  model,
  dimensions,
  encoding_format: z.enum(['float', 'base64']).default('float'),
});
const Voyage = z.strictObject({
  input: texts,
  model,
  input_type: z.enum(['query', 'document']).nullable().default(null),
  truncation: z.boolean().default(true),
  output_dimension: dimensions,
  encoding_format: z.literal('base64').optional(),
});
const Jina = z.strictObject({
  input: texts,
  model,
  task: z.enum(['retrieval.query', 'retrieval.passage', 'text-matching', 'separation', 'classification']).optional(),
  dimensions,
  embedding_type: z.enum(['float', 'base64']).default('float'),
  truncate: z.boolean().default(false),
});
const GEMINI_TASKS = [
  'RETRIEVAL_QUERY',
  'RETRIEVAL_DOCUMENT',
  'SEMANTIC_SIMILARITY',
  'CLASSIFICATION',
  'CLUSTERING',
  'QUESTION_ANSWERING',
  'FACT_VERIFICATION',
  'CODE_RETRIEVAL_QUERY',
] as const;
const Gemini = z.strictObject({
  requests: z
    .array(
      z.strictObject({
        model: z.string().startsWith('models/'),
        content: z.strictObject({ parts: z.tuple([z.strictObject({ text })]) }),
        taskType: z.enum(GEMINI_TASKS).optional(),
        outputDimensionality: dimensions,
      }),
    )
    .min(1),
});
const Cohere = z.strictObject({
  model,
  texts,
  input_type: z.enum(['search_query', 'search_document', 'classification', 'clustering']),
  embedding_types: z.tuple([z.literal('float')]),
  output_dimension: dimensions,
  truncate: z.enum(['NONE', 'START', 'END']).default('END'),
});
const Tei = z.strictObject({
  inputs: texts,
  normalize: z.boolean().default(true),
  truncate: z.boolean().default(false),
  prompt_name: z.string().optional(),
});
const Ollama = z.strictObject({ model, input: texts, truncate: z.boolean().default(true), dimensions });

const openai: WireProtocol = {
  base: '/openai/v1',
  path: exactly('/embeddings'),
  auth: 'bearer',
  itemsMax: 2048,
  indexed: true,
  read(body) {
    const asked = OpenAi.parse(body);
    const base64 = asked.encoding_format === 'base64';
    return { model: asked.model, texts: asked.input, taskType: null, dimensions: asked.dimensions ?? null, base64 };
  },
  render: (reply) => openAiShape(reply, { prompt_tokens: reply.tokens, total_tokens: reply.tokens }),
  error: (_status, message, code) => ({ error: { message, type: 'invalid_request_error', param: null, code } }),
};

const voyage: WireProtocol = {
  base: '/voyage/v1',
  path: exactly('/embeddings'),
  auth: 'bearer',
  itemsMax: 1000,
  indexed: true,
  read(body) {
    const asked = Voyage.parse(body);
    return {
      ...{ model: asked.model, texts: asked.input, taskType: asked.input_type },
      ...{ dimensions: asked.output_dimension ?? null, base64: asked.encoding_format === 'base64' },
    };
  },
  render: (reply) => openAiShape(reply, { total_tokens: reply.tokens }),
  error: (_status, message) => ({ detail: message }),
};

const jina: WireProtocol = {
  base: '/jina/v1',
  path: exactly('/embeddings'),
  auth: 'bearer',
  itemsMax: 512,
  indexed: true,
  read(body) {
    const asked = Jina.parse(body);
    return {
      ...{ model: asked.model, texts: asked.input, taskType: asked.task ?? null },
      ...{ dimensions: asked.dimensions ?? null, base64: asked.embedding_type === 'base64' },
    };
  },
  render: (reply) => openAiShape(reply, { prompt_tokens: reply.tokens, total_tokens: reply.tokens }),
  error: (_status, message, code) => ({ code, message }),
};

const gemini: WireProtocol = {
  base: '/gemini/v1beta',
  path(given) {
    const named = /^\/models\/([^/:]+):batchEmbedContents$/.exec(given)?.[1];
    return named === undefined ? null : decodeURIComponent(named);
  },
  auth: 'x-goog-api-key',
  itemsMax: 100,
  indexed: false,
  read(body, pathModel) {
    const { requests } = Gemini.parse(body);
    const [first] = requests;
    for (const one of requests) {
      const same = one.taskType === first?.taskType && one.outputDimensionality === first?.outputDimensionality;
      if (one.model !== `models/${pathModel}` || !same) throw new Error('the requests of one batch differ');
    }
    return {
      ...{ model: pathModel, texts: requests.map((one) => one.content.parts[0].text), base64: false },
      ...{ taskType: first?.taskType ?? null, dimensions: first?.outputDimensionality ?? null },
    };
  },
  render: (reply) => ({
    body: {
      embeddings: reply.vectors.map((vector) => ({ values: numbers(vector) })),
      usageMetadata: { promptTokenCount: reply.tokens },
    },
  }),
  error: (status, message, code) => ({ error: { code: status, message, status: code, details: [] } }),
};

const cohere: WireProtocol = {
  base: '/cohere',
  path: exactly('/v2/embed'),
  auth: 'bearer',
  itemsMax: 96,
  indexed: false,
  read(body) {
    const asked = Cohere.parse(body);
    return {
      ...{ model: asked.model, texts: asked.texts, taskType: asked.input_type },
      ...{ dimensions: asked.output_dimension ?? null, base64: false },
    };
  },
  render: (reply) => ({
    body: {
      id: 'fake',
      embeddings: { float: reply.vectors.map(numbers) },
      meta: { api_version: { version: '2' }, billed_units: { input_tokens: reply.tokens } },
    },
  }),
  error: (_status, message) => ({ message }),
};

const tei: WireProtocol = {
  base: '/tei',
  path: exactly('/embed'),
  auth: 'bearer',
  itemsMax: 32,
  indexed: false,
  read: (body) => ({ model: 'tei', texts: Tei.parse(body).inputs, taskType: null, dimensions: null, base64: false }),
  render: (reply) => ({
    body: reply.vectors.map(numbers),
    headers: { 'x-compute-tokens': String(reply.tokens) },
  }),
  error: (_status, message, code) => ({ error: message, error_type: code }),
};

const ollama: WireProtocol = {
  base: '/ollama',
  path: exactly('/api/embed'),
  auth: 'bearer',
  itemsMax: 512,
  indexed: false,
  read(body) {
    const asked = Ollama.parse(body);
    return {
      ...{ model: asked.model, texts: asked.input, taskType: null },
      ...{ dimensions: asked.dimensions ?? null, base64: false },
    };
  },
  render: (reply) => ({
    body: { model: reply.model, embeddings: reply.vectors.map(numbers), prompt_eval_count: reply.tokens },
  }),
  error: (_status, message) => ({ error: message }),
};

/** Every protocol, as its documentation has it; written apart from the adapters, so that one can catch the other. */
export const WIRE: Readonly<Record<ProtocolName, WireProtocol>> = { openai, gemini, voyage, jina, cohere, tei, ollama };
