import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { createHttpServer } from '../../server/http-server.ts';
import { defineRoute, type Route } from '../../server/route.ts';
import { openLogger } from '../../src/platform/logger.ts';
import { parseResponse, postJson, RawClient, startTestServer } from './support.ts';

const echo = defineRoute({
  method: 'POST',
  path: '/v1/embeddings',
  operationId: 'echo',
  summary: 'Any object',
  access: 'embed',
  errors: 'embedding',
  reads: 'json',
  body: z.looseObject({}),
  responses: {},
  async handle({ body }) {
    return { body };
  },
});

const HEAD =
  'POST /v1/embeddings HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer embed\r\nContent-Type: application/json\r\n';

/** Route of the retired endpoint, which answers at once. */
const retired = defineRoute({
  method: 'POST',
  path: '/v1/embed',
  operationId: 'retired',
  summary: 'Gone',
  access: 'public',
  errors: 'embedding',
  reads: 'none',
  responses: { 410: { description: 'Always' } },
  async handle({ requestId }) {
    const details = { successor: { method: 'POST', path: '/v1/embeddings' } };
    return {
      status: 410,
      body: { error: { code: 'endpoint_retired', message: 'gone', details }, request_id: requestId },
    };
  },
});

/** Make a route that answers after `release` was called. */
function gated(): { route: Route; called: Promise<void>; release: () => void } {
  const called = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<void>();
  const route = defineRoute({
    method: 'GET',
    path: '/gated',
    operationId: 'gated',
    summary: 'Waits',
    access: 'public',
    errors: 'detail',
    reads: 'none',
    responses: {},
    async handle() {
      called.resolve();
      await gate.promise;
      return { body: { done: true } };
    },
  });
  return { route, called: called.promise, release: gate.resolve };
}

function expectError(raw: string, status: number): void {
  const response = parseResponse(raw);
  expect(response.status).toBe(status);
  expect(response.headers.get('x-request-id')).toMatch(/^[A-Za-z0-9._:-]+$/);
  expect(response.headers.get('connection')).toBe('close');
  expect(response.headers.get('x-content-type-options')).toBe('nosniff');
  expect(response.headers.get('cache-control')).toBe('no-store');
  const { json } = response;
  if (Object.hasOwn(json as object, 'detail')) expect(json).toEqual({ detail: expect.any(String) });
  else
    expect(json).toMatchObject({
      error: { message: expect.any(String) },
      request_id: response.headers.get('x-request-id'),
    });
}

