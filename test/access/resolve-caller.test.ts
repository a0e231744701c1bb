import { userInfo } from 'node:os';
import { inspect } from 'node:util';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { newApiKey } from '../../src/access/api-key-format.ts';
import { type Caller, SCOPES } from '../../src/access/caller.ts';
import { updateLastUsed } from '../../src/access/key-store.ts';
import { createKey, listKeys, revokeKey } from '../../src/access/keys.ts';
import { suspendOrganization, unsuspendOrganization } from '../../src/access/organizations.ts';
import { openCallerResolver } from '../../src/access/resolve-caller.ts';
import { createToken } from '../../src/access/tokens.ts';
import { createUser, suspendUser, unsuspendUser } from '../../src/access/users.ts';
import type { Sql } from '../../src/platform/postgres.ts';
import { makeKeyRing, makeOrg, makeResolver } from '../support/access.ts';
import { createTestDatabase } from '../support/postgres.ts';

const keyRing = makeKeyRing();
let db: Awaited<ReturnType<typeof createTestDatabase>>;
beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(async () => {
  await db.drop();
});

/** Open a resolver with the defaults of the server, which records its log lines and counts its queries. */
function openResolver() {
  const lines: string[] = [];
  let queries = 0;
  const sql = new Proxy(db.sql as Sql, {
    apply(target, self, args) {
      queries++;
      return Reflect.apply(target, self, args);
    },
  });
  const logger = pino({ level: 'trace' }, { write: (line: string) => void lines.push(line) });
  const resolver = openCallerResolver({ sql, keyRing, oidc: null, oauth: null, logger });
  return { resolver, lines, queries: () => queries };
}

async function codeOf(attempt: Promise<Caller>): Promise<string> {
  return attempt.then(
    () => 'accepted',
    (error: { code: string }) => error.code,
  );
}

test('a key resolves to its organization, scopes and auth level', async () => {
  const { org, operator } = await makeOrg(db.sql, keyRing, { plan: 'business' });
  const { apiKey, key } = await createKey(db.sql, keyRing, operator, { name: 'k', scopes: ['search'], authLevel: 4 });
  const { resolver } = openResolver();
  const expected: Caller = {
    kind: 'api_key',
    actor: `key:${apiKey.id}`,
    orgId: org.id,
    plan: 'business',
    userId: null,
    role: null,
    department: null,
    groups: [],
    scopes: new Set(['search']),
    authLevel: 4,
  };
  for (const header of [`Bearer ${key.reveal()}`, `bearer   ${key.reveal()}  `, `BEARER ${key.reveal()}`]) {
    expect(await resolver.resolve(header)).toEqual(expected);
  }
});

test.each([undefined, '', 'Bearer', 'Bearer ', 'Basic dXNlcjpwYXNz', 'svc_abc'])(
  'the header %j has no credentials',
  async (header) => {
    const { resolver, queries } = openResolver();
    await expect(resolver.resolve(header)).rejects.toMatchObject({
      code: 'missing_credentials',
      status: 401,
      message: expect.stringContaining('Authorization: Bearer'),
    });
    expect(queries()).toBe(0);
  },
);

test.each([
  'Bearer x',
  'Bearer svc_',
  'Bearer a b',
  'Bearer eyJ',
  'Bearer eyJhbGciOiJub25lIn0.e30.',
  'Bearer eyJhbGciOiJub25lIn0.W10.',
  'Bearer ..',
  'Bearer \u0000',
  `Bearer svc_${'a'.repeat(100_000)}`,
  `Bearer svc_aaaaaaaa_${'a'.repeat(43)}_aaaaaa`,
])('malformed credentials cost no query: %.60s', async (header) => {
  const { resolver, queries } = openResolver();
  await expect(resolver.resolve(header)).rejects.toMatchObject({ code: 'invalid_credentials', status: 401 });
  expect(queries()).toBe(0);
});

test('a token that is too long costs no query, and the error says what to do', async () => {
  const { resolver, queries } = openResolver();
  const error = { code: 'token_too_long', status: 401, message: expect.stringContaining('send fewer claims') };
  await expect(resolver.resolve(`Bearer ${'a'.repeat(100_000)}`)).rejects.toMatchObject(error);
  expect(queries()).toBe(0);
});

