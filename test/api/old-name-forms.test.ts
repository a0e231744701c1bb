import { readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { MIGRATIONS } from '../../src/appliance/stores.ts';
import { openTestApi, type TestApi } from '../support/api.ts';
import { until } from '../support/until.ts';

// Rows of versions before 0060, which stored names as they came.

let api: TestApi;
let key: string;
beforeAll(async () => {
  api = await openTestApi();
  key = await api.key({ authLevel: 5 });
});
afterAll(() => api.close());

const DOCUMENTS = '/v1/buckets/default/documents';
const NAME = '부두_규칙é.txt';
const AUTHOR = { author: '홍길동' };
const decomposed = (value: unknown) => JSON.stringify(value).normalize('NFD');

async function upload(text: string, more: Record<string, unknown>): Promise<string> {
  const json = { filename: NAME, text, source_path: `규칙/${NAME}`, metadata: AUTHOR, ...more };
  const reply = await api.call('POST', DOCUMENTS, { key, json });
  expect(reply.status).toBe(202);
  const statusOf = async () => (await api.call('GET', `/v1/jobs/${reply.body.job_id}`, { key })).body.status;
  await until(async () => (await statusOf()) === 'ready');
  return reply.body.id;
}

async function search(filter: unknown): Promise<string[]> {
  const found = await api.call('POST', '/v2/buckets/default/search', { key, json: { query: '부두', filter } });
  expect(found.status).toBe(200);
  return found.body.results.map((result: { document_id: string }) => result.document_id);
}

test('names in NFD that an earlier version stored are found, replaced and listed like others', async () => {
  const { sql } = api.appliance;
  const id = await upload('부두 규칙 첫째 판', {});
  const filters = [{ file_name: NAME }, AUTHOR, { type: 'in', key: 'source_path', value: [`규칙/${NAME}`] }];
  const collection = await api.call('POST', '/v1/buckets/default/collections', { key, json: { name: '규칙들' } });
  await sql`
    UPDATE documents SET file_name = normalize(file_name, NFD), source_path = normalize(source_path, NFD),
      metadata = ${decomposed(AUTHOR)}::text::jsonb WHERE id = ${id}`;
  await sql`UPDATE collections SET name = normalize(name, NFD) WHERE id = ${collection.body.id}`;
  for (const filter of filters) expect(await search(filter)).toEqual([]);

  await sql.unsafe(readFileSync(path.join(MIGRATIONS, '0060_composed_names.sql'), 'utf8'));
  for (const filter of filters) expect(await search(filter)).toEqual([id]);
  const twin = await api.call('POST', '/v1/buckets/default/collections', { key, json: { name: '규칙들' } });
  expect(twin.status).toBe(409);
  expect(await upload('부두 규칙 둘째 판', { on_duplicate: 'replace' })).toBe(id);
  expect((await api.call('GET', DOCUMENTS, { key })).body.data).toHaveLength(1);
});

test('a collection keeps its old form if another one has its name', async () => {
  const { sql } = api.appliance;
  const create = (name: string) => api.call('POST', '/v1/buckets/default/collections', { key, json: { name } });
  const old = (await create('등대')).body.id;
  await sql`UPDATE collections SET name = normalize(name, NFD) WHERE id = ${old}`;
  expect((await create('등대')).status).toBe(201);
  await sql.unsafe(readFileSync(path.join(MIGRATIONS, '0060_composed_names.sql'), 'utf8'));
  const [row] = await sql`SELECT name FROM collections WHERE id = ${old}`;
  expect(row?.['name']).toBe('등대'.normalize('NFD'));
});
