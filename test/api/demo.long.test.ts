import { afterAll, beforeAll, expect, it } from 'vitest';
import { createToken } from '../../src/access/tokens.ts';
import { createUser } from '../../src/access/users.ts';
import { DEMO_QUESTIONS, listDemoPaths } from '../../src/demo/demo.ts';
import { openTestApi, type TestApi } from '../support/api.ts';
import { until } from '../support/until.ts';

let test: TestApi;
let admin: string;
beforeAll(async () => {
  test = await openTestApi();
  const { sql, keyRing } = test.appliance;
  const user = await createUser(sql, test.operator, { email: 'owner@example.com', role: 'owner' });
  admin = (await createToken(sql, keyRing, test.operator, { user, ttlMs: 3_600_000 })).token.reveal();
});
afterAll(() => test.close());

const load = () => test.call('POST', '/v1/demo', { key: admin });
const remove = (key = admin) => test.call('DELETE', '/v1/demo', { key });
const documents = async () => (await test.call('GET', '/v1/buckets/demo/documents?limit=100', { key: admin })).body;

it('the sample documents answer their questions, are loaded once, and are removed', async () => {
  const paths = await listDemoPaths();
  const { status, body } = await load();
  expect([status, body.documents]).toEqual([202, paths.length]);
  expect((await load()).body.bucket_id).toBe(body.bucket_id);
  const isReady = async () => (await documents()).data.every((each: { status: string }) => each.status === 'ready');
  await until(isReady, { withinMs: 120_000, what: 'the sample documents' });
  expect((await documents()).data.map((each: { source_path: string }) => each.source_path).toSorted()).toEqual(paths);
  for (const { question, answeredBy } of DEMO_QUESTIONS) {
    const found = await test.call('POST', '/v2/buckets/demo/search', {
      key: admin,
      json: { query: question, top_k: 1 },
    });
    expect([question, found.body.results[0]?.citation.source_path]).toEqual([question, answeredBy]);
  }
  expect((await remove()).body).toEqual({ id: body.bucket_id, deleted: true });
  expect((await remove()).status).toBe(404);
});

it('a bucket "demo" with other documents stays', async () => {
  await load();
  const json = { filename: 'own.txt', text: 'mine' };
  expect((await test.call('POST', '/v1/buckets/demo/documents', { key: admin, json })).status).toBe(202);
  const refused = await remove();
  expect(refused.status).toBe(409);
  expect(refused.body.detail).toBe('the bucket "demo" has documents of your own (1); move them, or delete the bucket');
  expect((await documents()).data.length).toBeGreaterThan(1);
  expect((await remove(await test.key({ scopes: ['buckets:manage'] }))).status).toBe(409);
});
