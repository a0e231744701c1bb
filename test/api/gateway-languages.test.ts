import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type ApiService, apiService } from '../../server/api-service.ts';
import { type Embedding, openEmbedding } from '../../src/embedding/open-embedding.ts';
import type { Model } from '../../src/models/catalog.ts';
import { openMetrics } from '../../src/platform/metrics.ts';
import type { ActiveMap } from '../../src/projection/projections.ts';
import { resizeVectors } from '../../src/projection/resize.ts';
import { KOREAN, MULTILINGUAL, openTestGateway, type TestGateway } from '../support/gateway.ts';
import { SEED } from '../support/random.ts';

// Tests of the alias over backends that are calibrated in one space: a batch in several languages is split, and its
// vectors are merged again.

const PLAIN = {
  en: [
    'the ferry leaves the harbour at seven',
    'we have the tide tables for all of next week',
    'Who is at the pier now?',
  ],
  ko: ['배는 아침 일곱 시에 항구를 떠납니다', '내일 오후에는 비가 오겠습니다', '부두에 지금 누가 있습니까?'],
  /** Too short for language detection. */
  unsure: ['ok', '42', 'ABC-7'],
} as const;
type Kind = keyof typeof PLAIN;

let test: TestGateway;
let embedding: Embedding;
let api: ApiService;
let key: string;

/** Return a map that keeps the vector unchanged, which is enough for two models to count as comparable. */
function mapOf(model: Model): ActiveMap | null {
  if (model.id !== KOREAN && model.id !== MULTILINGUAL) return null;
  const project = (native: Float32Array, dimensions: number) =>
    resizeVectors(native, model.nativeDimension, dimensions);
  return { space: 'canon-test', version: 1, score: 0.9, rank: model.nativeDimension, project };
}

beforeAll(async () => {
  const models = [KOREAN, MULTILINGUAL].map((id) => ({ id, tokenizer: 'cl100k' }));
  test = await openTestGateway({ models });
  const { appliance } = test;
  embedding = await openEmbedding({
    ...{ ...appliance, metrics: openMetrics() },
    ...{ projections: { mapOf, stateOf: () => null }, meter: appliance.usage.meter },
  });
  api = apiService({ ...appliance, embedding }, { port: 0 });
  await api.start(new AbortController().signal);
  key = await test.key({ scopes: ['embed'] });
});
afterAll(async () => {
  await api.stop();
  await embedding.close();
  await test.close();
});

async function embed(input: readonly string[], model?: string) {
  const reply = await fetch(`${api.url}/v1/embeddings`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ input, model, dimensions: 64 }),
  });
  expect(reply.status).toBe(200);
  const body = (await reply.json()) as {
    data: { index: number; embedding: number[] }[];
    model: string;
    usage: { prompt_tokens: number };
  };
  return { ...body, projection: reply.headers.get('x-service-projection') };
}

const item = fc.record({ kind: fc.constantFrom<Kind[]>('en', 'ko', 'unsure'), nth: fc.nat(2), salt: fc.nat(2) });

it('contract 2.1: each text gets the vector of its own language’s backend, in order', async () => {
  let run = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(item, { minLength: 1, maxLength: 12 }), async (items) => {
      run++;
      // The suffix is no word of any language, and makes the text new.
      const texts = items.map(({ kind, nth, salt }) => `${PLAIN[kind][nth]} ${'!'.repeat(salt)}${run}`);
      const backends = items.map(({ kind }) => (kind === 'ko' ? KOREAN : MULTILINGUAL));

      const answer = await embed(texts);
      expect(answer.model.split('+').sort()).toEqual([...new Set(backends)].sort());
      expect(answer.projection).toMatch(/^canon-test; map=1/);
      expect(answer.data.map(({ index }) => index)).toEqual(texts.map((_, index) => index));
      const counted = new Map<string, number>();
      for (const [index, text] of texts.entries()) {
        const backend = backends[index] as string;
        const server = backend === KOREAN ? test.korean : test.upstream;
        const native = server.vectorOf(backend === KOREAN ? 'tei' : 'embeddings-v3', text);
        const wanted = resizeVectors(native, native.length, 64);
        const { embedding: vector } = answer.data[index] as { embedding: number[] };
        const gap = Math.max(...vector.map((value, axis) => Math.abs(value - (wanted[axis] as number))));
        expect([vector.length, gap < 1e-6]).toEqual([64, true]);
        counted.set(text, (await embed([text], MULTILINGUAL)).usage.prompt_tokens);
      }
      expect(answer.usage.prompt_tokens).toBe(texts.reduce((sum, text) => sum + (counted.get(text) as number), 0));
    }),
    { seed: SEED, numRuns: 60, endOnFailure: true },
  );
});

it('one unavailable backend fails the whole request, which is then not metered', async () => {
  const usage = async () => (await test.call('GET', '/v1/usage/summary', { key })).body.axes;
  const before = await usage();
  test.korean.decide = () => ({ kind: 'status', status: 500 });
  const reply = await fetch(`${api.url}/v1/embeddings`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ input: ['we wait for the ferry at the pier', '우리는 부두에서 배를 기다립니다'] }),
  });
  test.korean.decide = () => null;
  expect(reply.status).toBe(502);
  expect(await usage()).toEqual(before);
});

it('a text over its backend’s limit is named by its place in the request', async () => {
  const long = '항구의 배 시간표 '.repeat(4000);
  const reply = await fetch(`${api.url}/v1/embeddings`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ input: ['the ferry is at the pier', 'the tide is out', long] }),
  });
  expect(reply.status).toBe(400);
  expect(await reply.json()).toMatchObject({ error: { code: 'token_limit_exceeded', param: 'input[2]' } });
});
