import { z } from 'zod';
import { base64Of } from './vectors.ts';

/** Request in terms shared by all protocols. */
export interface WireRequest {
  readonly model: string;
  readonly texts: readonly string[];
  /** Task type in the protocol's own terms, or null. */
  readonly taskType: string | null;
  readonly dimensions: number | null;
  readonly base64: boolean;
}

/** Content of a response, possibly with a fault. */
export interface WireReply {
  readonly model: string;
  readonly vectors: readonly Float32Array[];
  /** `data[].index` of each vector, for protocols with one. */
  readonly indices: readonly number[];
  readonly tokens: number;
  readonly base64: boolean;
}

export interface WireProtocol {
  /** Base URL path of this protocol. */
  readonly base: string;
  /** Base URL path of the usual API, if the protocol has several. */
  readonly usualBase?: string;
  /** Match a path below the base. @returns the model in the path, '' if it has none, null for another path */
  path(path: string): string | null;
  /** Header of the key. */
  readonly auth: 'bearer' | 'x-goog-api-key' | 'api-key';
  readonly itemsMax: number;
  /** True if a response names the text of each vector. Otherwise vectors are in the order of the texts. */
  readonly indexed: boolean;
  /** Parse a request body. @throws ZodError for anything that the real server doesn't define */
  read(body: unknown, pathModel: string): WireRequest;
  render(reply: WireReply): { body: unknown; headers?: Record<string, string> };
  /** Build an error body in the vendor's shape. */
  error(status: number, message: string, code: string): unknown;
  /** Response to a wrong key, if it isn't a 401 in the usual shape. */
  readonly refusal?: { readonly status: number; readonly body: unknown; readonly headers?: Record<string, string> };
}

export const text = z.string().min(1);
export const texts = z.array(text).min(1);
export const model = z.string().min(1);
export const dimensions = z.int().positive().optional();
export const exactly = (path: string) => (given: string) => (given === path ? '' : null);

export function numbers(vector: Float32Array): (number | null)[] {
  return Array.from(vector, (value) => (Number.isFinite(value) ? value : null));
}

export function openAiShape(reply: WireReply, usage: object): { body: unknown } {
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
/** Tasks of Jina's models, from its OpenAPI document. */
const JINA_TASKS: Readonly<Record<string, readonly string[]>> = {
  'jina-embeddings-v5-text-small': [
    ...['retrieval.query', 'retrieval.passage', 'text-matching', 'clustering', 'classification'],
  ],
  'jina-embeddings-v4': ['text-matching', 'retrieval.query', 'retrieval.passage', 'code.query', 'code.passage'],
  'jina-embeddings-v2-base-en': [],
  'jina-clip-v2': ['retrieval.query'],
  'jina-code-embeddings-0.5b': [
    ...['nl2code', 'qa', 'code2code', 'code2nl', 'code2completion'].flatMap((of) => [`${of}.query`, `${of}.passage`]),
  ],
};
const JINA_V3_TASKS = ['retrieval.query', 'retrieval.passage', 'text-matching', 'separation', 'classification'];
const Jina = z
  .strictObject({
    input: texts,
    model,
    task: z.string().optional(),
    dimensions,
    embedding_type: z.enum(['float', 'base64']).default('float'),
    truncate: z.boolean().default(false),
  })
  .refine((body) => body.task === undefined || (JINA_TASKS[body.model] ?? JINA_V3_TASKS).includes(body.task), {
    error: 'the model does not have this task',
  });
export const GEMINI_TASKS = [
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
    // The API ignores a task type of these models. A call that sends one relies on it.
    .refine((all) => !all.some((each) => each.model.includes('gemini-embedding-2') && each.taskType !== undefined))
    .min(1),
});
const KEY_INVALID = { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'API_KEY_INVALID' };
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

export const openai: WireProtocol = {
  base: '/openai/v1',
  path: exactly('/embeddings'),
  auth: 'bearer',
  itemsMax: 2048,
  indexed: true,
  read(body) {
    const parsed = OpenAi.parse(body);
    const base64 = parsed.encoding_format === 'base64';
    return { model: parsed.model, texts: parsed.input, taskType: null, dimensions: parsed.dimensions ?? null, base64 };
  },
  render: (reply) => openAiShape(reply, { prompt_tokens: reply.tokens, total_tokens: reply.tokens }),
  error: (_status, message, code) => ({ error: { message, type: 'invalid_request_error', param: null, code } }),
};

export const voyage: WireProtocol = {
  base: '/voyage/v1',
  path: exactly('/embeddings'),
  auth: 'bearer',
  itemsMax: 1000,
  indexed: true,
  read(body) {
    const parsed = Voyage.parse(body);
    return {
      ...{ model: parsed.model, texts: parsed.input, taskType: parsed.input_type },
      ...{ dimensions: parsed.output_dimension ?? null, base64: parsed.encoding_format === 'base64' },
    };
  },
  render: (reply) => openAiShape(reply, { total_tokens: reply.tokens }),
  error: (_status, message) => ({ detail: message }),
};

export const jina: WireProtocol = {
  base: '/jina/v1',
  path: exactly('/embeddings'),
  auth: 'bearer',
  itemsMax: 512,
  indexed: true,
  read(body) {
    const parsed = Jina.parse(body);
    return {
      ...{ model: parsed.model, texts: parsed.input, taskType: parsed.task ?? null },
      ...{ dimensions: parsed.dimensions ?? null, base64: parsed.embedding_type === 'base64' },
    };
  },
  render: (reply) => openAiShape(reply, { prompt_tokens: reply.tokens, total_tokens: reply.tokens }),
  error: (_status, message, code) => ({ code, message }),
};

export const gemini: WireProtocol = {
  base: '/gemini/v1beta',
  path(given) {
    const name = /^\/models\/([^/:]+):batchEmbedContents$/.exec(given)?.[1];
    return name === undefined ? null : decodeURIComponent(name);
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
  refusal: {
    status: 400,
    body: { error: { code: 400, message: 'API key not valid.', status: 'INVALID_ARGUMENT', details: [KEY_INVALID] } },
  },
};

export const cohere: WireProtocol = {
  base: '/cohere',
  path: exactly('/v2/embed'),
  auth: 'bearer',
  itemsMax: 96,
  indexed: false,
  read(body) {
    const parsed = Cohere.parse(body);
    return {
      ...{ model: parsed.model, texts: parsed.texts, taskType: parsed.input_type },
      ...{ dimensions: parsed.output_dimension ?? null, base64: false },
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

export const tei: WireProtocol = {
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

export const ollama: WireProtocol = {
  base: '/ollama',
  path: exactly('/api/embed'),
  auth: 'bearer',
  itemsMax: 512,
  indexed: false,
  read(body) {
    const parsed = Ollama.parse(body);
    return {
      ...{ model: parsed.model, texts: parsed.input, taskType: null },
      ...{ dimensions: parsed.dimensions ?? null, base64: false },
    };
  },
  render: (reply) => ({
    body: { model: reply.model, embeddings: reply.vectors.map(numbers), prompt_eval_count: reply.tokens },
  }),
  error: (_status, message) => ({ error: message }),
};