describe('protocol errors', () => {
  test.each([
    ['no HTTP at all', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', 400],
    ['a broken request line', 'GET\r\n\r\n', 400],
    ['a broken header', 'GET / HTTP/1.1\r\nHost: x\r\nbad header\r\n\r\n', 400],
    ['no Host', 'GET / HTTP/1.1\r\n\r\n', 400],
    ['two Hosts', 'GET / HTTP/1.1\r\nHost: a\r\nhost: b\r\n\r\n', 400],
    ['two Authorizations', `${HEAD}AUTHORIZATION: Bearer other\r\nContent-Length: 2\r\n\r\n{}`, 400],
    ['two lengths', `${HEAD}Content-Length: 1\r\nContent-Length: 2\r\n\r\n{}`, 400],
    [
      'length and chunks (request smuggling)',
      `${HEAD}Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
      400,
    ],
    ['a negative length', `${HEAD}Content-Length: -1\r\n\r\n{}`, 400],
    ['a broken chunk', `${HEAD}Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n`, 400],
    ['endless chunk extensions', `${HEAD}Transfer-Encoding: chunked\r\n\r\n1;${'a'.repeat(20_000)}\r\n{\r\n`, 413],
    ['large headers', `GET / HTTP/1.1\r\nHost: x\r\nX-Large: ${'a'.repeat(20_000)}\r\n\r\n`, 431],
    ['a long path', `GET /${'a'.repeat(20_000)} HTTP/1.1\r\nHost: x\r\n\r\n`, 431],
    ['an unknown expectation', `${HEAD}Expect: miracles\r\nContent-Length: 2\r\n\r\n{}`, 417],
  ])('%s is refused like any other error', async (_what, bytes, status) => {
    const server = await startTestServer([echo]);
    const client = await RawClient.connect(server.port);
    client.write(Buffer.from(bytes, 'latin1'));
    expectError(await client.closedByServer(), status);
    expect((await postJson(server, '/v1/embeddings', {})).status).toBe(200);
  });

  test('a protocol error has the family of its path if that could be read', async () => {
    const server = await startTestServer([echo]);
    for (const [path, family] of [
      ['/v1/models/a', 'error'],
      ['/v1/buckets', 'detail'],
    ]) {
      const client = await RawClient.connect(server.port);
      client.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nbad header\r\n\r\n`);
      expect(parseResponse(await client.closedByServer()).json).toHaveProperty(family ?? '');
    }
  });
});

describe('slow clients', () => {
  const bounds = { headersTimeoutMs: 200, bodyWindowMs: 200, lingerMs: 50 };

  test('headers that do not end are refused with 408', async () => {
    const server = await startTestServer([echo], { bounds });
    const silent = await RawClient.connect(server.port);
    const trickling = await RawClient.connect(server.port);
    trickling.write('GET / HTTP/1.1\r\nHost: x\r\n');
    const drip = setInterval(() => trickling.write('X-A: b\r\n'), 20);
    expectError(await trickling.closedByServer(), 408);
    clearInterval(drip);
    expectError(await silent.closedByServer(), 408);
  });

  test('a body that stops, or trickles, is refused with 408', async () => {
    const server = await startTestServer([echo], { bounds, bodyBytes: 1e6 });
    const stopped = await RawClient.connect(server.port);
    stopped.write(`${HEAD}Content-Length: 1000\r\nX-Request-Id: mine\r\n\r\n{`);
    const trickling = await RawClient.connect(server.port);
    trickling.write(`${HEAD}Transfer-Encoding: chunked\r\n\r\n`);
    const drip = setInterval(() => trickling.write('1\r\n \r\n'), 20);
    const raw = await stopped.closedByServer();
    expectError(raw, 408);
    expect(parseResponse(raw).json).toMatchObject({ error: { code: 'request_timeout' }, request_id: 'mine' });
    expectError(await trickling.closedByServer(), 408);
    clearInterval(drip);
    await expect
      .poll(async () => (await server.metrics.httpRequests.get()).values)
      .toMatchObject([{ value: 2, labels: { operation: 'echo', status: '408' } }]);
  });

  test.each([
    [
      'that announces much and sends little',
      'Content-Length: 900000',
      { bodyFreeMs: 300, announcedBytesPerSecond: 1e6 },
    ],
    ['of unknown length that does not end', 'Transfer-Encoding: chunked', { bodyMsMax: 500 }],
  ])('a body %s is refused with 408 after the time that it may take', async (_, length, times) => {
    const server = await startTestServer([echo], {
      bounds: { ...bounds, bodyBytesPerSecondMin: 10, ...times },
      bodyBytes: 1e6,
    });
    const client = await RawClient.connect(server.port);
    client.write(`${HEAD}${length}\r\n\r\n`);
    const drip = setInterval(() => client.write('5\r\n     \r\n'), 20);
    const raw = await client.closedByServer();
    clearInterval(drip);
    expectError(raw, 408);
    expect(raw).toContain('did not arrive within');
  });

  test('a body that arrives at the required rate is read to its end', async () => {
    const server = await startTestServer([echo], { bounds: { ...bounds, bodyBytesPerSecondMin: 10 }, bodyBytes: 1e6 });
    const client = await RawClient.connect(server.port);
    client.write(`${HEAD}Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n`);
    let chunks = 0;
    const drip = setInterval(() => {
      client.write('5\r\n     \r\n');
      if (++chunks < 40) return;
      clearInterval(drip);
      client.write('0\r\n\r\n');
    }, 20);
    expect(await client.until(/\{\}$/)).toContain('200 OK');
  });

  test('many slow clients are all closed, and others are served meanwhile', async () => {
    const server = await startTestServer([echo], { bounds });
    const slow = await Promise.all(Array.from({ length: 200 }, () => RawClient.connect(server.port)));
    for (const [i, client] of slow.entries()) {
      client.write(i % 2 === 0 ? 'GET / HTTP/1.1\r\nHo' : `${HEAD}Content-Length: 50\r\n\r\n{`);
    }
    for (let i = 0; i < 20; i++) expect((await postJson(server, '/v1/embeddings', {})).status).toBe(200);
    for (const client of slow) expectError(await client.closedByServer(), 408);
  });
});

test('a request on an open connection does not wait for those of many new connections', async () => {
  const order: unknown[] = [];
  const noting = { ...echo, handle: async ({ body }: { body: unknown }) => ({ body: { at: order.push(body) } }) };
  const server = await startTestServer([noting as Route]);
  const request = (body: string) => `${HEAD}Content-Length: ${body.length}\r\n\r\n${body}`;
  const open = await RawClient.connect(server.port);
  open.write(request('{"open":1}'));
  await open.until(/\}$/);
  const others = await Promise.all(Array.from({ length: 200 }, () => RawClient.connect(server.port)));
  for (const other of others) other.write(request('{"new":1}'));
  open.write(request('{"open":2}'));
  await Promise.all(others.map((other) => other.until(/\}$/)));
  expect(order).toHaveLength(202);
  expect(order.findIndex((body) => (body as { open?: number }).open === 2)).toBeLessThan(50);
});

