import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { makeDataDir } from '../support/appliance.ts';
import { type CollectedSpan, type FakeCollector, startFakeCollector } from '../support/fake-collector.ts';
import { FakeUpstream } from '../support/fake-upstream.ts';
import { createTestDatabase, type TestDatabase } from '../support/postgres.ts';
import { type ServiceProcess, startServiceProcess } from '../support/service-process.ts';
import { until } from '../support/until.ts';

const CANARY_KEY = 'canary-sk-9c1d7e';
const CANARY_TEXT = 'canaryotters';
const MODEL = 'vendor-a/text-embedding-3-small';

let db: TestDatabase;
let directory: { dataDir: string; remove: () => void };
let collector: FakeCollector;
let upstream: FakeUpstream;
let api: ServiceProcess;
let worker: ServiceProcess;
let key: string;
let env: NodeJS.ProcessEnv;

const call = async (method: string, url: string, json?: unknown, headers: Record<string, string> = {}) => {
  const reply = await fetch(api.ready['url'] + url, {
    method,
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json', ...headers },
    ...(json === undefined ? {} : { body: JSON.stringify(json) }),
  });
  // biome-ignore lint/suspicious/noExplicitAny: answers are checked by the tests that read them
  return { status: reply.status, body: (await reply.json()) as any };
};

beforeAll(async () => {
  db = await createTestDatabase();
  directory = makeDataDir();
  collector = await startFakeCollector();
  upstream = await FakeUpstream.start({ dimensions: 1536, apiKeys: [CANARY_KEY] });
  const settings = {
    providers: { 'vendor-a': { protocol: 'openai', base_url: upstream.baseUrl('openai'), api_key: CANARY_KEY } },
  };
  writeFileSync(path.join(directory.dataDir, 'service.yaml'), JSON.stringify(settings), { mode: 0o600 });
  env = {
    DATABASE_URL: db.url,
    SERVICE_DATA_DIR: directory.dataDir,
    SERVICE_SECRET_KEY: randomBytes(24).toString('base64'),
    SERVICE_LOG_LEVEL: 'debug',
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
  };
  api = await startServiceProcess(['serve', '--no-workers', '--port', '0'], env);
  worker = await startServiceProcess(['worker', 'ingest'], env);
  key = readFileSync(api.ready['key_file'] as string, 'utf8').trim();
}, 180_000);
afterAll(async () => {
  await worker?.end('SIGTERM');
  await api?.end('SIGTERM');
  await upstream?.close();
  await collector?.close();
  await db?.drop();
  directory?.remove();
});

const named = (name: string, spans: readonly CollectedSpan[] = collector.spans) =>
  spans.find((span) => span.name === name);

test('one upload is one connected trace over the API, the queue, the worker, the provider and the index', async () => {
  expect((await call('PUT', '/v1/routing', { primary: MODEL })).status).toBe(200);
  const clientTrace = '0af7651916cd43dd8448eb211c80319c';
  const upload = await call(
    'POST',
    '/v1/buckets/default/documents',
    { filename: `${CANARY_TEXT}.txt`, text: `A report on ${CANARY_TEXT} in the river.` },
    { traceparent: `00-${clientTrace}-b7ad6b7169203331-01`, 'X-Request-Id': 'req-of-the-upload' },
  );
  expect(upload.status).toBe(202);
  const trace = await until(
    async () => {
      const spans = collector.spans.filter(({ traceId }) => traceId === clientTrace);
      return named('job ingest', spans) && spans;
    },
    { withinMs: 120_000, what: 'the trace of the upload' },
  );
  const request = named('POST /v1/buckets/:bucket/documents', trace);
  const job = named('job ingest', trace);
  const embed = named('embed texts', trace);
  const provider = named('call provider', trace);
  const index = named('write index', trace);
  expect(request).toMatchObject({ kind: 2, parentSpanId: 'b7ad6b7169203331', resource: { 'process.pid': api.pid } });
  expect(request?.attributes).toMatchObject({
    'http.response.status_code': 202,
    'service.request_id': 'req-of-the-upload',
  });
  expect(job).toMatchObject({ kind: 5, parentSpanId: request?.spanId, resource: { 'process.pid': worker.pid } });
  expect(job?.attributes).toMatchObject({ 'service.job.id': upload.body.job_id, 'service.job.outcome': 'ready' });
  expect(named('extract document', trace)?.parentSpanId).toBe(job?.spanId);
  expect(embed?.parentSpanId).toBe(job?.spanId);
  expect(provider).toMatchObject({ kind: 3, parentSpanId: embed?.spanId });
  expect(provider?.attributes).toMatchObject({ 'service.provider': 'vendor-a', 'service.texts': 1 });
  expect(index?.parentSpanId).toBe(job?.spanId);
  const ids = new Set([...trace.map(({ spanId }) => spanId), 'b7ad6b7169203331']);
  expect(trace.filter(({ parentSpanId }) => !ids.has(parentSpanId))).toEqual([]);
});

test('log lines of the API and of the worker have the ids of the request, the job and the trace', async () => {
  const lines = (child: ServiceProcess) =>
    child
      .stderr()
      .split('\n')
      .flatMap((line) => (line.startsWith('{') && line.endsWith('}') ? [JSON.parse(line)] : []));
  const job = named('job ingest');
  const ready = await until(async () => lines(worker).find(({ msg }) => msg === 'the job is ready'), {
    withinMs: 60_000,
  });
  expect(ready).toMatchObject({
    request_id: 'req-of-the-upload',
    job_id: job?.attributes['service.job.id'],
    trace_id: job?.traceId,
    span_id: job?.spanId,
  });
  const access = await until(async () => lines(api).find((line) => line.request_id === 'req-of-the-upload'), {
    withinMs: 60_000,
  });
  expect(access).toMatchObject({ msg: 'request', trace_id: job?.traceId });
});

test('a search is a trace of its own with spans of the provider and the index', async () => {
  const found = await call('POST', '/v2/buckets/default/search', { query: `where are ${CANARY_TEXT}` });
  expect(found.status).toBe(200);
  const request = await until(async () => named('POST /v2/buckets/:bucket/search'), { withinMs: 60_000 });
  const trace = collector.spans.filter(({ traceId }) => traceId === request.traceId);
  expect(trace.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['embed texts', 'call provider', 'search index']),
  );
});

test('spans hold no text, no name of a file, no query and no credential', () => {
  const sent = Buffer.concat(collector.bodies).toString('latin1');
  expect(sent.length).toBeGreaterThan(1_000);
  for (const secret of [CANARY_TEXT, CANARY_KEY, key, 'river', 'default']) expect(sent).not.toContain(secret);
});

test('a process whose collector does not answer works, and stops as it is told', async () => {
  const child = await startServiceProcess(['reaper'], { ...env, OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' });
  await child.end('SIGTERM');
  expect(child.ended()).toEqual({ code: 0, signal: null });
});