test('an unknown key, a wrong secret, a revoked key and a suspension get equal errors', async () => {
  const { org, operator } = await makeOrg(db.sql, keyRing);
  const { resolver } = openResolver();
  const attempts: string[] = [newApiKey().key.reveal()];

  // A forged key: the public id of a real key with another random part and a matching checksum.
  const real = await createKey(db.sql, keyRing, operator, { name: 'real' });
  const forged = newApiKey();
  await db.sql`UPDATE api_keys SET id = ${forged.id} WHERE org_id = ${org.id} AND id = ${real.apiKey.id}`;
  attempts.push(forged.key.reveal());

  const revoked = await createKey(db.sql, keyRing, operator, { name: 'revoked', lifetimeMs: 1 });
  await revokeKey(db.sql, operator, revoked.apiKey.id);
  attempts.push(revoked.key.reveal());

  const user = await createUser(db.sql, operator, { email: 'ada@example.com' });
  const { token } = await createToken(db.sql, keyRing, operator, { user, ttlMs: 60_000 });
  const usersKey = await createKey(db.sql, keyRing, operator, { name: 'ada', userId: user.id });
  await suspendUser(db.sql, operator, user.id);
  attempts.push(token.reveal(), usersKey.key.reveal());

  const other = await makeOrg(db.sql, keyRing);
  await suspendOrganization(db.sql, 'operator:test', other.org.id);
  attempts.push(other.key.reveal());

  const otherInstallation = await makeOrg(db.sql, makeKeyRing());
  attempts.push(otherInstallation.key.reveal());

  const answers = new Set<string>();
  for (const credential of attempts) {
    const error = await resolver.resolve(`Bearer ${credential}`).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: 'invalid_credentials', status: 401 });
    answers.add(JSON.stringify([(error as Error).message, error, (error as Error).cause]));
    expect(inspect(error, { depth: null })).not.toContain(credential.slice(13, 40));
  }
  expect(answers.size).toBe(1);
});

test('an expired key is reported as expired', async () => {
  const { org, operator } = await makeOrg(db.sql, keyRing);
  const { apiKey, key } = await createKey(db.sql, keyRing, operator, { name: 'k', lifetimeMs: 3_600_000 });
  const { resolver } = openResolver();
  expect(await codeOf(resolver.resolve(`Bearer ${key.reveal()}`))).toBe('accepted');
  await db.sql`UPDATE api_keys SET expires_at = now() WHERE org_id = ${org.id} AND id = ${apiKey.id}`;
  await expect
    .poll(() => codeOf(resolver.resolve(`Bearer ${key.reveal()}`)), { timeout: 10_000, interval: 20 })
    .toBe('expired_credentials');
});

test('revocation, suspension and the end of a suspension take effect soon, on keys and tokens', async () => {
  const { org, operator, key: orgKey } = await makeOrg(db.sql, keyRing);
  const { resolver } = openResolver();
  const user = await createUser(db.sql, operator, { email: 'ada@example.com', role: 'admin' });
  const key = await createKey(db.sql, keyRing, operator, { name: 'ada', userId: user.id });
  const token = await createToken(db.sql, keyRing, operator, { user, ttlMs: 60_000 });
  const keyHeader = `Bearer ${key.key.reveal()}`;
  const tokenHeader = `Bearer ${token.token.reveal()}`;
  const orgHeader = `Bearer ${orgKey.reveal()}`;
  const codes = async () => [
    await codeOf(resolver.resolve(keyHeader)),
    await codeOf(resolver.resolve(tokenHeader)),
    await codeOf(resolver.resolve(orgHeader)),
  ];
  const ok = 'accepted';
  const no = 'invalid_credentials';
  const soon = { timeout: 10_000, interval: 20 };

  expect(await codes()).toEqual([ok, ok, ok]);
  await suspendUser(db.sql, operator, user.id);
  await expect.poll(codes, soon).toEqual([no, no, ok]);
  await unsuspendUser(db.sql, operator, user.id);
  await expect.poll(codes, soon).toEqual([ok, ok, ok]);
  await suspendOrganization(db.sql, 'operator:test', org.id);
  await expect.poll(codes, soon).toEqual([no, no, no]);
  await unsuspendOrganization(db.sql, 'operator:test', org.id);
  await expect.poll(codes, soon).toEqual([ok, ok, ok]);
  await revokeKey(db.sql, operator, key.apiKey.id);
  await expect.poll(codes, soon).toEqual([no, ok, ok]);
});

test('the keys of a deleted user are refused', async () => {
  const { org, operator } = await makeOrg(db.sql, keyRing);
  const user = await createUser(db.sql, operator, { email: 'ada@example.com' });
  const { key } = await createKey(db.sql, keyRing, operator, { name: 'ada', userId: user.id });
  await db.sql`DELETE FROM users WHERE org_id = ${org.id} AND id = ${user.id}`;
  expect(await codeOf(makeResolver(db.sql, keyRing).resolve(`Bearer ${key.reveal()}`))).toBe('invalid_credentials');
});

