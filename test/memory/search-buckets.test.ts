import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Service } from '../../src/platform/lifecycle.ts';
import { openTestGateway, type TestGateway } from '../support/gateway.ts';
import { until } from '../support/until.ts';

const BUILT_IN = 'local/lexical-1';
const VENDOR = 'vendor-a/alpha';

let test: TestGateway;
let worker: Service;
let key: string;

beforeAll(async () => {
  test = await openTestGateway(
    { models: [{ id: VENDOR, vendor: 'vendor-a', dimensions: 160, max_tokens: 8192 }], workers: { retries_max: 0 } },
    { semantic: true, dimensions: { alpha: 160 } },
  );
  worker = test.appliance.jobs.worker('ingest');
  await worker.start(new AbortController().signal);
  key = await test.key({
    authLevel: 7,
    scopes: ['embed', 'search', 'documents:write', 'buckets:manage', 'routing:manage'],
  });
  // Three buckets, of which the third has vectors of another model.
  await fill('first', BUILT_IN, ['The heron stands in the shallow water.', 'The ferry leaves at seven.']);
  await fill('second', BUILT_IN, ['A heron caught a fish in the morning.', 'The bridge is closed in winter.']);
  await fill('third', VENDOR, ['Herons nest above the weir.', 'A heron flew over the quarry.']);
  await call('POST', '/v1/buckets', { name: 'empty' });
});
afterAll(async () => {
  await worker.stop();
  await test.close();
});

const call = (method: string, path: string, json?: unknown, own = key) =>
  test.call(method, path, { key: own, ...(json === undefined ? {} : { json }) });

/** Fill a bucket. The first text has the privacy level 1, the others `level`. */
async function fill(bucket: string, model: string, texts: readonly string[], level = 6): Promise<void> {
  await call('POST', '/v1/buckets', { name: bucket });
  await call('PUT', '/v1/routing', { primary: model });
  for (const [nth, text] of texts.entries()) {
    const json = { filename: `${bucket}-${nth}.txt`, text, privacy_level: nth === 0 ? 1 : level };
    expect((await call('POST', `/v1/buckets/${bucket}/documents`, json)).status).toBe(202);
  }
  await until(
    async () => {
      const { data } = (await call('GET', `/v1/buckets/${bucket}/documents`)).body;
      return data.every((document: { status: string }) => document.status === 'ready');
    },
    { withinMs: 120_000, what: 'the ingest' },
  );
}

async function search(request: Record<string, unknown>, own = key) {
  const { status, body } = await call('POST', '/v1/memory/search', request, own);
  expect(status).toBe(200);
  return body;
}

/** Name and score of each result, best first. */
const shown = (body: { results: { citation: { file_name: string }; score: number }[] }) =>
  body.results.map(({ citation, score }) => [citation.file_name, score]);

it('a memory search of one bucket finds what a search of that bucket finds, in its order', async () => {
  for (const bucket of ['first', 'second', 'third']) {
    const own = await call('POST', `/v2/buckets/${bucket}/search`, { query: 'heron in the water', top_k: 20 });
    const { results, model, warnings } = await search({ query: 'heron in the water', bucket });
    expect(shown({ results })).toEqual(shown(own.body));
    expect([model, warnings]).toEqual([own.body.model, own.body.warnings]);
    expect(results.length).toBeGreaterThan(0);
  }
});

it('buckets of one model are searched with one embedding of the query, and each result names its bucket', async () => {
  const [first, second] = await Promise.all(
    ['first', 'second'].map(async (name) => (await call('GET', `/v1/buckets/${name}`)).body.id),
  );
  const found = await search({ query: 'heron', buckets: ['first', second, 'second'] });
  expect(found.bucket_ids).toEqual([first, second]);
  expect(found.model).toBe(BUILT_IN);
  const buckets = new Map(
    found.results.map((result: { citation: { file_name: string }; bucket_id: string }) => [
      result.citation.file_name,
      result.bucket_id,
    ]),
  );
  expect([buckets.get('first-0.txt'), buckets.get('second-0.txt')]).toEqual([first, second]);
});

it('buckets of different models are searched by the vectors of each, and the empty one costs no embedding', async () => {
  const calls = test.upstream.calls.length;
  const found = await search({ query: 'a bird', buckets: ['empty', 'first', 'second', 'third'] });
  expect(test.upstream.calls.length - calls).toBe(1);
  expect(found.model.split('+').toSorted()).toEqual([BUILT_IN, VENDOR]);
  expect(found.warnings).toEqual([]);
  const ofThird = found.results.filter((result: { citation: { file_name: string } }) =>
    result.citation.file_name.startsWith('third'),
  );
  expect(
    ofThird.every((result: { scores: { vector_score: number | null } }) => result.scores.vector_score !== null),
  ).toBe(true);
  // The first of each space comes first, whatever their cosines.
  const spaces = found.results
    .slice(0, 2)
    .map((result: { citation: { file_name: string } }) => result.citation.file_name.startsWith('third'));
  expect(spaces.toSorted()).toEqual([false, true]);
});

it('a missing bucket is refused before the query is embedded', async () => {
  const calls = test.upstream.calls.length;
  const refused = await call('POST', '/v1/memory/search', { query: 'heron', buckets: ['third', 'nowhere'] });
  expect([refused.status, refused.body.detail]).toEqual([404, expect.stringContaining('bucket not found')]);
  expect(test.upstream.calls.length).toBe(calls);
});

it('documents above the level of the caller are not found, in any bucket', async () => {
  const low = await test.key({ authLevel: 3, scopes: ['search'] });
  const { results } = await search({ query: 'heron ferry bridge', buckets: ['first', 'second', 'third'] }, low);
  const names = results.map((result: { citation: { file_name: string } }) => result.citation.file_name);
  expect(names.toSorted()).toEqual(['first-0.txt', 'second-0.txt', 'third-0.txt']);
});

it('the best word match of a bucket with hidden documents is not behind all matches of another model', async () => {
  const low = await test.key({ authLevel: 1, scopes: ['search'] });
  const texts = ['lagoon', 'lagoon of the heron', 'a lagoon', 'one', 'two', 'three', 'four', 'five', 'six'];
  await fill('lagoons', VENDOR, texts, 1);
  await fill('lagoon', BUILT_IN, ['The lagoon freezes in January.', 'A hidden page.']);
  const query = { query: 'lagoon january', buckets: ['lagoons', 'lagoon'], mode: 'keyword' };
  const names = (body: Parameters<typeof shown>[0]) => shown(body).map(([name]) => name);
  expect(names(await search(query))[0]).toBe('lagoon-0.txt');
  expect(names(await search(query, low)).slice(0, 2)).toContain('lagoon-0.txt');
});

it('each result has the address of its page', async () => {
  const { results } = await search({ query: 'heron', bucket: 'first' });
  const own = await call('POST', '/v2/buckets/first/search', { query: 'heron' });
  const pathOf = (url: string) => new URL(url).pathname;
  expect(pathOf(results[0].citation.url)).toBe(pathOf(own.body.results[0].citation.url));
});

it('without a bucket, and without a source, nothing is searched and a warning says so', async () => {
  expect(await search({ query: 'heron' })).toMatchObject({
    ...{ bucket_ids: [], results: [], model: null },
    warnings: [expect.stringContaining('name a bucket with "bucket"')],
  });
});
