import { afterAll, beforeAll, expect, it } from 'vitest';
import { openTestApi, type TestApi } from '../support/api.ts';

let test: TestApi;
beforeAll(async () => {
  test = await openTestApi({ worker: false });
});
afterAll(() => test.close());

it('GET /v1/metadata/reserved-keys names the keys that callers cannot set, and the limits', async () => {
  const { status, body } = await test.call('GET', '/v1/metadata/reserved-keys', { key: await test.key() });
  expect(status).toBe(200);
  expect(body.pipeline_reserved).toEqual(
    expect.arrayContaining(['chunk_id', 's3_chunk', 'rerank_score', 'event_time']),
  );
  expect(body.reserved_prefixes).toEqual(['schift.']);
  expect(body.access_policy).toEqual(
    expect.arrayContaining(['privacy_level', 'internal_accessible', 'classification', 'uploaded_by_user_id']),
  );
  expect(body.document_state).toEqual(['deleted', 'disabled', 'searchable', 'status']);
  expect(body.limits).toEqual({ json_bytes: 4096, keys: 32, key_length: 64, value_length: 512 });
  expect(body.statement_operations).toEqual(['SELECT', 'UPDATE', 'SOFTDELETE', 'HARDDELETE']);
  expect(body.statement_fields).toEqual(expect.arrayContaining(['status', 'privacy_level', 'created_at', 'file_name']));
  expect((await test.call('GET', '/v1/metadata/reserved-keys')).status).toBe(401);
});

it('a search filter takes the system keys that are told and any key of users, and refuses other reserved keys', async () => {
  const key = await test.key({ scopes: ['search'] });
  const { body: keys } = await test.call('GET', '/v1/metadata/reserved-keys', { key });
  const { system_filterable: filterable } = keys.knowledge_search;
  expect(filterable).toEqual(expect.arrayContaining(['source_kind', 'source_connection_id', 'classification']));
  const search = (filter: object) =>
    test.call('POST', '/v2/buckets/default/search', { key, json: { query: 'x', filter } });
  const all = Object.fromEntries([...filterable, 'team', 'id', 'schift.source_pk'].map((name) => [name, 'x']));
  expect((await search(all)).status).toBe(200);
  const reserved = [...keys.pipeline_reserved, ...keys.access_policy, ...keys.document_state];
  const refused = reserved.filter((name) => !filterable.includes(name));
  expect(refused).toEqual(
    expect.arrayContaining(['privacy_level', 'status', 'searchable', 'document_id', 'event_time']),
  );
  for (const name of refused) {
    const { status, body } = await search({ [name]: 1 });
    expect([status, body.detail]).toEqual([400, expect.stringContaining(`"${name}" is reserved`)]);
    for (const each of filterable) expect(body.detail).toContain(each);
  }
  const condition = { type: 'gte', key: 'privacy_level', value: 1 };
  const filter = { type: 'or', filters: [{ type: 'eq', key: 'team', value: 'a' }, condition] };
  expect((await search(filter)).status).toBe(400);
  const json = { query: 'x', filters: filter };
  expect((await test.call('POST', '/v1/vector_stores/default/search', { key, json })).status).toBe(400);
});
