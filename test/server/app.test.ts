import { Readable } from 'node:stream';
import { pino } from 'pino';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { createApp } from '../../server/app.ts';
import { BodyGate } from '../../server/body-gate.ts';
import { type AccessPolicy, defineRoute, type Route } from '../../server/route.ts';
import { SCOPES } from '../../src/access/caller.ts';
import { AppError, dependencyDown } from '../../src/platform/errors.ts';
import { openLogger } from '../../src/platform/logger.ts';
import { openMetrics } from '../../src/platform/metrics.ts';
import { memoryIdempotency, postJson, RawClient, startFrame } from './support.ts';

const echo = defineRoute({
  method: 'POST',
  path: '/v1/embeddings',
  operationId: 'echo',
  summary: 'Answers what it was sent',
  access: 'embed',
  errors: 'embedding',
  reads: 'json',
  body: z.object({ input: z.union([z.string(), z.array(z.string())]), dimensions: z.int().min(1).optional() }),
  responses: { 200: { description: 'Echo' } },
  async handle({ body, caller, requestId }) {
    return { body: { body, actor: caller.actor, requestId }, headers: { 'X-Extra': 'yes' } };
  },
});

const bucket = defineRoute({
  method: 'GET',
  path: '/v1/buckets/:bucket',
  operationId: 'getBucket',
  summary: 'Params and query',
  access: 'caller',
  errors: 'detail',
  reads: 'none',
  params: z.object({ bucket: z.string() }),
  query: z.object({ limit: z.coerce.number().int().min(1).max(200).default(50), tag: z.string().array().optional() }),
  responses: {},
  async handle({ params, query }) {
    return { body: { params, query } };
  },
});

const deleteBucket = defineRoute({
  method: 'DELETE',
  path: '/v1/buckets/:bucket',
  operationId: 'deleteBucket',
  summary: 'No content',
  access: 'buckets:manage',
  errors: 'detail',
  reads: 'none',
  params: z.object({ bucket: z.string() }),
  responses: {},
  async handle() {
    return {};
  },
});

const statistics = defineRoute({
  method: 'GET',
  path: '/v1/buckets/statistics',
  operationId: 'statistics',
  summary: 'A literal path beside a parameter',
  access: 'public',
  errors: 'detail',
  reads: 'none',
  responses: {},
  async handle({ caller }) {
    return { body: { caller, literal: true } };
  },
});

/** A route that throws what the test gives it. */
function failing(thrown: unknown, errors: Route['errors'] = 'detail', path = '/fails'): Route {
  return defineRoute({
    method: 'GET',
    path,
    operationId: `fails ${path}`,
    summary: 'Throws',
    access: 'public',
    errors,
    reads: 'none',
    responses: {},
    async handle() {
      throw thrown;
    },
  });
}

const auth = { Authorization: 'Bearer embed' };

describe('request id', () => {
  test('a sane inbound one is echoed in header and body, anything else is replaced', async () => {
    const frame = await startFrame([echo]);
    const sane = await postJson(frame, '/v1/embeddings', { input: 'a' }, { 'X-Request-Id': 'abc.DEF:1_2-3' });
    expect(sane.headers.get('x-request-id')).toBe('abc.DEF:1_2-3');
    expect(await sane.json()).toMatchObject({ requestId: 'abc.DEF:1_2-3', actor: 'key:test' });
    for (const insane of ['x'.repeat(129), 'a b', 'a"b', '<script>']) {
      const response = await postJson(frame, '/v1/embeddings', { input: 3 }, { 'X-Request-Id': insane });
      const id = response.headers.get('x-request-id');
      expect(id).toMatch(/^req_[0-9a-z]{26}$/);
      expect(await response.json()).toMatchObject({ request_id: id });
    }
  });

  test('is on answers that no route gave', async () => {
    const frame = await startFrame([echo]);
    const response = await fetch(`${frame.url}/nowhere`, { headers: { 'X-Request-Id': 'mine' } });
    expect(response.headers.get('x-request-id')).toBe('mine');
  });
});

