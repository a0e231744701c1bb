import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createToken } from '../../../src/access/tokens.ts';
import { createUser, suspendUser } from '../../../src/access/users.ts';
import { openTestApi, type TestApi } from '../../support/api.ts';
import {
  authorizationQuery,
  type Connected,
  connect,
  consent,
  exchange,
  newPkce,
  REDIRECT,
  refresh,
  registerClient,
  TOOL_SERVER,
} from '../../support/oauth.ts';
import { signIn, type TestSession } from '../../support/sessions.ts';
import { until } from '../../support/until.ts';

let test: TestApi;
let key: string;
let session: TestSession;
beforeAll(async () => {
  test = await openTestApi({ worker: false, settings: { tool_server: { urls: [TOOL_SERVER] } } });
  key = await test.key({ scopes: ['search', 'documents:write'] });
  session = await signIn(test, { credential: key });
});
afterAll(() => test.close());

const me = async (token: string) => (await test.call('GET', '/v1/me', { key: token })).status;

async function codeFor(clientId: string, pkce: ReturnType<typeof newPkce>, more: Record<string, string> = {}) {
  const { body } = await consent(test, session, authorizationQuery(clientId, pkce, more));
  return new URL(body.return_to).searchParams.get('code') as string;
}

/** Read what the page of consent shows for a request. */
const view = (query: string) =>
  test.call('POST', '/v1/oauth/consent/view', { headers: session.headers, json: { query } });

describe('codes and refresh tokens work once', () => {
  it('a code that is used again ends the access that it gave', async () => {
    const clientId = await registerClient(test);
    const pkce = newPkce();
    const code = await codeFor(clientId, pkce);
    const { body } = await exchange(test, clientId, code, pkce);
    expect(await me(body.access_token)).toBe(200);
    expect((await exchange(test, clientId, code, pkce)).body.error).toBe('invalid_grant');
    await until(async () => (await me(body.access_token)) === 401);
  });

  it('of many exchanges at once, none leaves a valid token', async () => {
    const clientId = await registerClient(test);
    const pkce = newPkce();
    const code = await codeFor(clientId, pkce);
    const replies = await Promise.all(Array.from({ length: 8 }, () => exchange(test, clientId, code, pkce)));
    const given = replies.filter(({ status }) => status === 200);
    expect(given.length).toBeLessThanOrEqual(1);
    for (const { body } of given) await until(async () => (await me(body.access_token)) === 401);
  });

  it('a refresh token that is used again ends the access, also that of the newer tokens', async () => {
    const connected = await connect(test, key);
    const newer = await refresh(test, connected);
    expect(await me(newer.body.access_token)).toBe(200);
    const reused = await refresh(test, connected);
    expect([reused.status, reused.body.error]).toEqual([400, 'invalid_grant']);
    await until(async () => (await me(newer.body.access_token)) === 401);
    const next: Connected = { ...connected, refresh: newer.body.refresh_token };
    expect((await refresh(test, next)).body.error).toBe('invalid_grant');
  });

  it('an expired code, and tokens of another client, are refused', async () => {
    const [clientId, thief] = [await registerClient(test), await registerClient(test)];
    const pkce = newPkce();
    const late = await codeFor(clientId, pkce);
    await test.appliance.sql`UPDATE oauth_grants SET code_expires_at = now() WHERE client_id = ${clientId}`;
    expect((await exchange(test, clientId, late, pkce)).body.error).toBe('invalid_grant');
    const code = await codeFor(clientId, pkce);
    expect((await exchange(test, thief, code, pkce)).body.error).toBe('invalid_grant');
    const connected = await connect(test, key);
    expect((await refresh(test, { ...connected, clientId: thief })).body.error).toBe('invalid_grant');
    expect((await refresh(test, connected)).status).toBe(200);
  });
});

describe('PKCE', () => {
  it('a request without it, with plain, or with a challenge that is no hash is refused', async () => {
    const clientId = await registerClient(test);
    const pkce = newPkce();
    for (const [more, message] of [
      [{ code_challenge: null }, /PKCE/],
      [{ code_challenge_method: 'plain' }, /S256/],
      [{ code_challenge_method: null }, /S256/],
      [{ code_challenge: 'short' }, /SHA-256/],
    ] as const) {
      const query = authorizationQuery(clientId, pkce, more);
      const { body } = await view(query);
      expect(body.fault).toMatch(message);
      expect(new URL(body.return_to).searchParams.get('error')).toBe('invalid_request');
      expect((await consent(test, session, query)).status).toBe(400);
    }
  });

  it('a wrong verifier is refused, and the code is spent', async () => {
    const clientId = await registerClient(test);
    const pkce = newPkce();
    const code = await codeFor(clientId, pkce);
    expect((await exchange(test, clientId, code, newPkce())).body.error).toBe('invalid_grant');
    expect((await exchange(test, clientId, code, pkce)).body.error).toBe('invalid_grant');
    const other = await codeFor(clientId, pkce);
    const without = await exchange(test, clientId, other, pkce, { code_verifier: null });
    expect([without.status, without.body.error]).toEqual([400, 'invalid_request']);
  });
});

