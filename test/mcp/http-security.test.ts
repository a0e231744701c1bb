import { request } from 'node:http';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { issueToken } from '../../src/access/tokens.ts';
import { openTestApi, type TestApi } from '../support/api.ts';
import { keepLogs } from '../support/logs.ts';
import { until } from '../support/until.ts';
import { connectHttp, INITIALIZE, post, startToolServer, TOKEN, textOf } from './support.ts';

let test: TestApi;
let key: string;
let env: Record<string, string>;

beforeAll(async () => {
  test = await openTestApi({ worker: false });
  key = await test.key({ scopes: ['search', 'documents:write'] });
  env = { SERVICE_API_BASE_URL: test.api.url, SERVICE_API_KEY: key };
});
afterAll(() => test.close());

const LIST = { jsonrpc: '2.0', id: 1, method: 'tools/list' };

/** Send a request whose `Host` differs from its address. */
function withHost(url: string, host: string, headers: Record<string, string> = {}): Promise<number> {
  return new Promise((resolve, reject) => {
    const options = { method: 'POST', headers: { Host: host, Authorization: `Bearer ${TOKEN}`, ...headers } };
    request(url, options, (reply) => {
      reply.resume();
      resolve(reply.statusCode ?? 0);
    })
      .on('error', reject)
      .end();
  });
}

describe('bearers', () => {
  it('a missing or wrong one is refused with WWW-Authenticate in static mode', async () => {
    const { url } = await startToolServer(env);
    for (const [bearer, challenge] of [
      [null, /^Bearer realm="service-mcp"$/],
      ['wrong', /error="invalid_token"/],
      [`${TOKEN}x`, /error="invalid_token"/],
      [key, /error="invalid_token"/],
      ['x'.repeat(9000), /error="invalid_token"/],
    ] as const) {
      const reply = await post(url, INITIALIZE, { bearer });
      expect([bearer?.slice(0, 20), reply.status]).toEqual([bearer?.slice(0, 20), 401]);
      expect(reply.headers.get('www-authenticate')).toMatch(challenge);
    }
    const basic = await post(url, INITIALIZE, { bearer: null, headers: { Authorization: `Basic ${TOKEN}` } });
    expect(basic.status).toBe(401);
    expect((await fetch(url, { headers: { Accept: 'text/event-stream' } })).status).toBe(401);
    expect((await fetch(url, { method: 'DELETE' })).status).toBe(401);
    expect((await post(url, INITIALIZE)).status).toBe(200);
  });

  it('in upstream-bearer mode the API decides: wrong, revoked and expired ones are refused', async () => {
    const { url } = await startToolServer({
      SERVICE_API_BASE_URL: test.api.url,
      SERVICE_MCP_AUTH_MODE: 'upstream-bearer',
    });
    const { sql, keyRing } = test.appliance;
    const expired = await test.key();
    await sql`UPDATE api_keys SET expires_at = now() WHERE id = ${expired.split('_')[1] as string}`;
    const token = (ttlMs: number) =>
      issueToken(sql, keyRing, test.operator, { email: 'ann@example.com', role: 'member', ttlMs });
    for (const bearer of [null, TOKEN, 'svc_wrong', expired, `${key}x`]) {
      const reply = await post(url, INITIALIZE, { bearer });
      expect([bearer, reply.status]).toEqual([bearer, 401]);
      expect(reply.headers.get('www-authenticate')).toMatch(/^Bearer /);
    }
    const user = (await token(60_000)).token.reveal();
    expect((await post(url, INITIALIZE, { bearer: user })).status).toBe(200);
    const short = (await token(1000)).token.reveal();
    await until(async () => (await post(url, INITIALIZE, { bearer: short })).status === 401);
  });

  it('each client acts with its own rights in upstream-bearer mode, and a revoked one is out', async () => {
    const { url } = await startToolServer({
      SERVICE_API_BASE_URL: test.api.url,
      SERVICE_MCP_AUTH_MODE: 'upstream-bearer',
    });
    const foreign = await test.key({ org: 'other', scopes: ['search'] });
    await test.call('POST', '/v1/buckets', {
      key: await test.key({ scopes: ['buckets:manage'] }),
      json: { name: 'only-mine' },
    });
    const namesFor = async (bearer: string) => {
      const client = await connectHttp(url, '2026-07-28', bearer);
      return textOf(await client.callTool({ name: 'service_list_buckets' }));
    };
    expect(await namesFor(key)).toContain('only-mine');
    expect(await namesFor(foreign)).not.toContain('only-mine');
    const revoked = await test.key();
    expect((await post(url, INITIALIZE, { bearer: revoked })).status).toBe(200);
    await test.appliance.sql`UPDATE api_keys SET revoked_at = now() WHERE id = ${revoked.split('_')[1] as string}`;
    await until(async () => (await post(url, INITIALIZE, { bearer: revoked })).status === 401);
  });

  it('a client that the API cannot be asked about is told so with 503', async () => {
    const { url } = await startToolServer({
      SERVICE_API_BASE_URL: 'http://127.0.0.1:9',
      SERVICE_MCP_AUTH_MODE: 'upstream-bearer',
    });
    const reply = await post(url, INITIALIZE, { bearer: key });
    expect(reply.status).toBe(503);
    expect(await reply.text()).toContain('cannot be reached');
  });

  it('no credential is in the log, whatever fails', async () => {
    const { logger, lines } = keepLogs();
    const { url } = await startToolServer(env, { logger });
    const client = await connectHttp(url, '2026-07-28');
    await client.callTool({ name: 'service_search', arguments: { query: 'canary-query-text' } });
    await client.callTool({ name: 'service_search', arguments: { query: 'x', bucket: 'canary-bucket' } });
    await post(url, INITIALIZE, { bearer: 'canary-bearer' });
    await post(url, '{broken canary-body');
    const down = await startToolServer({ ...env, SERVICE_API_BASE_URL: 'http://127.0.0.1:9' }, { logger });
    const other = await connectHttp(down.url, '2025-11-25');
    await other.callTool({ name: 'service_search', arguments: { query: 'x' } });
    const log = JSON.stringify(lines);
    expect(log).toContain('tool called');
    for (const secret of [TOKEN, key, 'canary-']) expect(log).not.toContain(secret);
  });
});

