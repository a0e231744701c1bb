import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Role } from '../../src/access/caller.ts';
import { revokeKey } from '../../src/access/keys.ts';
import { suspendOrganization } from '../../src/access/organizations.ts';
import { createToken, revokeToken, revokeUserTokens } from '../../src/access/tokens.ts';
import { createUser, suspendUser, unsuspendUser } from '../../src/access/users.ts';
import { openTestApi, type TestApi } from '../support/api.ts';
import { signIn, type TestSession } from '../support/sessions.ts';
import { until } from '../support/until.ts';

let test: TestApi;
beforeAll(async () => {
  test = await openTestApi({ worker: false });
});
afterAll(() => test.close());

const get = (path: string, headers: Record<string, string>) => test.call('GET', path, { headers });
const current = ({ cookie }: Pick<TestSession, 'cookie'>) => get('/v1/sessions/current', { Cookie: cookie });
const idOf = (key: string) => key.split('_')[1] as string;
const bucket = () => ({ name: `bucket-${randomBytes(6).toString('hex')}` });

async function userToken(role: Role = 'admin') {
  const { sql, keyRing } = test.appliance;
  const email = `${randomBytes(6).toString('hex')}@example.com`;
  const user = await createUser(sql, test.operator, { email, role });
  const { token, id, expires_at } = await createToken(sql, keyRing, test.operator, { user, ttlMs: 3_600_000 });
  return { user, credential: token.reveal(), tokenId: id, expiresAt: expires_at };
}

/** Wait until a session is refused, which takes up to a second. */
async function hasEnded(session: TestSession): Promise<void> {
  await until(async () => (await current(session)).status === 401, {
    what: 'the end of the session',
    withinMs: 60_000,
  });
}