describe('addresses', () => {
  it('nobody is sent to an address that the client did not register', async () => {
    const clientId = await registerClient(test);
    for (const redirect of [
      `${REDIRECT}/more`,
      `${REDIRECT}?a=1`,
      'https://client.example.com.evil.example/callback',
      'https://evil.example/callback',
      'http://client.example.com/callback',
      'javascript:alert(1)',
    ]) {
      const { status, body } = await view(authorizationQuery(clientId, newPkce(), { redirect_uri: redirect }));
      expect([redirect, status, body]).toEqual([redirect, 400, { detail: expect.stringContaining('redirect_uri') }]);
    }
    const unknown = await view(authorizationQuery('client_unknown', newPkce()));
    expect([unknown.status, unknown.body.detail]).toEqual([400, expect.stringContaining('not registered')]);
  });

  it('the address where a person begins never leads away from this service', async () => {
    const query = authorizationQuery('x', newPkce(), { redirect_uri: 'https://evil.example', response_type: 'token' });
    const reply = await fetch(`${test.api.url}/oauth/authorize?${query}`, { redirect: 'manual' });
    expect(reply.headers.get('location')).toMatch(/^\/console\/authorize\?/);
  });

  it('on loopback the port is free, and nothing else', async () => {
    const local = { redirect_uris: ['http://localhost/callback', 'http://127.0.0.1:33418/'] };
    const clientId = await registerClient(test, local);
    const isAccepted = async (redirect: string) =>
      (await view(authorizationQuery(clientId, newPkce(), { redirect_uri: redirect }))).status === 200;
    expect(await isAccepted('http://localhost:58135/callback')).toBe(true);
    expect(await isAccepted('http://127.0.0.1:1/')).toBe(true);
    expect(await isAccepted('http://localhost:58135/other')).toBe(false);
    expect(await isAccepted('http://localhost.evil.example:58135/callback')).toBe(false);
    expect(await isAccepted('http://127.0.0.1:1/callback')).toBe(false);
    expect(
      (await view(authorizationQuery(clientId, newPkce(), { redirect_uri: 'http://127.0.0.1:1/' }))).body.client,
    ).toMatchObject({ is_local: true, redirect_host: '127.0.0.1:1' });
  });

  it('redirect addresses that no browser should open are not registered', async () => {
    for (const uri of [
      'javascript:alert(1)',
      'data:text/html,x',
      'http://example.com/cb',
      'https://a.example/#x',
      'ftp://a.example/x',
      'https://u:p@a.example/x',
      'no url',
    ]) {
      const { status, body } = await test.call('POST', '/oauth/register', { json: { redirect_uris: [uri] } });
      expect([uri, status, body.error]).toEqual([uri, 400, 'invalid_redirect_uri']);
    }
    for (const json of [
      {},
      { redirect_uris: [] },
      { redirect_uris: 'x' },
      { redirect_uris: [REDIRECT], grant_types: ['implicit'] },
    ]) {
      expect((await test.call('POST', '/oauth/register', { json })).body.error).toBe('invalid_client_metadata');
    }
    const native = { redirect_uris: ['cursor://anysphere.cursor-mcp/oauth/callback', 'com.example.app:/cb'] };
    expect((await test.call('POST', '/oauth/register', { json: native })).status).toBe(201);
  });

  it('a parameter that is given twice is refused', async () => {
    const query = authorizationQuery(await registerClient(test), newPkce());
    expect((await view(`${query}&redirect_uri=https%3A%2F%2Fevil.example`)).body.detail).toContain('redirect_uri');
  });
});

