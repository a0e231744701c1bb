import { afterAll, beforeAll, expect, it } from 'vitest';
import { LanceIndex } from '../../src/index/lance/lance-index.ts';
import { SearchRequest } from '../../src/search/schema.ts';
import { searchBucket } from '../../src/search/search.ts';
import { openTestApi, type TestApi } from '../support/api.ts';
import { untilSettled } from '../support/settled.ts';
import { until } from '../support/until.ts';

const PATH = '/v1/buckets/ops/synonyms';
const GROUPS = [['k8s', 'kubernetes', '쿠버네티스']];
let test: TestApi;
let key: string;

beforeAll(async () => {
  test = await openTestApi();
  key = await test.key({ scopes: ['search', 'documents:write', 'buckets:manage'] });
  for (const bucket of ['ops', 'other']) {
    await test.call('POST', '/v1/buckets', { key, json: { name: bucket } });
    await upload(bucket, 'english.txt', `The kubernetes cluster of ${bucket} restarts.`);
    await upload(bucket, 'korean.txt', `${bucket}: 쿠버네티스 클러스터를 다시 시작합니다.`);
    await upload(bucket, 'rest.txt', 'Bearings are greased twice a year.');
  }
});
afterAll(() => test.close());

async function upload(bucket: string, filename: string, text: string): Promise<void> {
  const documents = `/v1/buckets/${bucket}/documents`;
  const { body } = await test.call('POST', documents, { key, json: { filename, text } });
  await until(async () => (await test.call('GET', `${documents}/${body.id}`, { key })).body.status === 'ready');
}

async function find(bucket: string, query: string): Promise<string[]> {
  const json = { query, mode: 'keyword', highlights: true };
  const { body } = await test.call('POST', `/v2/buckets/${bucket}/search`, { key, json });
  return body.results.map((result: { citation: { file_name: string } }) => result.citation.file_name).toSorted();
}

const put = (json: unknown, as = key, path = PATH) => test.call('PUT', path, { key: as, json });

it('the next search finds synonyms, in both languages, in its bucket only, and none after they are removed', async () => {
  expect(await find('ops', 'k8s')).toEqual([]);
  const set = await put({ groups: GROUPS });
  expect(set).toMatchObject({ status: 200, body: { groups: GROUPS, updated_at: expect.any(String) } });
  expect((await test.call('GET', PATH, { key })).body).toEqual(set.body);
  expect(await find('ops', 'k8s')).toEqual(['english.txt', 'korean.txt']);
  expect(await find('ops', 'Kubernetes')).toEqual(['english.txt', 'korean.txt']);
  expect(await find('other', 'k8s')).toEqual([]);
  const several = { query: 'k8s', mode: 'keyword', buckets: ['ops', 'other'] };
  const { body } = await test.call('POST', '/v2/search', { key, json: several });
  expect(body.results.map(({ bucket_id }: { bucket_id: string }) => bucket_id)).toEqual(
    Array(2).fill(set.body.bucket_id),
  );
  expect((await put({ groups: [] })).body).toEqual({ bucket_id: set.body.bucket_id, groups: [], updated_at: null });
  expect(await find('ops', 'k8s')).toEqual([]);
});

it('words of synonyms are marked in the sentences of results', async () => {
  await put({ groups: GROUPS });
  const json = { query: 'k8s', mode: 'keyword', highlights: true };
  const { body } = await test.call('POST', '/v2/buckets/ops/search', { key, json });
  const marked = body.results.flatMap((result: { highlights: { parts: { text: string; match: boolean }[] }[] }) =>
    result.highlights.flatMap(({ parts }) => parts.flatMap(({ text, match }) => (match ? [text] : []))),
  );
  expect(marked.toSorted()).toEqual(['kubernetes', '쿠버네티스']);
});

it('a search of the settled table finds synonyms with the scores of a search in memory', async () => {
  await put({ groups: GROUPS });
  await untilSettled(test.appliance.sql, 'ops');
  const scores = async (copies: typeof test.appliance.search.lance.copies) => {
    const request = SearchRequest.parse({ query: 'k8s cluster', mode: 'keyword' });
    const { results } = await searchBucket(
      { ...test.appliance.search, chunks: new LanceIndex(test.appliance.search.lance.tables, copies) },
      test.operator,
      'ops',
      request,
    );
    return results.map(({ id, scores: { bm25_score } }) => [id, bm25_score?.toFixed(4)]);
  };
  const inMemory = await scores(test.appliance.search.lance.copies);
  expect(inMemory).toHaveLength(2);
  expect(await scores(null)).toEqual(inMemory);
});

it('an edit is audited, and refused to callers who do not manage buckets, for missing buckets and for bad input', async () => {
  await put({ groups: GROUPS });
  const [row] = await test.appliance
    .sql`SELECT detail FROM audit_log WHERE action = 'bucket.synonyms' ORDER BY id DESC LIMIT 1`;
  expect(row?.['detail']).toMatchObject({ groups: 1 });
  const reader = await test.key({ scopes: ['search'] });
  expect((await put({ groups: [] }, reader)).status).toBe(403);
  expect((await test.call('GET', PATH, { key: reader })).body.groups).toEqual(GROUPS);
  expect((await put({ groups: GROUPS }, key, '/v1/buckets/none/synonyms')).status).toBe(404);
  const foreign = await test.key({ scopes: ['buckets:manage'], org: 'other' });
  expect((await put({ groups: [] }, foreign)).status).toBe(404);
  expect((await test.call('GET', PATH, { key: foreign })).status).toBe(404);
  const bad = await put({ groups: [['the', 'a1']] });
  expect(bad).toMatchObject({ status: 400, body: { detail: expect.stringContaining('"the" has no word') } });
  expect((await put({ groups: 'k8s' })).status).toBe(400);
});