describe('signing in', () => {
  it('a key signs in for a cookie that scripts and other sites cannot use, and acts as the key', async () => {
    const key = await test.key({ scopes: ['embed', 'buckets:manage'], authLevel: 4 });
    const session = await signIn(test, { credential: key });
    const { status, body, headers } = session.answer;
    expect(status).toBe(201);
    expect(headers.get('set-cookie')).toMatch(
      /^session=[\w-]{43}; Path=\/; Max-Age=4\d{4}; HttpOnly; SameSite=Strict$/,
    );
    expect(headers.get('cache-control')).toBe('no-store');
    expect(body).toMatchObject({ idle_timeout_seconds: 3600, me: { kind: 'key', key: { id: idOf(key) } } });
    expect(JSON.stringify(body)).not.toContain(session.cookie.split('=')[1]);
    expect((await current(session)).body).toEqual(body);
    expect((await get('/v1/me', { Cookie: session.cookie })).body).toEqual(body.me);
    const made = await test.call('POST', '/v1/buckets', { headers: session.headers, json: bucket() });
    expect(made.status).toBe(201);
    const refused = await test.call('POST', '/v1/channels/configs', { headers: session.headers, json: {} });
    expect([refused.status, refused.body.detail]).toEqual([403, 'this needs the scope "channels:manage"']);
  });

  it('a user token signs in as the user, until the token ends', async () => {
    const { credential, user, expiresAt } = await userToken('owner');
    const { answer } = await signIn(test, { credential });
    expect(answer.body.me).toMatchObject({ kind: 'user', user: { id: user.id, role: 'owner' }, auth_level: 9 });
    expect(answer.body.expires_at).toBe(expiresAt);
  });

  it('a one-time link signs in the operator once', async () => {
    const { sessions } = test.appliance.access;
    const { token } = await sessions.createLink(test.operator);
    const attempts = await Promise.all(Array.from({ length: 5 }, () => signIn(test, { link: token.reveal() })));
    const [first, ...others] = attempts.toSorted((a, b) => a.answer.status - b.answer.status);
    expect(attempts.map(({ answer }) => answer.status).toSorted()).toEqual([201, 401, 401, 401, 401]);
    expect(others.every(({ cookie }) => cookie === '')).toBe(true);
    expect(first?.answer.body.me).toMatchObject({ kind: 'operator', auth_level: 10, user_id: null });
    const stale = await sessions.createLink(test.operator);
    await test.appliance.sql`UPDATE sign_in_links SET expires_at = now()`;
    expect((await signIn(test, { link: stale.token.reveal() })).answer.status).toBe(401);
  });

  it('the cookie is Secure behind a proxy that is listed and says https', async () => {
    const cookieFor = async (trusted: string[]) => {
      const proxied = await openTestApi({ worker: false, settings: { trust_proxy: trusted } });
      try {
        const headers = { 'X-Forwarded-Proto': 'https', 'X-Forwarded-For': '203.0.113.9', Host: 'embed.example.com' };
        const json = { credential: await proxied.key() };
        return (await proxied.call('POST', '/v1/sessions', { json, headers })).headers.get('set-cookie');
      } finally {
        await proxied.close();
      }
    };
    expect(await cookieFor(['127.0.0.1'])).toMatch(/; Secure$/);
    expect(await cookieFor(['10.0.0.0/8'])).not.toMatch(/Secure/);
  });

  it('the cookie is Secure where the service is reached by https', async () => {
    const behind = await openTestApi({ worker: false, settings: { base_url: 'https://service.example.com' } });
    try {
      const { answer } = await signIn(behind, { credential: await behind.key() });
      expect(answer.headers.get('set-cookie')).toMatch(/; Secure$/);
    } finally {
      await behind.close();
    }
  });

  it.each([
    ['an unknown key', { credential: 'svc_wrong' }, 401],
    ['a text that is no token', { credential: 'x' }, 401],
    ['a credential of megabytes', { credential: 'x'.repeat(200_000) }, 400],
    ['a wrong link', { link: 'x'.repeat(43) }, 401],
    ['an empty object', {}, 400],
    ['a number', { credential: 5 }, 400],
  ] as const)('%s does not sign in and sets no cookie', async (_name, json, status) => {
    const answer = await test.call('POST', '/v1/sessions', { json });
    expect(answer.status).toBe(status);
    expect(answer.headers.get('set-cookie')).toBeNull();
  });

  it('a form of another site cannot sign in, since only JSON is read', async () => {
    const credential = await test.key();
    for (const type of ['application/x-www-form-urlencoded', 'text/plain', 'multipart/form-data; boundary=x']) {
      const headers = { 'Content-Type': type };
      const answer = await test.call('POST', '/v1/sessions', { headers, body: JSON.stringify({ credential }) });
      expect([answer.status, answer.headers.get('set-cookie')]).toEqual([415, null]);
    }
  });

  it('wrong credentials are slowed down like those in the header', async () => {
    const braked = await openTestApi({ worker: false, settings: { limits: { failed_logins_per_minute: 1 } } });
    try {
      const attempt = () => braked.call('POST', '/v1/sessions', { json: { credential: 'svc_wrong' } });
      await attempt();
      const startedMs = performance.now();
      expect((await attempt()).status).toBe(401);
      expect(performance.now() - startedMs).toBeGreaterThan(900);
    } finally {
      await braked.close();
    }
  });
});

