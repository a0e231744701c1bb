import { afterAll, beforeAll, expect, it } from 'vitest';
import { LanceIndex } from '../../src/index/lance/lance-index.ts';
import { SearchRequest } from '../../src/search/schema.ts';
import { searchBucket } from '../../src/search/search.ts';
import { openTestApi, type TestApi } from '../support/api.ts';
import { bucketsAreOnMilvus } from '../support/appliance.ts';
import { untilSettled } from '../support/settled.ts';
import { until } from '../support/until.ts';

let test: TestApi;
let key: string;

const TEXTS: Record<string, string> = {
  'warranty.txt': 'The warranty of the pump covers two years from the day of delivery.',
  'bearings.txt': 'Bearings of the pump are greased twice a year with the grease that the manual names.',
  'korean.txt': '쿠버네티스 클러스터를 다시 시작하면 데이터베이스 연결이 끊어집니다.',
  'code.txt': 'Error AB-1234 is shown by firmware v2.3.1 when E_CONN is raised.',
  ...Object.fromEntries(
    ['tides', 'mountains', 'payroll', 'gardens', 'trains'].map((topic) => [`${topic}.txt`, `A page about ${topic}.`]),
  ),
};

beforeAll(async () => {
  test = await openTestApi();
  key = await test.key({ scopes: ['search', 'documents:write', 'buckets:manage'] });
  await test.call('POST', '/v1/buckets', { key, json: { name: 'hiding' } });
  for (const [filename, text] of Object.entries(TEXTS)) await upload('default', filename, text);
  await upload('hiding', 'open.txt', 'A page about nothing much.');
  const high = await test.key({ scopes: ['documents:write'], authLevel: 10 });
  await upload('hiding', 'secret.txt', 'The zephyrine project is secret.', { privacy_level: 9 }, high);
  await untilSettled(test.appliance.sql, 'default');
  // Words are corrected once the index is in memory. Milvus corrects none.
  if (!bucketsAreOnMilvus) await until(async () => (await search('waranty')).corrected.length > 0);
});
afterAll(() => test.close());

async function upload(bucket: string, filename: string, text: string, fields = {}, as = key): Promise<void> {
  const documents = `/v1/buckets/${bucket}/documents`;
  const { body } = await test.call('POST', documents, { key: as, json: { filename, text, ...fields } });
  await until(async () => (await test.call('GET', `${documents}/${body.id}`, { key: as })).body.status === 'ready');
}

const search = async (query: string, fields = {}, bucket = 'default') =>
  (await test.call('POST', `/v2/buckets/${bucket}/search`, { key, json: { query, ...fields } })).body;
const namesOf = (body: { results: { citation: { file_name: string } }[] }) =>
  body.results.map(({ citation }) => citation.file_name);

it.skipIf(bucketsAreOnMilvus)(
  'a misspelled word is replaced by the nearest one of the bucket, which the answer tells',
  async () => {
    const body = await search('waranty', { mode: 'keyword', highlights: true });
    expect(body.corrected).toEqual([{ from: 'waranty', to: 'warranty' }]);
    expect(namesOf(body)).toEqual(['warranty.txt']);
    expect(body.results[0].highlights[0].parts).toContainEqual({ text: 'warranty', match: true });
    const korean = await search('쿠버내티스', { mode: 'keyword' });
    expect(korean.corrected).toEqual([{ from: '쿠버내티스', to: '쿠버네티스' }]);
    expect(namesOf(korean)).toEqual(['korean.txt']);
    const several = { query: 'waranty', mode: 'keyword', buckets: ['default'] };
    expect((await test.call('POST', '/v2/search', { key, json: several })).body.corrected).toHaveLength(1);
  },
);

it('a word that the bucket has is not replaced, and none is with correct: false', async () => {
  expect((await search('warranty')).corrected).toEqual([]);
  const body = await search('waranty', { mode: 'keyword', correct: false });
  expect(body).toMatchObject({ corrected: [], results: [] });
});

it('a word that only a hidden document has is never told', async () => {
  const body = await search('zephyrin', { mode: 'keyword' }, 'hiding');
  expect(body).toMatchObject({ corrected: [], results: [] });
});

it('a corrected search has the same order and scores as a search for the right word', async () => {
  const scored = ({ results }: { results: { id: string; score: number }[] }) =>
    results.map(({ id, score }) => [id, score]);
  const [wrong, right] = [
    await search('waranty pump', { mode: 'keyword' }),
    await search('warranty pump', { mode: 'keyword' }),
  ];
  expect(scored(wrong)).toEqual(scored(right));
});

