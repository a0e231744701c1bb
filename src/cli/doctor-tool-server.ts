import { createHash, randomBytes } from 'node:crypto';
import { z } from 'zod';
import { AppError } from '../platform/errors.ts';
import type { ConsoleLink } from './console-link.ts';
import type { Check } from './doctor.ts';

/** Redirect address of this check's sign-in. Nothing listens there. */
const REDIRECT = 'http://127.0.0.1:9/callback';
const TIMEOUT_MS = 10_000;
const BODY_CHARS_MAX = 1_000_000;

const ResourceMetadata = z.looseObject({ resource: z.string(), authorization_servers: z.array(z.url()).min(1) });
const ServerMetadata = z.looseObject({
  issuer: z.string(),
  authorization_endpoint: z.url(),
  token_endpoint: z.url(),
  registration_endpoint: z.url(),
  revocation_endpoint: z.url(),
  code_challenge_methods_supported: z.array(z.string()),
});
const Registered = z.looseObject({ client_id: z.string() });
const Session = z.looseObject({ csrf_token: z.string() });
const Returned = z.looseObject({ return_to: z.url() });
const Tokens = z.looseObject({ access_token: z.string() });

/** Error response of the service, or of the tool server. */
const OwnError = z.union([
  z.looseObject({ error_description: z.string() }).transform((body) => body.error_description),
  z.looseObject({ error: z.looseObject({ message: z.string() }) }).transform(({ error }) => error.message),
]);

type ServerMetadata = z.output<typeof ServerMetadata>;

/** Fault of a step, reported to the operator. */
class Fault extends Error {}

interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/**
 * Go through a client's sign-in at the tool server, from a call without a token to a call with one. Each step needs the
 * previous one, so the first fault ends the check.
 *
 * @param url address of the tool server as clients see it
 * @param newLink creates the link by which the operator consents; throws if this host can't create one
 */
export async function* examineToolServer(url: string, newLink: () => Promise<ConsoleLink>): AsyncGenerator<Check> {
  let metadataUrl = '';
  let issuer = '';
  let server: ServerMetadata | null = null;
  const steps: readonly (readonly [name: string, run: () => Promise<string>])[] = [
    ['address', async () => checkAddress(url)],
    [
      'call without a token',
      async () => {
        metadataUrl = await callWithoutToken(url);
        return `refused, and names ${metadataUrl}`;
      },
    ],
    ['call with a wrong token', () => callWithWrongToken(url)],
    [
      'metadata of the tool server',
      async () => {
        issuer = await findIssuer(url, metadataUrl);
        return `people sign in at ${issuer}`;
      },
    ],
    [
      'metadata of the service',
      async () => {
        server = await readServerMetadata(issuer, url);
        return `authorization at ${server.authorization_endpoint}`;
      },
    ],
    ['page of consent', () => checkPage(server as ServerMetadata)],
    ['token endpoint', () => checkTokenEndpoint(server as ServerMetadata)],
    ['sign-in and call', () => signInAndCall(url, server as ServerMetadata, newLink)],
  ];
  for (const [name, run] of steps) {
    try {
      yield { name, status: 'ok', detail: await run() };
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      yield { name, status: 'down', detail: error.message };
      return;
    }
  }
}

function checkAddress(url: string): string {
  const { protocol, hostname } = new URL(url);
  if (protocol === 'https:' || /^(?:localhost|127\.|\[::1\])/.test(hostname)) return url;
  throw new Fault(
    'clients refuse http on any host but localhost: put a proxy with TLS in front, and give its https URL',
  );
}

async function callWithoutToken(url: string): Promise<string> {
  const { status, headers } = await callTool(url, null);
  if (status === 200) throw new Fault('it answers without a token: set SERVICE_MCP_AUTH_MODE=oauth');
  if (status !== 401) throw new Fault(`it answers with status ${status}, where clients expect 401`);
  const challenge = headers.get('www-authenticate') ?? '';
  if (challenge === '') throw new Fault('the proxy removes the header WWW-Authenticate; pass it on');
  const [, metadata] = /resource_metadata="([^"]+)"/.exec(challenge) ?? [];
  if (metadata === undefined) throw new Fault('it has no sign-in: set SERVICE_MCP_AUTH_MODE=oauth');
  if (new URL(metadata).origin !== new URL(url).origin) {
    throw new Fault(`it names ${metadata}, which is another address: set SERVICE_MCP_URL=${url} for service-mcp`);
  }
  return metadata;
}

