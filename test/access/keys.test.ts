import { inspect } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createKey, listKeys, revokeKey, rotateKey } from '../../src/access/keys.ts';
import { ApiKey } from '../../src/access/schema.ts';
import { createToken } from '../../src/access/tokens.ts';
import { createUser, setRole, suspendUser } from '../../src/access/users.ts';
import { makeKeyRing, makeOrg, makeResolver } from '../support/access.ts';
import { createTestDatabase } from '../support/postgres.ts';

const keyRing = makeKeyRing();
const DAY_MS = 86_400_000;
let db: Awaited<ReturnType<typeof createTestDatabase>>;
beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(async () => {
  await db.drop();
});

test('a key has limited default rights, is listed without its text and stored only as a hash', async () => {
  const { org, operator } = await makeOrg(db.sql, keyRing);
  const { apiKey, key } = await createKey(db.sql, keyRing, operator, { name: 'ci' });
  expect(ApiKey.parse(apiKey)).toEqual(apiKey);
  expect(apiKey).toMatchObject({
    org_id: org.id,
    user_id: null,
    name: 'ci',
    scopes: ['embed', 'search', 'documents:write'],
    auth_level: 5,
    expires_at: null,
    last_used_at: null,
    revoked_at: null,
  });
  expect((await listKeys(db.sql, operator)).find(({ id }) => id === apiKey.id)).toEqual(apiKey);
  const text = key.reveal();
  expect(text.startsWith(`svc_${apiKey.id}_`)).toBe(true);
  const random = text.slice(13, 56);
  const stored = await db.sql`
    SELECT k::text AS key, (SELECT string_agg(a::text, ' ') FROM audit_log a WHERE a.org_id = ${org.id}) AS log
    FROM api_keys k WHERE k.org_id = ${org.id} AND k.id = ${apiKey.id}`;
  for (const shown of [JSON.stringify({ apiKey, key }), inspect({ apiKey, key }), JSON.stringify(stored)]) {
    expect(shown).not.toContain(random);
  }
  expect(JSON.stringify(stored)).toContain('key.create');
});

test('a key never has more than its creator', async () => {
  const { operator, caller: admin } = await makeOrg(db.sql, keyRing);
  const user = await createUser(db.sql, operator, { email: 'admin@example.com', role: 'admin' });
  const { token } = await createToken(db.sql, keyRing, operator, { user, ttlMs: 60_000 });
  const by = await makeResolver(db.sql, keyRing).resolve(`Bearer ${token.reveal()}`);
  await expect(createKey(db.sql, keyRing, by, { name: 'k', scopes: ['platform_admin'] })).rejects.toMatchObject({
    code: 'exceeds_own_rights',
  });
  await expect(createKey(db.sql, keyRing, by, { name: 'k', authLevel: 8 })).rejects.toMatchObject({
    code: 'exceeds_own_rights',
  });
  const { apiKey } = await createKey(db.sql, keyRing, by, {
    name: 'k',
    scopes: ['jobs:write', 'embed', 'embed'],
    authLevel: 7,
  });
  expect(apiKey).toMatchObject({ scopes: ['embed', 'jobs:write'], auth_level: 7 });
  // A key cannot create keys, whatever its scopes are.
  await expect(createKey(db.sql, keyRing, admin, { name: 'k' })).rejects.toMatchObject({ code: 'role_missing' });
});

test('a key of a user never has more than the user', async () => {
  const { operator } = await makeOrg(db.sql, keyRing);
  const user = await createUser(db.sql, operator, { email: 'm@example.com', role: 'member', department: 'legal' });
  const { apiKey, key } = await createKey(db.sql, keyRing, operator, { name: 'm', userId: user.id });
  expect(apiKey).toMatchObject({ user_id: user.id, auth_level: 3 });
  expect(await makeResolver(db.sql, keyRing).resolve(`Bearer ${key.reveal()}`)).toMatchObject({
    kind: 'api_key',
    actor: `key:${apiKey.id}`,
    userId: user.id,
    role: null,
    department: 'legal',
    authLevel: 3,
  });
  for (const more of [{ authLevel: 4 }, { scopes: ['embed' as const, 'buckets:manage' as const] }]) {
    await expect(createKey(db.sql, keyRing, operator, { name: 'm', userId: user.id, ...more })).rejects.toMatchObject({
      code: 'exceeds_user_rights',
      status: 403,
    });
  }
  const stranger = await makeOrg(db.sql, keyRing);
  await expect(createKey(db.sql, keyRing, stranger.operator, { name: 'm', userId: user.id })).rejects.toMatchObject({
    code: 'user_not_found',
  });
});

test('the rights of a key follow the current rights of its user', async () => {
  const { operator } = await makeOrg(db.sql, keyRing);
  const resolver = makeResolver(db.sql, keyRing);
  const user = await createUser(db.sql, operator, { email: 'a@example.com', role: 'admin' });
  const { key } = await createKey(db.sql, keyRing, operator, {
    name: 'a',
    userId: user.id,
    scopes: ['embed', 'buckets:manage'],
    authLevel: 6,
  });
  const header = `Bearer ${key.reveal()}`;
  expect(await resolver.resolve(header)).toMatchObject({ authLevel: 6, scopes: new Set(['embed', 'buckets:manage']) });
  await setRole(db.sql, operator, user.id, 'member');
  expect(await resolver.resolve(header)).toMatchObject({ authLevel: 3, scopes: new Set(['embed']) });
  await suspendUser(db.sql, operator, user.id);
  await expect(resolver.resolve(header)).rejects.toMatchObject({ code: 'invalid_credentials', status: 401 });
});

