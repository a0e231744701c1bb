import { describe, expect, test } from 'vitest';
import { createApp } from '../../server/app.ts';
import { BodyMemory } from '../../server/body/body-memory.ts';
import { ReplyMemory } from '../../server/reply-memory.ts';
import type { AccessPolicy, Route } from '../../server/route.ts';
import { trustedProxies } from '../../server/trusted-proxies.ts';
import { openLogger } from '../../src/platform/logger.ts';
import { openMetrics } from '../../src/platform/metrics.ts';
import { auth, bucket, deleteBucket, echo, statistics } from './sample-routes.ts';
import { enoughCapacity, memoryIdempotency, noBrake, noRefusalBrake, noThreads, startTestServer } from './support.ts';

describe('matching', () => {
  test('an unknown path is refused with 404 in the family of its prefix', async () => {
    const server = await startTestServer([echo]);
    for (const path of ['/v1/embed/nothing', '/v1/usage/x', '/v1/models/a/b', '/v1/routing/x', '/v1/embeddings/x']) {
      const response = await fetch(server.url + path);
      expect(response.status).toBe(404);
      expect(await response.json()).toMatchObject({
        error: { type: 'invalid_request_error', code: 'unknown_route', param: null },
        request_id: response.headers.get('x-request-id'),
      });
    }
    for (const path of ['/', '/v1/buckets', '/v1/embedded', '/v2/buckets/a/search', '/V1/embeddings', '/%zz']) {
      const response = await fetch(server.url + path);
      expect(response.status).toBe(404);
      expect(Object.keys((await response.json()) as object)).toEqual(['detail']);
    }
  });

  test('a wrong method is refused with 405 and Allow', async () => {
    const server = await startTestServer([echo, bucket, deleteBucket]);
    const one = await fetch(`${server.url}/v1/embeddings`, { method: 'PUT' });
    expect([one.status, one.headers.get('allow')]).toEqual([405, 'POST']);
    expect(await one.json()).toMatchObject({ error: { code: 'method_not_allowed' } });
    const many = await fetch(`${server.url}/v1/buckets/a`, { method: 'OPTIONS' });
    expect([many.status, many.headers.get('allow')]).toEqual([405, 'DELETE, GET, HEAD']);
    expect(await many.json()).toHaveProperty('detail');
  });

  test('paths are exact in case and in a final slash', async () => {
    const server = await startTestServer([echo]);
    expect((await fetch(`${server.url}/v1/Embeddings`, { method: 'POST' })).status).toBe(404);
    expect((await fetch(`${server.url}/v1/embeddings/`, { method: 'POST' })).status).toBe(404);
  });

  test('a literal segment wins over a parameter in any order of the routes', async () => {
    for (const routes of [
      [bucket, statistics],
      [statistics, bucket],
    ]) {
      const server = await startTestServer(routes);
      const response = await fetch(`${server.url}/v1/buckets/statistics`);
      expect(await response.json()).toEqual({ caller: null, literal: true });
    }
  });

  test('HEAD is answered for GET, without a body', async () => {
    const server = await startTestServer([bucket]);
    const get = await fetch(`${server.url}/v1/buckets/a`, { headers: auth });
    const head = await fetch(`${server.url}/v1/buckets/a`, { method: 'HEAD', headers: auth });
    expect(head.status).toBe(200);
    expect(head.headers.get('content-length')).toBe(get.headers.get('content-length'));
    expect(await head.text()).toBe('');
  });
});

describe('a table of routes', () => {
  test('a route without an access policy is not mounted', () => {
    const { access: _access, ...rest } = echo;
    expect(() => createAppWith([rest as unknown as Route])).toThrow('route POST /v1/embeddings has no access policy');
    expect(() => createAppWith([{ ...echo, access: 'everybody' as AccessPolicy }])).toThrow('has no access policy');
  });

  test('contradictions between routes are reported when they are mounted', () => {
    expect(() => createAppWith([echo, { ...echo, path: '/other' }])).toThrow('two routes are declared as echo');
    expect(() => createAppWith([bucket, { ...bucket, path: '/v1/buckets/:id', operationId: 'b' }])).toThrow(
      'two routes',
    );
    expect(() => createAppWith([{ ...echo, reads: 'none' }])).toThrow('reads and body differ');
    expect(() => createAppWith([{ ...echo, path: '/v1/:id' }])).toThrow('path and params differ');
    expect(() => createAppWith([{ ...statistics, idempotent: true }])).toThrow('without a caller');
  });
});

function createAppWith(routes: Route[]) {
  return createApp({
    routes,
    resolveCaller: () => Promise.reject(new Error('not asked')),
    idempotency: memoryIdempotency(),
    logger: openLogger('silent'),
    metrics: openMetrics(),
    limits: { bodyBytes: 1, uploadBytes: 1, uploadDirectory: '/nonexistent' },
    rates: { take: () => null },
    bodyMemory: new BodyMemory(64 * 1024 * 1024),
    replyMemory: new ReplyMemory(),
    threads: noThreads,
    moving: { requireStaying: async () => undefined },
    failedLogins: noBrake,
    unreadBodies: noRefusalBrake,
    capacity: enoughCapacity(),
    proxies: trustedProxies([]),
  });
}