async function callWithWrongToken(url: string): Promise<string> {
  const { status, headers } = await callTool(url, 'svat_wrong');
  if (status === 401 && /error="invalid_token"/.test(headers.get('www-authenticate') ?? '')) return 'refused';
  throw new Fault('the header Authorization does not arrive; have the proxy pass it on');
}

async function findIssuer(url: string, metadataUrl: string): Promise<string> {
  const { resource, authorization_servers: servers } = await readJson(metadataUrl, ResourceMetadata);
  if (resource !== url) throw new Fault(`it is for ${resource}: set SERVICE_MCP_URL=${url} for service-mcp`);
  return servers[0] as string;
}

async function readServerMetadata(issuer: string, url: string): Promise<ServerMetadata> {
  if (url.startsWith('https:') && !issuer.startsWith('https:')) {
    throw new Fault(`${issuer} is not https: set base_url (SERVICE_BASE_URL) of the service to its public address`);
  }
  const server = await readJson(`${issuer.replace(/\/$/, '')}/.well-known/oauth-authorization-server`, ServerMetadata);
  if (server.issuer !== issuer) {
    throw new Fault(`it calls itself ${server.issuer}: set base_url (SERVICE_BASE_URL) to its public address`);
  }
  if (!server.code_challenge_methods_supported.includes('S256')) throw new Fault('it does not offer PKCE with S256');
  return server;
}

async function checkPage({ authorization_endpoint: endpoint }: ServerMetadata): Promise<string> {
  const { status, headers } = await request(`${endpoint}?client_id=doctor`);
  const location = headers.get('location');
  if (status !== 303 || location === null) throw new Fault(`${endpoint} answers with status ${status} in place of 303`);
  const page = new URL(location, endpoint);
  const shown = await request(page.href);
  if (shown.status === 200 && shown.headers.get('content-type')?.startsWith('text/html')) return page.pathname;
  throw new Fault(
    `${page.origin}${page.pathname} is not the console; have the proxy pass on every path of the service`,
  );
}

async function checkTokenEndpoint({ token_endpoint: endpoint }: ServerMetadata): Promise<string> {
  const { status, text } = await postForm(endpoint, {
    grant_type: 'authorization_code',
    client_id: 'doctor',
    code: 'x',
  });
  if ((status === 400 || status === 401) && text.includes('"error"')) return endpoint;
  throw new Fault(`${endpoint} answers with status ${status}; have the proxy pass on POST with forms`);
}

/** Act as a client and its user, with the rights of this host's operator, and revoke the access afterwards. */
async function signInAndCall(
  url: string,
  server: ServerMetadata,
  newLink: () => Promise<ConsoleLink>,
): Promise<string> {
  const { issuer } = server;
  const { client_id: clientId } = await send(server.registration_endpoint, Registered, {
    client_name: 'service doctor',
    redirect_uris: [REDIRECT],
    token_endpoint_auth_method: 'none',
  });
  const verifier = randomBytes(32).toString('base64url');
  const query = new URLSearchParams({
    client_id: clientId,
    response_type: 'code',
    redirect_uri: REDIRECT,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
    resource: url,
  }).toString();
  const { token: link } = await newLink().catch((error: unknown) => {
    if (error instanceof AppError) throw new Fault(`the check could not sign in: ${error.message}`);
    throw error;
  });
  const session = await request(`${issuer}/v1/sessions`, jsonRequest({ link }));
  const cookie = session.headers.get('set-cookie')?.split(';')[0];
  if (session.status !== 201 || cookie === undefined) {
    throw new Fault(`${issuer} is a different installation; run the command on the host of that installation`);
  }
  const headers = { Cookie: cookie, 'X-CSRF-Token': parse(session.text, Session, issuer).csrf_token };
  const consent = { query, approve: true, scopes: ['search'], days: 1 };
  const { return_to: returned } = await send(`${issuer}/v1/oauth/consent`, Returned, consent, headers);
  const code = new URL(returned).searchParams.get('code') ?? '';
  const form = { client_id: clientId, redirect_uri: REDIRECT, resource: url };
  const tokens = await postForm(server.token_endpoint, {
    ...form,
    grant_type: 'authorization_code',
    code,
    code_verifier: verifier,
  });
  const { access_token: token } = parse(tokens.text, Tokens, server.token_endpoint);
  try {
    const { status } = await callTool(url, token);
    if (status !== 200) throw new Fault(`the tool server answers a valid token with status ${status}`);
    return 'an access token was made, used for a call, and revoked';
  } finally {
    await postForm(server.revocation_endpoint, { token, client_id: clientId });
    await request(`${issuer}/v1/sessions/current`, { method: 'DELETE', headers });
  }
}