test('clients that are gone before their first request has begun do no harm', async () => {
  const server = await startTestServer([echo]);
  const gone = await Promise.all(Array.from({ length: 20 }, () => RawClient.connect(server.port)));
  for (const { socket } of gone) socket.end(`${HEAD}Content-Length: 2\r\n\r\n{}`, () => socket.resetAndDestroy());
  expect((await postJson(server, '/v1/embeddings', {})).status).toBe(200);
});

describe('a response that does not wait for the body', () => {
  test('the retired endpoint answers 410 to a body that never comes', async () => {
    const server = await startTestServer([retired]);
    const client = await RawClient.connect(server.port);
    client.write('POST /v1/embed HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n');
    const { status, headers, json } = parseResponse(await client.closedByServer());
    expect([status, headers.get('connection')]).toEqual([410, 'close']);
    expect(json).toEqual({
      error: {
        code: 'endpoint_retired',
        message: 'gone',
        details: { successor: { method: 'POST', path: '/v1/embeddings' } },
      },
      request_id: headers.get('x-request-id'),
    });
  });

  test('the retired endpoint answers 410 to a body that never ends, and its sender can read the response', async () => {
    const server = await startTestServer([retired]);
    const client = await RawClient.connect(server.port);
    client.write('POST /v1/embed HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n');
    const chunk = `10000\r\n${'x'.repeat(65_536)}\r\n`;
    const pour = setInterval(() => client.write(chunk), 1);
    const raw = await client.closedByServer();
    expect(parseResponse(raw).status).toBe(410);
    await client.closed();
    clearInterval(pour);
  });

  test('the retired endpoint does not wait for a short body', async () => {
    const server = await startTestServer([retired]);
    const response = await fetch(`${server.url}/v1/embed`, { method: 'POST', body: '{"text":"a"}' });
    // The connection is closed unless the body has already arrived.
    expect([response.status, response.headers.get('connection')]).toEqual([
      410,
      expect.stringMatching(/^(close|keep-alive)$/),
    ]);
    const bodiless = await fetch(`${server.url}/v1/embed`, { method: 'POST' });
    expect([bodiless.status, bodiless.headers.get('connection')]).toEqual([410, 'keep-alive']);
  });

  test('an ordinary client receives its 401 and 413 while it sends megabytes', async () => {
    const server = await startTestServer([echo], { bodyBytes: 1000 });
    const body = 'x'.repeat(8_000_000);
    expect((await postJson(server, '/v1/embeddings', body, { Authorization: '' })).status).toBe(401);
    expect((await postJson(server, '/v1/embeddings', body)).status).toBe(413);
  });

  test('a client that sends all of a large body before it reads receives its 413', async () => {
    const server = await startTestServer([echo], { bodyBytes: 1000, bounds: { lingerMs: 10_000 } });
    const client = await RawClient.connect(server.port);
    client.write(`${HEAD}Content-Length: 8000000\r\n\r\n`);
    client.socket.pause();
    await new Promise((sent) => client.socket.write('x'.repeat(8_000_000), sent));
    client.socket.resume();
    expect(parseResponse(await client.closedByServer()).status).toBe(413);
  });

  test('a client that sends all of a large body before it reads receives an answer that came while it was sent', async () => {
    const late = { ...retired, handle: async (request: never) => delay(100).then(() => retired.handle(request)) };
    const server = await startTestServer([late as Route], { bounds: { lingerMs: 10_000 } });
    const client = await RawClient.connect(server.port);
    client.write('POST /v1/embed HTTP/1.1\r\nHost: x\r\nContent-Length: 8000000\r\n\r\n');
    client.socket.pause();
    await new Promise((sent) => client.socket.write('x'.repeat(8_000_000), sent));
    client.socket.resume();
    expect(parseResponse(await client.closedByServer()).status).toBe(410);
  });

  test('the discarded rest of a body is not left to the garbage collector', async () => {
    const server = await startTestServer([echo], { bodyBytes: 1000, bounds: { lingerMs: 10_000 } });
    const body = Buffer.alloc(8_000_000, 'x');
    const client = await RawClient.connect(server.port);
    const before = process.memoryUsage().arrayBuffers;
    client.write(`${HEAD}Content-Length: ${body.length}\r\n\r\n`);
    await new Promise((sent) => client.socket.write(body, sent));
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(2_000_000);
    expect(parseResponse(await client.closedByServer()).status).toBe(413);
  });

  test('a client with Expect: 100-continue is asked for its body only if the body is wanted', async () => {
    const server = await startTestServer([echo], { bodyBytes: 1000 });
    const wanted = await RawClient.connect(server.port);
    wanted.write(`${HEAD}Expect: 100-continue\r\nContent-Length: 2\r\n\r\n`);
    await wanted.until(/^HTTP\/1\.1 100 Continue\r\n\r\n$/);
    wanted.write('{}');
    await wanted.until(/200 OK[\s\S]*\{\}$/);
    const refused = await RawClient.connect(server.port);
    refused.write(`${HEAD}Expect: 100-continue\r\nContent-Length: 2000\r\n\r\n`);
    expect(parseResponse(await refused.closedByServer()).status).toBe(413);
  });
});

