import { OpenAIEmbeddings } from '@langchain/openai';
import { OpenAIEmbedding } from '@llamaindex/openai';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openTestApi, type TestApi } from '../support/api.ts';

// The embedding classes of LangChain and LlamaIndex as they are on npm, against a whole installation.

const MODEL = 'local/lexical-1';
/** Texts of one request, at most. */
const BATCH_MAX = 100;
const TEXTS = Array.from({ length: 230 }, (_, i) => `글 ${i}: the ferry number ${i} leaves at ${i % 24} o'clock`);

interface Installation {
  readonly test: TestApi;
  readonly key: string;
  readonly baseURL: string;
}

async function install(honorBase64: boolean): Promise<Installation> {
  const test = await openTestApi({ worker: false, settings: { embeddings: { honor_base64: honorBase64 } } });
  return { test, key: await test.key({ scopes: ['embed'] }), baseURL: `${test.api.url}/v1` };
}

/** What the API itself says, without any client between. */
async function plainly(
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

/** Every number equal as float32, which is what travels; and none of the vectors empty. */
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

/** The class has no option for the encoding; a session of one's own has. */
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

let asInstalled: Installation;
let honouring: Installation;
beforeAll(async () => {
  asInstalled = await install(false);
  honouring = await install(true);
});
afterAll(async () => {
  await asInstalled?.test.close();
  await honouring?.test.close();
});

describe.each([
  ['an installation as it comes', () => asInstalled],
  ['an installation that honours base64', () => honouring],
])('%s', (_name, installation) => {
  it('serves LangChain, with float requested, every vector in order', async () => {
    const client = langchain(installation(), { encodingFormat: 'float' });
    expectSame(await client.embedDocuments(TEXTS), await plainly(installation(), TEXTS));
    expectSame([await client.embedQuery('ferry')], await plainly(installation(), ['ferry']));
  });

  it('serves LangChain, unchanged, every vector in order', async () => {
    const client = langchain(installation());
    expectSame(await client.embedDocuments(TEXTS), await plainly(installation(), TEXTS));
    expectSame([await client.embedQuery('ferry')], await plainly(installation(), ['ferry']));
  });

  it('serves LlamaIndex, with float requested, every vector in order', async () => {
    const client = llamaindexWithFloats(installation());
    expectSame(await client.getTextEmbeddingsBatch(TEXTS), await plainly(installation(), TEXTS));
    expectSame([await client.getTextEmbedding('ferry')], await plainly(installation(), ['ferry']));
  });

  it('gives the dimension asked for', async () => {
    const few = TEXTS.slice(0, 3);
    const expected = await plainly(installation(), few, 256);
    const client = langchain(installation(), { encodingFormat: 'float', dimensions: 256 });
    expectSame(await client.embedDocuments(few), expected);
    expectSame(await llamaindexWithFloats(installation(), 256).getTextEmbeddings(few), expected);
  });

  it('refuses more texts than a request may have, in words that say how many', async () => {
    const client = langchain(installation(), { encodingFormat: 'float' });
    client.batchSize = TEXTS.length;
    await expect(client.embedDocuments(TEXTS)).rejects.toThrow(/up to 100 texts/);
    const other = llamaindex(installation());
    other.embedBatchSize = TEXTS.length;
    await expect(other.getTextEmbeddingsBatch(TEXTS)).rejects.toThrow(/up to 100 texts/);
  });
});

// Its own client asks for base64, and reads whatever comes as base64.
it('an installation that honours base64 serves LlamaIndex, unchanged, every vector in order', async () => {
  const client = llamaindex(honouring);
  expectSame(await client.getTextEmbeddingsBatch(TEXTS), await plainly(honouring, TEXTS));
  expectSame(
    [(await client.getQueryEmbedding({ type: 'text', text: 'ferry' })) ?? []],
    await plainly(honouring, ['ferry']),
  );
  const small = llamaindex(honouring, { dimensions: 256 });
  expectSame(await small.getTextEmbeddings(['ferry']), await plainly(honouring, ['ferry'], 256));
});
