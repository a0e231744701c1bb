import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Role, SCOPES } from '../../src/access/caller.ts';
import { createToken } from '../../src/access/tokens.ts';
import { createUser } from '../../src/access/users.ts';
import { openTestApi, type TestApi } from '../support/api.ts';
import { until } from '../support/until.ts';

let test: TestApi;
let owner: string;
beforeAll(async () => {
  test = await openTestApi({ worker: false });
  owner = await tokenOf('owner');
});
afterAll(() => test.close());

const email = () => `${randomBytes(6).toString('hex')}@example.com`;

async function tokenOf(role: Role): Promise<string> {
  const { sql, keyRing } = test.appliance;
  const user = await createUser(sql, test.operator, { email: email(), role });
  return (await createToken(sql, keyRing, test.operator, { user, ttlMs: 3_600_000 })).token.reveal();
}

const send = (method: string, path: string, json?: object, key = owner) =>
  test.call(method, path, { key, ...(json === undefined ? {} : { json }) });
const statusOf = async (key: string) => (await test.call('GET', '/v1/me', { key })).status;
const refused = (key: string) =>
  until(async () => (await statusOf(key)) === 401, { what: 'the refusal', withinMs: 60_000 });

describe('keys by the API', () => {
  it('a creation or rotation repeated under its Idempotency-Key gets the first reply, which is stored encrypted', async () => {
    const post = (path: string, json: object, idempotencyKey: string, key = owner) =>
      test.call('POST', path, { key, json, headers: { 'Idempotency-Key': idempotencyKey } });
    const count = async () => (await send('GET', '/v1/keys?limit=100')).body.data.length;
    const before = await count();
    const first = await post('/v1/keys', { name: 'once', scopes: ['embed'] }, 'create-once');
    const again = await post('/v1/keys', { name: 'once', scopes: ['embed'] }, 'create-once');
    expect([first.status, again.status, again.headers.get('idempotency-replayed')]).toEqual([201, 201, 'true']);
    expect(again.body).toEqual(first.body);
    expect(await count()).toBe(before + 1);
    expect(await statusOf(again.body.key)).toBe(200);
    expect((await post('/v1/keys', { name: 'another', scopes: ['embed'] }, 'create-once')).status).toBe(422);
    // The reply is the first caller's: the same header of another one is another request.
    const other = await post('/v1/keys', { name: 'once', scopes: ['embed'] }, 'create-once', await tokenOf('owner'));
    expect(other.body.id).not.toBe(first.body.id);

    const rotate = () => post(`/v1/keys/${first.body.id}/rotate`, {}, 'rotate-once');
    const rotated = await rotate();
    expect((await rotate()).body).toEqual(rotated.body);
    const stored = await test.appliance.sql`
      SELECT row_to_json(k)::text || encode(coalesce(sealed_body, ''), 'escape') AS text FROM idempotency_keys k`;
    for (const secret of [first.body.key, other.body.key, rotated.body.key])
      expect(stored.map(({ text }) => text).join('\n')).not.toContain(secret);
  });

  it('a key is shown once, works, is listed without its secret, is rotated and revoked', async () => {
    const json = { name: 'site', scopes: ['embed'], auth_level: 2, expires_in_days: 30 };
    const { status, body: made } = await send('POST', '/v1/keys', json);
    expect(status).toBe(201);
    expect(made).toMatchObject({ name: 'site', scopes: ['embed'], auth_level: 2, revoked_at: null });
    expect(Date.parse(made.expires_at) - Date.now()).toBeGreaterThan(29 * 86_400_000);
    expect(await statusOf(made.key)).toBe(200);
    const { key: secret, ...view } = made;
    // The use is recorded beside the request.
    const used = await until(async () => {
      const { body } = await send('GET', `/v1/keys/${made.id}`);
      return body.last_used_at !== null && body;
    });
    expect(used).toMatchObject({ ...view, last_used_at: expect.anything() });
    expect(JSON.stringify((await send('GET', '/v1/keys')).body)).not.toContain(secret);
    const edited = await send('PATCH', `/v1/keys/${made.id}`, {
      name: 'shop',
      scopes: ['search'],
      expires_in_days: null,
    });
    expect(edited.body).toMatchObject({ name: 'shop', scopes: ['search'], auth_level: 2, expires_at: null });
    const rotated = await send('POST', `/v1/keys/${made.id}/rotate`, { grace_seconds: 3600 });
    expect([rotated.status, rotated.body.name]).toEqual([201, 'shop']);
    expect([await statusOf(rotated.body.key), await statusOf(secret)]).toEqual([200, 200]);
    expect((await send('DELETE', `/v1/keys/${made.id}`)).body).toEqual({ id: made.id, revoked: true });
    await refused(secret);
    expect(await statusOf(rotated.body.key)).toBe(200);
    const { body: bare } = await test.call('POST', `/v1/keys/${rotated.body.id}/rotate`, { key: owner });
    await refused(rotated.body.key);
    expect(await statusOf(bare.key)).toBe(200);
  });

  it('keys are listed page by page, newest first', async () => {
    const key = await test.key({ scopes: [...SCOPES], authLevel: 10, org: 'paged' });
    for (let i = 0; i < 5; i++) await send('POST', '/v1/keys', { name: `k${i}`, scopes: ['embed'] }, key);
    const names: string[] = [];
    for (let cursor = ''; ; ) {
      const { body } = await send('GET', `/v1/keys?limit=2&cursor=${cursor}`, undefined, key);
      names.push(...body.data.map((each: { name: string }) => each.name));
      if (!body.has_more) break;
      cursor = body.next_cursor;
    }
    expect(names).toEqual(['k4', 'k3', 'k2', 'k1', 'k0', 'test']);
  });

  it.each([
    ['more scopes than its creator has', { name: 'k', scopes: ['platform_admin'] }, 403],
    ['a higher level than its creator has', { name: 'k', scopes: ['embed'], auth_level: 10 }, 403],
    ['an unknown scope', { name: 'k', scopes: ['everything'] }, 400],
    ['no scope', { name: 'k', scopes: [] }, 400],
    ['no name', { scopes: ['embed'] }, 400],
    ['a name with a control character', { name: 'a\u202eb' }, 400],
    ['a level of 11', { name: 'k', auth_level: 11 }, 400],
    ['an end in the past', { name: 'k', expires_in_days: -1 }, 400],
    ['a user that does not exist', { name: 'k', user_id: 'usr_missing' }, 404],
  ] as const)('a key with %s is not made', async (_name, json, status) => {
    expect((await send('POST', '/v1/keys', json)).status).toBe(status);
  });
});

