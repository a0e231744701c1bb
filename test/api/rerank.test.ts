import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { openTestApi, type TestApi } from '../support/api.ts';
import { type FakeReranker, stall, startFakeReranker } from '../support/fake-reranker.ts';
import { until } from '../support/until.ts';

const KEY = 'canary-rerank-81c2';
const DOCUMENTS = ['a long text about ferries', 'ferry', 'some words'];

const fakes: Record<string, FakeReranker> = {};
let test: TestApi;
let key: string;

beforeAll(async () => {
  for (const protocol of ['cohere', 'jina', 'voyage', 'tei'] as const) {
    fakes[protocol] = await startFakeReranker(protocol);
  }
  const settingsOf = (protocol: string, more: object) => ({
    ...{ protocol, base_url: fakes[protocol]?.url, api_key: KEY },
    ...more,
  });
  test = await openTestApi({
    worker: false,
    settings: {
      rerank: settingsOf('cohere', { model: 'rerank-main' }),
      rerankers: [
        settingsOf('voyage', { model: 'rerank-second' }),
        settingsOf('jina', { model: 'rerank-third' }),
        settingsOf('tei', {}),
      ],
      model_names: { 'rerank-english-v3.0': 'rerank-second' },
      plans: { free: { quotas: { embed_batch: 5 } }, starter: { quotas: { embed_batch: 0 } } },
    },
  });
  key = await test.key({ scopes: ['embed'] });
});
afterAll(async () => {
  await test.close();
  for (const fake of Object.values(fakes)) await fake.close();
});
afterEach(() => {
  for (const fake of Object.values(fakes)) Object.assign(fake, { misbehave: null, tokens: null });
});

const fakeOf = (protocol: string) => fakes[protocol] as FakeReranker;
const rerank = (json: object, { path = '/v1/rerank', as = key } = {}) => test.call('POST', path, { key: as, json });
const ask = (more: object = {}) => rerank({ query: 'ferry', documents: DOCUMENTS, ...more });

describe('POST /v1/rerank and /v2/rerank', () => {
  it.each(['/v1/rerank', '/v2/rerank'])(
    '%s returns the documents by score, in the shapes of Cohere, Jina and Voyage',
    async (path) => {
      const { status, body } = await rerank({ query: 'ferry', documents: DOCUMENTS, top_n: 2 }, { path });
      expect(status).toBe(200);
      const ranked = [
        { index: 1, relevance_score: 1 / 6 },
        { index: 2, relevance_score: 1 / 11 },
      ];
      expect(body).toMatchObject({ object: 'list', model: 'rerank-main', results: ranked, data: ranked });
      expect(body.results[0]).not.toHaveProperty('document');
      expect(body.meta).toMatchObject({
        api_version: { version: path.slice(2, 3) },
        billed_units: { search_units: 1 },
      });
      expect(body.usage.total_tokens).toBe(body.meta.tokens.input_tokens);
      expect(body.usage.total_tokens).toBeGreaterThan(DOCUMENTS.length);
    },
  );

  it.each([
    ['rerank-main', 'cohere'],
    ['rerank-second', 'voyage'],
    ['rerank-third', 'jina'],
    ['tei', 'tei'],
  ])('the request names the reranker %s, whose protocol is that of %s', async (model, protocol) => {
    const fake = fakeOf(protocol);
    const calls = fake.calls.length;
    fake.tokens = 4711;
    const { status, body } = await ask({ model });
    expect([status, body.model, body.usage.total_tokens]).toEqual([200, model, 4711]);
    expect(fake.calls.slice(calls)).toMatchObject([
      { query: 'ferry', texts: DOCUMENTS, authorization: `Bearer ${KEY}` },
    ]);
  });

  it('the request of Open WebUI gets what it reads: index and relevance_score of results', async () => {
    const { body } = await ask({ model: 'rerank-main', top_n: DOCUMENTS.length });
    const results: { index: number; relevance_score: number }[] = body.results;
    const scores = results.toSorted((a, b) => a.index - b.index).map(({ relevance_score }) => relevance_score);
    expect(scores).toEqual(DOCUMENTS.map((text) => 1 / (1 + text.length)));
  });

  it('objects are ranked by their text or by rank_fields, and come back whole', async () => {
    const documents = [{ text: 'long and dull', id: 7 }, { text: 'short', id: 8 }, 'plain'];
    const { body } = await rerank({ query: 'q', documents, top_k: 2, return_documents: true });
    expect(body.results.map(({ document }: { document: unknown }) => document)).toEqual([
      { text: 'short', id: 8 },
      { text: 'plain' },
    ]);
    expect(body.data.map(({ document }: { document: unknown }) => document)).toEqual(['short', 'plain']);
    const titled = { query: 'q', documents: [{ title: 'A', year: 1999, text: 'no' }], rank_fields: ['title', 'year'] };
    expect((await rerank(titled)).status).toBe(200);
    expect(fakeOf('cohere').calls.at(-1)?.texts).toEqual(['A\n1999']);
  });

  it('a name that rank_fields repeats is refused', async () => {
    const { status, body } = await rerank({ query: 'q', documents: [{ title: 'A' }], rank_fields: ['title', 'title'] });
    expect([status, JSON.stringify(body)]).toEqual([400, expect.stringContaining('must not repeat a field')]);
  });

  it('documents of equal score stay in the order of the request', async () => {
    const { body } = await rerank({ query: 'q', documents: ['bb', 'a', 'cc', 'b'] });
    expect(body.results.map(({ index }: { index: number }) => index)).toEqual([1, 3, 0, 2]);
  });

  it('max_tokens_per_doc cuts documents, but never through a character', async () => {
    const documents = ['word '.repeat(300), '😀'.repeat(200), 'short'];
    const { status, body } = await rerank({ query: 'q', documents, max_tokens_per_doc: 20 });
    expect(status).toBe(200);
    const sent = fakeOf('cohere').calls.at(-1)?.texts ?? [];
    expect(sent.map((text) => text.length < 150 && text.isWellFormed())).toEqual([true, true, true]);
    expect(sent[2]).toBe('short');
    expect(body.usage.total_tokens).toBeLessThanOrEqual(3 * 21);
  });

  it.each([
    ['rerank-second', 'voyage'],
    ['rerank-third', 'jina'],
    ['tei', 'tei'],
  ])('%s is told to refuse long documents with truncation false', async (model, protocol) => {
    await ask({ model });
    expect(fakeOf(protocol).calls.at(-1)?.truncates).toBe(true);
    await ask({ model, truncation: false });
    expect(fakeOf(protocol).calls.at(-1)?.truncates).toBe(false);
  });

  it('null in an optional field counts as absent, and unknown fields have no effect', async () => {
    expect((await ask({ top_k: null, model: null, priority: 1, relevant_spans: {} })).status).toBe(200);
  });
});

