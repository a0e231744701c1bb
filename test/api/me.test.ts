import { afterAll, beforeAll, expect, it } from 'vitest';
import { issueToken } from '../../src/access/tokens.ts';
import { openTestApi, type TestApi } from '../support/api.ts';

let test: TestApi;

beforeAll(async () => {
  test = await openTestApi({ worker: false });
});
afterAll(() => test.close());

it('GET /v1/me describes an API key and its rights', async () => {
  const key = await test.key({ scopes: ['search', 'embed'], authLevel: 4 });
  const { status, body } = await test.call('GET', '/v1/me', { key });
  expect(status).toBe(200);
  expect(body).toEqual({
    org: { id: test.operator.orgId, name: 'default', plan: 'enterprise' },
    kind: 'key',
    key: { id: key.split('_')[1], name: 'test' },
    user_id: null,
    groups: [],
    scopes: ['embed', 'search'],
    auth_level: 4,
  });
});

it('GET /v1/me describes the user of a token', async () => {
  const { sql, keyRing } = test.appliance;
  const email = 'mina@example.com';
  const { token } = await issueToken(sql, keyRing, test.operator, { email, role: 'admin', ttlMs: 60_000 });
  const { body } = await test.call('GET', '/v1/me', { key: token.reveal() });
  expect(body).toMatchObject({ kind: 'user', user: { email, role: 'admin', department: null }, auth_level: 7 });
  expect(body.user_id).toBe(body.user.id);
  expect(body.scopes).toContain('documents:write');
  expect(body.key).toBeUndefined();
});

it('GET /v1/me refuses a caller that is nobody', async () => {
  expect((await test.call('GET', '/v1/me')).status).toBe(401);
  expect((await test.call('GET', '/v1/me', { key: 'svc_wrong' })).status).toBe(401);
});
