import { networkInterfaces } from 'node:os';
import { describe, expect, test } from 'vitest';
import { createApp } from '../../../server/app.ts';
import { BodyMemory } from '../../../server/body/body-memory.ts';
import { createHttpServer } from '../../../server/http-server.ts';
import { renderOpenApi } from '../../../server/openapi/render-openapi.ts';
import { ReplyMemory } from '../../../server/reply-memory.ts';
import type { Route } from '../../../server/route.ts';
import { operationRoutes, type Readiness } from '../../../server/routes/operations.ts';
import { trustedProxies } from '../../../server/trusted-proxies.ts';
import { AppError } from '../../../src/platform/errors.ts';
import { openLogger } from '../../../src/platform/logger.ts';
import { openMetrics } from '../../../src/platform/metrics.ts';
import {
  enoughCapacity,
  memoryIdempotency,
  noBrake,
  noRefusalBrake,
  noThreads,
  RawClient,
  startTestServer,
} from '../support.ts';

function routesOver(readiness: Readiness = { status: 'ok', checks: {}, latency_ms: {} }): Route[] {
  const routes: Route[] = operationRoutes({
    ready: async () => readiness,
    metrics: openMetrics(),
    tools: () => ({}),
    openapi: () => renderOpenApi(routes, { title: 'service', version: '1' }),
  });
  return routes;
}

describe('operations', () => {
  test('GET /healthz answers without a caller and without any dependency', async () => {
    const server = await startTestServer(routesOver({ status: 'down', checks: {}, latency_ms: {} }));
    const response = await fetch(`${server.url}/healthz`);
    expect([response.status, await response.json()]).toEqual([200, { status: 'ok' }]);
  });

  test.each([
    ['ok', 200, null],
    ['degraded', 200, null],
    ['down', 503, '2'],
  ] as const)('GET /readyz with the state %s answers %i', async (status, code, retryAfter) => {
    const readiness = { status, checks: { database: 'ok', redis: 'no answer' }, latency_ms: { database: 0.4 } };
    const server = await startTestServer(routesOver(readiness));
    const response = await fetch(`${server.url}/readyz`);
    expect([response.status, await response.json()]).toEqual([code, readiness]);
    expect(response.headers.get('retry-after')).toBe(retryAfter);
  });

  test('GET /metrics is open to a peer on this machine, but not to one behind a proxy', async () => {
    const server = await startTestServer(routesOver());
    const local = await fetch(`${server.url}/metrics`);
    expect(local.headers.get('content-type')).toContain('text/plain');
    expect(await local.text()).toContain('# TYPE service_http_requests_total counter');
    for (const header of ['X-Forwarded-For', 'Forwarded', 'X-Real-IP', 'Via']) {
      expect((await fetch(`${server.url}/metrics`, { headers: { [header]: '127.0.0.1' } })).status).toBe(401);
    }
    const get = (scope: string) =>
      fetch(`${server.url}/metrics`, { headers: { Via: '1.1 proxy', Authorization: `Bearer ${scope}` } });
    expect((await get('embed')).status).toBe(403);
    expect((await get('platform_admin')).status).toBe(200);
  });

  test.each([
    ['localhost:8080', 200],
    ['127.0.0.1', 200],
    ['[::1]:8080', 200],
    ['attacker.example', 401],
    ['localhost.attacker.example', 401],
    ['127.0.0.1.attacker.example', 401],
    ['a b', 401],
  ])('GET /metrics from this machine with the Host %j is answered with %d', async (host, status) => {
    const server = await startTestServer(routesOver());
    const client = await RawClient.connect(server.port);
    client.write(`GET /metrics HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
    expect(await client.closedByServer()).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
  });

  const outside = Object.values(networkInterfaces())
    .flat()
    .find((address) => address?.family === 'IPv4' && !address.internal)?.address;

  test.skipIf(outside === undefined)('GET /metrics is refused to a peer on another address', async () => {
    const logger = openLogger('silent');
    const { callback } = createApp({
      routes: routesOver(),
      resolveCaller: () => Promise.reject(new AppError({ code: 'invalid_api_key', status: 401, message: 'no' })),
      idempotency: memoryIdempotency(),
      logger,
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
    const listening = await createHttpServer(callback, { logger }).listen({ host: '0.0.0.0', port: 0 });
    expect((await fetch(`http://${outside}:${listening.port}/metrics`)).status).toBe(401);
    expect((await fetch(`http://127.0.0.1:${listening.port}/metrics`)).status).toBe(200);
    await listening.close({ graceMs: 0 });
  });

  test('GET /openapi.json is public and includes these routes', async () => {
    const server = await startTestServer(routesOver());
    const response = await fetch(`${server.url}/openapi.json`);
    expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8');
    const { paths } = (await response.json()) as { paths: Record<string, unknown> };
    expect(Object.keys(paths)).toEqual(['/healthz', '/readyz', '/metrics', '/openapi.json', '/openapi/tools.json']);
  });
});