test("a key that names another organization's user is refused", async () => {
  const one = await makeOrg(db.sql, keyRing);
  const two = await makeOrg(db.sql, keyRing);
  const user = await createUser(db.sql, two.operator, { email: 'ada@example.com', role: 'admin' });
  const { apiKey, key } = await createKey(db.sql, keyRing, one.operator, { name: 'k' });
  await db.sql`UPDATE api_keys SET user_id = ${user.id} WHERE org_id = ${one.org.id} AND id = ${apiKey.id}`;
  expect(await codeOf(makeResolver(db.sql, keyRing).resolve(`Bearer ${key.reveal()}`))).toBe('invalid_credentials');
});

test('a thousand requests with one key, at once and afterwards, share one query', async () => {
  const { key } = await makeOrg(db.sql, keyRing); // makeOrg has used the key, so that its use is already recorded
  const { resolver, queries } = openResolver();
  const header = `Bearer ${key.reveal()}`;
  const callers = await Promise.all(Array.from({ length: 1000 }, () => resolver.resolve(header)));
  callers.push(await resolver.resolve(header));
  expect(new Set(callers).size).toBe(1);
  expect(queries()).toBeLessThanOrEqual(2); // two if 500 ms have passed in the meantime
});

test('the last use of a key is recorded, once a minute', async () => {
  const { org, operator } = await makeOrg(db.sql, keyRing);
  const resolver = makeResolver(db.sql, keyRing);
  const { apiKey, key } = await createKey(db.sql, keyRing, operator, { name: 'k' });
  const lastUsed = async () => (await listKeys(db.sql, operator)).find(({ id }) => id === apiKey.id)?.last_used_at;
  expect(await lastUsed()).toBeNull();
  await resolver.resolve(`Bearer ${key.reveal()}`);
  await expect.poll(lastUsed).toEqual(expect.any(String));

  const { queries, resolver: counting } = openResolver();
  const before = await lastUsed();
  await counting.resolve(`Bearer ${key.reveal()}`);
  expect(queries()).toBe(1); // the look-up alone
  await updateLastUsed(db.sql, org.id, apiKey.id); // as another process might do at the same time
  expect(await lastUsed()).toBe(before);

  await db.sql`
    UPDATE api_keys SET last_used_at = now() - interval '61 s' WHERE org_id = ${org.id} AND id = ${apiKey.id}`;
  const old = await lastUsed();
  await resolver.resolve(`Bearer ${key.reveal()}`);
  await expect.poll(lastUsed).not.toBe(old);
});

test('a failure to record the last use is logged and does not fail the request', async () => {
  const { org, operator } = await makeOrg(db.sql, keyRing);
  const { apiKey, key } = await createKey(db.sql, keyRing, operator, { name: 'k' });
  await db.sql`ALTER TABLE api_keys ADD CONSTRAINT never_used CHECK (name <> 'k' OR last_used_at IS NULL) NOT VALID`;
  try {
    const { resolver, lines } = openResolver();
    expect(await resolver.resolve(`Bearer ${key.reveal()}`)).toMatchObject({ orgId: org.id });
    await expect.poll(() => lines.join('')).toContain('the last use of a key could not be recorded');
    expect(lines.join('')).toContain(apiKey.id);
    expect(lines.join('')).not.toContain(key.reveal().slice(13, 40));
  } finally {
    await db.sql`ALTER TABLE api_keys DROP CONSTRAINT never_used`;
  }
});

test('a resolved caller is immutable, so that it cannot be changed for the next request', async () => {
  const { key } = await makeOrg(db.sql, keyRing);
  const { resolver } = openResolver();
  const caller = await resolver.resolve(`Bearer ${key.reveal()}`);
  expect(() => Object.assign(caller, { authLevel: 11 })).toThrow(TypeError);
});

test('the operator acts for an organization by name or id, with every right', async () => {
  const { org } = await makeOrg(db.sql, keyRing, { name: 'Operated', plan: 'paid' });
  const { resolver } = openResolver();
  const expected: Caller = {
    kind: 'operator',
    actor: `operator:${userInfo().username}`,
    orgId: org.id,
    plan: 'paid',
    userId: null,
    role: 'platform_admin',
    department: null,
    scopes: new Set(SCOPES),
    authLevel: 10,
  };
  expect(await resolver.resolveOperator('Operated')).toEqual(expected);
  expect(await resolver.resolveOperator(org.id)).toEqual(expected);
  await expect(resolver.resolveOperator('Nobody')).rejects.toMatchObject({ code: 'organization_not_found' });
});
