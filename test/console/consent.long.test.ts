import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createUser } from '../../src/access/users.ts';
import { type FakeIssuer, startFakeIssuer } from '../access/fake-issuer.ts';
import { authorizationQuery, exchange, newPkce, registerClient, TOOL_SERVER } from '../support/oauth.ts';
import { type ConsoleTest, expectGoodLooks, HAS_CHROMIUM, openConsole } from './support.ts';

// A person gives a client access in a browser: from the address that the client opens to that to which it returns.

let console: ConsoleTest;
let issuer: FakeIssuer;
let client: Server;
let redirect: string;
/** Addresses at which the browser came back to the client. */
const returns: URL[] = [];

beforeAll(async () => {
  if (!HAS_CHROMIUM) return;
  issuer = await startFakeIssuer();
  client = createServer((req, res) => {
    if (req.url?.startsWith('/callback')) returns.push(new URL(req.url, redirect));
    res.setHeader('Content-Type', 'text/html').end('<title>client</title>');
  }).listen(0, '127.0.0.1');
  await once(client, 'listening');
  redirect = `http://127.0.0.1:${(client.address() as AddressInfo).port}/callback`;
  const oidc = { issuer: issuer.url, audience: issuer.audience, client_id: 'console', client_secret: 'its-secret' };
  console = await openConsole({ worker: false, settings: { oidc, tool_server: { urls: [TOOL_SERVER] } } });
});
afterAll(async () => {
  await console?.close();
  await issuer?.close();
  client?.close();
});

/** Begin an authorization, and return the path of the address that a client opens. */
async function begin(more: Record<string, string> = {}) {
  const clientId = await registerClient(console.test, { client_name: 'Reading helper', redirect_uris: [redirect] });
  const pkce = newPkce();
  const query = authorizationQuery(clientId, pkce, { redirect_uri: redirect, ...more });
  return { path: `/oauth/authorize?${query}`, clientId, pkce };
}

it.skipIf(!HAS_CHROMIUM)('a person without a session signs in, chooses, and the client gets its tokens', async () => {
  const { path, clientId, pkce } = await begin({ scope: 'search documents:write' });
  const { page, context } = await console.open(path, { key: null });
  await page
    .getByLabel('API key or user token')
    .fill(await console.test.key({ scopes: ['search', 'documents:write'] }));
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await page.getByRole('heading', { name: 'Give Reading helper access?' }).waitFor();
  expect(await page.getByText('Nobody has checked it').count()).toBe(1);
  expect(await page.getByText('It runs on this device').count()).toBe(1);
  await expectGoodLooks(page, 'consent');
  const upload = page.getByLabel('Add documents');
  expect(await upload.isChecked()).toBe(true);
  await upload.uncheck();
  expect(await page.getByLabel(/Run workflows/).isDisabled()).toBe(true);
  await page.getByLabel('For how long').selectOption('7');
  await page.getByRole('button', { name: 'Give access' }).click();
  await page.waitForURL(/\/callback\?/);
  const code = returns.at(-1)?.searchParams.get('code') as string;
  const tokens = await exchange(console.test, clientId, code, pkce, { redirect_uri: redirect });
  expect(tokens.body.scope).toBe('search');

  await page.goto(`${console.test.api.url}/console/assistants`);
  await page.getByText('Reading helper').waitFor();
  await expectGoodLooks(page, 'assistants');
  await page.getByRole('button', { name: 'End access' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'End access' }).click();
  await page.getByText('No assistant is connected').waitFor();
  await context.close();
});

it.skipIf(!HAS_CHROMIUM)('a person who signs in at the identity provider comes back to the question', async () => {
  const { appliance, operator } = console.test;
  await createUser(appliance.sql, operator, {
    email: 'eve@example.com',
    oidc: { issuer: issuer.url, subject: 'eve' },
  });
  issuer.person = 'eve';
  const { path } = await begin();
  const { page, context } = await console.open(path, { key: null });
  await page.getByRole('link', { name: 'Sign in with the identity provider' }).click();
  await page.getByRole('heading', { name: 'Give Reading helper access?' }).waitFor();
  expect(await page.getByText('eve@example.com').count()).toBe(1);
  await page.getByRole('button', { name: 'Cancel' }).click();
  await page.waitForURL(/\/callback\?/);
  expect(returns.at(-1)?.searchParams.get('error')).toBe('access_denied');
  await context.close();
});

it.skipIf(!HAS_CHROMIUM)('a request in a wrong form is explained, and leads back only to a known client', async () => {
  const wrong = await begin({ code_challenge_method: 'plain' });
  const { page, context } = await console.open(wrong.path);
  await page.getByText('must be S256').waitFor();
  await page.getByRole('button', { name: 'Back to Reading helper' }).click();
  await page.waitForURL(/\/callback\?/);
  expect(returns.at(-1)?.searchParams.get('error')).toBe('invalid_request');
  const foreign = await begin({ redirect_uri: 'https://evil.example/callback' });
  await page.goto(console.test.api.url + foreign.path);
  await page.getByText('not an address that the client registered').waitFor();
  expect(await page.getByRole('button', { name: /Back to/ }).count()).toBe(0);
  await context.close();
});