test('a revoked key is refused, a second revocation changes nothing, and another organization cannot revoke it', async () => {
  const { org, operator } = await makeOrg(db.sql, keyRing);
  const stranger = await makeOrg(db.sql, keyRing);
  const { apiKey, key } = await createKey(db.sql, keyRing, operator, { name: 'ci' });
  await expect(revokeKey(db.sql, stranger.operator, apiKey.id)).rejects.toMatchObject({ code: 'api_key_not_found' });
  await expect(rotateKey(db.sql, keyRing, stranger.operator, apiKey.id)).rejects.toMatchObject({
    code: 'api_key_not_found',
  });
  await revokeKey(db.sql, operator, apiKey.id);
  const find = async () => (await listKeys(db.sql, operator)).find(({ id }) => id === apiKey.id)?.revoked_at;
  const revokedAt = await find();
  expect(revokedAt).toEqual(expect.any(String));
  await revokeKey(db.sql, operator, apiKey.id);
  expect(await find()).toBe(revokedAt);
  await expect(makeResolver(db.sql, keyRing).resolve(`Bearer ${key.reveal()}`)).rejects.toMatchObject({
    code: 'invalid_credentials',
  });
  await expect(rotateKey(db.sql, keyRing, operator, apiKey.id)).rejects.toMatchObject({ code: 'api_key_revoked' });
  const rows = await db.sql`
    SELECT action FROM audit_log WHERE org_id = ${org.id} AND target = ${apiKey.id} ORDER BY id`;
  expect(rows.map(({ action }) => action)).toEqual(['key.create', 'key.revoke']);
});

test('rotation keeps the attributes and the lifetime, and revokes the old key at once', async () => {
  const { operator } = await makeOrg(db.sql, keyRing);
  const resolver = makeResolver(db.sql, keyRing);
  const user = await createUser(db.sql, operator, { email: 'a@example.com', role: 'admin' });
  const old = await createKey(db.sql, keyRing, operator, {
    name: 'ci',
    scopes: ['search'],
    authLevel: 4,
    userId: user.id,
    lifetimeMs: 90 * DAY_MS,
  });
  const fresh = await rotateKey(db.sql, keyRing, operator, old.apiKey.id);
  expect(fresh.apiKey).toMatchObject({ name: 'ci', scopes: ['search'], auth_level: 4, user_id: user.id });
  expect(Date.parse(fresh.apiKey.expires_at ?? '') - Date.parse(fresh.apiKey.created_at)).toBe(90 * DAY_MS);
  expect(await resolver.resolve(`Bearer ${fresh.key.reveal()}`)).toMatchObject({ authLevel: 4 });
  await expect(resolver.resolve(`Bearer ${old.key.reveal()}`)).rejects.toMatchObject({ code: 'invalid_credentials' });
});

test('both keys work during the grace period of a rotation, and only the new one after it', async () => {
  const { org, operator } = await makeOrg(db.sql, keyRing);
  const resolver = makeResolver(db.sql, keyRing);
  const old = await createKey(db.sql, keyRing, operator, { name: 'ci' });
  const fresh = await rotateKey(db.sql, keyRing, operator, old.apiKey.id, DAY_MS);
  expect(await resolver.resolve(`Bearer ${old.key.reveal()}`)).toMatchObject({ orgId: org.id });
  expect(await resolver.resolve(`Bearer ${fresh.key.reveal()}`)).toMatchObject({ orgId: org.id });
  await db.sql`
    UPDATE api_keys SET revoked_at = revoked_at - interval '1 day' WHERE org_id = ${org.id} AND id = ${old.apiKey.id}`;
  await expect(resolver.resolve(`Bearer ${old.key.reveal()}`)).rejects.toMatchObject({ code: 'invalid_credentials' });
  expect(await resolver.resolve(`Bearer ${fresh.key.reveal()}`)).toMatchObject({ orgId: org.id });
});

test('revoking the old key ends the grace period of a rotation', async () => {
  const { operator } = await makeOrg(db.sql, keyRing);
  const resolver = makeResolver(db.sql, keyRing);
  const old = await createKey(db.sql, keyRing, operator, { name: 'ci' });
  await rotateKey(db.sql, keyRing, operator, old.apiKey.id, DAY_MS);
  await revokeKey(db.sql, operator, old.apiKey.id);
  await expect(resolver.resolve(`Bearer ${old.key.reveal()}`)).rejects.toMatchObject({ code: 'invalid_credentials' });
});

test('invalid input for a key is 400 and names the field', async () => {
  const { operator } = await makeOrg(db.sql, keyRing);
  for (const [param, input] of [
    ['name', { name: '' }],
    ['scopes', { name: 'k', scopes: [] }],
    ['scopes.0', { name: 'k', scopes: ['everything' as 'embed'] }],
    ['authLevel', { name: 'k', authLevel: 0 }],
    ['lifetimeMs', { name: 'k', lifetimeMs: -1 }],
  ] as const) {
    await expect(createKey(db.sql, keyRing, operator, input as Parameters<typeof createKey>[3])).rejects.toMatchObject({
      code: 'invalid_request',
      status: 400,
      param,
    });
  }
});
