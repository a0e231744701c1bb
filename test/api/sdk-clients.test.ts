import { OpenAIEmbeddings } from '@langchain/openai';
import { OpenAIEmbedding } from '@llamaindex/openai';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openTestApi, type TestApi } from '../support/api.ts';

// Tests of the embedding classes of LangChain and LlamaIndex as published on npm, against a whole installation.

const MODEL = 'local/lexical-1';
/** Maximum number of texts of one request. */
const BATCH_MAX = 100;
const TEXTS = Array.from({ length: 230 }, (_, i) => `글 ${i}: the ferry number ${i} leaves at ${i % 24} o'clock`);

interface Installation {
  readonly test: TestApi;
  readonly key: string;
  readonly baseURL: string;
}

async function install(base64: 'auto' | 'always' | 'never'): Promise<Installation> {
  const test = await openTestApi({ worker: false, settings: { embeddings: { base64 } } });
  return { test, key: await test.key({ scopes: ['embed'] }), baseURL: `${test.api.url}/v1` };
}

/** Embed texts by the API without a client library. */
async function embedDirectly(
  { test, key }: Installation,
  texts: readonly string[],
  dimensions?: number,
): Promise<number[][]> {
  const vectors: number[][] = [];
  for (let from = 0; from < texts.length; from += BATCH_MAX) {
    const json = { model: MODEL, input: texts.slice(from, from + BATCH_MAX), dimensions };
    const { status, body } = await test.call('POST', '/v1/embeddings', { key, json });
    expect(status).toBe(200);
    for (const { embedding } of body.data) vectors.push(embedding);
  }
  return vectors;
}

/** Expect unit vectors whose numbers are equal as float32, the precision of the answer. */
function expectSame(vectors: readonly (readonly number[])[], expected: readonly (readonly number[])[]): void {
  expect(vectors.map((vector) => vector.length)).toEqual(expected.map((vector) => vector.length));
  for (const [index, vector] of vectors.entries()) {
    expect(Float32Array.from(vector)).toEqual(Float32Array.from(expected[index] as readonly number[]));
    expect(Math.hypot(...vector)).toBeCloseTo(1, 5);
  }
}

function langchain({ key, baseURL }: Installation, more: { encodingFormat?: 'float'; dimensions?: number } = {}) {
  return new OpenAIEmbeddings({
    model: MODEL,
    apiKey: key,
    configuration: { baseURL },
    batchSize: BATCH_MAX,
    maxRetries: 0,
    ...more,
  });
}

function llamaindex({ key, baseURL }: Installation, more: { dimensions?: number } = {}) {
  return new OpenAIEmbedding({ model: MODEL, apiKey: key, baseURL, embedBatchSize: BATCH_MAX, maxRetries: 0, ...more });
}

/** The class has no option for the encoding, but takes a session that sets it. */
function llamaindexWithFloats({ key, baseURL }: Installation, dimensions?: number) {
  const client = new OpenAI({ apiKey: key, baseURL, maxRetries: 0 });
  const embeddings = {
    create: (body: OpenAI.EmbeddingCreateParams) => client.embeddings.create({ ...body, encoding_format: 'float' }),
  };
  const session = { embeddings, apiKey: key, baseURL } as unknown as NonNullable<
    NonNullable<ConstructorParameters<typeof OpenAIEmbedding>[0]>['session']
  >;
  return new OpenAIEmbedding({ model: MODEL, embedBatchSize: BATCH_MAX, dimensions, session });
}

let byDefault: Installation;
let always: Installation;
let never: Installation;
beforeAll(async () => {
  byDefault = await install('auto');
  always = await install('always');
  never = await install('never');
});
afterAll(async () => {
  await byDefault?.test.close();
  await always?.test.close();
  await never?.test.close();
});

describe.each([
  ['an installation with default settings', () => byDefault],
  ['an installation that always honours base64', () => always],
])('%s', (name, installation) => {
  it(`${name} serves LangChain with float requested, every vector in order`, async () => {
    const client = langchain(installation(), { encodingFormat: 'float' });
    expectSame(await client.embedDocuments(TEXTS), await embedDirectly(installation(), TEXTS));
    expectSame([await client.embedQuery('ferry')], await embedDirectly(installation(), ['ferry']));
  });

  it(`${name} serves unchanged LangChain, every vector in order`, async () => {
    const client = langchain(installation());
    expectSame(await client.embedDocuments(TEXTS), await embedDirectly(installation(), TEXTS));
    expectSame([await client.embedQuery('ferry')], await embedDirectly(installation(), ['ferry']));
  });

  it(`${name} serves LlamaIndex with float requested, every vector in order`, async () => {
    const client = llamaindexWithFloats(installation());
    expectSame(await client.getTextEmbeddingsBatch(TEXTS), await embedDirectly(installation(), TEXTS));
    expectSame([await client.getTextEmbedding('ferry')], await embedDirectly(installation(), ['ferry']));
  });

  it(`${name} gives the requested dimension`, async () => {
    const few = TEXTS.slice(0, 3);
    const expected = await embedDirectly(installation(), few, 256);
    const client = langchain(installation(), { encodingFormat: 'float', dimensions: 256 });
    expectSame(await client.embedDocuments(few), expected);
    expectSame(await llamaindexWithFloats(installation(), 256).getTextEmbeddings(few), expected);
  });

  it(`${name} refuses too many texts of a request, and names the limit`, async () => {
    const client = langchain(installation(), { encodingFormat: 'float' });
    client.batchSize = TEXTS.length;
    await expect(client.embedDocuments(TEXTS)).rejects.toThrow(/up to 100 texts/);
    const other = llamaindex(installation());
    other.embedBatchSize = TEXTS.length;
    await expect(other.getTextEmbeddingsBatch(TEXTS)).rejects.toThrow(/up to 100 texts/);
  });
});

