import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createToken } from '../../../src/access/tokens.ts';
import { createUser } from '../../../src/access/users.ts';
import { openTestApi, type TestApi } from '../../support/api.ts';
import {
  authorizationQuery,
  connect,
  consent,
  exchange,
  newPkce,
  postForm,
  REDIRECT,
  refresh,
  registerClient,
  TOOL_SERVER,
} from '../../support/oauth.ts';
import { signIn } from '../../support/sessions.ts';
import { until } from '../../support/until.ts';

let test: TestApi;
let key: string;
beforeAll(async () => {
  test = await openTestApi({ worker: false, settings: { tool_server: { urls: [TOOL_SERVER] } } });
  key = await test.key({ scopes: ['search', 'documents:write'], authLevel: 4 });
});
afterAll(() => test.close());

const me = (token: string) => test.call('GET', '/v1/me', { key: token });

describe('access for a client', () => {
  it('the metadata names the endpoints, PKCE with S256 only, and both ways of registration', async () => {
    const { body } = await test.call('GET', '/.well-known/oauth-authorization-server');
    expect(body).toMatchObject({
      issuer: test.api.url,
      authorization_endpoint: `${test.api.url}/oauth/authorize`,
      token_endpoint: `${test.api.url}/oauth/token`,
      code_challenge_methods_supported: ['S256'],
      authorization_response_iss_parameter_supported: true,
      client_id_metadata_document_supported: true,
      token_endpoint_auth_methods_supported: expect.arrayContaining(['none']),
      scopes_supported: ['search', 'documents:write', 'workflows:run', 'offline_access'],
    });
    const begun = await fetch(`${test.api.url}/oauth/authorize?client_id=x&state=a%20b`, { redirect: 'manual' });
    expect([begun.status, begun.headers.get('location')]).toEqual([303, '/console/authorize?client_id=x&state=a+b']);
  });

  it('a person consents, and the client acts for the person with the rights that were given', async () => {
    const session = await signIn(test, { credential: key });
    const clientId = await registerClient(test);
    const pkce = newPkce();
    const query = authorizationQuery(clientId, pkce, { scope: 'search documents:write workflows:run' });
    const view = await test.call('POST', '/v1/oauth/consent/view', { headers: session.headers, json: { query } });
    expect(view.body).toEqual({
      client: { name: 'Assistant', id_host: null, redirect_host: 'client.example.com', is_local: false },
      tool_server: TOOL_SERVER,
      scopes: [
        { name: 'search', is_requested: true, is_allowed: true },
        { name: 'documents:write', is_requested: true, is_allowed: true },
        { name: 'workflows:run', is_requested: true, is_allowed: false },
      ],
      days: { least: 1, usual: 30, most: 365 },
    });
    const { body } = await consent(test, session, query, { approve: true, scopes: ['search', 'workflows:run'] });
    const returned = new URL(body.return_to);
    expect(returned.href.startsWith(`${REDIRECT}?`)).toBe(true);
    expect(Object.fromEntries(returned.searchParams)).toMatchObject({ state: 'state-1', iss: test.api.url });
    const tokens = await exchange(test, clientId, returned.searchParams.get('code') as string, pkce);
    expect(tokens.body).toMatchObject({ token_type: 'Bearer', expires_in: 900, scope: 'search' });
    expect(tokens.headers.get('cache-control')).toBe('no-store');
    const { access_token: access } = tokens.body;
    expect((await me(access)).body).toMatchObject({
      kind: 'client',
      scopes: ['search'],
      auth_level: 4,
      grant: { client: 'Assistant', tool_server: TOOL_SERVER },
    });
    // A right that was not given, and rights of the person alone.
    const json = { filename: 'a.txt', text: 'a' };
    expect((await test.call('POST', '/v1/buckets/default/documents', { key: access, json })).status).toBe(403);
    expect((await test.call('POST', '/v1/embeddings', { key: access, json: { input: 'a' } })).status).toBe(403);
  });

  it('a refresh gives new tokens, with fewer rights if the client asks for fewer', async () => {
    const first = await connect(test, key, { approve: true, scopes: ['search', 'documents:write'] });
    const second = await refresh(test, first, { scope: 'search' });
    expect(second.body).toMatchObject({ token_type: 'Bearer', scope: 'search' });
    expect(second.body.refresh_token).not.toBe(first.refresh);
    const third = await refresh(test, { ...first, refresh: second.body.refresh_token });
    expect(third.body.scope).toBe('search documents:write');
    expect(
      (await refresh(test, { ...first, refresh: third.body.refresh_token }, { scope: 'workflows:run' })).body,
    ).toEqual({ error: 'invalid_scope', error_description: expect.stringContaining('search documents:write') });
  });

  it('a client with a secret must send it, in the header or in the form', async () => {
    const session = await signIn(test, { credential: key });
    const registered = await test.call('POST', '/oauth/register', { json: { redirect_uris: [REDIRECT] } });
    expect(registered.body).toMatchObject({
      client_secret_expires_at: 0,
      token_endpoint_auth_method: 'client_secret_basic',
      client_name: 'unnamed client',
    });
    const { client_id: clientId, client_secret: secret } = registered.body;
    const codeFor = async (pkce: ReturnType<typeof newPkce>) => {
      const { body } = await consent(test, session, authorizationQuery(clientId, pkce));
      return new URL(body.return_to).searchParams.get('code') as string;
    };
    const pkce = newPkce();
    const code = await codeFor(pkce);
    for (const wrong of [{}, { client_secret: 'wrong' }, { client_secret: `${secret}x` }] as Record<string, string>[]) {
      const refused = await exchange(test, clientId, code, pkce, wrong);
      expect([refused.status, refused.body.error]).toEqual([401, 'invalid_client']);
    }
    expect((await exchange(test, clientId, code, pkce, { client_secret: secret })).status).toBe(200);
    const other = newPkce();
    const basic = { Authorization: `Basic ${Buffer.from(`${clientId}:${secret}`).toString('base64')}` };
    const form = { grant_type: 'authorization_code', code: await codeFor(other), code_verifier: other.verifier };
    expect((await postForm(test, '/oauth/token', form, basic)).status).toBe(200);
  });

  it('the person and a manager of users see the access and end it', async () => {
    const { sql, keyRing } = test.appliance;
    const user = await createUser(sql, test.operator, { email: 'member@example.com' });
    const { token } = await createToken(sql, keyRing, test.operator, { user, ttlMs: 3_600_000 });
    const { access, session } = await connect(test, token.reveal(), { approve: true, scopes: ['search'], days: 7 });
    const list = async (headers: Record<string, string>) =>
      (await test.call('GET', '/v1/oauth/grants', { headers })).body.data as { id: string; given_by: string }[];
    const [grant] = await list(session.headers);
    expect(grant).toMatchObject({
      client: 'Assistant',
      given_by: `user:${user.id}`,
      scopes: ['search'],
      tool_server: TOOL_SERVER,
    });
    const stranger = await signIn(test, { credential: key });
    expect((await list(stranger.headers)).map(({ id }) => id)).not.toContain(grant?.id);
    const path = `/v1/oauth/grants/${grant?.id}`;
    expect((await test.call('DELETE', path, { headers: stranger.headers })).status).toBe(404);
    const manager = await signIn(test, { credential: await test.key({ scopes: ['users:manage'] }) });
    expect((await list(manager.headers)).map(({ id }) => id)).toContain(grant?.id);
    expect((await me(access)).status).toBe(200);
    expect((await test.call('DELETE', path, { headers: manager.headers })).status).toBe(204);
    await until(async () => (await me(access)).status === 401);
    const [entry] =
      await sql`SELECT actor, detail FROM audit_log WHERE action = 'grant.create' AND target = ${grant?.id ?? ''}`;
    expect(entry).toMatchObject({
      actor: `user:${user.id}`,
      detail: { client: 'Assistant', scopes: ['search'], days: 7 },
    });
  });

  it('a client revokes its access by either token', async () => {
    for (const kind of ['access', 'refresh'] as const) {
      const connected = await connect(test, key);
      const form = { token: connected[kind], client_id: connected.clientId };
      expect((await postForm(test, '/oauth/revoke', { ...form, client_id: await registerClient(test) })).status).toBe(
        200,
      );
      expect((await me(connected.access)).status).toBe(200);
      expect((await postForm(test, '/oauth/revoke', form)).status).toBe(200);
      await until(async () => (await me(connected.access)).status === 401);
      expect((await refresh(test, connected)).body.error).toBe('invalid_grant');
    }
    expect(
      (await postForm(test, '/oauth/revoke', { token: 'unknown', client_id: await registerClient(test) })).status,
    ).toBe(200);
  });

  it('a person who refuses sends the client away with access_denied', async () => {
    const session = await signIn(test, { credential: key });
    const query = authorizationQuery(await registerClient(test), newPkce());
    const { body } = await consent(test, session, query, { approve: false });
    expect(Object.fromEntries(new URL(body.return_to).searchParams)).toMatchObject({
      error: 'access_denied',
      state: 'state-1',
      iss: test.api.url,
    });
  });

  it('without a tool server in the settings there is no sign-in', async () => {
    const closed = await openTestApi({ worker: false });
    try {
      for (const path of ['/.well-known/oauth-authorization-server', '/oauth/authorize']) {
        const { status, body } = await closed.call('GET', path);
        expect([status, body.error_description]).toEqual([404, expect.stringContaining('tool_server.urls')]);
      }
      expect((await closed.call('POST', '/oauth/register', { json: {} })).status).toBe(404);
    } finally {
      await closed.close();
    }
  });
});
