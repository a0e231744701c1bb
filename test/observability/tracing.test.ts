import { afterEach, expect, test } from 'vitest';
import { loadConfig } from '../../src/platform/config.ts';
import { AppError } from '../../src/platform/errors.ts';
import { openLogger } from '../../src/platform/logger.ts';
import type { Tracing } from '../../src/platform/span.ts';
import { openTracing, traced } from '../../src/platform/tracing.ts';
import { currentWork, runFor } from '../../src/platform/work-context.ts';
import { type FakeCollector, startFakeCollector } from '../support/fake-collector.ts';
import { until } from '../support/until.ts';

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function collector(status = 200): Promise<FakeCollector> {
  const started = await startFakeCollector({ status });
  closing.push(() => started.close());
  return started;
}

async function open(tracing: Record<string, unknown>, lines: string[] = []): Promise<Tracing> {
  const logger = openLogger('debug', { write: (line) => void lines.push(line) });
  const opened = await openTracing(loadConfig({ env: {}, overrides: { data_dir: '/unused', tracing } }), logger);
  if (opened === null) throw new Error('there is no tracing');
  closing.push(() => opened.close());
  return opened;
}

const work = (span: ReturnType<Tracing['startSpan']>) => ({ requestId: 'req_1', jobId: null, orgId: null, span });

test('without an endpoint there is no tracing, and a traced step only calls its function', async () => {
  const config = loadConfig({ env: {}, overrides: { data_dir: '/unused' } });
  expect(await openTracing(config, openLogger('silent'))).toBeNull();
  const attributes = () => {
    throw new Error('attributes are computed only for a trace');
  };
  expect(await traced('step', attributes, async () => 7)).toBe(7);
});

test('the endpoint comes from the standard variable of OpenTelemetry, and an empty one is none', () => {
  const load = (env: NodeJS.ProcessEnv) => loadConfig({ env, overrides: { data_dir: '/unused' } }).tracing;
  expect(load({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318', OTEL_SERVICE_NAME: 'eu' })).toMatchObject({
    endpoint: 'http://collector:4318',
    serviceName: 'eu',
  });
  expect(load({ OTEL_EXPORTER_OTLP_ENDPOINT: '' })).toBeNull();
  expect(() => load({ OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4318' })).toThrow(/tracing\.endpoint|OTEL_EXPORTER/);
});

test('steps become spans of one trace, with the codes of their errors but not their messages', async () => {
  const { url, spans, headers, bodies } = await collector();
  const tracing = await open({ endpoint: `${url}/`, headers: { 'x-api-key': 'canary-key' }, service_name: 'test' });
  const root = tracing.startSpan('root', 'server', null, { 'service.request_id': 'req_1' });
  await runFor(work(root), async () => {
    await traced(
      'outer',
      () => ({ 'service.texts': 2 }),
      async () => {
        const fail = () => Promise.reject(new AppError({ code: 'not_there', status: 404, message: 'canary-text' }));
        await traced('inner', () => ({}), fail, 'client').catch(() => undefined);
      },
    );
  });
  root.end(null);
  await tracing.close();
  const [inner, outer, first] = ['inner', 'outer', 'root'].map((name) => spans.find((span) => span.name === name));
  expect(new Set(spans.map(({ traceId }) => traceId))).toEqual(new Set([root.traceId]));
  expect(inner).toMatchObject({ parentSpanId: outer?.spanId, kind: 3, statusCode: 2 });
  expect(inner?.attributes).toEqual({ 'error.type': 'not_there' });
  expect(outer).toMatchObject({ parentSpanId: first?.spanId, kind: 1, attributes: { 'service.texts': 2 } });
  expect(first).toMatchObject({
    parentSpanId: '',
    kind: 2,
    resource: { 'service.name': 'test', 'process.pid': process.pid },
  });
  expect(headers[0]?.['x-api-key']).toBe('canary-key');
  expect(Buffer.concat(bodies).toString('latin1')).not.toContain('canary');
});

test.each([
  ['00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01', '0af7651916cd43dd8448eb211c80319c', 1],
  ['00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00', '0af7651916cd43dd8448eb211c80319c', 0],
  ['00-00000000000000000000000000000000-b7ad6b7169203331-01', null, 1],
  ['ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01', null, 1],
  ['not a trace', null, 1],
])('the trace parent %s is continued or ignored as W3C Trace Context says', async (traceParent, traceId, sent) => {
  const { url, spans } = await collector();
  const tracing = await open({ endpoint: url });
  const span = tracing.startSpan('root', 'server', traceParent, {});
  if (traceId === null) expect(traceParent).not.toContain(span.traceId);
  else expect(span.traceId).toBe(traceId);
  span.end(null);
  await tracing.close();
  expect(spans).toHaveLength(sent);
});

test('a share of 0 sends nothing of traces that begin here', async () => {
  const { url, spans } = await collector();
  const tracing = await open({ endpoint: url, sample_ratio: 0 });
  tracing.startSpan('root', 'server', null, {}).end(null);
  await tracing.close();
  expect(spans).toEqual([]);
});

test('a collector that refuses spans is reported in the log, not to the work', async () => {
  const { url } = await collector(400);
  const lines: string[] = [];
  const tracing = await open({ endpoint: url }, lines);
  const root = tracing.startSpan('root', 'server', null, {});
  expect(
    await runFor(work(root), () =>
      traced(
        'step',
        () => ({}),
        async () => 'done',
      ),
    ),
  ).toBe('done');
  root.end(null);
  await until(async () => lines.some((line) => line.includes('could not be sent')), { withinMs: 60_000 });
  expect(lines.join('')).not.toContain('req_1');
});

test('log lines have the ids of request, job and trace of the code that writes them', async () => {
  const { url } = await collector();
  const tracing = await open({ endpoint: url });
  const lines: string[] = [];
  const logger = openLogger('info', { write: (line) => void lines.push(line) });
  const span = tracing.startSpan('job', 'consumer', null, {});
  await runFor({ requestId: 'req_1', jobId: 'job_1', orgId: 'org_1', span }, async () => {
    await new Promise((resolve) => setImmediate(resolve));
    logger.info('inside');
    expect(currentWork()?.jobId).toBe('job_1');
  });
  logger.info('outside');
  span.end(null);
  const [inside, outside] = lines.map((line) => JSON.parse(line));
  expect(inside).toMatchObject({
    ...{ request_id: 'req_1', job_id: 'job_1', org_id: 'org_1' },
    ...{ trace_id: span.traceId, span_id: span.spanId },
  });
  for (const field of ['request_id', 'job_id', 'trace_id']) expect(outside).not.toHaveProperty(field);
});