describe('matching', () => {
  test('an unknown path is 404 in the family of its prefix', async () => {
    const frame = await startFrame([echo]);
    for (const path of ['/v1/embed/nothing', '/v1/usage/x', '/v1/models/a/b', '/v1/routing/x', '/v1/embeddings/x']) {
      const response = await fetch(frame.url + path);
      expect(response.status).toBe(404);
      expect(await response.json()).toMatchObject({
        error: { type: 'invalid_request_error', code: 'unknown_route', param: null },
        request_id: response.headers.get('x-request-id'),
      });
    }
    for (const path of ['/', '/v1/buckets', '/v1/embedded', '/v2/buckets/a/search', '/V1/embeddings', '/%zz']) {
      const response = await fetch(frame.url + path);
      expect(response.status).toBe(404);
      expect(Object.keys((await response.json()) as object)).toEqual(['detail']);
    }
  });

  test('a wrong method is 405 with Allow', async () => {
    const frame = await startFrame([echo, bucket, deleteBucket]);
    const one = await fetch(`${frame.url}/v1/embeddings`, { method: 'PUT' });
    expect([one.status, one.headers.get('allow')]).toEqual([405, 'POST']);
    expect(await one.json()).toMatchObject({ error: { code: 'method_not_allowed' } });
    const many = await fetch(`${frame.url}/v1/buckets/a`, { method: 'OPTIONS' });
    expect([many.status, many.headers.get('allow')]).toEqual([405, 'DELETE, GET, HEAD']);
    expect(await many.json()).toHaveProperty('detail');
  });

  test('paths are exact: case, and a slash at the end, make another path', async () => {
    const frame = await startFrame([echo]);
    expect((await fetch(`${frame.url}/v1/Embeddings`, { method: 'POST' })).status).toBe(404);
    expect((await fetch(`${frame.url}/v1/embeddings/`, { method: 'POST' })).status).toBe(404);
  });

  test('a literal segment wins over a parameter, whatever the order of the table', async () => {
    for (const routes of [
      [bucket, statistics],
      [statistics, bucket],
    ]) {
      const frame = await startFrame(routes);
      const response = await fetch(`${frame.url}/v1/buckets/statistics`);
      expect(await response.json()).toEqual({ caller: null, literal: true });
    }
  });

  test('HEAD is answered for GET, without a body', async () => {
    const frame = await startFrame([bucket]);
    const get = await fetch(`${frame.url}/v1/buckets/a`, { headers: auth });
    const head = await fetch(`${frame.url}/v1/buckets/a`, { method: 'HEAD', headers: auth });
    expect(head.status).toBe(200);
    expect(head.headers.get('content-length')).toBe(get.headers.get('content-length'));
    expect(await head.text()).toBe('');
  });
});

