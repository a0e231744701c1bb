import { afterAll, beforeAll, expect, it } from 'vitest';
import { openTestApi, type TestApi } from '../support/api.ts';
import { type FakeReranker, startFakeReranker } from '../support/fake-reranker.ts';
import { install, referenceTexts } from '../support/local-models.ts';
import { until } from '../support/until.ts';

// Reranking by a small cross-encoder in a process of this host. Its scores mean nothing, but they are a model's.
const RANKER = 'local/ranker';
const TOKENS_MAX = 256;
const WITHIN_MS = 120_000;
const texts = referenceTexts()
  .filter((text) => text !== '')
  .slice(0, 40);

let fake: FakeReranker;
let test: TestApi;
let key: string;
beforeAll(async () => {
  fake = await startFakeReranker('jina');
  test = await openTestApi({ worker: false, settings: { model_names: { 'rerank-v3.5': RANKER } } });
  key = await test.key({ scopes: ['embed'] });
});
afterAll(async () => {
  await test.close();
  await fake.close();
});

const rerank = (json: object, on = test, as = key) => on.call('POST', '/v2/rerank', { key: as, json });

it('without a reranker the answer says how to get one', async () => {
  const { status, body } = await rerank({ model: 'rerank-v3.5', query: 'q', documents: ['a'] });
  expect(status).toBe(502);
  expect(body.detail).toContain('set rerank in service.yaml');
  expect(body.detail).toContain('service models install FOLDER --reranker');
});

it('an installed reranker orders documents by the scores of its model, without any settings', async () => {
  await install(test.appliance, 'reranker', { name: RANKER, kind: 'reranker' });
  const never = new AbortController().signal;
  const scores = await test.appliance.localModels.score(RANKER, 'the ferry', texts, never);
  const best = scores.map((score, index) => ({ index, score })).sort((a, b) => b.score - a.score);
  for (const model of [undefined, RANKER, 'rerank-v3.5']) {
    const { status, body } = await rerank({ model, query: 'the ferry', documents: texts });
    expect([status, body.model]).toEqual([200, RANKER]);
    expect(body.results.map(({ index }: { index: number }) => index)).toEqual(best.map(({ index }) => index));
    for (const [at, { relevance_score }] of body.results.entries()) {
      expect(relevance_score).toBeCloseTo(best[at]?.score as number, 5);
    }
  }
});

it('GET /v1/models lists it with its limit, and POST /v1/embeddings does not know it', async () => {
  const { body } = await test.call('GET', `/v1/models/${RANKER}`, { key });
  expect(body).toMatchObject({ kind: 'reranker', owned_by: 'local', max_tokens: TOKENS_MAX, available: true });
  const refused = await test.call('POST', '/v1/embeddings', { key, json: { model: RANKER, input: 'a' } });
  expect([refused.status, refused.body.error.code]).toEqual([400, 'unknown_model']);
});

it('a long document is cut at the limit of the model, and refused with truncation false', async () => {
  const documents = ['short', 'harbour '.repeat(2_000)];
  const cut = await rerank({ query: 'ferry', documents });
  expect(cut.status).toBe(200);
  expect(cut.body.usage.total_tokens).toBeLessThan(2 * TOKENS_MAX);
  const refused = await rerank({ query: 'ferry', documents, truncation: false });
  expect(refused.status).toBe(400);
  expect(refused.body.detail).toMatch(/^documents\[1\] and the query have \d+ tokens; local.ranker takes at most 256/);
  expect((await rerank({ query: 'ferry', documents: ['short'], truncation: false })).status).toBe(200);
});

it('it replaces a vendor that is down', async () => {
  const vendor = { protocol: 'jina', base_url: fake.url, model: 'jina-reranker-v3' };
  const beside = await openTestApi({
    ...{ beside: test, worker: false },
    settings: { rerank: vendor, rerankers: [{ model: RANKER }] },
  });
  fake.misbehave = (response) => void response.writeHead(500).end();
  const { status, body } = await rerank({ query: 'ferry', documents: texts.slice(0, 3) }, beside);
  expect([status, body.model]).toEqual([200, RANKER]);
  fake.misbehave = null;
  expect((await rerank({ query: 'ferry', documents: texts.slice(0, 3) }, beside)).body.model).toBe('jina-reranker-v3');
  await beside.close();
});

it('a request that its client leaves ends, and kill -9 of the process is a 503 or a 200, with answers after it', async () => {
  const pid = () => test.appliance.localModels.states().find(({ name }) => name === RANKER)?.pid as number;
  const long = Array.from({ length: 1_000 }, (_, at) => `document ${at} ${'harbour '.repeat(200)}`);
  const abort = new AbortController();
  const sent = fetch(`${test.api.url}/v1/rerank`, {
    ...{ method: 'POST', signal: abort.signal },
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ query: 'ferry', documents: long }),
  });
  const waiting = () => test.appliance.localModels.states().find(({ name }) => name === RANKER)?.textsQueued;
  await until(async () => (waiting() ?? 0) > 0, { withinMs: WITHIN_MS, what: 'the texts in the queue of the model' });
  abort.abort();
  await expect(sent).rejects.toThrow();
  await until(async () => waiting() === 0, { withinMs: WITHIN_MS, what: 'the end of the abandoned request' });

  const requests = Array.from({ length: 20 }, (_, at) => rerank({ query: `q ${at}`, documents: texts }));
  process.kill(pid(), 'SIGKILL');
  for (const { status } of await Promise.all(requests)) expect([200, 503]).toContain(status);
  const isBack = async () => (await rerank({ query: 'after', documents: ['a'] })).status === 200;
  await until(isBack, { withinMs: WITHIN_MS, everyMs: 200 });
});
