import { createHmac } from 'node:crypto';
import { inspect } from 'node:util';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { signOwnToken } from '../../src/access/own-token.ts';
import { openCallerResolver } from '../../src/access/resolve-caller.ts';
import { createToken, issueToken, revokeToken, revokeUserTokens } from '../../src/access/tokens.ts';
import { createUser, findUser, setRole, suspendUser } from '../../src/access/users.ts';
import { makeKeyRing, makeOrg, makeResolver } from '../support/access.ts';
import { createTestDatabase } from '../support/postgres.ts';
import { until } from '../support/until.ts';

const keyRing = makeKeyRing();
const HOUR_MS = 3_600_000;
let db: Awaited<ReturnType<typeof createTestDatabase>>;
beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(async () => {
  await db.drop();
});

test('a token contains sub, org_id and exp, and all other facts come from the record of the user', async () => {
  const { org, operator } = await makeOrg(db.sql, keyRing, { plan: 'starter' });
  const user = await createUser(db.sql, operator, { email: 'ada@example.com', role: 'owner', department: 'legal' });
  const created = await createToken(db.sql, keyRing, operator, { user, ttlMs: HOUR_MS });
  const text = created.token.reveal();
  const claims = decodeJwt(text);
  expect(decodeProtectedHeader(text)).toEqual({ alg: 'HS256', typ: 'at+jwt' });
  expect(claims).toEqual({
    iss: 'service',
    aud: 'service',
    sub: user.id,
    org_id: org.id,
    gen: 0,
    jti: created.id,
    iat: expect.any(Number),
    exp: Date.parse(created.expires_at) / 1000,
  });
  expect(Math.abs((claims.exp ?? 0) - (claims.iat ?? 0) - 3600)).toBeLessThanOrEqual(1);
  const resolver = makeResolver(db.sql, keyRing);
  const caller = await resolver.resolve(`Bearer ${text}`);
  expect(caller).toMatchObject({
    kind: 'user',
    actor: `user:${user.id}`,
    orgId: org.id,
    plan: 'starter',
    userId: user.id,
    role: 'owner',
    department: 'legal',
    authLevel: 9,
  });
  expect(caller.scopes.has('buckets:manage')).toBe(true);
  expect(caller.scopes.has('platform_admin')).toBe(false);
  await setRole(db.sql, operator, user.id, 'member');
  expect(await resolver.resolve(`Bearer ${text}`)).toMatchObject({ role: 'member', authLevel: 3 });
  const log = await db.sql`SELECT * FROM audit_log WHERE org_id = ${org.id} AND action = 'token.create'`;
  expect(log).toMatchObject([{ target: user.id, actor: 'operator:test' }]);
  for (const shown of [JSON.stringify(created), inspect(created), JSON.stringify(log)]) {
    expect(shown).not.toContain(text.split('.')[2]);
  }
});

test('issueToken creates the user if there is none, and never changes a role', async () => {
  const { operator } = await makeOrg(db.sql, keyRing);
  const resolver = makeResolver(db.sql, keyRing);
  const first = await issueToken(db.sql, keyRing, operator, {
    email: 'ada@example.com',
    role: 'admin',
    ttlMs: HOUR_MS,
  });
  const caller = await resolver.resolve(`Bearer ${first.token.reveal()}`);
  expect(caller).toMatchObject({ role: 'admin', userId: (await findUser(db.sql, operator, 'ada@example.com')).id });
  const again = await issueToken(db.sql, keyRing, operator, { email: 'Ada@example.com', ttlMs: HOUR_MS });
  expect(await resolver.resolve(`Bearer ${again.token.reveal()}`)).toEqual(caller);
  await expect(
    issueToken(db.sql, keyRing, operator, { email: 'ada@example.com', role: 'owner', ttlMs: HOUR_MS }),
  ).rejects.toMatchObject({ code: 'user_has_other_role', status: 409 });
  const plain = await issueToken(db.sql, keyRing, operator, { email: 'bob@example.com', ttlMs: HOUR_MS });
  expect(await resolver.resolve(`Bearer ${plain.token.reveal()}`)).toMatchObject({ role: 'member' });
  // If the token cannot be created, the user is not created either.
  await expect(issueToken(db.sql, keyRing, operator, { email: 'eve@example.com', ttlMs: 0 })).rejects.toMatchObject({
    code: 'ttl_invalid',
    status: 400,
  });
  await expect(findUser(db.sql, operator, 'eve@example.com')).rejects.toMatchObject({ code: 'user_not_found' });
});

test('a token lives for 1 s to 30 days, and is refused for a suspended user or beyond the own rights', async () => {
  const { operator, caller: key } = await makeOrg(db.sql, keyRing);
  const user = await createUser(db.sql, operator, { email: 'ada@example.com', role: 'owner' });
  for (const ttlMs of [0, 999, 31 * 24 * HOUR_MS, Number.NaN]) {
    await expect(createToken(db.sql, keyRing, operator, { user, ttlMs })).rejects.toMatchObject({
      code: 'ttl_invalid',
    });
  }
  const admin = await issueToken(db.sql, keyRing, operator, { email: 'a@example.com', role: 'admin', ttlMs: HOUR_MS });
  const by = await makeResolver(db.sql, keyRing).resolve(`Bearer ${admin.token.reveal()}`);
  await expect(createToken(db.sql, keyRing, by, { user, ttlMs: HOUR_MS })).rejects.toMatchObject({
    code: 'exceeds_own_rights',
  });
  await expect(createToken(db.sql, keyRing, key, { user, ttlMs: HOUR_MS })).rejects.toMatchObject({
    code: 'role_missing',
  });
  const suspended = await suspendUser(db.sql, operator, user.id);
  await expect(createToken(db.sql, keyRing, operator, { user: suspended, ttlMs: HOUR_MS })).rejects.toMatchObject({
    code: 'user_suspended',
    status: 409,
  });
});

