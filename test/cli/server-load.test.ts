import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openChannelMetrics } from '../../src/channels/channel-metrics.ts';
import { ServerGauge } from '../../src/cli/server-load.ts';
import { type CacheMetrics, openCacheMetrics } from '../../src/embedding/cache/cache-metrics.ts';
import { AppError } from '../../src/platform/errors.ts';
import { type Metrics, openMetrics } from '../../src/platform/metrics.ts';
import { openUpstreamMetrics, type UpstreamMetrics } from '../../src/platform/upstream/upstream-metrics.ts';

let metrics: Metrics;
let cache: CacheMetrics;
let upstreams: UpstreamMetrics;
let server: Server;
let gauge: ServerGauge;
const { signal } = new AbortController();
const ROUTE = { method: 'POST', route: '/x' };

beforeEach(async () => {
  metrics = openMetrics();
  cache = openCacheMetrics(metrics.registry);
  upstreams = openUpstreamMetrics(metrics.registry);
  server = createServer(async (_, res) => res.end(await metrics.registry.metrics())).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  gauge = new ServerGauge(async () => url);
});
afterEach(() => {
  server.closeAllConnections();
  server.close();
});

test('the gauge computes the load between two readings from the metrics of the service', async () => {
  metrics.httpRequests.inc({ ...ROUTE, operation: 'search', status: '200' }, 1_000);
  cache.count('memory', 500, 500);
  const first = await gauge.read(signal);
  expect(first).toMatchObject({
    trouble: null,
    requests: { per_second: 0, fault_rate: null, history: [] },
    upstreams: [],
  });

  metrics.httpRequests.inc({ ...ROUTE, operation: 'search', status: '200' }, 18);
  metrics.httpRequests.inc({ ...ROUTE, operation: 'embed', status: '503' }, 2);
  metrics.httpSeconds.observe({ ...ROUTE, operation: 'search' }, 0.02);
  metrics.textsEmbedded.inc({ model: 'm' }, 30);
  cache.count('memory', 6, 4);
  cache.count('in_flight', 1, 3);
  cache.count('redis', 2, 1);
  cache.watchBytes(() => 4_096);
  for (const outcome of ['ok', 'ok', 'rejected', 'server_error']) upstreams.attempted('vendor-a', outcome, 0.3);
  upstreams.watch('vendor-a', () => ({ inFlight: 3, queuedTexts: 12, breaker: 'half-open' }));
  const { requests, cache: hits, upstreams: providers, texts_per_second } = await gauge.read(signal);
  expect(requests).toMatchObject({ fault_rate: 0.1, p50_ms: expect.any(Number), history: [expect.any(Number)] });
  expect(requests.per_second).toBeGreaterThan(0);
  expect(requests.p95_ms).toBeGreaterThan(10);
  expect(requests.p95_ms).toBeLessThanOrEqual(25);
  expect(texts_per_second / requests.per_second).toBeCloseTo(1.5);
  expect(hits).toMatchObject({ hit_rate: 0.9, bytes: 4_096, history: [0.9] });
  expect(providers).toEqual([
    {
      ...{ provider: 'vendor-a', error_rate: 0.25, in_flight: 3, queued_texts: 12, breaker: 'half-open' },
      ...{ calls_per_second: expect.any(Number), p50_ms: expect.any(Number), p95_ms: expect.any(Number) },
      history_p95_ms: [expect.any(Number)],
    },
  ]);
});

test('a server that stops is reported as trouble, and its rates begin at 0 when it is back', async () => {
  await gauge.read(signal);
  metrics.httpRequests.inc({ ...ROUTE, operation: 'search', status: '200' }, 5);
  await gauge.read(signal);
  const { port } = server.address() as AddressInfo;
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  expect(await gauge.read(signal)).toMatchObject({
    trouble: `cannot read the metrics of http://127.0.0.1:${port}: the request failed; is a server running there?`,
    requests: { per_second: 0 },
  });
  await once(server.listen(port, '127.0.0.1'), 'listening');
  expect(await gauge.read(signal)).toMatchObject({ trouble: null, requests: { per_second: 0 } });
});

test('requests that only watch the server are no load', async () => {
  await gauge.read(signal);
  for (const operation of ['getMetrics', 'getHealth', 'getReadiness']) {
    metrics.httpRequests.inc({ ...ROUTE, operation, status: '200' }, 50);
    metrics.httpSeconds.observe({ ...ROUTE, operation }, 0.02);
  }
  expect((await gauge.read(signal)).requests).toMatchObject({ per_second: 0, p50_ms: null });
});

test('without a server the load says why, and it begins at 0 with a server at another address', async () => {
  const { port } = server.address() as AddressInfo;
  let url: string | null = null;
  const moving = new ServerGauge(async () => {
    if (url === null) throw new AppError({ code: 'server_unreachable', status: 503, message: 'no server runs' });
    return url;
  });
  expect(await moving.read(signal)).toMatchObject({ url: null, trouble: 'no server runs' });
  for (const name of ['127.0.0.1', 'localhost']) {
    url = `http://${name}:${port}`;
    metrics.httpRequests.inc({ ...ROUTE, operation: 'search', status: '200' }, 5);
    expect(await moving.read(signal)).toMatchObject({ url, trouble: null, requests: { per_second: 0 } });
  }
});

test('the load of a server contains the traffic of each channel', async () => {
  const channels = openChannelMetrics(metrics.registry);
  const shop = { id: 'chn_1', bot: 'shop' };
  channels.delivered(shop, 'answered', 0.02);
  await gauge.read(signal);
  for (const outcome of ['answered', 'answered', 'answered', 'rate_limited'] as const)
    channels.delivered(shop, outcome, 0.02);
  channels.refused('chn_1', 'signature_invalid');
  channels.failed('chn_1', 'deadline');
  const { channels: loads } = await gauge.read(signal);
  expect(loads).toEqual([
    {
      ...{ channel: 'chn_1', bot: 'shop', limited_rate: 0.25, deliveries_per_second: expect.any(Number) },
      ...{ refusals_per_second: expect.any(Number), faults_per_second: expect.any(Number) },
      ...{ p50_ms: expect.any(Number), p95_ms: expect.any(Number) },
    },
  ]);
  const [load] = loads;
  expect((load?.deliveries_per_second ?? 0) / (load?.refusals_per_second ?? 1)).toBeCloseTo(4);
});