describe('addresses', () => {
  it('a foreign Host is refused in every form of DNS rebinding', async () => {
    const { url } = await startToolServer(env);
    const { port } = new URL(url);
    for (const host of [
      'evil.example',
      `evil.example:${port}`,
      `127.0.0.1.evil.example:${port}`,
      `localhost.evil.example:${port}`,
      `localhost@evil.example:${port}`,
      `evil.example@localhost:${port}`,
      '127.0.0.2',
      '0.0.0.0',
      '169.254.169.254',
      `[::ffff:10.0.0.1]:${port}`,
      'localhost.',
    ]) {
      expect([host, await withHost(url, host)]).toEqual([host, 403]);
    }
    for (const host of [`127.0.0.1:${port}`, `localhost:${port}`, 'LOCALHOST', `[::1]:${port}`]) {
      expect([host, await withHost(url, host)]).toEqual([host, 415]);
    }
  });

  it('a foreign Origin is refused, and an allowed one may read the answer', async () => {
    const { url } = await startToolServer({
      ...env,
      SERVICE_MCP_ALLOWED_ORIGINS: 'https://app.example.com,chat.example.com',
    });
    for (const origin of [
      'https://evil.example',
      'null',
      'https://app.example.com.evil.example',
      'http://app.example.com',
      'https://localhost.evil.example',
      'file://',
      'not an origin',
    ]) {
      const reply = await post(url, LIST, { headers: { Origin: origin } });
      expect([origin, reply.status]).toEqual([origin, 403]);
      expect(reply.headers.get('access-control-allow-origin')).toBeNull();
    }
    for (const origin of ['https://app.example.com', 'http://chat.example.com:3000', 'http://localhost:6274']) {
      const reply = await post(url, INITIALIZE, { headers: { Origin: origin } });
      expect([origin, reply.status]).toEqual([origin, 200]);
      expect(reply.headers.get('access-control-allow-origin')).toBe(origin);
    }
    const asked = await fetch(url, {
      method: 'OPTIONS',
      headers: {
        Origin: 'https://app.example.com',
        'Access-Control-Request-Method': 'POST',
        'Access-Control-Request-Headers': 'authorization,content-type',
      },
    });
    expect([asked.status, asked.headers.get('access-control-allow-headers')]).toEqual([
      204,
      'authorization,content-type',
    ]);
  });

  it('names of SERVICE_MCP_ALLOWED_HOSTS are let in', async () => {
    const { url } = await startToolServer({ ...env, SERVICE_MCP_ALLOWED_HOSTS: 'tools.example.com' });
    expect(await withHost(url, 'tools.example.com')).toBe(415);
    expect(await withHost(url, 'other.example.com')).toBe(403);
  });
});

describe('messages', () => {
  it('an oversize, broken, too deep or wrongly typed body is refused', async () => {
    const service = await startToolServer({ ...env, SERVICE_MCP_BODY_BYTES: '20000' });
    const { url } = service;
    const large = { ...INITIALIZE, params: { ...INITIALIZE.params, padding: 'x'.repeat(200_000) } };
    const deep = `{"a":${'['.repeat(5000)}${']'.repeat(5000)}}`;
    for (const [body, headers, status, text] of [
      [large, {}, 413, 'SERVICE_MCP_BODY_BYTES'],
      ['{broken', {}, 400, 'not valid JSON'],
      [deep, {}, 400, 'nested deeper'],
      ['', {}, 400, 'not valid JSON'],
      [INITIALIZE, { 'Content-Type': 'text/plain' }, 415, 'application/json'],
      [{ jsonrpc: '2.0', id: 1, method: 'tools/list' }, {}, 400, 'Mcp-Session-Id'],
    ] as const) {
      const reply = await post(url, body, { headers });
      expect([status, reply.status]).toEqual([status, status]);
      expect(await reply.text()).toContain(text);
    }
    expect(service.held).toMatchObject({ sessions: 0, messageBytes: 0 });
  });

  it('a body without a length is cut off at the bound', async () => {
    const service = await startToolServer({ ...env, SERVICE_MCP_BODY_BYTES: '20000' });
    const { port } = new URL(service.url);
    const socket = connect(Number(port), '127.0.0.1');
    let received = '';
    socket.setEncoding('utf8').on('data', (text: string) => {
      received += text;
    });
    socket.on('error', () => undefined);
    socket.write(
      `POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${TOKEN}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`,
    );
    for (let n = 0; n < 10; n++) socket.write(`${(5000).toString(16)}\r\n${'['.repeat(5000)}\r\n`);
    await until(async () => received.includes('HTTP/1.1 413'));
    socket.destroy();
    await until(async () => service.held.messageBytes === 0);
  });

  it('unknown paths and methods are refused, and healthz answers without a bearer', async () => {
    const { url } = await startToolServer(env);
    expect((await post(url.replace('/mcp', '/other'), INITIALIZE)).status).toBe(404);
    expect((await fetch(url, { method: 'PUT', headers: { Authorization: `Bearer ${TOKEN}` } })).status).toBe(405);
    const health = await fetch(url.replace('/mcp', '/healthz'));
    expect([health.status, await health.json()]).toEqual([200, { status: 'ok', sessions: 0 }]);
  });
});