it('an answer tells whether anything in the bucket is relevant, and each result how much', async () => {
  const good = await search('warranty of the pump in years');
  expect(namesOf(good)[0]).toBe('warranty.txt');
  expect(['high', 'medium']).toContain(good.results[0].relevance);
  expect(good.relevance).toBe(good.results[0].relevance);
  expect(good.relevance_score).toBe(good.results[0].relevance_score);
  const bad = await search('recipe for chocolate cake with almonds');
  expect(bad.relevance).toBe('none');
  expect(bad.results.every(({ relevance }: { relevance: string }) => relevance === 'none')).toBe(true);
  expect(await search('zzzz', { mode: 'keyword' })).toMatchObject({
    results: [],
    relevance: 'none',
    relevance_score: 0,
  });
  const grouped = await search('warranty of the pump', { group_by: 'document' });
  expect(grouped.results[0].relevance).toBe(grouped.results[0].passages[0].relevance);
  expect(grouped.results[0].relevance_score).toBe(grouped.results[0].passages[0].relevance_score);
});

it('a passage has the same relevance in every mode, in every search', async () => {
  const relevanceIn = async (mode: string, top_k: number) => {
    const { results } = await search('warranty of the pump', { mode, top_k });
    const [found] = results.filter(
      (result: { citation: { file_name: string } }) => result.citation.file_name === 'warranty.txt',
    );
    return [found.relevance_score, found.relevance];
  };
  const first = await relevanceIn('hybrid', 5);
  expect(first[0]).toBeGreaterThan(0.5);
  for (const mode of ['hybrid', 'keyword', 'vector']) {
    for (const topK of [1, 5, 20]) expect(await relevanceIn(mode, topK), `${mode} ${topK}`).toEqual(first);
  }
});

it.skipIf(bucketsAreOnMilvus)('relevance is the same from the table as from the copy in memory', async () => {
  const levels = async (copies: typeof test.appliance.search.lance.copies, query: string) => {
    const request = SearchRequest.parse({ query });
    const { results } = await searchBucket(
      { ...test.appliance.search, chunks: new LanceIndex(test.appliance.search.lance.tables, copies) },
      test.operator,
      'default',
      request,
    );
    return new Map(results.map(({ id, relevance_score }) => [id, relevance_score]));
  };
  await untilSettled(test.appliance.sql, 'default');
  for (const query of ['warranty of the pump', 'grease', 'a page about mountains', 'AB-1234', '데이터베이스 연결']) {
    const inMemory = await levels(test.appliance.search.lance.copies, query);
    expect(inMemory.size).toBeGreaterThan(0);
    expect(await levels(null, query)).toEqual(inMemory);
  }
});

it.each([
  ['AB-1234', 'the whole code'],
  ['ab1234', 'the code without its sign'],
  ['1234', 'its number'],
  ['2.3.1', 'a version without its v'],
  ['v2.3.1', 'a version'],
  ['E_CONN', 'a name with an underscore'],
  ['conn', 'a part of it'],
])('%s finds a document by %s', async (query) => {
  expect(namesOf(await search(query, { mode: 'keyword' }))).toEqual(['code.txt']);
});

it('sentences with words of the query are shown by the search in the shape of OpenAI', async () => {
  const json = { query: 'warranty', highlights: true };
  const { body } = await test.call('POST', '/v1/vector_stores/default/search', { key, json });
  const [first] = body.data;
  expect(first.highlights[0].parts).toContainEqual({ text: 'warranty', match: true });
  expect(['high', 'medium']).toContain(first.relevance);
  const plain = await test.call('POST', '/v1/vector_stores/default/search', { key, json: { query: 'warranty' } });
  expect(plain.body.data[0]).not.toHaveProperty('highlights');
});

it.skipIf(bucketsAreOnMilvus)('sentences with words of the query are shown by memory searches', async () => {
  const json = { query: 'waranty', bucket: 'default', highlights: true };
  const { body } = await test.call('POST', '/v1/memory/search', { key, json });
  expect(body.results[0].highlights[0].parts).toContainEqual({ text: 'warranty', match: true });
  expect(body).toMatchObject({ corrected: [{ from: 'waranty', to: 'warranty' }], relevance: expect.any(String) });
});
