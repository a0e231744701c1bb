import { createHash, randomBytes } from 'node:crypto';
import type { Answer, TestApi } from './api.ts';
import { signIn, type TestSession } from './sessions.ts';

/** Address of the tool server in tests that do not run one. */
export const TOOL_SERVER = 'https://mcp.example.com/mcp';
export const REDIRECT = 'https://client.example.com/callback';

export interface Pkce {
  readonly verifier: string;
  readonly challenge: string;
}

export function newPkce(): Pkce {
  const verifier = randomBytes(32).toString('base64url');
  return { verifier, challenge: createHash('sha256').update(verifier).digest('base64url') };
}

/** Register a client, and return its id. */
export async function registerClient(test: TestApi, metadata: Record<string, unknown> = {}): Promise<string> {
  const json = { client_name: 'Assistant', redirect_uris: [REDIRECT], token_endpoint_auth_method: 'none', ...metadata };
  return (await test.call('POST', '/oauth/register', { json })).body.client_id;
}

/** Build the query of an authorization request. Omit null parameters. */
export function authorizationQuery(clientId: string, pkce: Pkce, more: Record<string, string | null> = {}): string {
  const parameters = {
    client_id: clientId,
    response_type: 'code',
    redirect_uri: REDIRECT,
    state: 'state-1',
    code_challenge: pkce.challenge,
    code_challenge_method: 'S256',
    resource: TOOL_SERVER,
    ...more,
  };
  return new URLSearchParams(
    Object.entries(parameters).filter((entry): entry is [string, string] => entry[1] !== null),
  ).toString();
}

export function consent(
  test: TestApi,
  session: Pick<TestSession, 'headers'>,
  query: string,
  decision: Record<string, unknown> = { approve: true, scopes: ['search'] },
): Promise<Answer> {
  return test.call('POST', '/v1/oauth/consent', { headers: session.headers, json: { query, ...decision } });
}

/** Send a form without the fields that are null. */
export function postForm(
  test: TestApi,
  path: string,
  form: Record<string, string | null>,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const fields = Object.entries(form).filter((entry): entry is [string, string] => entry[1] !== null);
  return test.call('POST', path, {
    body: new URLSearchParams(fields).toString(),
    headers: { 'Content-Type': 'application/x-www-form-urlencoded', ...headers },
  });
}

export interface Connected {
  readonly clientId: string;
  readonly access: string;
  readonly refresh: string;
  readonly session: TestSession;
}

/** Grant a new client access on behalf of a credential's owner, and return its tokens. */
export async function connect(
  test: TestApi,
  credential: string,
  decision: Record<string, unknown> = { approve: true, scopes: ['search'] },
): Promise<Connected> {
  const session = await signIn(test, { credential });
  const clientId = await registerClient(test);
  const pkce = newPkce();
  const { body } = await consent(test, session, authorizationQuery(clientId, pkce), decision);
  const code = new URL(body.return_to).searchParams.get('code') as string;
  const tokens = await exchange(test, clientId, code, pkce);
  return { clientId, access: tokens.body.access_token, refresh: tokens.body.refresh_token, session };
}

export function exchange(
  test: TestApi,
  clientId: string,
  code: string,
  pkce: Pkce,
  more: Record<string, string | null> = {},
): Promise<Answer> {
  const form = { grant_type: 'authorization_code', client_id: clientId, code, code_verifier: pkce.verifier };
  return postForm(test, '/oauth/token', { ...form, redirect_uri: REDIRECT, resource: TOOL_SERVER, ...more });
}

export function refresh(
  test: TestApi,
  { clientId, refresh: token }: Pick<Connected, 'clientId' | 'refresh'>,
  more: Record<string, string | null> = {},
): Promise<Answer> {
  return postForm(test, '/oauth/token', {
    grant_type: 'refresh_token',
    client_id: clientId,
    refresh_token: token,
    ...more,
  });
}
