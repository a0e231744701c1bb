import { z } from 'zod';
import { dimensions, exactly, model, numbers, openAiShape, openai, texts, type WireProtocol } from './wire.ts';

const format = z.enum(['float', 'base64']).default('float');

const Mistral = z.strictObject({ input: texts, model, output_dimension: dimensions, encoding_format: format });

export const mistral: WireProtocol = {
  ...openai,
  base: '/mistral/v1',
  itemsMax: 256,
  read(body) {
    const parsed = Mistral.parse(body);
    return {
      ...{ model: parsed.model, texts: parsed.input, taskType: null },
      ...{ dimensions: parsed.output_dimension ?? null, base64: parsed.encoding_format === 'base64' },
    };
  },
  error: (_status, message, code) => ({ object: 'error', message, type: code, param: null, code: '3210' }),
  refusal: { status: 401, body: { detail: 'Unauthorized' } },
};

const Mixedbread = z.strictObject({
  input: texts,
  model,
  dimensions,
  prompt: z.string().optional(),
  normalized: z.boolean().default(true),
  encoding_format: format,
});

export const mixedbread: WireProtocol = {
  ...openai,
  base: '/mixedbread/v1',
  itemsMax: 256,
  read(body) {
    const parsed = Mixedbread.parse(body);
    return {
      ...{ model: parsed.model, texts: parsed.input, taskType: null },
      ...{ dimensions: parsed.dimensions ?? null, base64: parsed.encoding_format === 'base64' },
    };
  },
  render: (reply) => openAiShape(reply, { prompt_tokens: reply.tokens, total_tokens: reply.tokens }),
};

const Nim = z.strictObject({
  input: texts,
  model,
  input_type: z.enum(['query', 'passage']),
  modality: z.union([z.literal('text'), z.array(z.literal('text'))]).optional(),
  truncate: z.enum(['NONE', 'START', 'END']).default('NONE'),
  dimensions,
  encoding_format: format,
});

export const nim: WireProtocol = {
  ...openai,
  base: '/nim/v1',
  itemsMax: 50,
  read(body) {
    const parsed = Nim.parse(body);
    return {
      ...{ model: parsed.model, texts: parsed.input, taskType: parsed.input_type },
      ...{ dimensions: parsed.dimensions ?? null, base64: parsed.encoding_format === 'base64' },
    };
  },
  error: (_status, message, code) => ({ object: 'error', message, detail: {}, type: code }),
};

const Nomic = z.strictObject({
  texts,
  model,
  task_type: z.enum(['search_query', 'search_document', 'classification', 'clustering']).default('search_document'),
  dimensionality: dimensions,
  long_text_mode: z.enum(['truncate', 'mean']).default('truncate'),
});

export const nomic: WireProtocol = {
  base: '/nomic',
  path: exactly('/v1/embedding/text'),
  auth: 'bearer',
  itemsMax: 50,
  indexed: false,
  read(body) {
    const parsed = Nomic.parse(body);
    if (parsed.long_text_mode !== 'mean') throw new Error('the end of long texts would be lost');
    return {
      ...{ model: parsed.model, texts: parsed.texts, taskType: parsed.task_type },
      ...{ dimensions: parsed.dimensionality ?? null, base64: false },
    };
  },
  render: (reply) => ({
    body: {
      embeddings: reply.vectors.map(numbers),
      usage: { prompt_tokens: reply.tokens, total_tokens: reply.tokens },
      model: reply.model,
    },
  }),
  error: (_status, message) => ({ detail: message }),
};