describe('close', () => {
  test('close refuses new connections, finishes requests in progress and closes idle connections', async () => {
    const { route, called, release } = gated();
    const server = await startTestServer([route, echo]);
    const idle = await RawClient.connect(server.port);
    idle.write(`${HEAD}Content-Length: 2\r\n\r\n{}`);
    await idle.until(/\{\}$/);
    const fresh = await RawClient.connect(server.port);
    const busy = await RawClient.connect(server.port);
    busy.write('GET /gated HTTP/1.1\r\nHost: x\r\n\r\n');
    await called;
    const closed = server.close({ graceMs: 60_000 });
    await idle.closedByServer();
    await fresh.closedByServer();
    await expect(RawClient.connect(server.port)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    release();
    const { status, headers, json } = parseResponse(await busy.closedByServer());
    expect([status, headers.get('connection'), json]).toEqual([200, 'close', { done: true }]);
    await closed;
  });

  test('close answers one more request on an idle connection while another process takes over', async () => {
    const server = await startTestServer([echo]);
    const idle = await RawClient.connect(server.port);
    idle.write(`${HEAD}Content-Length: 2\r\n\r\n{}`);
    await idle.until(/\{\}$/);
    idle.received = '';
    const closed = server.close({ graceMs: 120_000, idleMs: 120_000 });
    await expect(RawClient.connect(server.port)).rejects.toMatchObject({ code: 'ECONNREFUSED' });
    idle.write(`${HEAD}Content-Length: 2\r\n\r\n{}`);
    const { status, headers } = parseResponse(await idle.closedByServer());
    expect([status, headers.get('connection')]).toEqual([200, 'close']);
    await closed;
  });

  test('close cuts off requests that are not done in time', async () => {
    const { route, called } = gated();
    const server = await startTestServer([route]);
    const busy = await RawClient.connect(server.port);
    busy.write('GET /gated HTTP/1.1\r\nHost: x\r\n\r\n');
    await called;
    await server.close({ graceMs: 10 });
    expect(await busy.closedByServer()).toBe('');
  });
});

describe('listen', () => {
  const createServer = (bounds = {}) =>
    createHttpServer((_req, res) => res.end(), { logger: openLogger('silent'), bounds });

  test('listen returns a URL that can be opened', async () => {
    const local = await createServer().listen({ host: '127.0.0.1', port: 0 });
    expect(local.url).toBe(`http://127.0.0.1:${local.port}`);
    await local.close({ graceMs: 0 });
    const everywhere = await createServer().listen({ host: '0.0.0.0', port: 0 });
    expect(everywhere.url).toBe(`http://localhost:${everywhere.port}`);
    await everywhere.close({ graceMs: 0 });
  });

  test('listen reports a port that is in use', async () => {
    const first = await createServer().listen({ host: '127.0.0.1', port: 0 });
    await expect(createServer().listen({ host: '127.0.0.1', port: first.port })).rejects.toMatchObject({
      code: 'cannot_listen',
      message: expect.stringContaining(`port ${first.port} is already in use`),
    });
    await first.close({ graceMs: 0 });
  });

  test('the number of connections is bounded', async () => {
    const listening = await createServer({ connectionsMax: 2 }).listen({ host: '127.0.0.1', port: 0 });
    const held = [await RawClient.connect(listening.port), await RawClient.connect(listening.port)];
    const third = await RawClient.connect(listening.port);
    expect(await third.closedByServer()).toBe('');
    held[0]?.write('GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n');
    expect(await held[0]?.closedByServer()).toContain('200 OK');
    await listening.close({ graceMs: 0 });
  });
});
