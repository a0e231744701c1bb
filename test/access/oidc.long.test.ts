import { createHmac } from 'node:crypto';
import { SignJWT } from 'jose';
import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import type { Caller } from '../../src/access/caller.ts';
import { type OidcSettings, openOidcVerifier } from '../../src/access/oidc.ts';
import { signOwnToken } from '../../src/access/own-token.ts';
import { type CallerResolver, openCallerResolver } from '../../src/access/resolve-caller.ts';
import type { Organization, User } from '../../src/access/schema.ts';
import { revokeUserTokens } from '../../src/access/tokens.ts';
import { createUser, setRole, suspendUser } from '../../src/access/users.ts';
import { makeKeyRing, makeOrg } from '../support/access.ts';
import { createTestDatabase } from '../support/postgres.ts';
import { type FakeIssuer, startFakeIssuer } from './fake-issuer.ts';

const keyRing = makeKeyRing();
let db: Awaited<ReturnType<typeof createTestDatabase>>;
let org: Organization;
let operator: Caller;
let issuer: FakeIssuer;
let user: User;
let resolver: CallerResolver;

beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(async () => {
  await db.drop();
});

beforeEach(async () => {
  issuer = await startFakeIssuer();
  ({ org, operator } = await makeOrg(db.sql, keyRing, { plan: 'pro' }));
  user = await createUser(db.sql, operator, {
    email: 'ada@example.com',
    department: 'legal',
    oidc: { issuer: issuer.url, subject: 'ada' },
  });
  resolver = openResolver();
});
afterEach(async () => {
  vi.useRealTimers();
  await issuer.close();
  // The system may give the next issuer the same port.
  await db.sql`UPDATE users SET oidc_issuer = NULL, oidc_subject = NULL`;
});

function openResolver(more: Partial<OidcSettings> = {}): CallerResolver {
  const oidc = { issuer: issuer.url, audience: issuer.audience, algorithm: 'RS256', ...more };
  return openCallerResolver({ sql: db.sql, keyRing, oidc, oauth: null, logger: pino({ level: 'silent' }), cacheMs: 0 });
}

const nowSeconds = () => Math.floor(Date.now() / 1000);

test('a token identifies the user; organization, role and auth level come from our record', async () => {
  const token = await issuer.sign({ sub: 'ada', org_id: 'org_other', role: 'platform_admin', auth_level: 10 });
  expect(await resolver.resolve(`Bearer ${token}`)).toEqual({
    kind: 'user',
    actor: `user:${user.id}`,
    orgId: org.id,
    plan: 'pro',
    userId: user.id,
    role: 'member',
    department: 'legal',
    groups: [],
    scopes: new Set(['embed', 'search', 'documents:write']),
    authLevel: 3,
  });
  expect(issuer.requests).toEqual(['/.well-known/openid-configuration', '/keys']);
});

test('only the operator makes an OIDC user platform_admin; suspension refuses the user', async () => {
  const token = await issuer.sign({ sub: 'ada' });
  await setRole(db.sql, operator, user.id, 'platform_admin');
  expect(await resolver.resolve(`Bearer ${token}`)).toMatchObject({ role: 'platform_admin', authLevel: 10 });
  await suspendUser(db.sql, operator, user.id);
  await expect(resolver.resolve(`Bearer ${token}`)).rejects.toMatchObject({ code: 'invalid_credentials' });
});

test('concurrent first tokens fetch the keys of the issuer once', async () => {
  const tokens = await Promise.all(Array.from({ length: 20 }, (_, i) => issuer.sign({ sub: 'ada', jti: `${i}` })));
  await Promise.all(tokens.map((token) => resolver.resolve(`Bearer ${token}`)));
  expect(issuer.requests).toHaveLength(2);
});

test('a genuine expired token is reported as expired, and a forged one as invalid', async () => {
  const expired = await issuer.sign({ sub: 'ada', exp: nowSeconds() - 60 });
  await expect(resolver.resolve(`Bearer ${expired}`)).rejects.toMatchObject({
    code: 'expired_credentials',
    status: 401,
  });
  const forged = `${expired.slice(0, expired.lastIndexOf('.'))}.${'A'.repeat(342)}`;
  await expect(resolver.resolve(`Bearer ${forged}`)).rejects.toMatchObject({ code: 'invalid_credentials' });
});