describe('access', () => {
  test('every route of a table refuses nobody known and a key without its scope, unless it is public', async () => {
    const policies: AccessPolicy[] = ['public', 'caller', ...SCOPES];
    const routes = policies.map((access, i) =>
      defineRoute({
        method: 'GET',
        path: `/r${i}`,
        operationId: access,
        summary: access,
        access,
        errors: 'detail',
        reads: 'none',
        responses: {},
        async handle() {
          return { body: {} };
        },
      }),
    );
    const frame = await startFrame(routes);
    for (const route of routes) {
      const get = async (authorization?: string) => {
        const headers = authorization === undefined ? {} : { Authorization: authorization };
        return fetch(frame.url + route.path, { headers });
      };
      const nobody = await get();
      const wrong = await get('Basic abc');
      const known = await get('Bearer none');
      if (route.access === 'public') {
        expect([nobody.status, wrong.status, known.status]).toEqual([200, 200, 200]);
        continue;
      }
      expect([nobody.status, wrong.status]).toEqual([401, 401]);
      expect(nobody.headers.get('www-authenticate')).toBe('Bearer');
      expect(known.status).toBe(route.access === 'caller' ? 200 : 403);
      expect((await get(`Bearer ${route.access}`)).status).toBe(200);
    }
  });

  test('a route without an access policy is not mounted', () => {
    const { access: _access, ...rest } = echo;
    expect(() => createAppWith([rest as unknown as Route])).toThrow('route POST /v1/embeddings has no access policy');
    expect(() => createAppWith([{ ...echo, access: 'everybody' as AccessPolicy }])).toThrow('has no access policy');
  });

  test('contradictions in the table are found when it is mounted', () => {
    expect(() => createAppWith([echo, { ...echo, path: '/other' }])).toThrow('two routes are declared as echo');
    expect(() => createAppWith([bucket, { ...bucket, path: '/v1/buckets/:id', operationId: 'b' }])).toThrow(
      'two routes',
    );
    expect(() => createAppWith([{ ...echo, reads: 'none' }])).toThrow('reads and body differ');
    expect(() => createAppWith([{ ...echo, path: '/v1/:id' }])).toThrow('path and params differ');
    expect(() => createAppWith([{ ...statistics, idempotent: true }])).toThrow('without a caller');
  });

  test('the order is 404, 401, 403, 415, 413, 400', async () => {
    const frame = await startFrame([echo], { bodyBytes: 100 });
    const post = (headers: Record<string, string>, body: string) =>
      fetch(`${frame.url}/v1/embeddings`, { method: 'POST', headers, body });
    const long = 'x'.repeat(200);
    expect((await post({}, long)).status).toBe(401);
    expect((await post({ Authorization: 'Bearer search' }, long)).status).toBe(403);
    expect((await post({ ...auth, 'Content-Type': 'text/plain' }, long)).status).toBe(415);
    expect((await post({ ...auth, 'Content-Type': 'application/json' }, long)).status).toBe(413);
    expect((await post({ ...auth, 'Content-Type': 'application/json' }, 'x')).status).toBe(400);
  });
});

describe('validation', () => {
  test('params and query are parsed by their schemas', async () => {
    const frame = await startFrame([bucket]);
    const response = await fetch(`${frame.url}/v1/buckets/a%20b?limit=7&tag=x&tag=y&unknown=1&__proto__=2`, {
      headers: auth,
    });
    expect(await response.json()).toEqual({ params: { bucket: 'a b' }, query: { limit: 7, tag: ['x', 'y'] } });
    const wrong = await fetch(`${frame.url}/v1/buckets/a?limit=999`, { headers: auth });
    expect(wrong.status).toBe(400);
    expect(await wrong.json()).toEqual({ detail: 'limit: must be at most 200' });
    const nul = await fetch(`${frame.url}/v1/buckets/a%00b`, { headers: auth });
    expect(nul.status).toBe(400);
  });

  test('a body fault names its place, in the message and in param', async () => {
    const frame = await startFrame([echo]);
    const response = await postJson(frame, '/v1/embeddings', { input: ['a', 'b', 'c', 3] });
    expect(response.status).toBe(400);
    expect(await response.json()).toEqual({
      error: {
        message: 'input[3]: must be a string',
        type: 'invalid_request_error',
        param: 'input[3]',
        code: 'invalid_request',
      },
      request_id: response.headers.get('x-request-id'),
    });
  });

  test('unknown fields are ignored', async () => {
    const frame = await startFrame([echo]);
    const response = await postJson(frame, '/v1/embeddings', { input: 'a', user: 'u' });
    expect(await response.json()).toMatchObject({ body: { input: 'a' } });
  });
});

