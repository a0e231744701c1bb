import { afterAll, beforeAll, expect, test } from 'vitest';
import { metricsListener } from '../../src/appliance/metrics-listener.ts';
import { parseMetrics } from '../../src/cli/read-metrics.ts';
import { SMALL } from '../support/gateway.ts';
import { OBSERVED_BUCKET, type ObservedService, openObservedService } from '../support/observed.ts';

let service: ObservedService;

beforeAll(async () => {
  service = await openObservedService();
});
afterAll(() => service?.close());

/** Read the sum of the samples of a metric that have these labels; null if there are none. */
async function read(name: string, labels: Record<string, string> = {}): Promise<number | null> {
  const samples = parseMetrics(await service.scrape()).filter(
    (sample) =>
      sample.name === name && Object.entries(labels).every(([label, value]) => sample.labels[label] === value),
  );
  return samples.length === 0 ? null : samples.reduce((sum, { value }) => sum + value, 0);
}

/** Wait until all answered requests are counted, which is shortly after their clients have the answers. */
function allCounted(): Promise<void> {
  return expect.poll(() => read('service_http_requests_in_flight'), { timeout: 60_000 }).toBe(0);
}

test('requests and their latencies are measured by the pattern of the route', async () => {
  await allCounted();
  const search = { method: 'POST', route: '/v2/buckets/:bucket/search' };
  expect(await read('service_http_requests_total', { ...search, status: '200' })).toBe(1);
  expect(await read('service_http_request_seconds_count', search)).toBe(1);
  expect(await read('service_http_request_seconds_bucket', { ...search, le: '+Inf' })).toBe(1);
});

test('paths and methods that clients make up add no samples', async () => {
  const seriesOf = async () =>
    parseMetrics(await service.scrape()).filter(({ name }) => name.startsWith('service_http'));
  const request = async (path: string, method = 'GET') => {
    await (await fetch(service.api.url + path, { method })).text();
  };
  await request('/nowhere/first');
  await request('/v2/buckets/missing-first/search', 'POST');
  await allCounted();
  const before = (await seriesOf()).length;
  for (let i = 0; i < 30; i++) {
    await request(`/nowhere/${i}`);
    await request(`/v2/buckets/missing-${i}/search`, 'POST');
  }
  await allCounted();
  expect((await seriesOf()).length - before).toBeLessThan(25);
  expect(JSON.stringify(await seriesOf())).not.toContain('missing-');
});

test('providers, tokens and the cache are measured', async () => {
  const provider = 'vendor-a';
  expect(await read('service_upstream_calls_total', { provider, outcome: 'ok' })).toBe(1);
  expect(await read('service_upstream_call_seconds_count', { provider })).toBe(1);
  expect(await read('service_upstream_breaker', { provider })).toBe(0);
  expect(await read('service_tokens_embedded_total', { model: SMALL })).toBeGreaterThan(2);
  expect(await read('service_embedding_cache_texts_total', { layer: 'memory', outcome: 'hit' })).toBeGreaterThan(0);
});

test('jobs, indexes, pools and the event loop are measured', async () => {
  // An attempt is counted shortly after its job is shown as ready.
  const attempts = () => read('service_job_seconds_count', { kind: 'ingest', outcome: 'ready' });
  await expect.poll(attempts, { timeout: 60_000 }).toBe(1);
  expect(await read('service_jobs_finished_total', { kind: 'ingest', status: 'ready' })).toBe(1);
  expect(await read('service_job_wait_seconds_count', { kind: 'ingest' })).toBe(1);
  expect(await read('service_jobs_queued', { kind: 'bulk' })).toBe(1);
  expect(await read('service_jobs_oldest_lease_seconds', { kind: 'ingest' })).toBe(0);
  expect(await read('service_index_tables')).toBe(1);
  expect(await read('service_index_fragments')).toBeGreaterThan(0);
  expect(await read('service_index_unindexed_rows')).not.toBeNull();
  expect(await read('service_pool_size', { pool: 'postgres' })).toBe(10);
  expect(await read('service_pool_used', { pool: 'postgres' })).not.toBeNull();
  expect(await read('service_nodejs_eventloop_lag_p99_seconds')).not.toBeNull();
});

test('no label names an organization, a bucket, a document, a key or a text', async () => {
  const text = await service.scrape();
  const { orgId } = service.operator;
  for (const secret of [orgId, OBSERVED_BUCKET, 'bkt_', 'doc_', 'key_', 'otters', service.userKey]) {
    expect(text).not.toContain(secret);
  }
});

test('the port for metrics also answers probes, and nothing else', async () => {
  const get = async (path: string, method = 'GET') => (await fetch(service.metricsUrl + path, { method })).status;
  expect(await get('/healthz')).toBe(200);
  expect(await get('/readyz')).toBe(200);
  expect(await get('/v1/models')).toBe(404);
  expect(await get('/metrics', 'POST')).toBe(405);
});

test('a port for metrics that is taken is a fault that names the setting', async () => {
  const { appliance } = service;
  const port = Number(new URL(service.metricsUrl).port);
  const second = metricsListener({ ...appliance, config: { metricsListener: { host: '127.0.0.1', port } } });
  await expect(second.start(new AbortController().signal)).rejects.toMatchObject({
    code: 'metrics_port_unusable',
    message: expect.stringContaining('SERVICE_METRICS_PORT'),
  });
  await second.stop();
});
