import { inspect } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readerOfActor } from '../../src/access/actor-caller.ts';
import { SCOPES } from '../../src/access/caller.ts';
import { selectApiKeyFacts } from '../../src/access/credential-store.ts';
import { setKeyPrefix } from '../../src/access/key-prefix.ts';
import { type CreatedApiKey, createKey, editKey, listKeys, revokeKey, rotateKey } from '../../src/access/keys.ts';
import { ApiKey, type NewApiKey } from '../../src/access/schema.ts';
import { createToken } from '../../src/access/tokens.ts';
import { createUser, setRole, suspendUser, unsuspendUser } from '../../src/access/users.ts';
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

test('the ids of new keys begin with the prefix of the installation, and earlier keys stay', async () => {
  const { operator } = await makeOrg(db.sql, keyRing);
  const resolver = makeResolver(db.sql, keyRing);
  await db.sql`INSERT INTO installation (secret_key_check) VALUES ('x') ON CONFLICT DO NOTHING`;
  const before = await createKey(db.sql, keyRing, operator, { name: 'before' });
  expect(await setKeyPrefix(db.sql, 'operator:test', 'b1')).toEqual({ before: null });
  const prefixed = await createKey(db.sql, keyRing, operator, { name: 'prefixed' });
  expect(prefixed.key.reveal()).toMatch(/^svc_b1[0-9A-Za-z]{6}_/);
  expect(await setKeyPrefix(db.sql, 'operator:test', null)).toEqual({ before: 'b1' });
  for (const { key, apiKey } of [before, prefixed]) {
    expect(await resolver.resolve(`Bearer ${key.reveal()}`)).toMatchObject({ actor: `key:${apiKey.id}` });
  }
});

test('a key never has more than its creator', async () => {
  const { operator } = await makeOrg(db.sql, keyRing);
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
});

test('a key with keys:manage makes and manages keys with no more rights than its own', async () => {
  const { operator, caller: all } = await makeOrg(db.sql, keyRing);
  const { resolve } = makeResolver(db.sql, keyRing);
  const managerOf = async (input: Omit<NewApiKey, 'name'>) => {
    const { key, apiKey } = await createKey(db.sql, keyRing, operator, { name: 'manager', ...input });
    return { by: await resolve(`Bearer ${key.reveal()}`), id: apiKey.id };
  };
  const { by, id } = await managerOf({ scopes: ['embed', 'keys:manage'], authLevel: 3 });
  const { by: without } = await managerOf({ scopes: SCOPES.filter((scope) => scope !== 'keys:manage') });
  const made = await createKey(db.sql, keyRing, by, { name: 'k', scopes: ['embed'] });
  expect(made.apiKey).toMatchObject({ scopes: ['embed'], auth_level: 3 });
  const higher = await createKey(db.sql, keyRing, operator, { name: 'h', scopes: ['embed'], authLevel: 4 });
  const wider = await createKey(db.sql, keyRing, operator, { name: 'w', scopes: ['search'], authLevel: 1 });
  const legal = { email: 'legal@example.com', department: 'legal' };
  const user = await createUser(db.sql, operator, legal);
  const ofLegal = await createKey(db.sql, keyRing, operator, { name: 'l', userId: user.id, scopes: ['embed'] });
  const { sql } = db;
  for (const attempt of [
    () => createKey(sql, keyRing, by, { name: 'k' }),
    () => createKey(sql, keyRing, by, { name: 'k', scopes: ['embed'], authLevel: 4 }),
    () => createKey(sql, keyRing, by, { name: 'k', scopes: ['embed'], userId: user.id }),
    () => editKey(sql, by, made.apiKey.id, { scopes: ['embed', 'search'] }),
    () => editKey(sql, by, made.apiKey.id, { authLevel: 4 }),
    ...[higher, wider, ofLegal].flatMap(({ apiKey }) => [
      () => editKey(sql, by, apiKey.id, { name: 'mine' }),
      () => rotateKey(sql, keyRing, by, apiKey.id),
      () => revokeKey(sql, by, apiKey.id),
    ]),
  ]) {
    await expect(attempt()).rejects.toMatchObject({ code: 'exceeds_own_rights', status: 403 });
  }
  for (const attempt of [
    () => createKey(sql, keyRing, without, { name: 'k', scopes: ['embed'] }),
    () => editKey(sql, without, made.apiKey.id, { name: 'mine' }),
    () => rotateKey(sql, keyRing, without, made.apiKey.id),
    () => revokeKey(sql, without, made.apiKey.id),
  ]) {
    await expect(attempt()).rejects.toMatchObject({ code: 'scope_missing', status: 403 });
  }
  expect(await editKey(sql, by, made.apiKey.id, { name: 'renamed', authLevel: 2 })).toMatchObject({
    name: 'renamed',
    auth_level: 2,
  });
  await revokeKey(sql, by, made.apiKey.id);
  await revokeKey(sql, by, id);
  expect(
    (await listKeys(sql, all))
      .filter((key) => key.revoked_at !== null)
      .map((key) => key.id)
      .toSorted(),
  ).toEqual([made.apiKey.id, id].toSorted());
});

