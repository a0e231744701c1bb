import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Service } from '../../src/platform/lifecycle.ts';
import { openTestGateway, type TestGateway } from '../support/gateway.ts';
import { until } from '../support/until.ts';

const VENDOR = 'vendor-a/alpha';
const TEXT = 'The heron7q stands still in the shallow water of the harbour.';

let test: TestGateway;
let worker: Service;
let key: string;

beforeAll(async () => {
  test = await openTestGateway(
    {
      models: [{ id: VENDOR, vendor: 'vendor-a', dimensions: 160, max_tokens: 8192 }],
      workers: { retries_max: 0 },
      bulk: { retry_window_hours: 24 },
    },
    { semantic: true, dimensions: { alpha: 160 } },
  );
  worker = test.appliance.jobs.worker('ingest', { sweepMs: 200 });
  await worker.start(new AbortController().signal);
  key = await test.key({
    authLevel: 10,
    scopes: ['embed', 'search', 'documents:write', 'buckets:manage', 'routing:manage'],
  });
});
afterAll(async () => {
  await worker.stop();
  await test.close();
});

const call = (method: string, path: string, json?: unknown) =>
  test.call(method, path, { key, ...(json === undefined ? {} : { json }) });

it('an upload outlives an outage of ten minutes of its only model, is found by its words meanwhile, and is embedded once', async () => {
  await call('POST', '/v1/buckets', { name: 'manuals' });
  await call('PUT', '/v1/routing', { primary: VENDOR });
  test.upstream.decide = () => ({ kind: 'status', status: 503 });
  const { body } = await call('POST', '/v1/buckets/manuals/documents', { filename: 'heron.txt', text: TEXT });
  const job = async () => (await call('GET', `/v1/jobs/${body.job_id}`)).body;
  const { sql } = test.appliance;
  const attempts = async () => {
    const [row] = await sql`SELECT retry_count FROM jobs WHERE id = ${body.job_id}`;
    return row?.['retry_count'] as number;
  };
  // Each pause is cut short, as if its time had passed; the job is ten minutes old at the end.
  for (let minute = 1; minute <= 10; minute++) {
    await until(async () => (await attempts()) >= minute && (await job()).status === 'queued', {
      ...{ withinMs: 120_000, what: `attempt ${minute}` },
    });
    await sql`
      UPDATE jobs SET created_at = now() - ${minute} * interval '1 minute', scheduled_at = now()
      WHERE id = ${body.job_id} AND status = 'queued'`;
  }
  await until(async () => (await job()).status === 'queued', { withinMs: 120_000, what: 'the queued job' });
  expect(await job()).toMatchObject({ error_category: 'upstream_unavailable', scheduled_at: expect.any(String) });
  const document = async () => (await call('GET', `/v1/buckets/manuals/documents/${body.id}`)).body;
  expect(await document()).toMatchObject({ status: 'failed', error_message: expect.stringContaining('vendor-a') });
  const query = { query: 'heron7q', mode: 'keyword' };
  expect((await call('POST', '/v2/buckets/manuals/search', query)).body.results[0]).toMatchObject({
    document_id: body.id,
  });

  const { calls } = test.upstream;
  const before = calls.length;
  test.upstream.decide = () => null;
  const isReady = async () => {
    await sql`UPDATE jobs SET scheduled_at = now() WHERE id = ${body.job_id} AND status = 'queued'`;
    return (await job()).status === 'ready';
  };
  await until(isReady, { withinMs: 180_000, everyMs: 250, what: 'the end of the job' });
  expect(await document()).toMatchObject({ status: 'ready', error_message: null, embed_model: VENDOR });
  const sent = calls.slice(before).flatMap(({ texts }) => texts);
  expect(sent.filter((text) => text === TEXT)).toHaveLength(1);
});
