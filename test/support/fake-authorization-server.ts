import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** HTTP fake of an authorization server (RFC 6749). It issues access tokens, and returns their owners. */
export interface FakeAuthorizationServer {
  readonly tokenUrl: string;
  /** Address to which a token is appended; it answers `{"user": …, "active": "true"}`, or status 401. */
  readonly tokenInfoUrl: string;
  /** Forms of the requests for tokens, in order. */
  readonly requests: readonly Record<string, string>[];
  /** Status and body of the next responses to token requests; null to return a valid token. */
  refusal: { readonly status: number; readonly body: string } | null;
  /** Token to return instead of a valid one; null for a valid one. */
  wrongToken: string | null;
  close(): Promise<void>;
}

/** Start the server on a free port of the loopback address. @param user user of all valid tokens */
export async function startAuthorizationServer(user: string): Promise<FakeAuthorizationServer> {
  const requests: Record<string, string>[] = [];
  const tokens = new Set<string>();
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const url = new URL(request.url ?? '/', 'http://localhost');
    const reply = (status: number, body: string) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(body);
    if (url.pathname === '/info') {
      const isActive = tokens.has(url.searchParams.get('access_token') ?? '');
      reply(isActive ? 200 : 401, JSON.stringify(isActive ? { user, active: 'true' } : { error: 'invalid_token' }));
      return;
    }
    requests.push(Object.fromEntries(new URLSearchParams(Buffer.concat(chunks).toString())));
    if (fake.refusal !== null) {
      reply(fake.refusal.status, fake.refusal.body);
      return;
    }
    const token = fake.wrongToken ?? `access-${requests.length}`;
    if (fake.wrongToken === null) tokens.add(token);
    reply(200, JSON.stringify({ access_token: token, token_type: 'Bearer', expires_in: 3600 }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const fake: FakeAuthorizationServer = {
    tokenUrl: `${origin}/token`,
    tokenInfoUrl: `${origin}/info?access_token=`,
    requests,
    refusal: null,
    wrongToken: null,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return fake;
}