test('an own token with any fault is refused', async () => {
  const { org, operator } = await makeOrg(db.sql, keyRing);
  const stranger = await makeOrg(db.sql, keyRing);
  const user = await createUser(db.sql, operator, { email: 'ada@example.com' });
  const resolver = makeResolver(db.sql, keyRing);
  const encode = (part: unknown) => Buffer.from(JSON.stringify(part)).toString('base64url');
  const forge = (header: object, claims: object, secret: string | Buffer = keyRing.tokenSigning, hash = 'sha256') => {
    const signed = `${encode(header)}.${encode(claims)}`;
    return `${signed}.${createHmac(hash, secret).update(signed).digest('base64url')}`;
  };
  const nowSeconds = Math.floor(Date.now() / 1000);
  const header = { alg: 'HS256', typ: 'at+jwt' };
  const claims = {
    iss: 'service',
    aud: 'service',
    sub: user.id,
    org_id: org.id,
    iat: nowSeconds,
    exp: nowSeconds + 600,
  };
  expect(await resolver.resolve(`Bearer ${forge(header, claims)}`)).toMatchObject({ userId: user.id });

  const good = forge(header, claims);
  const { exp: _, ...endless } = claims;
  const refused: Record<string, string> = {
    'another installation': forge(header, claims, makeKeyRing().tokenSigning),
    'the pepper as key': forge(header, claims, keyRing.apiKeyPepper),
    'no type': forge({ alg: 'HS256' }, claims),
    'another type': forge({ alg: 'HS256', typ: 'JWT' }, claims),
    'another algorithm': forge({ ...header, alg: 'HS512' }, claims, keyRing.tokenSigning, 'sha512'),
    'another audience': forge(header, { ...claims, aud: 'other' }),
    'no expiry': forge(header, endless),
    'expiry that is no number': forge(header, { ...claims, exp: 'never' }),
    'subject that is no text': forge(header, { ...claims, sub: 7 }),
    'another organization': forge(header, { ...claims, org_id: stranger.org.id }),
    'unknown user': forge(header, { ...claims, sub: 'usr_none' }),
    'no signature': `${encode({ ...header, alg: 'none' })}.${encode(claims)}.`,
    'cut off': good.slice(0, -1),
    'changed claims': [good.split('.')[0], encode({ ...claims, sub: 'usr_x' }), good.split('.')[2]].join('.'),
    'an unknown critical header': forge({ ...header, crit: ['b64'], b64: false }, claims),
  };
  for (const [name, token] of Object.entries(refused)) {
    await expect(resolver.resolve(`Bearer ${token}`), name).rejects.toMatchObject({
      code: 'invalid_credentials',
      status: 401,
    });
  }
  const expired = await signOwnToken(keyRing, {
    ...{ orgId: org.id, userId: user.id, tokenId: null, generation: 0 },
    expiresAtMs: Date.now() - 1000,
  });
  await expect(resolver.resolve(`Bearer ${expired.reveal()}`)).rejects.toMatchObject({ code: 'expired_credentials' });
});

test('one token, or all tokens of a user, are revoked in every process, and later tokens are accepted', async () => {
  const { operator } = await makeOrg(db.sql, keyRing);
  const user = await createUser(db.sql, operator, { email: 'ida@example.com', role: 'member' });
  const make = async () => createToken(db.sql, keyRing, operator, { user, ttlMs: HOUR_MS });
  const [one, two, three] = [await make(), await make(), await make()];
  // As in two processes: each keeps what it found for half a second.
  const open = () =>
    openCallerResolver({ sql: db.sql, keyRing, oidc: null, oauth: null, logger: pino({ level: 'silent' }) });
  const [here, elsewhere] = [open(), open()];
  const accepted = async ({ token }: { token: { reveal(): string } }) => {
    const answers = [here, elsewhere].map((resolver) => resolver.resolve(`Bearer ${token.reveal()}`));
    return (await Promise.allSettled(answers)).every(({ status }) => status === 'fulfilled');
  };
  expect(await Promise.all([one, two, three].map(accepted))).toEqual([true, true, true]);
  await revokeToken(db.sql, operator, one.id);
  await revokeToken(db.sql, operator, one.id);
  await until(async () => !(await accepted(one)));
  expect(await Promise.all([two, three].map(accepted))).toEqual([true, true]);
  await revokeUserTokens(db.sql, operator, 'ida@example.com');
  await until(async () => !(await accepted(two)) && !(await accepted(three)));
  expect(await accepted(await make())).toBe(true);
  const log = await db.sql`
    SELECT action, target FROM audit_log WHERE org_id = ${operator.orgId} AND action LIKE 'token.revoke%' ORDER BY id`;
  expect(log).toEqual([
    { action: 'token.revoke', target: one.id },
    { action: 'token.revoke_all', target: user.id },
  ]);
  await expect(revokeToken(db.sql, operator, 'tok_x')).rejects.toMatchObject({ code: 'token_not_found' });
  const member = { ...operator, kind: 'api_key', role: null } as const;
  await expect(revokeToken(db.sql, member, one.id)).rejects.toMatchObject({ code: 'role_missing' });
});