describe('requests with a session', () => {
  it('every method but GET needs the CSRF token of this session', async () => {
    const session = await signIn(test, { credential: await test.key({ scopes: ['buckets:manage'] }) });
    const other = await signIn(test, { credential: await test.key({ scopes: ['buckets:manage'] }) });
    const { Cookie } = session.headers;
    for (const token of [undefined, '', 'wrong', other.csrf, `${session.csrf}x`, session.csrf.slice(1)]) {
      const headers = { Cookie: Cookie as string, ...(token === undefined ? {} : { 'X-CSRF-Token': token }) };
      for (const [method, path] of [
        ['POST', '/v1/buckets'],
        ['PATCH', '/v1/buckets/default'],
        ['PUT', '/v1/routing'],
        ['DELETE', '/v1/sessions'],
      ] as const) {
        const answer = await test.call(method, path, { headers, ...(method === 'DELETE' ? {} : { json: bucket() }) });
        expect([method, token, answer.status]).toEqual([method, token, 403]);
        expect(JSON.stringify(answer.body)).toContain('CSRF');
      }
    }
    expect((await current(session)).status).toBe(200);
  });

  it('a request that another site made the browser send is refused, also with the token', async () => {
    const session = await signIn(test, { credential: await test.key() });
    for (const site of ['cross-site', 'same-site']) {
      const headers = { ...session.headers, 'Sec-Fetch-Site': site };
      expect((await get('/v1/me', headers)).status).toBe(403);
      expect((await test.call('DELETE', '/v1/sessions', { headers })).status).toBe(403);
    }
    expect((await get('/v1/me', { ...session.headers, 'Sec-Fetch-Site': 'same-origin' })).status).toBe(200);
  });

  it('the header Authorization wins over the cookie, and needs no CSRF token', async () => {
    const session = await signIn(test, { credential: await test.key({ scopes: ['embed'] }) });
    const key = await test.key({ scopes: ['buckets:manage'] });
    const headers = { Cookie: session.cookie };
    expect((await test.call('GET', '/v1/me', { key, headers })).body.key.id).toBe(idOf(key));
    expect((await test.call('POST', '/v1/buckets', { key, headers, json: bucket() })).status).toBe(201);
    expect((await test.call('GET', '/v1/sessions/current', { key })).status).toBe(404);
  });

  it('an id of a session that somebody set beforehand is never used', async () => {
    const fixed = randomBytes(32).toString('base64url');
    const credential = await test.key();
    const answer = await test.call('POST', '/v1/sessions', {
      headers: { Cookie: `session=${fixed}` },
      json: { credential },
    });
    expect(answer.headers.get('set-cookie')).not.toContain(fixed);
    expect((await current({ cookie: `session=${fixed}` })).status).toBe(401);
  });

  it('signing in ends the session that the browser had', async () => {
    const first = await signIn(test, { credential: await test.key() });
    const headers = { Cookie: first.cookie };
    const json = { credential: await test.key() };
    expect((await test.call('POST', '/v1/sessions', { headers, json })).status).toBe(201);
    expect((await current(first)).status).toBe(401);
  });

  it('two cookies of the name are none, since one of them may be of another site', async () => {
    const [one, two] = [await test.key(), await test.key()];
    const sessions = [await signIn(test, { credential: one }), await signIn(test, { credential: two })];
    const cookie = sessions.map((session) => session.cookie).join('; ');
    expect((await get('/v1/me', { Cookie: cookie })).status).toBe(401);
  });

  it('the id of a session is stored as a hash only and is in no entry of the audit log', async () => {
    const session = await signIn(test, { credential: await test.key() });
    const id = session.cookie.split('=')[1] as string;
    const { sql } = test.appliance;
    const rows = [await sql`SELECT s::text FROM sessions s`, await sql`SELECT a::text FROM audit_log a`];
    const text = JSON.stringify(rows);
    expect(text).toContain('session.create');
    for (const secret of [
      id,
      session.csrf,
      Buffer.from(id).toString('hex'),
      Buffer.from(id, 'base64url').toString('hex'),
    ]) {
      expect(text).not.toContain(secret);
    }
  });
});

