import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Scope } from '../../src/access/caller.ts';
import type { Service } from '../../src/platform/lifecycle.ts';
import { openTestGateway, type TestGateway } from '../support/gateway.ts';
import { until } from '../support/until.ts';

// A model that needs longer for a call than a request may take: a request fails, and jobs go on.
const SLOW = 'vendor-a/slow';
const FAST = 'vendor-a/fast';
const SCOPES: Scope[] = ['embed', 'search', 'documents:write', 'buckets:manage', 'routing:manage', 'jobs:write'];
const REQUEST_SECONDS = 0.4;
const CALL_MS = 1_000;

let test: TestGateway;
let workers: Service[];
let key: string;

beforeAll(async () => {
  const models = [SLOW, FAST].map((id) => ({ id, vendor: 'vendor-a', dimensions: 64, max_tokens: 8192 }));
  test = await openTestGateway(
    { models, workers: { retries_max: 0 }, embeddings: { deadline_seconds: REQUEST_SECONDS } },
    { semantic: true, dimensions: { slow: 64, fast: 64 } },
  );
  test.upstream.decide = ({ model }) => (model === 'slow' ? { kind: 'delay', ms: CALL_MS } : null);
  workers = [test.appliance.jobs.worker('ingest'), test.appliance.jobs.worker('embed')];
  for (const worker of workers) await worker.start(new AbortController().signal);
  key = await test.key({ authLevel: 10, scopes: SCOPES });
});
afterAll(async () => {
  for (const worker of workers) await worker.stop();
  await test.close();
});

async function call(method: string, path: string, json?: unknown) {
  const { status, body } = await test.call(method, path, { key, ...(json === undefined ? {} : { json }) });
  expect(status, JSON.stringify(body)).toBeLessThan(300);
  return body;
}

async function endOf(jobId: string): Promise<string> {
  const status = async () => (await call('GET', `/v1/jobs/${jobId}`)).status as string;
  await until(async () => ['ready', 'failed', 'cancelled'].includes(await status()), { withinMs: 30_000 });
  return status();
}

it('a request to a slow model ends at the deadline of requests', async () => {
  const { status, body } = await test.call('POST', '/v1/embeddings', { key, json: { model: SLOW, input: 'water' } });
  expect([status, body.error.code]).toEqual([502, 'provider_unavailable']);
});

it('documents are embedded by a slow model', async () => {
  await call('PUT', '/v1/routing', { primary: SLOW, fallback: null, mode: 'single' });
  await call('POST', '/v1/buckets', { name: 'slow' });
  const json = { filename: 'a.txt', text: 'The heron stands in the shallow water.' };
  const { job_id } = await call('POST', '/v1/buckets/slow/documents', json);
  expect(await endOf(job_id)).toBe('ready');
  expect((await call('GET', '/v1/buckets/slow')).embedding).toMatchObject({ model: SLOW, chunks: 1 });
});

it('a bucket changes to a slow model', async () => {
  await call('PUT', '/v1/routing', { primary: FAST, fallback: null, mode: 'single' });
  await call('POST', '/v1/buckets', { name: 'changed' });
  const json = { filename: 'b.txt', text: 'Harbours fill with sand.' };
  const { job_id } = await call('POST', '/v1/buckets/changed/documents', json);
  expect(await endOf(job_id)).toBe('ready');
  const reembed = await call('POST', '/v1/buckets/changed/reembed', { model: SLOW });
  expect(await endOf(reembed.job_id)).toBe('ready');
  expect((await call('GET', '/v1/buckets/changed')).embedding).toMatchObject({ model: SLOW, chunks: 1 });
});

it('a bulk job uses a slow model', async () => {
  const job = await call('POST', '/v1/embed/jobs', { texts: ['one', 'two', 'three'], model: SLOW });
  expect(await endOf(job.id)).toBe('ready');
});