describe('tokens', () => {
  it('a token for a server of somebody else is never made', async () => {
    const clientId = await registerClient(test);
    const { body } = await view(authorizationQuery(clientId, newPkce(), { resource: 'https://evil.example/mcp' }));
    expect(new URL(body.return_to).searchParams.get('error')).toBe('invalid_target');
    const pkce = newPkce();
    const code = await codeFor(clientId, pkce);
    const wrong = await exchange(test, clientId, code, pkce, { resource: 'https://evil.example/mcp' });
    expect(wrong.body.error).toBe('invalid_target');
  });

  it('a token of a suspended user is refused, and cannot be refreshed', async () => {
    const { sql, keyRing } = test.appliance;
    const user = await createUser(sql, test.operator, { email: 'leaver@example.com' });
    const { token } = await createToken(sql, keyRing, test.operator, { user, ttlMs: 3_600_000 });
    const connected = await connect(test, token.reveal());
    expect(await me(connected.access)).toBe(200);
    await suspendUser(sql, test.operator, user.id);
    await until(async () => (await me(connected.access)) === 401);
    expect((await refresh(test, connected)).body.error).toBe('invalid_grant');
  });

  it('a token of an administrator has none of the rights of the role', async () => {
    const { sql, keyRing } = test.appliance;
    const user = await createUser(sql, test.operator, { email: 'boss@example.com', role: 'owner' });
    const { token } = await createToken(sql, keyRing, test.operator, { user, ttlMs: 3_600_000 });
    const scopes = ['search', 'documents:write', 'workflows:run'];
    const { access } = await connect(test, token.reveal(), { approve: true, scopes });
    for (const [method, path, json] of [
      ['POST', '/v1/keys', { name: 'stolen', scopes: ['search'] }],
      ['GET', '/v1/users', undefined],
      ['POST', '/v1/embeddings', { input: 'x' }],
      ['PUT', '/v1/routing', { primary: 'local/lexical-1' }],
      ['POST', '/v1/buckets', { name: 'new-bucket' }],
      ['POST', '/v1/metadata/bulk-edit', { statement: "UPDATE documents SET a = 'b'", bucket: 'default' }],
    ] as const) {
      const { status } = await test.call(method, path, { key: access, ...(json === undefined ? {} : { json }) });
      expect([method, path, status]).toEqual([method, path, expect.toBeOneOf([403, 404])]);
    }
  });

  it('a token cannot give access to other clients, and neither can a key', async () => {
    const { access } = await connect(test, key);
    const query = authorizationQuery(await registerClient(test), newPkce());
    for (const credential of [access, key]) {
      const json = { query, approve: true, scopes: ['search'] };
      const { status, body } = await test.call('POST', '/v1/oauth/consent', { key: credential, json });
      expect([status, body.detail]).toEqual([403, expect.stringContaining('signed in to the console')]);
    }
    expect((await test.call('POST', '/v1/sessions', { json: { credential: access } })).status).toBe(401);
  });
});

describe('consent', () => {
  it('needs the CSRF token, and a page of this site', async () => {
    const query = authorizationQuery(await registerClient(test), newPkce());
    const json = { query, approve: true, scopes: ['search'] };
    const { Cookie = '' } = session.headers;
    for (const headers of [{ Cookie }, { ...session.headers, 'Sec-Fetch-Site': 'cross-site' }]) {
      expect((await test.call('POST', '/v1/oauth/consent', { headers, json })).status).toBe(403);
    }
    expect((await test.call('POST', '/v1/oauth/consent', { json })).status).toBe(401);
  });

  it('without a right that the person has, or with an unknown field, nothing is given', async () => {
    const query = authorizationQuery(await registerClient(test), newPkce());
    for (const decision of [
      { approve: true, scopes: [] },
      { approve: true, scopes: ['workflows:run'] },
      { approve: true, scopes: ['platform_admin'] },
      { approve: true, scopes: ['search'], days: 1000 },
      { approve: true, scopes: ['search'], scope: 'search' },
    ]) {
      expect((await consent(test, session, query, decision)).status).toBe(400);
    }
  });
});

describe('registrations of strangers', () => {
  it('take bounded space, and go unless somebody gives access', async () => {
    const { sql } = test.appliance;
    const kept = (await connect(test, key)).clientId;
    await sql`
      INSERT INTO oauth_clients (id, name, redirect_uris, auth_method)
      SELECT 'client_' || n, 'stranger', '{}', 'none' FROM generate_series(1, 10000) AS n`;
    await registerClient(test);
    const [row] = await sql`SELECT count(*)::int AS count FROM oauth_clients`;
    expect(row?.['count']).toBeLessThanOrEqual(2_100);
    await sql`UPDATE oauth_clients SET created_at = now() - interval '2 days'`;
    await test.appliance.access.oauth.sweep();
    const left = await sql`SELECT id FROM oauth_clients`;
    expect(left.map(({ id }) => id)).toContain(kept);
    expect(left.length).toBeLessThan(60);
  });

  it('are refused with a standard error beyond the rate of an address', async () => {
    const reply = await until(
      async () => {
        const answer = await test.call('POST', '/oauth/register', { json: { redirect_uris: [REDIRECT] } });
        return answer.status === 429 && answer;
      },
      { what: 'a refusal' },
    );
    expect(reply.body).toEqual({
      error: 'temporarily_unavailable',
      error_description: expect.stringContaining('try again'),
    });
    expect(Number(reply.headers.get('retry-after'))).toBeGreaterThan(0);
  });
});