describe('the end of a session', () => {
  it('signing out ends this session at once, and no other', async () => {
    const credential = await test.key();
    const [one, two] = [await signIn(test, { credential }), await signIn(test, { credential })];
    const answer = await test.call('DELETE', '/v1/sessions/current', { headers: one.headers });
    expect([answer.status, answer.headers.get('set-cookie')]).toEqual([204, expect.stringContaining('session=; ')]);
    const refused = await current(one);
    expect([refused.status, refused.body.detail]).toEqual([401, 'your session has ended; sign in again']);
    expect((await current(two)).status).toBe(200);
  });

  it('signing out everywhere ends all sessions of the key, and none of others', async () => {
    const credential = await test.key();
    const sessions = [await signIn(test, { credential }), await signIn(test, { credential })];
    const other = await signIn(test, { credential: await test.key() });
    const [first] = sessions as [TestSession];
    expect((await test.call('DELETE', '/v1/sessions', { headers: first.headers })).status).toBe(204);
    for (const session of sessions) await hasEnded(session);
    expect((await current(other)).status).toBe(200);
  });

  it('a session ends with its key, its token, its user and its organization', async () => {
    const { sql } = test.appliance;
    const key = await test.key();
    const [one, two, three] = [await userToken(), await userToken(), await userToken()];
    const ofOther = await test.key({ org: 'ending' });
    const [byKey, byToken, byTokens, byUser, byOrg] = await Promise.all(
      [key, one.credential, two.credential, three.credential, ofOther].map((credential) =>
        signIn(test, { credential }),
      ),
    );
    await revokeKey(sql, test.operator, idOf(key));
    await revokeToken(sql, test.operator, one.tokenId);
    await revokeUserTokens(sql, test.operator, two.user.id);
    await suspendUser(sql, test.operator, three.user.id);
    await suspendOrganization(sql, 'operator:test', (await test.appliance.access.operator('ending')).orgId);
    for (const session of [byKey, byToken, byTokens, byUser, byOrg]) await hasEnded(session as TestSession);
    await unsuspendUser(sql, test.operator, three.user.id);
    await until(async () => (await current(byUser as TestSession)).status === 200, {
      what: 'the resumed user',
      withinMs: 60_000,
    });
  });

  it('a session ends when it was not used for its idle time, and at its end in any case', async () => {
    const { sql } = test.appliance;
    const credential = await test.key();
    const [idle, old] = [await signIn(test, { credential }), await signIn(test, { credential })];
    await sql`UPDATE sessions SET last_used_at = now() - interval '59 minutes' WHERE actor = ${`key:${idOf(credential)}`}`;
    expect((await current(idle)).status).toBe(200);
    const [{ used } = { used: null }] = await sql<{ used: boolean }[]>`
      SELECT bool_or(last_used_at > now() - interval '1 minute') AS used FROM sessions
      WHERE actor = ${`key:${idOf(credential)}`}`;
    expect(used).toBe(true);
    await sql`UPDATE sessions SET last_used_at = now() - interval '61 minutes' WHERE actor = ${`key:${idOf(credential)}`}`;
    await hasEnded(idle);
    await sql`UPDATE sessions SET last_used_at = now(), expires_at = now() WHERE actor = ${`key:${idOf(credential)}`}`;
    expect((await current(old)).status).toBe(401);
    await test.appliance.access.sessions.sweep();
    expect(await sql`SELECT 1 FROM sessions WHERE actor = ${`key:${idOf(credential)}`}`).toHaveLength(0);
  });

  it('requests that a page sends by itself do not keep its session alive', async () => {
    const { sql } = test.appliance;
    const credential = await test.key();
    const session = await signIn(test, { credential });
    const actor = `key:${idOf(credential)}`;
    await sql`UPDATE sessions SET last_used_at = now() - interval '30 minutes' WHERE actor = ${actor}`;
    const age = async () => {
      const [row] =
        await sql`SELECT extract(epoch FROM now() - last_used_at)::float8 AS s FROM sessions WHERE actor = ${actor}`;
      return row?.['s'] as number;
    };
    expect((await get('/v1/me', { Cookie: session.cookie, 'X-Background': '1' })).status).toBe(200);
    expect(await age()).toBeGreaterThan(1_700);
    expect((await current(session)).status).toBe(200);
    expect(await age()).toBeLessThan(1_700);
  });

  it('a key has at most 20 sessions, of which the oldest end first', async () => {
    const credential = await test.key();
    const sessions: TestSession[] = [];
    for (let i = 0; i < 21; i++) sessions.push(await signIn(test, { credential }));
    expect((await current(sessions[0] as TestSession)).status).toBe(401);
    expect((await current(sessions[1] as TestSession)).status).toBe(200);
  });
});
