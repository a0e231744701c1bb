import { chmodSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openTestApi, type TestApi } from '../support/api.ts';

let api: TestApi;
beforeAll(async () => {
  api = await openTestApi({
    worker: false,
    settings: {
      limits: { failed_logins_per_minute: 5 },
      plans: { free: { requests_per_minute: { upload: 3 } }, starter: { storage_bytes: 10 } },
    },
  });
});
afterAll(() => api.close());

const upload = (key: string, text: string, more: object = {}) =>
  api.call('POST', '/v1/buckets/default/documents', { key, json: { filename: 'a.txt', text, ...more } });

test('every answer has the security headers, and none may be kept', async () => {
  const key = await api.key({ org: 'headers' });
  for (const [method, where, status] of [
    ['GET', '/healthz', 200],
    ['GET', '/v1/buckets', 200],
    ['GET', '/v1/nothing', 404],
    ['PUT', '/healthz', 405],
    ['GET', '/openapi.json', 200],
  ] as const) {
    const answer = await api.call(method, where, { key });
    expect(answer.status).toBe(status);
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'x-content-type-options': 'nosniff',
      'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
      'x-frame-options': 'DENY',
      'referrer-policy': 'no-referrer',
      'cross-origin-resource-policy': 'same-origin',
      'cache-control': 'no-store',
    });
  }
});

test('many wrong credentials keep no valid one of the same address or key out', async () => {
  const key = await api.key({ org: 'guessed' });
  const guess = `${key.slice(0, -6)}AAAAAA`;
  // Those beyond the allowance wait; test/access/failed-logins.test.ts shows that.
  const guesses = Promise.all(Array.from({ length: 20 }, () => api.call('GET', '/v1/me', { key: guess })));
  for (let i = 0; i < 5; i++) expect((await api.call('GET', '/v1/me', { key })).status).toBe(200);
  for (const { status } of await guesses) expect(status).toBe(401);
});

test.each([
  'pay\u202Eroll', // right-to-left override
  'a\u2066b', // isolate
  'a\u0000b',
  'a\u001bb',
  'line\nbreak',
  'col_0123',
])('no collection can be named %j', async (name) => {
  const key = await api.key({ org: 'names', scopes: ['buckets:manage', 'documents:write'] });
  const { status } = await api.call('POST', '/v1/buckets/default/collections', { key, json: { name } });
  expect(status).toBe(400);
  const policy = { departments: [name] };
  const bucket = await api.call('POST', '/v1/buckets', { key, json: { name: 'b', policy } });
  if (!name.startsWith('col_')) expect(bucket.status).toBe(400);
});

test('names in scripts of every direction are accepted', async () => {
  const key = await api.key({ org: 'names', scopes: ['buckets:manage', 'documents:write'] });
  for (const name of ['결제', 'מסמכים', 'وثائق', 'Ünïcode – 2']) {
    const { status } = await api.call('POST', '/v1/buckets/default/collections', { key, json: { name } });
    expect(status).toBe(201);
  }
});

test('uploads have a request rate of the plan, which is checked before their content is read', async () => {
  const key = await api.key({ org: 'hurried', scopes: ['documents:write'] });
  const statuses: number[] = [];
  for (let i = 0; i < 4; i++) statuses.push((await upload(key, `text ${i}`)).status);
  expect(statuses).toEqual([202, 202, 202, 429]);
  const unread = await api.call('POST', '/v1/buckets/default/documents', { key, body: 'x', headers: { a: 'b' } });
  expect(unread.status).toBe(429);
});

test('concurrent uploads together cannot exceed what the plan stores, and a deleted document makes room', async () => {
  const { access, sql } = api.appliance;
  await access.createOrganization({ name: 'small', plan: 'starter' });
  const key = await api.key({ org: 'small', scopes: ['documents:write'] });
  const answers = await Promise.all(
    Array.from({ length: 6 }, (_, i) => upload(key, `four${i}`.slice(-4), { on_duplicate: 'allow' })),
  );
  const statuses = answers.map(({ status }) => status).sort();
  expect(statuses).toEqual([202, 202, 402, 402, 402, 402]);
  const refused = answers.find(({ status }) => status === 402);
  expect(refused?.body.detail).toContain('allows 10 bytes of documents and files, and 8 are in use; this adds 4');
  // Nothing of a refused upload stays.
  const [row] = await sql`SELECT count(*)::int AS count FROM documents WHERE org_id =
    (SELECT id FROM organizations WHERE name = 'small')`;
  expect(row).toEqual({ count: 2 });
  const kept = answers.find(({ status }) => status === 202);
  const where = `/v1/buckets/default/documents/${kept?.body.id}`;
  expect((await api.call('DELETE', where, { key })).status).toBe(200);
  await api.appliance.documents.purge(new AbortController().signal);
  expect((await upload(key, 'next', { on_duplicate: 'allow' })).status).toBe(202);
});

test('the data directory and all that the service wrote there are closed to other users', async () => {
  const key = await api.key({ org: 'files', scopes: ['documents:write'] });
  expect((await upload(key, 'kept')).status).toBe(202);
  expect((statSync(api.dataDir).mode & 0o777).toString(8)).toBe('700');
  const open = readdirSync(api.dataDir).filter((name) => {
    const found = statSync(path.join(api.dataDir, name));
    return (found.mode & 0o077) !== 0;
  });
  expect(open).toEqual([]);
});

test('a service.yaml that every user can read gets a warning', async () => {
  const { loadConfig } = await import('../../src/platform/config.ts');
  const file = path.join(api.dataDir, 'service.yaml');
  writeFileSync(file, 'port: 1\n');
  const warningsAt = (mode: number) => {
    chmodSync(file, mode);
    return loadConfig({ env: {}, overrides: { data_dir: api.dataDir } }).warnings;
  };
  expect(warningsAt(0o644)).toEqual([
    `${file} can be read by every user of this machine; close it by: chmod o-rwx ${file}`,
  ]);
  expect([warningsAt(0o640), warningsAt(0o600)]).toEqual([[], []]);
});
