import { z } from 'zod';
import {
  cohere,
  dimensions,
  GEMINI_TASKS,
  numbers,
  openAiShape,
  openai,
  text,
  texts,
  type WireProtocol,
  type WireReply,
  type WireRequest,
} from './wire.ts';

const AzureBody = z.strictObject({
  input: texts,
  model: z.string().min(1).optional(),
  dimensions,
  encoding_format: z.enum(['float', 'base64']).default('float'),
});

/** Azure OpenAI: the v1 API has the deployment in the body, the dated one in the path. */
export const azure: WireProtocol = {
  ...openai,
  base: '/azure/openai',
  usualBase: '/azure/openai/v1',
  path(given) {
    if (given === '/v1/embeddings') return '';
    const deployment = /^\/deployments\/([^/]+)\/embeddings\?api-version=\d{4}-\d{2}-\d{2}(-preview)?$/.exec(
      given,
    )?.[1];
    return deployment === undefined ? null : decodeURIComponent(deployment);
  },
  auth: 'api-key',
  read(body, deployment) {
    const parsed = AzureBody.parse(body);
    if ((parsed.model === undefined) === (deployment === ''))
      throw new Error('one deployment, in the path or the body');
    return {
      ...{ model: parsed.model ?? deployment, texts: parsed.input, taskType: null },
      ...{ dimensions: parsed.dimensions ?? null, base64: parsed.encoding_format === 'base64' },
    };
  },
  render: (reply) => openAiShape(reply, { prompt_tokens: reply.tokens, total_tokens: reply.tokens }),
  refusal: {
    status: 401,
    body: { error: { code: '401', message: 'Access denied due to invalid subscription key or wrong API endpoint.' } },
  },
};

const task = z.enum(GEMINI_TASKS).optional();
const TextInstances = z.strictObject({
  instances: z.array(z.strictObject({ content: text, task_type: task, title: z.string().optional() })).min(1),
  parameters: z.strictObject({ autoTruncate: z.boolean().default(true), outputDimensionality: dimensions }),
});
const MultimodalInstances = z.strictObject({
  instances: z.tuple([z.strictObject({ text })]),
  parameters: z.strictObject({
    dimension: z.union([z.literal(128), z.literal(256), z.literal(512), z.literal(1408)]).optional(),
  }),
});
const EmbedContent = z
  .strictObject({
    content: z.strictObject({ parts: z.tuple([z.strictObject({ text })]) }),
    taskType: task,
    title: z.string().optional(),
    outputDimensionality: dimensions,
    autoTruncate: z.boolean().default(true),
  })
  // The model ignores a task type, so a call that sends one would wrongly rely on it.
  .refine(({ taskType }) => taskType === undefined);

/** Vertex AI: `predict`, and `embedContent` for Gemini Embedding 2. */
export const vertex: WireProtocol = {
  base: '/vertex/v1/projects/p-1/locations/us-central1',
  path(given) {
    const [, name, method] = /^\/publishers\/google\/models\/([^/:]+):(predict|embedContent)$/.exec(given) ?? [];
    if (name === undefined) return null;
    return name.startsWith('gemini-embedding-2') === (method === 'embedContent') ? decodeURIComponent(name) : null;
  },
  auth: 'bearer',
  itemsMax: 250,
  indexed: false,
  read: (body, name) => readVertex(body, name),
  render: ({ model, vectors, tokens }) => ({ body: renderVertex(model, vectors, tokens) }),
  error: (status, message, code) => ({ error: { code: status, message, status: code.toUpperCase(), details: [] } }),
};

function readVertex(body: unknown, name: string): WireRequest {
  const shared = { model: name, base64: false };
  if (name.startsWith('gemini-embedding-2')) {
    const { content, outputDimensionality } = EmbedContent.parse(body);
    return { ...shared, texts: [content.parts[0].text], taskType: null, dimensions: outputDimensionality ?? null };
  }
  if (name.startsWith('multimodalembedding')) {
    const { instances, parameters } = MultimodalInstances.parse(body);
    return { ...shared, texts: [instances[0].text], taskType: null, dimensions: parameters.dimension ?? null };
  }
  const { instances, parameters } = TextInstances.parse(body);
  if (name === 'gemini-embedding-001' && instances.length > 1) throw new Error('the model takes one instance');
  const [first] = instances;
  return {
    ...{ ...shared, texts: instances.map(({ content }) => content) },
    ...{ taskType: first?.task_type ?? null, dimensions: parameters.outputDimensionality ?? null },
  };
}