describe('a refused request', () => {
  it.each([
    [{ query: 'q' }, 'documents'],
    [{ query: 'q', documents: [] }, 'documents'],
    [{ query: 'q', documents: 'text' }, 'documents'],
    [{ query: 'q', documents: ['a', 7] }, 'documents[1]'],
    [{ query: 'q', documents: ['a', ''] }, 'documents[1]'],
    [{ query: 'q', documents: ['a', { title: 'b' }] }, 'documents[1]'],
    [{ query: 'q', documents: Array.from({ length: 1001 }, () => 'a') }, 'documents'],
    [{ query: '', documents: ['a'] }, 'query'],
    [{ documents: ['a'] }, 'query'],
    [{ query: 'q', documents: ['a'], top_n: 0 }, 'top_n'],
    [{ query: 'q', documents: ['a'], top_n: 2, top_k: 3 }, 'top_k'],
    [{ query: 'q', documents: ['a'], max_tokens_per_doc: 1, max_doc_length: 2 }, 'max_doc_length'],
    [{ query: 'q', documents: ['a'], model: 'rerank-man' }, 'rerank-man'],
  ])('%o is a 400 that names the field', async (json, param) => {
    const calls = fakeOf('cohere').calls.length;
    const { status, body } = await rerank(json);
    expect([status, body]).toEqual([400, { detail: expect.stringContaining(param) }]);
    expect(fakeOf('cohere').calls).toHaveLength(calls);
  });

  it('an unknown reranker is answered with the closest name', async () => {
    expect((await ask({ model: 'rerank-secnd' })).body.detail).toContain('did you mean "rerank-second"?');
    expect((await ask({ model: 'text-embedding-3-small' })).body.detail).toContain('the rerankers are rerank-main');
  });

  it('a name that the operator gives to a reranker is no name of a model that embeds', async () => {
    expect((await ask({ model: 'rerank-english-v3.0' })).body.model).toBe('rerank-second');
    const json = { model: 'rerank-english-v3.0', input: 'a' };
    expect((await test.call('POST', '/v1/embeddings', { key, json })).body.error.code).toBe('unknown_model');
  });

  it('a key without the scope embed is refused', async () => {
    const as = await test.key({ scopes: ['search'] });
    expect((await rerank({ query: 'q', documents: ['a'] }, { as })).status).toBe(403);
    expect((await rerank({ query: 'q', documents: ['a'] }, { as: 'svc_wrong' })).status).toBe(401);
  });

  it('documents that the vendor refuses are a 400 without a fallback', async () => {
    fakeOf('cohere').misbehave = (response) => void response.writeHead(400).end('{"message":"too long"}');
    const calls = fakeOf('voyage').calls.length;
    const { status, body } = await ask();
    expect([status, body]).toEqual([400, { detail: expect.stringContaining('rejected the input: ') }]);
    expect(fakeOf('voyage').calls).toHaveLength(calls);
  });
});

