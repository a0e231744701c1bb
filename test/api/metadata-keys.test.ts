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
  expect((await test.call('GET', '/v1/metadata/reserved-keys')).status).toBe(401);
});