function renderVertex(name: string, vectors: readonly Float32Array[], tokens: number): unknown {
  if (name.startsWith('gemini-embedding-2')) {
    const [vector] = vectors;
    return {
      ...(vector === undefined ? {} : { embedding: { values: numbers(vector) } }),
      ...{ usageMetadata: { promptTokenCount: tokens }, truncated: false },
    };
  }
  if (name.startsWith('multimodalembedding')) {
    return { predictions: vectors.map((vector) => ({ textEmbedding: numbers(vector) })), deployedModelId: '1' };
  }
  return {
    predictions: vectors.map((vector, at) => ({
      // The fake counts all tokens in the first text.
      embeddings: { values: numbers(vector), statistics: { truncated: false, token_count: at === 0 ? tokens : 0 } },
    })),
    metadata: { billableCharacterCount: tokens },
  };
}

const CohereOnBedrock = z.strictObject({
  texts: texts.max(96),
  input_type: z.enum(['search_query', 'search_document', 'classification', 'clustering']),
  embedding_types: z.tuple([z.literal('float')]).optional(),
  output_dimension: dimensions,
  truncate: z.enum(['NONE', 'START', 'END']).default('NONE'),
});
const TitanV2 = z.strictObject({ inputText: text, dimensions, normalize: z.boolean().default(true) });
const TitanV1 = z.strictObject({ inputText: text });
const TitanImage = z.strictObject({
  inputText: text,
  embeddingConfig: z
    .strictObject({ outputEmbeddingLength: z.union([z.literal(256), z.literal(384), z.literal(1024)]) })
    .optional(),
});

const isCohere = (name: string) => /(^|\.)cohere\.embed-/.test(name);

/** Amazon Bedrock: bodies of Titan and Cohere behind `InvokeModel`. */
export const bedrock: WireProtocol = {
  base: '/bedrock',
  path(given) {
    const name = /^\/model\/([^/]+)\/invoke$/.exec(given)?.[1];
    return name === undefined ? null : decodeURIComponent(name);
  },
  auth: 'bearer',
  itemsMax: 96,
  indexed: false,
  read: (body, name) => readBedrock(body, name),
  render: (reply) => renderBedrock(reply),
  error: (_status, message) => cohere.error(0, message, ''),
  refusal: {
    status: 403,
    body: { message: 'The security token included in the request is invalid.' },
    headers: { 'x-amzn-errortype': 'UnrecognizedClientException:http://internal.amazon.com/coral/' },
  },
};

function readBedrock(body: unknown, name: string): WireRequest {
  const shared = { model: name, base64: false, taskType: null };
  if (isCohere(name)) {
    const { texts: all, input_type: taskType, output_dimension: length = null } = CohereOnBedrock.parse(body);
    if (length !== null && !name.includes('v4')) throw new Error('only v4 takes an output dimension');
    return { ...shared, texts: all, taskType, dimensions: length };
  }
  if (name.startsWith('amazon.titan-embed-image')) {
    const { inputText, embeddingConfig } = TitanImage.parse(body);
    return { ...shared, texts: [inputText], dimensions: embeddingConfig?.outputEmbeddingLength ?? null };
  }
  if (name === 'amazon.titan-embed-text-v1') {
    return { ...shared, texts: [TitanV1.parse(body).inputText], dimensions: null };
  }
  const { inputText, dimensions: length } = TitanV2.parse(body);
  return { ...shared, texts: [inputText], dimensions: length ?? null };
}

function renderBedrock({ model: name, vectors, tokens }: WireReply): {
  body: unknown;
  headers: Record<string, string>;
} {
  const headers = { 'x-amzn-bedrock-input-token-count': String(tokens) };
  if (isCohere(name)) {
    const embeddings = { float: vectors.map(numbers) };
    return { headers, body: { id: 'fake', response_type: 'embeddings_by_type', embeddings } };
  }
  const [vector] = vectors;
  return {
    headers,
    body: vector === undefined ? {} : { embedding: numbers(vector), inputTextTokenCount: tokens },
  };
}
