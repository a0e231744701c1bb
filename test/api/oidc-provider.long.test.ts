import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Provider } from 'oidc-provider';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { SCOPES } from '../../src/access/caller.ts';
import { openTestApi, type TestApi } from '../support/api.ts';
import { until } from '../support/until.ts';

// People sign in at a certified OpenID provider, whose ID tokens name their groups.

let server: Server;
let test: TestApi;
let owner: string;
const groups: Record<string, readonly string[]> = { ana: ['legal', 'everyone'], ben: ['everyone'] };

beforeAll(async () => {
  server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const oidc = {
    ...{ issuer, audience: 'service', client_id: 'console', client_secret: 'its-secret-of-the-console' },
    ...{ email_domains: { 'corp.example': 'default' }, provision: true, groups_claim: 'groups' },
  };
  test = await openTestApi({ settings: { oidc } });
  owner = await test.key({ scopes: [...SCOPES], authLevel: 10 });
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: 'console',
        client_secret: 'its-secret-of-the-console',
        redirect_uris: [`${test.api.url}/v1/sessions/oidc/callback`],
      },
    ],
    claims: { openid: ['sub'], email: ['email', 'email_verified', 'groups'] },
    conformIdTokenClaims: false,
    cookies: { keys: ['kelp'] },
    findAccount: (_, accountId) => ({
      accountId,
      claims: () => ({
        sub: accountId,
        email: `${accountId}@corp.example`,
        email_verified: true,
        groups: groups[accountId],
      }),
    }),
  });
  server.on('request', provider.callback());
});
afterAll(async () => {
  await test.close();
  server.closeAllConnections();
  server.close();
});

/** Cookies of a browser, by the origin that set them. */
class Browser {
  readonly #cookies = new Map<string, Map<string, string>>();

  async open(address: string, form?: Record<string, string>): Promise<Response> {
    const { origin } = new URL(address);
    const own = this.#cookies.get(origin) ?? new Map<string, string>();
    this.#cookies.set(origin, own);
    const response = await fetch(address, {
      redirect: 'manual',
      headers: { cookie: [...own].map(([name, value]) => `${name}=${value}`).join('; ') },
      ...(form === undefined ? {} : { method: 'POST', body: new URLSearchParams(form) }),
    });
    for (const cookie of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie) ?? [];
      own.set(name, value);
    }
    return response;
  }

  /** Open an address and follow redirects, up to a page. */
  async follow(address: string, form?: Record<string, string>): Promise<{ address: string; page: string }> {
    let at = address;
    let response = await this.open(at, form);
    for (let hops = 0; hops < 10; hops++) {
      const location = response.headers.get('location');
      if (location === null) return { address: at, page: await response.text() };
      await response.body?.cancel();
      at = new URL(location, at).href;
      response = await this.open(at);
    }
    throw new Error(`too many redirects, the last to ${at}`);
  }
}

/** Sign a person in at the provider, by the forms of its pages. */
async function signIn(login: string): Promise<{ user: { email: string }; groups: string[] }> {
  const browser = new Browser();
  let { address, page } = await browser.follow(`${test.api.url}/v1/sessions/oidc`);
  for (let forms = 0; forms < 2; forms++) {
    const action = /<form[^>]* action="([^"]+)"/.exec(page)?.[1] ?? '';
    const prompt = /name="prompt" value="(\w+)"/.exec(page)?.[1] ?? '';
    ({ address, page } = await browser.follow(new URL(action, address).href, { prompt, login, password: 'x' }));
  }
  expect(address).toBe(`${test.api.url}/console`);
  const response = await browser.open(`${test.api.url}/v1/sessions/current`);
  return ((await response.json()) as { me: { user: { email: string }; groups: string[] } }).me;
}

it('a person is added at the first sign-in, and reads what the groups of the token read', async () => {
  const call = async (method: string, path: string, json: object, key = owner) =>
    (await test.call(method, path, { key, json })).body;
  await call('POST', '/v1/groups', { name: 'legal' });
  await call('POST', '/v1/groups', { name: 'All', claim: 'everyone' });
  const { job_id: job } = await call('POST', '/v1/buckets/default/documents', {
    ...{ filename: 'contract.txt', text: 'The harbour contract.', access: { groups: ['legal'] } },
  });
  await until(async () => (await test.call('GET', `/v1/jobs/${job}`, { key: owner })).body.status === 'ready', {
    what: 'ingest',
  });
  expect(await signIn('ana')).toMatchObject({ user: { email: 'ana@corp.example' }, groups: ['All', 'legal'] });
  expect(await signIn('ben')).toMatchObject({ user: { email: 'ben@corp.example' }, groups: ['All'] });
  const { id } = (await test.call('GET', '/v1/users/ana@corp.example', { key: owner })).body;
  const made = await call('POST', '/v1/keys', { name: 'of ana', scopes: ['search'], user_id: id });
  const found = await call('POST', '/v2/buckets/default/search', { query: 'harbour' }, made.key);
  expect(found.results).toHaveLength(1);
  groups['ana'] = ['everyone'];
  await until(async () => (await signIn('ana')).groups.join() === 'All', { what: 'a sign-in with fewer groups' });
  await until(
    async () => (await call('POST', '/v2/buckets/default/search', { query: 'harbour' }, made.key)).results.length === 0,
    { what: 'the end of the right to read' },
  );
});
