import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { Check } from '../../src/cli/doctor.ts';
import { examineToolServer } from '../../src/cli/doctor-tool-server.ts';
import type { HttpToolService } from '../../src/mcp/http/http-service.ts';
import { AppError } from '../../src/platform/errors.ts';
import { openToolServer } from '../mcp/support.ts';
import { openTestApi, type TestApi } from '../support/api.ts';
import { freePort } from '../support/free-port.ts';
import { runCommand } from './service.ts';

let test: TestApi;
let url: string;
let server: HttpToolService;

beforeAll(async () => {
  const port = await freePort();
  url = `http://127.0.0.1:${port}/mcp`;
  test = await openTestApi({ worker: false, settings: { tool_server: { urls: [url] } } });
  server = await openToolServer({
    SERVICE_API_BASE_URL: test.api.url,
    SERVICE_MCP_AUTH_MODE: 'oauth',
    PORT: String(port),
  });
});
afterAll(async () => {
  await server.stop();
  await test.close();
});

const newLink = async () => {
  const { token, expiresAt } = await test.appliance.access.sessions.createLink(test.operator);
  return { token: token.reveal(), expires_at: expiresAt.toISOString() };
};

async function examine(address: string, link = newLink): Promise<Check[]> {
  const checks: Check[] = [];
  for await (const check of examineToolServer(address, link)) checks.push(check);
  return checks;
}

type Change = (req: IncomingMessage, res: ServerResponse) => 'answered' | 'passed on';
const keep: Change = () => 'passed on';
const withoutToken: Change = (req) => {
  delete req.headers.authorization;
  return 'passed on';
};
const answer = (status: number): Change => {
  return (_, res) => {
    res.writeHead(status).end('hello');
    return 'answered';
  };
};

/** Start a proxy in front of the tool server `to` that changes something. */
async function startProxy(port: number, to: string, change: Change, drop: string | null = null): Promise<void> {
  const proxy = createServer((req, res) => {
    if (change(req, res) === 'answered') return;
    const { host: _, ...headers } = req.headers;
    const upstream = request(new URL(req.url ?? '/', to), { method: req.method ?? 'GET', headers }, (reply) => {
      if (drop !== null) delete reply.headers[drop];
      res.writeHead(reply.statusCode ?? 500, reply.headers);
      reply.pipe(res);
    });
    req.pipe(upstream);
  });
  await new Promise<void>((resolve) => proxy.listen(port, '127.0.0.1', resolve));
  onTestFinished(() => {
    proxy.closeAllConnections();
    proxy.close();
  });
}

const unused = async (): Promise<string> => `http://127.0.0.1:${await freePort()}/mcp`;
const plain = async (): Promise<string> => 'http://mcp.example.com/mcp';

/** Put a proxy before the tool server, which does not know of it, and return the address of the proxy. */
async function behind(change: Change): Promise<string> {
  const port = await freePort();
  await startProxy(port, url, change);
  return `http://127.0.0.1:${port}/mcp`;
}

/** Put a proxy before a tool server that has the address of the proxy. */
async function known(change: Change, drop: string | null = null): Promise<string> {
  const port = await freePort();
  const address = `http://127.0.0.1:${port}/mcp`;
  const env = { SERVICE_API_BASE_URL: test.api.url, SERVICE_MCP_AUTH_MODE: 'oauth', SERVICE_MCP_URL: address };
  const hidden = await openToolServer(env);
  onTestFinished(() => hidden.stop());
  await startProxy(port, hidden.url, change, drop);
  return address;
}

describe('doctor --mcp', () => {
  it('walks the whole sign-in, and leaves no access behind', async () => {
    const checks = await examine(url);
    expect(checks.filter(({ status }) => status !== 'ok')).toEqual([]);
    expect(checks.map(({ name }) => name)).toEqual([
      'address',
      'call without a token',
      'call with a wrong token',
      'metadata of the tool server',
      'metadata of the service',
      'page of consent',
      'token endpoint',
      'sign-in and call',
    ]);
    expect(await test.appliance.sql`SELECT id FROM oauth_grants`).toEqual([]);
  });

  it('as a command prints a line for each step, and exits with 5 at the first fault', async () => {
    const env = { SERVICE_DATA_DIR: test.dataDir, DATABASE_URL: test.databaseUrl };
    const good = await runCommand(['doctor', '--mcp', url], env);
    expect([good.code, good.stdout]).toEqual([0, expect.stringContaining('✔ sign-in and call')]);
    const bad = await runCommand(['doctor', '--mcp', test.api.url, '--json'], env);
    expect([bad.code, bad.json().healthy]).toEqual([5, false]);
    expect((await runCommand(['doctor', '--mcp', 'nowhere'], env)).code).toBe(2);
  });

  it.each([
    ['a proxy that drops Authorization', () => known(withoutToken), 'Authorization'],
    ['a proxy that drops WWW-Authenticate', () => known(keep, 'www-authenticate'), 'WWW-Authenticate'],
    ['another address than the configured one', () => behind(keep), 'SERVICE_MCP_URL'],
    ['another program', () => behind(answer(200)), 'SERVICE_MCP_AUTH_MODE=oauth'],
    ['a page that is not found', () => behind(answer(404)), 'status 404'],
    ['nobody', unused, 'ECONNREFUSED'],
    ['plain http on another host', plain, 'https'],
  ] as const)('says what is wrong with %s', async (_, address, message) => {
    const fault = (await examine(await address())).at(-1);
    expect(fault).toMatchObject({ status: 'down', detail: expect.stringContaining(message) });
  });

  it('says what is missing for a server with another mode, and without a sign-in at the API', async () => {
    const fixed = await openToolServer({ SERVICE_API_BASE_URL: test.api.url, SERVICE_API_KEY: await test.key() });
    onTestFinished(() => fixed.stop());
    expect((await examine(fixed.url)).at(-1)?.detail).toContain('SERVICE_MCP_AUTH_MODE=oauth');
    const closed = await openTestApi({ worker: false });
    onTestFinished(() => closed.close());
    const open = await openToolServer({ SERVICE_API_BASE_URL: closed.api.url, SERVICE_MCP_AUTH_MODE: 'oauth' });
    onTestFinished(() => open.stop());
    expect((await examine(open.url)).at(-1)?.detail).toContain('tool_server.urls');
  });

  it('says that a person is missing where this host is not that of the service', async () => {
    const noLink = async () => {
      throw new AppError({ code: 'no_server', status: 503, message: 'no server runs here' });
    };
    expect((await examine(url, noLink)).at(-1)?.detail).toContain('no server runs here');
    const foreign = async () => ({ token: 'x'.repeat(43), expires_at: '' });
    expect((await examine(url, foreign)).at(-1)?.detail).toContain('a different installation');
  });
});