describe('a reranker that fails', () => {
  it('the next reranker of the settings replaces the first one, whose retries are bounded', async () => {
    fakeOf('cohere').misbehave = (response) => void response.writeHead(503).end();
    const before = { cohere: fakeOf('cohere').calls.length, voyage: fakeOf('voyage').calls.length };
    const { status, body } = await ask();
    expect([status, body.model]).toEqual([200, 'rerank-second']);
    expect(body.results[0]).toEqual({ index: 1, relevance_score: 1 / 6 });
    expect(fakeOf('cohere').calls.length - before.cohere).toBeLessThanOrEqual(3);
    expect(fakeOf('voyage').calls).toHaveLength(before.voyage + 1);
  });

  it('a reranker that the request names, and that is not the first one, has no replacement', async () => {
    fakeOf('jina').misbehave = (response) => void response.writeHead(401).end('{"detail":"bad key"}');
    const { status, body } = await ask({ model: 'rerank-third' });
    expect([status, body]).toEqual([502, { detail: 'provider rerank-third is unavailable (refused)' }]);
    expect(JSON.stringify(body)).not.toContain(KEY);
  });

  it('a request whose client leaves ends its call to the vendor, and is neither sent again nor metered', async () => {
    const as = await test.key({ org: 'leaves', scopes: ['embed'] });
    const fake = fakeOf('tei');
    let isClosed = false;
    fake.misbehave = (response) => {
      response.on('close', () => {
        isClosed = true;
      });
      return stall(response);
    };
    const calls = fake.calls.length;
    const abort = new AbortController();
    const sent = fetch(`${test.api.url}/v1/rerank`, {
      ...{ method: 'POST', signal: abort.signal },
      headers: { authorization: `Bearer ${as}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'tei', query: 'q', documents: ['a'] }),
    });
    await until(async () => fake.calls.length > calls, { what: 'the call to the reranker' });
    abort.abort();
    await expect(sent).rejects.toThrow();
    await until(async () => isClosed, { what: 'the end of the call' });
    expect(fake.calls).toHaveLength(calls + 1);
    const { body } = await test.call('GET', '/v1/usage/summary', { key: as });
    expect(body.axes.embed).toMatchObject({ requests: 0, texts: 0 });
  });

  it('a reranker that does not answer leaves half of the time to the next one', async () => {
    const remote = (protocol: string, model: string) => ({ protocol, base_url: fakeOf(protocol).url, model });
    const hasty = await openTestApi({
      ...{ beside: test, worker: false },
      settings: {
        ...{ rerank: remote('cohere', 'stalls'), rerankers: [remote('voyage', 'answers')] },
        embeddings: { deadline_seconds: 4 },
      },
    });
    fakeOf('cohere').misbehave = stall;
    const json = { query: 'q', documents: ['a'] };
    const { status, body } = await hasty.call('POST', '/v1/rerank', { key, json });
    expect([status, body.model]).toEqual([200, 'answers']);
    fakeOf('voyage').misbehave = stall;
    const failed = await hasty.call('POST', '/v1/rerank', { key, json });
    expect([failed.status, failed.body]).toEqual([
      ...[502, { detail: 'all rerankers failed (stalls: timeout; answers: timeout); try again later' }],
    ]);
    await hasty.close();
  });
});

describe('usage of reranking', () => {
  it('documents count as texts, by reranker', async () => {
    const as = await test.key({ org: 'metered', scopes: ['embed'] });
    fakeOf('cohere').tokens = 50;
    await rerank({ query: 'q', documents: DOCUMENTS }, { as });
    await rerank({ query: 'q', documents: ['one'] }, { as });
    await rerank({ query: 'q', documents: [] }, { as });
    const { body } = await test.call('GET', '/v1/usage/summary', { key: as });
    expect(body.axes).toMatchObject({
      embed_batch: { requests: 1, texts: 3, tokens: 50 },
      embed: { requests: 1, texts: 1, tokens: 50 },
    });
    expect(body.by_model).toEqual([{ model: 'rerank-main', requests: 2, tokens: 100 }]);
  });

  it('a request over the quota is a 402, an axis outside the plan a 403, and a failed request returns its texts', async () => {
    const as = await test.key({ org: 'free one', scopes: ['embed'] });
    const three = () => rerank({ model: 'rerank-third', query: 'q', documents: DOCUMENTS }, { as });
    fakeOf('jina').misbehave = (response) => void response.writeHead(401).end();
    expect((await three()).status).toBe(502);
    fakeOf('jina').misbehave = null;
    expect([(await three()).status, (await three()).status]).toEqual([200, 402]);
    await test.appliance.access.createOrganization({ name: 'starter one', plan: 'starter' });
    const none = await test.key({ org: 'starter one', scopes: ['embed'] });
    expect((await rerank({ query: 'q', documents: DOCUMENTS }, { as: none })).status).toBe(403);
  });
});

it('GET /v1/models lists the rerankers with their kind', async () => {
  const { body } = await test.call('GET', '/v1/models', { key });
  const rerankers = body.data.filter(({ kind }: { kind: string }) => kind === 'reranker');
  expect(rerankers.map(({ id, owned_by }: { id: string; owned_by: string }) => [id, owned_by])).toEqual([
    ['rerank-main', 'cohere'],
    ['rerank-second', 'voyage'],
    ['rerank-third', 'jina'],
    ['tei', 'tei'],
  ]);
  const one = await test.call('GET', '/v1/models/rerank-main', { key });
  expect(one.body).toMatchObject({ kind: 'reranker', available: true, default_dimension: null });
});