describe('people by the API', () => {
  it('a person is added, changed, suspended within a second, and resumed', async () => {
    const added = await send('POST', '/v1/users', { email: email(), role: 'admin', department: 'sales' });
    expect(added.status).toBe(201);
    expect(added.body).toMatchObject({ role: 'admin', auth_level: 7, department: 'sales', suspended_at: null });
    const path = `/v1/users/${added.body.id}`;
    expect((await send('GET', `/v1/users/${added.body.email}`)).body).toEqual(added.body);
    expect((await send('PATCH', path, { role: 'member' })).body).toMatchObject({ role: 'member', auth_level: 3 });
    expect((await send('PATCH', path, { department: null, auth_level: 2 })).body).toMatchObject({
      department: null,
      auth_level: 2,
    });
    const { sql, keyRing } = test.appliance;
    const { token } = await createToken(sql, keyRing, test.operator, { user: added.body, ttlMs: 3_600_000 });
    expect(await statusOf(token.reveal())).toBe(200);
    expect((await send('PATCH', path, { suspended: true })).body.suspended_at).not.toBeNull();
    await refused(token.reveal());
    expect((await send('PATCH', path, { suspended: false })).body.suspended_at).toBeNull();
    await until(async () => (await statusOf(token.reveal())) === 200, { what: 'the resumed user', withinMs: 60_000 });
    expect((await send('POST', `${path}/revoke-tokens`)).status).toBe(200);
    await refused(token.reveal());
    expect((await send('GET', '/v1/users')).body.data.map((user: { id: string }) => user.id)).toContain(added.body.id);
    expect((await send('POST', '/v1/users', { email: added.body.email })).status).toBe(409);
  });

  it('one token is revoked by its id, by the session of an administrator only', async () => {
    const { sql, keyRing } = test.appliance;
    const user = await createUser(sql, test.operator, { email: email() });
    const { token, id } = await createToken(sql, keyRing, test.operator, { user, ttlMs: 3_600_000 });
    const key = await test.key({ scopes: [...SCOPES], authLevel: 10 });
    expect((await send('DELETE', `/v1/tokens/${id}`, undefined, key)).status).toBe(403);
    expect((await send('DELETE', '/v1/tokens/nonsense')).status).toBe(404);
    expect((await send('DELETE', `/v1/tokens/${id}`)).body).toEqual({ id, revoked: true });
    await refused(token.reveal());
  });

  it('nobody gives away or takes away more than his own rights', async () => {
    const admin = await tokenOf('admin');
    const boss = await send('POST', '/v1/users', { email: email(), role: 'owner' });
    const path = `/v1/users/${boss.body.id}`;
    for (const [method, to, json] of [
      ['POST', '/v1/users', { email: email(), role: 'owner' }],
      ['POST', '/v1/users', { email: email(), role: 'platform_admin' }],
      ['PATCH', path, { role: 'member' }],
      ['PATCH', path, { suspended: true }],
      ['POST', `${path}/revoke-tokens`, undefined],
    ] as const) {
      expect([to, (await send(method, to, json, admin)).status]).toEqual([to, 403]);
    }
    const key = await test.key({ scopes: [...SCOPES], authLevel: 10 });
    expect((await send('POST', '/v1/users', { email: email(), role: 'admin' }, key)).status).toBe(403);
    expect((await send('POST', '/v1/users', { email: email() }, key)).status).toBe(201);
  });
});