test.each<[string, (i: FakeIssuer) => Promise<string>]>([
  ['an unknown subject', (i) => i.sign({ sub: 'eve' })],
  ['no subject', (i) => i.sign({})],
  ['a subject that cannot be stored', (i) => i.sign({ sub: 'a\0da' })],
  ['another audience', (i) => i.sign({ sub: 'ada', aud: 'another-api' })],
  ['no expiry', (i) => i.sign({ sub: 'ada', exp: undefined as unknown as number })],
  ['not yet valid', (i) => i.sign({ sub: 'ada', nbf: nowSeconds() + 600 })],
  ['another algorithm than the pinned one', (i) => i.sign({ sub: 'ada' }, { alg: 'RS512' })],
  ['an unknown key id', (i) => i.sign({ sub: 'ada' }, { kid: 'key-0' })],
  ['the public key used as a shared secret', async (i) => hs256(i, i.publicKeyPem())],
  ['our own signing key', async (i) => hs256(i, keyRing.tokenSigning)],
  ['no signature', async (i) => `${encode({ alg: 'none' })}.${encode({ iss: i.url, aud: i.audience, sub: 'ada' })}.`],
  [
    'the issuer signing as the appliance',
    (i) => i.sign({ iss: 'service', aud: 'service', sub: user.id, org_id: org.id }),
  ],
])('a token with this fault is refused: %s', async (_, makeToken) => {
  const token = await makeToken(issuer);
  await expect(resolver.resolve(`Bearer ${token}`)).rejects.toMatchObject({ code: 'invalid_credentials', status: 401 });
});

function encode(part: unknown): string {
  return Buffer.from(JSON.stringify(part)).toString('base64url');
}

