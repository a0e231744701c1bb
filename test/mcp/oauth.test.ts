import {
  Client,
  type OAuthClientInformationMixed,
  type OAuthClientProvider,
  type OAuthDiscoveryState,
  type OAuthTokens,
  StreamableHTTPClientTransport,
  UnauthorizedError,
} from '@modelcontextprotocol/client';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { HttpToolService } from '../../src/mcp/http/http-service.ts';
import { openTestApi, type TestApi } from '../support/api.ts';
import { type DocumentServer, startDocumentServer } from '../support/document-server.ts';
import { freePort } from '../support/free-port.ts';
import { consent } from '../support/oauth.ts';
import { signIn, type TestSession } from '../support/sessions.ts';
import { until } from '../support/until.ts';
import { INITIALIZE, openToolServer, post, REVISIONS, type Revision, textOf } from './support.ts';

const REDIRECT = 'http://127.0.0.1:9/callback';

let test: TestApi;
let session: TestSession;
let servers: HttpToolService[];
let urls: string[];
let documents: DocumentServer;
const env = () => ({ SERVICE_API_BASE_URL: test.api.url, SERVICE_MCP_AUTH_MODE: 'oauth' });

beforeAll(async () => {
  const ports = [await freePort(), await freePort()];
  urls = ports.map((port) => `http://127.0.0.1:${port}/mcp`);
  documents = await startDocumentServer();
  const settings = { tool_server: { urls, client_hosts: [documents.host] } };
  test = await openTestApi({ worker: false, settings });
  session = await signIn(test, { credential: await test.key({ scopes: ['search', 'documents:write'] }) });
  const open = (port: number, at: number) =>
    openToolServer({ ...env(), PORT: String(port), SERVICE_MCP_URL: urls[at] as string });
  servers = await Promise.all(ports.map(open));
});
afterAll(async () => {
  for (const server of servers) await server.stop();
  await test.close();
  documents.close();
});

/** Store of a client, and the page to which it sends its person. */
class Provider implements OAuthClientProvider {
  readonly redirectUrl = REDIRECT;
  readonly clientMetadata = { client_name: 'Official client', redirect_uris: [REDIRECT] };
  information: OAuthClientInformationMixed | undefined;
  kept: OAuthTokens | undefined;
  asked: URL | null = null;
  #verifier = '';
  #discovery: OAuthDiscoveryState | undefined;

  clientInformation() {
    return this.information;
  }
  saveClientInformation(information: OAuthClientInformationMixed) {
    this.information = information;
  }
  tokens() {
    return this.kept;
  }
  saveTokens(tokens: OAuthTokens) {
    this.kept = tokens;
  }
  redirectToAuthorization(url: URL) {
    this.asked = url;
  }
  saveCodeVerifier(verifier: string) {
    this.#verifier = verifier;
  }
  codeVerifier() {
    return this.#verifier;
  }
  invalidateCredentials(what: 'all' | 'client' | 'tokens' | 'verifier' | 'discovery') {
    if (what === 'all' || what === 'tokens') this.kept = undefined;
  }
  saveDiscoveryState(state: OAuthDiscoveryState) {
    this.#discovery = state;
  }
  discoveryState() {
    return this.#discovery;
  }
}

/** Client that a document at this address describes. */
class DocumentedProvider extends Provider {
  readonly clientMetadataUrl: string;

  constructor(clientMetadataUrl: string) {
    super();
    this.clientMetadataUrl = clientMetadataUrl;
  }
}

const newClient = (revision: Revision) =>
  new Client(
    { name: 'test', version: '1' },
    { versionNegotiation: { mode: revision === '2026-07-28' ? { pin: revision } : 'legacy' } },
  );

/**
 * Each request opens a connection. A kept one may be closed by a server that stops while a request is being sent on it,
 * since that server and its successor run in this process.
 */
const CLOSING = { headers: { connection: 'close' } };
const transportOf = (url: string, authProvider: Provider) =>
  new StreamableHTTPClientTransport(new URL(url), { authProvider, requestInit: CLOSING });

/** Let the person give what the client asked for, and the client exchange the code. */
async function finish(transport: StreamableHTTPClientTransport, provider: Provider, scopes: string[]): Promise<void> {
  const begun = await fetch(provider.asked as URL, { redirect: 'manual' });
  const [, query = ''] = (begun.headers.get('location') ?? '').split('?');
  const { body } = await consent(test, session, query, { approve: true, scopes });
  await transport.finishAuth(new URL(body.return_to).searchParams);
}

/** Connect a client from a bare 401 on. */
async function connect(url: string, revision: Revision, provider = new Provider(), scopes = ['search']) {
  const first = transportOf(url, provider);
  await expect(newClient(revision).connect(first)).rejects.toThrow(UnauthorizedError);
  await finish(first, provider, scopes);
  const client = newClient(revision);
  await client.connect(transportOf(url, provider));
  onTestFinished(() => client.close());
  return { client, provider };
}

const listBuckets = async (client: Client) => textOf(await client.callTool({ name: 'service_list_buckets' }));
/** Change the tokens of a client as time does. */
const expireAccess = () => test.appliance.sql`UPDATE oauth_tokens SET expires_at = now() WHERE kind = 'access'`;

