import type { ServerResponse } from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openTestApi, type TestApi } from '../../support/api.ts';
import { type DocumentServer, startDocumentServer } from '../../support/document-server.ts';
import { authorizationQuery, consent, exchange, newPkce, REDIRECT, TOOL_SERVER } from '../../support/oauth.ts';
import { signIn, type TestSession } from '../../support/sessions.ts';

// Clients whose id is the URL of a document, on a server of the test with a certificate of its own.

let documents: DocumentServer;
let test: TestApi;
let session: TestSession;

beforeAll(async () => {
  documents = await startDocumentServer();
  const settings = { tool_server: { urls: [TOOL_SERVER], client_hosts: [documents.host] } };
  test = await openTestApi({ worker: false, settings });
  session = await signIn(test, { credential: await test.key({ scopes: ['search'] }) });
});
afterAll(async () => {
  await test.close();
  documents.close();
});
beforeEach(() => {
  documents.requests = 0;
});

let made = 0;
/** Make the id of a new client, whose document is not cached yet. */
const newId = () => `https://${documents.host}/clients/${made++}.json`;
const documentOf = (id: string, more: object = {}) => ({
  client_id: id,
  client_name: 'Documented assistant',
  redirect_uris: [REDIRECT],
  ...more,
});
const serve = (json: unknown) => {
  documents.answer = (_, res) => res.setHeader('Content-Type', 'application/json').end(JSON.stringify(json));
};
const view = async (id: string) => {
  const json = { query: authorizationQuery(id, newPkce()) };
  return test.call('POST', '/v1/oauth/consent/view', { headers: session.headers, json });
};

describe('a client with a metadata document', () => {
  it('gets access without registration, and the page of consent names the host that vouches for it', async () => {
    const id = newId();
    serve(documentOf(id));
    expect((await view(id)).body.client).toEqual({
      name: 'Documented assistant',
      id_host: documents.host,
      redirect_host: 'client.example.com',
      is_local: false,
    });
    const pkce = newPkce();
    const { body } = await consent(test, session, authorizationQuery(id, pkce));
    const code = new URL(body.return_to).searchParams.get('code') as string;
    expect((await exchange(test, id, code, pkce)).status).toBe(200);
    expect(documents.requests).toBe(1);
  });

  it('is refused if its document names another id, has no addresses, a secret, or is no JSON', async () => {
    const id = newId();
    for (const [json, message] of [
      [documentOf(`${id}x`), 'another client_id'],
      [documentOf(id, { redirect_uris: [] }), 'not valid'],
      [documentOf(id, { client_secret: 'x' }), 'not valid'],
      [documentOf(id, { redirect_uris: ['javascript:alert(1)'] }), 'redirect URI'],
      ['text', 'not valid'],
    ] as const) {
      serve(json);
      const { status, body } = await view(id);
      expect([status, body.detail]).toEqual([400, expect.stringContaining(message)]);
    }
    documents.answer = (_, res) => res.end('<html>');
    expect((await view(id)).body.detail).toContain('not JSON');
  });

  it('is refused if the document moves, fails, is too large or never ends', async () => {
    for (const [reply, message] of [
      [(res: ServerResponse) => res.writeHead(302, { Location: 'http://127.0.0.1/' }).end(), 'status 302'],
      [(res: ServerResponse) => res.writeHead(500).end(), 'status 500'],
      [(res: ServerResponse) => res.end(' '.repeat(100_000)), 'could not be read'],
      [(res: ServerResponse) => void res.write('{'), 'could not be read'],
    ] as const) {
      documents.answer = (_, res) => void reply(res);
      const { status, body } = await view(newId());
      expect([status, body.detail]).toEqual([503, expect.stringContaining(message)]);
    }
  }, 30_000);

  it('on a host that the operator did not allow is never asked', async () => {
    serve({});
    const { port } = new URL(`https://${documents.host}`);
    for (const id of [
      `https://127.0.0.1:${port}/client.json`,
      `https://localhost/client.json`,
      `https://[::1]:${port}/client.json`,
      `http://${documents.host}/client.json`,
      `https://${documents.host}/`,
      `https://u:p@${documents.host}/client.json`,
      `https://${documents.host}/client.json#x`,
      `https://${documents.host}/a/../client.json`,
      'https://169.254.169.254/latest/meta-data',
    ]) {
      const { status, body } = await view(id);
      expect([id, status, body.detail]).toEqual([id, 400, expect.stringMatching(/client_hosts|https:\/\/ and have/)]);
    }
    expect(documents.requests).toBe(0);
  });
});