// LlamaIndex brings version 5.23 of OpenAI's library, which asks for base64 and decodes every answer as base64.
it.each([
  ['auto', () => byDefault],
  ['always', () => always],
] as const)('base64: %s serves unchanged LlamaIndex, every vector in order', async (_, installation) => {
  const client = llamaindex(installation());
  expectSame(await client.getTextEmbeddingsBatch(TEXTS), await embedDirectly(installation(), TEXTS));
  expectSame(
    [(await client.getQueryEmbedding({ type: 'text', text: 'ferry' })) ?? []],
    await embedDirectly(installation(), ['ferry']),
  );
  const small = llamaindex(installation(), { dimensions: 256 });
  expectSame(await small.getTextEmbeddings(['ferry']), await embedDirectly(installation(), ['ferry'], 256));
});

it.each([
  ['js', '4.104.0', 'base64'],
  ['js', '5.22.9', 'base64'],
  ['js', '5.23.0', 'base64'],
  ['js', '6.0.0', 'base64'],
  ['js', '7.1.0', 'base64'],
  ['js', '7.29.0', 'base64'],
  ['js', '7.30.0', 'array'],
  ['JS', '8.0.0', 'array'],
  ['js', 'latest', 'base64'],
  ['js', undefined, 'base64'],
  ['python', '1.55.0', 'array'],
  ['go', '3.52.0', 'array'],
  ['csharp', '2.2.0', 'base64'],
  [undefined, '6.0.0', 'base64'],
])('a request for base64 by library %s %s is answered with an embedding as %s', async (language, version, form) => {
  const headers: Record<string, string> = {};
  if (language !== undefined) headers['X-Stainless-Lang'] = language;
  if (version !== undefined) headers['X-Stainless-Package-Version'] = version;
  const embeddingFrom = async ({ test, key }: Installation, encoding: 'base64' | 'float') => {
    const json = { model: MODEL, input: 'ferry', encoding_format: encoding };
    const { status, body } = await test.call('POST', '/v1/embeddings', { key, json, headers });
    expect(status).toBe(200);
    return body.data[0].embedding as unknown;
  };
  const floats = (await embeddingFrom(byDefault, 'float')) as number[];
  expect(Array.isArray(floats)).toBe(true);
  const inBase64 = Buffer.from(Float32Array.from(floats).buffer).toString('base64');
  expect(await embeddingFrom(byDefault, 'base64')).toEqual(form === 'base64' ? inBase64 : floats);
  expect(await embeddingFrom(always, 'base64')).toEqual(inBase64);
  expect(await embeddingFrom(never, 'base64')).toEqual(floats);
});

it.each([
  ['OpenAI/JS 4.104.0', 'base64'],
  ['OpenAI/JS 5.22.0', 'base64'],
  ['AzureOpenAI/JS 6.9.0', 'base64'],
  ['OpenAI/JS 7.57.0', 'array'],
  ['OpenAI/Python 3.57.0', 'array'],
  ['AsyncOpenAI/Python 1.55.0', 'array'],
  ['OpenAI/2.2.0 (.NET 9.0.4; Ubuntu 24.04)', 'base64'],
  ['OpenAI/Go 1.12.0', 'array'],
  ['OpenAI/Go 3.52.0', 'array'],
  ['OpenAI/Ruby 0.20.0', 'base64'],
  ['curl/8.5.0', 'base64'],
])('behind a proxy that drops X-Stainless-*, a request for base64 by "%s" gets %s', async (agent, form) => {
  const { test, key } = byDefault;
  const headers = { 'User-Agent': agent };
  const json = { model: MODEL, input: 'ferry', encoding_format: 'base64' };
  const { body } = await test.call('POST', '/v1/embeddings', { key, json, headers });
  expect(typeof body.data[0].embedding).toBe(form === 'base64' ? 'string' : 'object');
  const plain = await test.call('POST', '/v1/embeddings', {
    key,
    json: { ...json, encoding_format: undefined },
    headers,
  });
  expect(Array.isArray(plain.body.data[0].embedding)).toBe(true);
});