function hs256(i: FakeIssuer, secret: string | Buffer): string {
  const claims = { iss: i.url, aud: i.audience, sub: 'ada', exp: nowSeconds() + 600 };
  const signed = `${encode({ alg: 'HS256', typ: 'at+jwt', kid: 'key-1' })}.${encode(claims)}`;
  return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`;
}

test("another issuer's token is refused without a request to it or to an address in the token", async () => {
  const other = await startFakeIssuer();
  try {
    const token = await other.sign({ sub: 'ada' }, { jku: `${other.url}/keys` });
    await expect(resolver.resolve(`Bearer ${token}`)).rejects.toMatchObject({ code: 'invalid_credentials' });
    const impostor = await other.sign({ iss: issuer.url, sub: 'ada' }, { jku: `${other.url}/keys` });
    await expect(resolver.resolve(`Bearer ${impostor}`)).rejects.toMatchObject({ code: 'invalid_credentials' });
    expect(other.requests).toEqual([]);
  } finally {
    await other.close();
  }
});

test("the appliance's own tokens need no issuer", async () => {
  issuer.mode = 'drop';
  const token = await signOwnToken(keyRing, {
    ...{ orgId: org.id, userId: user.id, tokenId: null, generation: 0 },
    expiresAtMs: Date.now() + 60_000,
  });
  expect(await resolver.resolve(`Bearer ${token.reveal()}`)).toMatchObject({ userId: user.id });
  expect(issuer.requests).toEqual([]);
});

test.each(['error', 'html', 'redirect', 'oversize', 'stall', 'other_issuer', 'drop'] as const)(
  'an issuer that is down (%s) is 503, and is called again later',
  async (mode) => {
    issuer.mode = mode;
    const token = await issuer.sign({ sub: 'ada' });
    await expect(resolver.resolve(`Bearer ${token}`)).rejects.toMatchObject({
      code: 'oidc_unavailable',
      status: 503,
      retryable: true,
    });
    // The issuer is not called during the pause, so that no request waits for it.
    await Promise.allSettled(Array.from({ length: 20 }, () => resolver.resolve(`Bearer ${token}`)));
    expect(issuer.requests).toEqual(['/.well-known/openid-configuration']);
    issuer.mode = 'up';
    await expect
      .poll(() => resolver.resolve(`Bearer ${token}`).catch((error: Error) => error), { timeout: 10_000 })
      .toMatchObject({ userId: user.id });
  },
  20_000,
);

test('fetched keys are used while the issuer is down, and a new key is fetched when it is up again', async () => {
  const old = await issuer.sign({ sub: 'ada' });
  await resolver.resolve(`Bearer ${old}`);
  issuer.rotate();
  const fresh = await issuer.sign({ sub: 'ada' });
  issuer.mode = 'error';
  // The issuer is called for an unknown key at most every 30 s.
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 31_000 });
  await expect(resolver.resolve(`Bearer ${fresh}`)).rejects.toMatchObject({ code: 'oidc_unavailable' });
  expect(await resolver.resolve(`Bearer ${old}`)).toMatchObject({ userId: user.id });
  issuer.mode = 'up';
  await expect
    .poll(() => resolver.resolve(`Bearer ${fresh}`).catch((error: Error) => error), { timeout: 10_000 })
    .toMatchObject({ userId: user.id });
  await expect(resolver.resolve(`Bearer ${old}`)).rejects.toMatchObject({ code: 'invalid_credentials' });
});

test('a verifier accepts tokens of its own issuer only', async () => {
  const verifier = openOidcVerifier({ issuer: issuer.url, audience: issuer.audience, algorithm: 'RS256' });
  expect(await verifier.verify(await issuer.sign({ sub: 'ada' }))).toMatchObject({
    issuer: issuer.url,
    subject: 'ada',
  });
  for (const iss of ['https://id.example.com', `${issuer.url}/`, undefined as unknown as string]) {
    const token = await issuer.sign({ iss, sub: 'ada' });
    await expect(verifier.verify(token)).rejects.toMatchObject({ code: 'invalid_credentials' });
  }
});

test('an algorithm without a key pair is refused when the verifier is opened', () => {
  for (const algorithm of ['HS256', 'none', 'RS1', '']) {
    expect(() => openOidcVerifier({ issuer: 'https://id.example.com', audience: 'a', algorithm })).toThrow(
      expect.objectContaining({ code: 'config_invalid' }),
    );
  }
});

test('foreign tokens are refused if no OIDC issuer is configured', async () => {
  const closed = openCallerResolver({
    sql: db.sql,
    keyRing,
    oidc: null,
    oauth: null,
    logger: pino({ level: 'silent' }),
  });
  const token = await issuer.sign({ sub: 'ada' });
  await expect(closed.resolve(`Bearer ${token}`)).rejects.toMatchObject({ code: 'invalid_credentials' });
  const ours = await new SignJWT({ sub: 'ada' }).setProtectedHeader({ alg: 'HS256' }).sign(keyRing.tokenSigning);
  await expect(closed.resolve(`Bearer ${ours}`)).rejects.toMatchObject({ code: 'invalid_credentials' });
});

test('only tokens of the configured type and of the configured clients are accepted', async () => {
  const accepts = async (settings: Partial<OidcSettings>, claims: object, header: Record<string, unknown> = {}) => {
    const token = await issuer.sign({ sub: 'ada', ...claims }, header);
    return openResolver(settings)
      .resolve(`Bearer ${token}`)
      .then(
        () => true,
        () => false,
      );
  };
  const access = { tokenType: 'at+jwt' };
  expect(await accepts(access, {}, { typ: 'at+jwt' })).toBe(true);
  expect(await accepts(access, {}, { typ: 'application/at+jwt' })).toBe(true);
  for (const header of [{}, { typ: 'JWT' }]) expect(await accepts(access, {}, header)).toBe(false);
  const parties = { authorizedParties: ['console', 'mobile'] };
  expect(await accepts(parties, { azp: 'mobile' })).toBe(true);
  expect(await accepts(parties, { client_id: 'console' })).toBe(true);
  for (const claims of [{}, { azp: 'other' }, { azp: 'other', client_id: 'console' }, { azp: ['console'] }]) {
    expect(await accepts(parties, claims)).toBe(false);
  }
});

test('revoking all tokens of a user refuses those that the issuer made before', async () => {
  const before = await issuer.sign({ sub: 'ada', iat: nowSeconds() - 10 });
  const undated = await issuer.sign({ sub: 'ada' });
  expect(await resolver.resolve(`Bearer ${before}`)).toMatchObject({ userId: user.id });
  await revokeUserTokens(db.sql, operator, user.id);
  for (const token of [before, undated]) {
    await expect(resolver.resolve(`Bearer ${token}`)).rejects.toMatchObject({ code: 'invalid_credentials' });
  }
  const after = await issuer.sign({ sub: 'ada', iat: nowSeconds() + 2 });
  expect(await resolver.resolve(`Bearer ${after}`)).toMatchObject({ userId: user.id });
});
