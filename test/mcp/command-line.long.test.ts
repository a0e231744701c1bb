import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createInterface } from 'node:readline';
import { describe, expect, it, onTestFinished } from 'vitest';
import { loadHttpSettings, loadStdioSettings } from '../../src/platform/tool-server-settings.ts';
import { until } from '../support/until.ts';
import { runServiceMcp } from './command.ts';
import { startFakeApi } from './fake-api.ts';
import { INITIALIZE, post, SERVICE_MCP, TOKEN } from './support.ts';

const HTTP = { SERVICE_API_KEY: 'svc_canary', SERVICE_MCP_BEARER_TOKEN: TOKEN };

/** `service-mcp --http` as a process, and the address that it printed. */
async function startHttp(env: Record<string, string>, args: string[] = []) {
  const child = spawn(process.execPath, [SERVICE_MCP, '--http', ...args], {
    env: { PATH: process.env['PATH'], ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const ended = once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>;
  onTestFinished(() => void child.kill('SIGKILL'));
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
  return { child, url: line.replace('listening on ', ''), ended, stderr: () => stderr };
}

describe('the command line', () => {
  it('token prints a new token alone', async () => {
    const [one, two] = await Promise.all([runServiceMcp(['token'], {}), runServiceMcp(['token'], {})]);
    expect([one.status, one.stderr]).toEqual([0, '']);
    expect(one.stdout).toMatch(/^[A-Za-z0-9_-]{43}\n$/);
    expect(one.stdout).not.toBe(two.stdout);
  });

  it('--help shows every use and variable, and --version the version', async () => {
    const { status, stdout } = await runServiceMcp(['--help'], {});
    expect(status).toBe(0);
    for (const word of ['--http', 'token', 'init', '--dry-run', 'SERVICE_MCP_BEARER_TOKEN', 'EXAMPLES']) {
      expect(stdout).toContain(word);
    }
    expect((await runServiceMcp(['--version'], {})).stdout).toMatch(/^service-mcp\/\d+\.\d+\.\d+\n$/);
  });

  it('a wrong flag or command is refused with the nearest one, on stderr alone', async () => {
    for (const [args, wanted] of [
      [['--htpp'], /no flag --htpp; did you mean --http\?/],
      [['tokne'], /did you mean token\?/],
      [['token', 'x'], /one argument too many/],
      [['--http', '--port'], /--port needs a value/],
      [['--http', '--port', 'abc'], /PORT/],
      [['--port', '1'], /--port belongs to --http/],
      [['--http', '--client', 'claude'], /belongs to "service-mcp init"/],
    ] as const) {
      const { status, stdout, stderr } = await runServiceMcp([...args], HTTP);
      expect([args, status, stdout]).toEqual([args, 2, '']);
      expect(stderr).toMatch(wanted);
    }
  });

  it('--http without a token names the variable and ends', async () => {
    const { status, stdout, stderr } = await runServiceMcp(['--http'], { SERVICE_API_KEY: 'svc_canary' });
    expect([status, stdout]).toEqual([2, '']);
    expect(stderr).toContain('SERVICE_MCP_BEARER_TOKEN');
    expect(stderr).not.toContain('canary');
  });

  it('a port that is in use is said in words', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    const { status, stderr } = await runServiceMcp(['--http', '--port', String(port)], HTTP);
    expect([status, stderr]).toEqual([4, expect.stringContaining('already in use; choose another with --port')]);
  });

  it('stdio without a key names the variable and ends', async () => {
    const { status, stdout, stderr } = await runServiceMcp([], {});
    expect([status, stdout]).toEqual([2, '']);
    expect(stderr).toContain('SERVICE_API_KEY: is not set');
  });
});

describe('processes', () => {
  it('stdio answers nothing but messages on stdout, and ends when stdin does', async () => {
    const api = await startFakeApi();
    const lines = [INITIALIZE, { jsonrpc: '2.0', method: 'notifications/initialized' }].map((line) =>
      JSON.stringify(line),
    );
    const child = spawn(process.execPath, [SERVICE_MCP], {
      env: { PATH: process.env['PATH'], SERVICE_API_KEY: 'svc_canary', SERVICE_API_BASE_URL: api.url },
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    let stderr = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      stderr += text;
    });
    const output = createInterface({ input: child.stdout });
    child.stdin.write(`this is no message\n${lines.join('\n')}\n`);
    const [answer] = (await once(output, 'line')) as [string];
    expect(JSON.parse(answer)).toMatchObject({ id: 1, result: { serverInfo: { name: 'service-mcp' } } });
    await until(async () => stderr.includes('the API knows the key'));
    child.stdin.end();
    expect(await once(child, 'exit')).toEqual([0, null]);
    expect(stderr).not.toContain('canary');
  });

  it('stdio ends on SIGTERM', async () => {
    const child = spawn(process.execPath, [SERVICE_MCP], {
      env: { PATH: process.env['PATH'], SERVICE_API_KEY: 'svc_x', SERVICE_API_BASE_URL: 'http://127.0.0.1:9' },
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    await once(child.stderr, 'data');
    child.kill('SIGTERM');
    expect(await once(child, 'exit')).toEqual([0, null]);
  });

  it('http listens where PORT says, drains on SIGTERM, and logs no credential', async () => {
    const api = await startFakeApi();
    const server = await startHttp({ ...HTTP, PORT: '0', SERVICE_MCP_PORT: '1', SERVICE_API_BASE_URL: api.url });
    expect(server.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/mcp$/);
    const started = await post(server.url, INITIALIZE);
    await started.text();
    const release = api.holdSearches();
    const call = post(
      server.url,
      { jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'search', arguments: { query: 'canary-query' } } },
      { headers: { 'Mcp-Session-Id': started.headers.get('mcp-session-id') ?? '' } },
    ).then((reply) => reply.text());
    await until(async () => api.calls.some(({ path }) => path.endsWith('/search')));
    await post(server.url, INITIALIZE, { bearer: 'canary-bearer' });
    server.child.kill('SIGTERM');
    await until(async () => server.stderr().includes('finishing the work in progress'));
    release();
    expect(await call).toContain('ferry');
    expect(await server.ended).toEqual([0, null]);
    for (const secret of ['canary', TOKEN]) expect(server.stderr()).not.toContain(secret);
  });
});

describe('settings', () => {
  const load = (env: Record<string, string>, flags = {}) => loadHttpSettings({ env: { ...HTTP, ...env }, flags });

  it('take the port from the flag, PORT, SERVICE_MCP_PORT, else 8787, and loopback', () => {
    expect(load({})).toMatchObject({ port: 8787, host: '127.0.0.1' });
    expect(load({ SERVICE_MCP_PORT: '9000' }).port).toBe(9000);
    expect(load({ SERVICE_MCP_PORT: '9000', PORT: '9001' }).port).toBe(9001);
    expect(load({ PORT: '9001' }, { port: '9002', host: '::1' })).toMatchObject({ port: 9002, host: '::1' });
  });

  it('open a server without authentication on loopback only', () => {
    const open = { SERVICE_API_KEY: 'svc_x', SERVICE_MCP_ALLOW_UNAUTHENTICATED: '1' };
    expect(loadHttpSettings({ env: open }).auth.mode).toBe('unauthenticated');
    expect(() => loadHttpSettings({ env: { ...open, SERVICE_MCP_HOST: '0.0.0.0' } })).toThrow(/loopback address only/);
    expect(() => loadHttpSettings({ env: { ...open, SERVICE_MCP_ALLOW_UNAUTHENTICATED: 'yes' } })).toThrow(
      /SERVICE_MCP_BEARER_TOKEN/,
    );
    expect(load({ SERVICE_MCP_HOST: '0.0.0.0' }).auth.mode).toBe('static');
  });

  it('need no key of their own in upstream-bearer mode', () => {
    const auth = loadHttpSettings({ env: { SERVICE_MCP_AUTH_MODE: 'upstream-bearer' } }).auth;
    expect(auth).toEqual({ mode: 'upstream-bearer' });
  });

  it('are refused with the name of the variable and without its value', () => {
    for (const [env, wanted] of [
      [{ SERVICE_MCP_AUTH_MODE: 'canary' }, /SERVICE_MCP_AUTH_MODE/],
      [{ PORT: '70000' }, /PORT/],
      [{ SERVICE_API_BASE_URL: 'ftp://canary' }, /SERVICE_API_BASE_URL/],
      [{ SERVICE_API_BASE_URL: 'http://u:canary@x' }, /SERVICE_API_BASE_URL/],
      [{ SERVICE_API_KEY: 'canary with spaces' }, /SERVICE_API_KEY/],
    ] as const) {
      expect(() => load(env)).toThrow(wanted);
      expect(() => load(env)).not.toThrow(/canary/);
    }
    expect(() => loadStdioSettings({ env: {} })).toThrow(/SERVICE_API_KEY/);
  });
});