/** Request the list of tools, as in the newest protocol revision. */
function callTool(url: string, bearer: string | null): Promise<Reply> {
  const version = '2026-07-28';
  const meta = {
    'io.modelcontextprotocol/protocolVersion': version,
    'io.modelcontextprotocol/clientInfo': { name: 'service doctor', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const call = jsonRequest({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: { _meta: meta } });
  const headers = {
    ...call.headers,
    Accept: 'application/json, text/event-stream',
    'MCP-Protocol-Version': version,
    'Mcp-Method': 'tools/list',
    ...(bearer === null ? {} : { Authorization: `Bearer ${bearer}` }),
  };
  return request(url, { ...call, headers });
}

function jsonRequest(json: unknown): RequestInit & { readonly headers: Record<string, string> } {
  return { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(json) };
}

function postForm(url: string, form: Record<string, string>): Promise<Reply> {
  return request(url, { method: 'POST', body: new URLSearchParams(form) });
}

async function send<T>(
  url: string,
  schema: z.ZodType<T>,
  json: unknown,
  headers: Record<string, string> = {},
): Promise<T> {
  const call = jsonRequest(json);
  const { text } = await request(url, { ...call, headers: { ...call.headers, ...headers } });
  return parse(text, schema, url);
}

async function readJson<T>(url: string, schema: z.ZodType<T>): Promise<T> {
  const { status, text } = await request(url);
  if (status === 200) return parse(text, schema, url);
  const { pathname } = new URL(url);
  const own = OwnError.safeParse(parseJson(text));
  throw new Fault(
    own.success ? own.data : `${url} answers with status ${status}; have the proxy pass on the path ${pathname}`,
  );
}

function parse<T>(text: string, schema: z.ZodType<T>, url: string): T {
  const parsed = schema.safeParse(parseJson(text));
  if (parsed.success) return parsed.data;
  throw new Fault(`${url} does not answer as this service does; does a proxy or another program answer there?`);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** Send a request, without following redirects. */
async function request(url: string, init: RequestInit = {}): Promise<Reply> {
  try {
    const reply = await fetch(url, { ...init, redirect: 'manual', signal: AbortSignal.timeout(TIMEOUT_MS) });
    const text = (await reply.text()).slice(0, BODY_CHARS_MAX);
    if (reply.status === 403 && text.includes('SERVICE_MCP_ALLOWED_HOSTS')) {
      throw new Fault(`the proxy sends another name in Host; set SERVICE_MCP_URL or SERVICE_MCP_ALLOWED_HOSTS`);
    }
    return { status: reply.status, headers: reply.headers, text };
  } catch (error) {
    if (error instanceof Fault) throw error;
    throw new Fault(`${url} cannot be reached: ${reasonOf(error)}`);
  }
}

function reasonOf(error: unknown): string {
  const { cause, message } = error as { cause?: { code?: string; message?: string }; message: string };
  const code = cause?.code ?? '';
  if (/CERT|SELF_SIGNED|TLS|SSL|UNABLE_TO/.test(code)) return `its certificate is not valid (${code})`;
  return code || cause?.message || message;
}