describe('replies', () => {
  test('status, headers, empty bodies, buffers and streams', async () => {
    const base = {
      method: 'GET',
      access: 'public',
      errors: 'detail',
      reads: 'none',
      summary: '',
      responses: {},
    } as const;
    const frame = await startFrame([
      deleteBucket,
      defineRoute({
        ...base,
        path: '/buffer',
        operationId: 'buffer',
        async handle() {
          return { status: 202, body: Buffer.from('[1]'), type: 'application/json' };
        },
      }),
      defineRoute({
        ...base,
        path: '/stream',
        operationId: 'stream',
        async handle() {
          return { body: Readable.from(['a', 'b']), type: 'text/plain' };
        },
      }),
    ]);
    const options = { method: 'DELETE', headers: { Authorization: 'Bearer buckets:manage' } };
    const empty = await fetch(`${frame.url}/v1/buckets/a`, options);
    expect([empty.status, await empty.text()]).toEqual([204, '']);
    const buffer = await fetch(`${frame.url}/buffer`);
    expect([buffer.status, buffer.headers.get('content-type'), await buffer.json()]).toEqual([
      202,
      'application/json',
      [1],
    ]);
    const stream = await fetch(`${frame.url}/stream`);
    expect([stream.headers.get('content-type'), await stream.text()]).toEqual(['text/plain', 'ab']);
  });

  test('several requests share one connection', async () => {
    const frame = await startFrame([echo]);
    const client = await RawClient.connect(frame.port);
    const body = '{"input":"a"}';
    const request = `POST /v1/embeddings HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer embed\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    client.write(request + request);
    await client.until(/(HTTP\/1\.1 200 OK[\s\S]*){2}\}$/);
    client.write(request);
    await client.until(/(HTTP\/1\.1 200 OK[\s\S]*){3}\}$/);
    expect(client.received).not.toMatch(/Connection: close/i);
  });
});

describe('errors', () => {
  test('an unknown error shows its request id and nothing else, and is in the log in full', async () => {
    const lines: string[] = [];
    const logger = pino({ level: 'info' }, { write: (line: string) => void lines.push(line) });
    const secret = new Error('password=hunter2 at /var/lib', { cause: new Error('deeper') });
    const frame = await startFrame([failing(secret), failing(secret, 'embedding', '/v1/models')], { logger });
    const detail = await fetch(`${frame.url}/fails`, { headers: { 'X-Request-Id': 'abc' } });
    expect([detail.status, await detail.json()]).toEqual([500, { detail: 'internal error; quote request id abc' }]);
    const embedding = await fetch(`${frame.url}/v1/models`, { headers: { 'X-Request-Id': 'def' } });
    expect(await embedding.json()).toEqual({
      error: {
        message: 'internal error; quote request id def',
        type: 'api_error',
        param: null,
        code: 'internal_error',
      },
      request_id: 'def',
    });
    const logged = lines.filter((line) => line.includes('hunter2'));
    expect(logged).toHaveLength(2);
    expect(logged[0]).toContain('"request_id":"abc"');
    expect(logged[0]).toContain('deeper');
  });

  test('what is thrown need not be an Error', async () => {
    const frame = await startFrame([failing('a string'), failing(undefined, 'detail', '/undefined')]);
    expect((await fetch(`${frame.url}/fails`)).status).toBe(500);
    expect((await fetch(`${frame.url}/undefined`)).status).toBe(500);
  });

  test.each([
    [400, 'invalid_request_error'],
    [401, 'authentication_error'],
    [402, 'insufficient_quota'],
    [403, 'permission_error'],
    [404, 'invalid_request_error'],
    [410, 'invalid_request_error'],
    [429, 'rate_limit_error'],
    [502, 'api_error'],
    [503, 'api_error'],
  ])('an AppError of status %i has the type %s', async (status, type) => {
    const details = { hint: 'a fact' };
    const thrown = new AppError({ code: 'some_code', status, message: 'safe words', param: 'p', details });
    const frame = await startFrame([failing(thrown, 'embedding', '/v1/models'), failing(thrown)]);
    const embedding = await fetch(`${frame.url}/v1/models`);
    expect(embedding.status).toBe(status);
    const { error } = (await embedding.json()) as { error: Record<string, unknown> };
    expect(error).toMatchObject({ message: 'safe words', type, param: 'p', code: 'some_code' });
    expect(error['details']).toEqual(status < 500 ? details : undefined);
    expect(embedding.headers.get('www-authenticate')).toBe(status === 401 ? 'Bearer' : null);
    expect(embedding.headers.get('retry-after')).toBe(status === 429 || status === 503 ? '1' : null);
    expect(await (await fetch(`${frame.url}/fails`)).json()).toEqual({ detail: 'safe words' });
  });

  test('Retry-After is the error’s own where it has one', async () => {
    const frame = await startFrame([failing(dependencyDown('postgres', 'the database is away'))]);
    const response = await fetch(`${frame.url}/fails`);
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '2']);
    expect(await response.json()).toEqual({ detail: 'the database is away' });
  });
});

describe('signal', () => {
  test('is aborted when the client goes away, which is no fault of ours', async () => {
    const { waiting, route } = hanging();
    const lines: string[] = [];
    const logger = pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) });
    const frame = await startFrame([route], { logger });
    const client = await RawClient.connect(frame.port);
    client.write('GET /hangs HTTP/1.1\r\nHost: x\r\n\r\n');
    const signal = await waiting;
    client.socket.destroy();
    if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve));
    await expect
      .poll(async () => (await frame.metrics.httpRequests.get()).values)
      .toContainEqual({ value: 1, labels: { operation: 'hangs', status: 499 } });
    expect(lines).toEqual([]);
  });

  test('is aborted when the drain’s deadline passes, and the client is told to try again', async () => {
    const { waiting, route } = hanging();
    const drain = new AbortController();
    const frame = await startFrame([route], { settings: { drain: drain.signal } });
    const pending = fetch(`${frame.url}/hangs`);
    await waiting;
    drain.abort();
    const response = await pending;
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '1']);
  });
});

describe('what is recorded', () => {
  test('metrics by operation, and an access log without the query string', async () => {
    const lines: string[] = [];
    const logger = pino({ level: 'debug' }, { write: (line: string) => void lines.push(line) });
    const frame = await startFrame([bucket], { logger });
    await (await fetch(`${frame.url}/v1/buckets/a?token=hunter2`, { headers: auth })).text();
    await (await fetch(`${frame.url}/nowhere?token=hunter2`)).text();
    await expect
      .poll(async () =>
        (await frame.metrics.httpRequests.get()).values.map(({ labels, value }) => ({ ...labels, value })),
      )
      .toEqual([
        { operation: 'getBucket', status: 200, value: 1 },
        { operation: 'unmatched', status: 404, value: 1 },
      ]);
    const access = lines.map((line) => JSON.parse(line)).filter((line) => line.msg === 'request');
    expect(access).toMatchObject([
      {
        method: 'GET',
        path: '/v1/buckets/a',
        operation: 'getBucket',
        status: 200,
        actor: 'key:test',
        peer: '127.0.0.1',
      },
      { method: 'GET', path: '/nowhere', status: 404 },
    ]);
    expect(lines.join('')).not.toContain('hunter2');
  });

  test.each([
    [false, '127.0.0.1'],
    [true, '10.0.0.9'],
  ])('with trustProxy %s the peer is %s', async (trustProxy, peer) => {
    const lines: string[] = [];
    const logger = pino({ level: 'debug' }, { write: (line: string) => void lines.push(line) });
    const frame = await startFrame([statistics], { logger, settings: { trustProxy } });
    const headers = { 'X-Forwarded-For': '6.6.6.6, 10.0.0.9' };
    await (await fetch(`${frame.url}/v1/buckets/statistics`, { headers })).text();
    await expect.poll(() => lines.map((line) => JSON.parse(line).peer)).toEqual([peer]);
  });
});

/** A route that waits for its signal. */
function hanging(): { waiting: Promise<AbortSignal>; route: Route } {
  const { promise, resolve } = Promise.withResolvers<AbortSignal>();
  const route = defineRoute({
    method: 'GET',
    path: '/hangs',
    operationId: 'hangs',
    summary: 'Waits',
    access: 'public',
    errors: 'detail',
    reads: 'none',
    responses: {},
    async handle({ signal }) {
      resolve(signal);
      await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
      return {};
    },
  });
  return { waiting: promise, route };
}

function createAppWith(routes: Route[]) {
  return createApp({
    routes,
    resolveCaller: () => Promise.reject(new Error('not asked')),
    idempotency: memoryIdempotency(),
    logger: openLogger('silent'),
    metrics: openMetrics(),
    limits: { bodyBytes: 1, uploadBytes: 1, uploadDirectory: '/nonexistent' },
    rates: { take: () => null },
    gate: new BodyGate(64 * 1024 * 1024),
    trustProxy: false,
  });
}