describe('organizations by the API', () => {
  it('those who run the installation create, list, change and suspend organizations', async () => {
    const key = await test.key({ scopes: [...SCOPES], authLevel: 10 });
    const made = await send('POST', '/v1/orgs', { name: 'acme', plan: 'free' }, key);
    expect([made.status, made.body]).toMatchObject([201, { name: 'acme', plan: 'free', suspended_at: null }]);
    const ofAcme = await test.key({ org: 'acme' });
    expect((await send('GET', '/v1/buckets/default', undefined, ofAcme)).status).toBe(200);
    expect((await send('GET', '/v1/orgs/acme', undefined, key)).body).toEqual(made.body);
    expect((await send('GET', '/v1/orgs?limit=1', undefined, key)).body).toMatchObject({ has_more: true });
    const edited = await send('PATCH', `/v1/orgs/${made.body.id}`, { plan: 'business', suspended: true }, key);
    expect(edited.body).toMatchObject({ plan: 'business', suspended_at: expect.anything() });
    await refused(ofAcme);
    await send('PATCH', '/v1/orgs/acme', { suspended: false }, key);
    await until(async () => (await statusOf(ofAcme)) === 200, { what: 'the resumed organization', withinMs: 60_000 });
    expect((await send('PATCH', '/v1/orgs/default', { suspended: true }, key)).status).toBe(409);
    expect((await send('POST', '/v1/orgs', { name: 'acme', plan: 'free' }, key)).status).toBe(409);
    expect((await send('GET', '/v1/orgs/missing', undefined, key)).status).toBe(404);
    expect((await send('GET', '/v1/orgs')).status).toBe(403);
    const [{ actor } = { actor: '' }] = await test.appliance.sql<{ actor: string }[]>`
      SELECT actor FROM audit_log WHERE action = 'organization.create' AND target = ${made.body.id}`;
    expect(actor).toBe(`key:${key.split('_')[1]}`);
  });
});