test('an edit of a key changes what it names, and is audited with before and after', async () => {
  const { org, operator } = await makeOrg(db.sql, keyRing);
  const { apiKey } = await createKey(db.sql, keyRing, operator, { name: 'old', lifetimeMs: DAY_MS });
  const { id } = apiKey;
  expect(await editKey(db.sql, operator, id, {})).toEqual(apiKey);
  expect(await editKey(db.sql, operator, id, { name: 'new', scopes: ['search', 'embed'] })).toEqual({
    ...apiKey,
    name: 'new',
    scopes: ['embed', 'search'],
  });
  expect((await editKey(db.sql, operator, id, { lifetimeMs: null })).expires_at).toBeNull();
  const later = await editKey(db.sql, operator, id, { lifetimeMs: 2 * DAY_MS });
  expect(Date.parse(later.expires_at as string)).toBeGreaterThan(Date.now() + DAY_MS);
  const rows = await db.sql`
    SELECT detail FROM audit_log WHERE org_id = ${org.id} AND target = ${id} AND action = 'key.edit' ORDER BY id`;
  expect(rows[1]).toMatchObject({ detail: { before: { name: 'old' }, after: { name: 'new' } } });
  await revokeKey(db.sql, operator, id);
  await expect(editKey(db.sql, operator, id, { name: 'x' })).rejects.toMatchObject({ code: 'api_key_revoked' });
  await expect(editKey(db.sql, operator, id, { name: '' })).rejects.toMatchObject({ status: 400, param: 'name' });
  const stranger = await makeOrg(db.sql, keyRing);
  await expect(editKey(db.sql, stranger.operator, id, {})).rejects.toMatchObject({ code: 'api_key_not_found' });
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
  const count = (await listKeys(db.sql, operator)).length;
  await expect(createKey(db.sql, keyRing, operator, { name: 'b', userId: user.id })).rejects.toMatchObject({
    ...{ code: 'user_suspended', status: 409, message: `the user ${user.email} is suspended; resume it first` },
  });
  expect(await listKeys(db.sql, operator)).toHaveLength(count);
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

test('keys that a person created, directly or by a key, are refused while the person is suspended', async () => {
  const { operator } = await makeOrg(db.sql, keyRing);
  const person = async (email: string) => {
    const user = await createUser(db.sql, operator, { email, role: 'admin' });
    const { token } = await createToken(db.sql, keyRing, operator, { user, ttlMs: 60_000 });
    return { user, by: await makeResolver(db.sql, keyRing).resolve(`Bearer ${token.reveal()}`) };
  };
  const isAccepted = async ({ key, apiKey }: CreatedApiKey) => {
    const { org_id, id } = apiKey;
    const facts = await selectApiKeyFacts(db.sql, id);
    expect((await readerOfActor(db.sql, org_id, `key:${id}`)) === null).toBe(facts?.refused === true);
    const { resolve } = makeResolver(db.sql, keyRing);
    return resolve(`Bearer ${key.reveal()}`).then(
      () => true,
      () => false,
    );
  };
  const [leaving, staying] = [await person('leaving@example.com'), await person('staying@example.com')];
  const created = await createKey(db.sql, keyRing, leaving.by, { name: 'created', scopes: ['embed', 'keys:manage'] });
  const byCreated = await makeResolver(db.sql, keyRing).resolve(`Bearer ${created.key.reveal()}`);
  const inherited = await createKey(db.sql, keyRing, byCreated, { name: 'inherited', scopes: ['embed'] });
  const rotatedBySelf = await rotateKey(db.sql, keyRing, byCreated, created.apiKey.id, 60_000);
  const taken = await createKey(db.sql, keyRing, leaving.by, { name: 'taken over', scopes: ['embed'] });
  const takenOver = await rotateKey(db.sql, keyRing, staying.by, taken.apiKey.id, 60_000);
  const ofOperator = await createKey(db.sql, keyRing, operator, { name: 'operator', scopes: ['embed'] });
  const all = [created, inherited, rotatedBySelf, taken, takenOver, ofOperator];
  expect(await Promise.all(all.map(isAccepted))).toEqual([true, true, true, true, true, true]);
  await suspendUser(db.sql, operator, leaving.user.id);
  expect(await Promise.all(all.map(isAccepted))).toEqual([false, false, false, false, true, true]);
  await unsuspendUser(db.sql, operator, leaving.user.id);
  expect(await Promise.all(all.map(isAccepted))).toEqual([true, true, true, true, true, true]);
});