describe.each(REVISIONS)('the official client in revision %s', (revision) => {
  it('goes from a bare 401 over registration, consent and code to a tool call, and refreshes its token', async () => {
    const [url = ''] = urls;
    const { client, provider } = await connect(url, revision);
    expect(provider.asked?.searchParams.get('resource')).toBe(url);
    expect(provider.asked?.searchParams.get('code_challenge_method')).toBe('S256');
    expect(await listBuckets(client)).toContain('default');
    const before = provider.kept as OAuthTokens;
    await expireAccess();
    await until(async () => (await post(url, INITIALIZE, { bearer: before.access_token })).status === 401);
    expect(await listBuckets(client)).toContain('default');
    expect(provider.kept?.access_token).not.toBe(before.access_token);
  });

  it('without a registration names the document that describes it', async () => {
    const [url = ''] = urls;
    const id = `https://${documents.host}/${revision}.json`;
    const document = { client_id: id, client_name: 'Documented client', redirect_uris: [REDIRECT] };
    documents.answer = (_, res) => void res.end(JSON.stringify(document));
    const { client, provider } = await connect(url, revision, new DocumentedProvider(id));
    expect(provider.asked?.searchParams.get('client_id')).toBe(id);
    expect(await listBuckets(client)).toContain('default');
  });

  it('asks for a right that it needs, and keeps those that it has', async () => {
    const [url = ''] = urls;
    const { client, provider } = await connect(url, revision);
    const call = () =>
      client.callTool({ name: 'service_upload_document', arguments: { filename: 'a.txt', text: 'hello' } });
    provider.asked = null;
    await expect(call()).rejects.toThrow();
    const asked = provider.asked as URL | null;
    expect(asked?.searchParams.get('scope')?.split(' ')).toEqual(expect.arrayContaining(['search', 'documents:write']));
    await finish(transportOf(url, provider), provider, ['search', 'documents:write']);
    expect((await call()).isError).toBeFalsy();
    expect(await listBuckets(client)).toContain('default');
  });

  it('is out within a second once the person ends the access', async () => {
    const [url = ''] = urls;
    const { client, provider } = await connect(url, revision);
    const { body } = await test.call('GET', '/v1/oauth/grants', { headers: session.headers });
    const path = `/v1/oauth/grants/${body.data[0].id}`;
    expect((await test.call('DELETE', path, { headers: session.headers })).status).toBe(204);
    const { access_token: bearer } = provider.kept as OAuthTokens;
    await until(async () => (await post(url, INITIALIZE, { bearer })).status === 401);
    await expect(listBuckets(client)).rejects.toThrow(UnauthorizedError);
  });
});

describe('the tool server', () => {
  it('names its metadata in the challenge, which names the API as the authorization server', async () => {
    const [url = ''] = urls;
    const { origin } = new URL(url);
    const reply = await post(url, INITIALIZE, { bearer: null });
    expect(reply.status).toBe(401);
    const metadataUrl = `${origin}/.well-known/oauth-protected-resource/mcp`;
    expect(reply.headers.get('www-authenticate')).toBe(
      `Bearer realm="service-mcp", resource_metadata="${metadataUrl}", scope="search"`,
    );
    for (const address of [metadataUrl, `${origin}/.well-known/oauth-protected-resource`]) {
      expect(await (await fetch(address)).json()).toMatchObject({
        resource: url,
        authorization_servers: [test.api.url],
        scopes_supported: ['search'],
      });
    }
  });

  it('refuses tokens of another tool server, keys, and other tokens', async () => {
    const [one = '', other = ''] = urls;
    const { provider } = await connect(one, '2026-07-28');
    const { access_token: bearer } = provider.kept as OAuthTokens;
    for (const wrong of [bearer, await test.key({ scopes: ['search'] }), 'svat_wrong', `${bearer}x`]) {
      const reply = await post(other, INITIALIZE, { bearer: wrong });
      expect([reply.status, reply.headers.get('www-authenticate')]).toEqual([
        401,
        expect.stringContaining('error="invalid_token"'),
      ]);
    }
    const upstream = await openToolServer({ ...env(), SERVICE_MCP_AUTH_MODE: 'upstream-bearer' });
    onTestFinished(() => upstream.stop());
    expect((await post(upstream.url, INITIALIZE, { bearer })).status).toBe(401);
  });

  it('after a restart, and beside a second process, tokens and sessions go on', async () => {
    const [url = ''] = urls;
    for (const revision of REVISIONS) {
      const { client } = await connect(url, revision);
      expect(await listBuckets(client)).toContain('default');
      const [server] = servers;
      await server?.stop();
      servers[0] = await openToolServer({ ...env(), PORT: new URL(url).port, SERVICE_MCP_URL: url });
      expect(await listBuckets(client)).toContain('default');
    }
  });

  it('without a sign-in at the API it says what is missing', async () => {
    const closed = await openTestApi({ worker: false });
    onTestFinished(() => closed.close());
    const server = await openToolServer({ SERVICE_API_BASE_URL: closed.api.url, SERVICE_MCP_AUTH_MODE: 'oauth' });
    onTestFinished(() => server.stop());
    const reply = await fetch(`${new URL(server.url).origin}/.well-known/oauth-protected-resource`);
    expect([reply.status, JSON.stringify(await reply.json())]).toEqual([
      404,
      expect.stringContaining('tool_server.urls'),
    ]);
  });
});
