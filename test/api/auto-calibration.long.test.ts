import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { makeDataDir } from '../support/appliance.ts';
import { FakeUpstream } from '../support/fake-upstream.ts';
import { createTestDatabase, type TestDatabase } from '../support/postgres.ts';
import { type ServiceProcess, startServiceProcess } from '../support/service-process.ts';
import { until } from '../support/until.ts';

const FIRST = 'vendor-a/alpha';
const SECOND = 'vendor-b/beta';
const MOVED_WITHIN_MS = 180_000;

let database: TestDatabase;
let data: ReturnType<typeof makeDataDir>;
const upstreams: FakeUpstream[] = [];
const running: ServiceProcess[] = [];

beforeAll(async () => {
  database = await createTestDatabase({ isEmpty: true });
  data = makeDataDir();
  for (const model of ['alpha', 'beta']) {
    upstreams.push(await FakeUpstream.start({ semantic: true, dimensions: { [model]: model === 'alpha' ? 128 : 96 } }));
  }
});
afterAll(async () => {
  for (const service of running) await service.end('SIGKILL');
  for (const upstream of upstreams) await upstream.close();
  await database.drop();
  data.remove();
});

/** Start `service serve` with both vendors configured. */
async function serve(auto: string): Promise<{ service: ServiceProcess; call: ReturnType<typeof callerOf> }> {
  const [first, second] = upstreams as [FakeUpstream, FakeUpstream];
  const settings = {
    projections: { auto },
    providers: {
      'vendor-a': { protocol: 'openai', base_url: first.baseUrl('openai'), concurrency_max: 4, retries_max: 0 },
      'vendor-b': { protocol: 'openai', base_url: second.baseUrl('openai'), concurrency_max: 4, retries_max: 0 },
    },
    models: [
      { id: FIRST, vendor: 'vendor-a', dimensions: 128, max_tokens: 8192, price_per_million: 2 },
      { id: SECOND, vendor: 'vendor-b', dimensions: 96, max_tokens: 8192 },
    ],
    alias: { 'service-embed-1-small': { default: FIRST } },
  };
  const file = path.join(data.dataDir, 'service.yaml');
  writeFileSync(file, JSON.stringify(settings));
  const env = { SERVICE_CONFIG: file, SERVICE_DATA_DIR: data.dataDir, DATABASE_URL: database.url };
  const service = await startServiceProcess(['serve', '--port', '0'], env);
  running.push(service);
  const key = readFileSync(service.ready['key_file'] as string, 'utf8').trim();
  return { service, call: callerOf(service.ready['url'] as string, key) };
}

function callerOf(url: string, key: string) {
  return async (method: string, route: string, json?: unknown) => {
    const reply = await fetch(url + route, {
      method,
      headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
      ...(json === undefined ? {} : { body: JSON.stringify(json) }),
    });
    // biome-ignore lint/suspicious/noExplicitAny: answers are checked by the expectations
    return { status: reply.status, headers: reply.headers, body: (await reply.json()) as any };
  };
}

it('two configured vendors are calibrated by themselves, buckets are moved, and one model finds documents of the other', async () => {
  const before = await serve('off');
  const texts = ['the pilot brings the ferry into the harbour', 'knead the flour with butter and an onion'];
  for (const [at, text] of texts.entries()) {
    const json = { filename: `${at}.txt`, text };
    expect((await before.call('POST', '/v1/buckets/default/documents', json)).status).toBe(202);
  }
  await until(
    async () => {
      const { body } = await before.call('GET', '/v1/buckets/default/documents');
      return body.data.length === 2 && body.data.every(({ status }: { status: string }) => status === 'ready');
    },
    { withinMs: 60_000, what: 'the documents' },
  );
  expect((await before.call('GET', '/v1/buckets/default')).body.embedding.space).toBe(`native:${FIRST}@1`);
  const native = await before.call('POST', '/v1/embeddings', { input: texts[0], model: FIRST });
  expect(native.headers.get('x-service-projection')).toBe('uncalibrated');
  expect((await before.call('GET', `/v1/models/${FIRST}`)).body).toMatchObject({
    ...{ status: 'served', calibrated: false, space: `native:${FIRST}@1`, map_version: null, score: null },
  });
  await before.service.end('SIGTERM');

  const { service, call } = await serve('on');
  await until(
    async () => {
      const models = await Promise.all([FIRST, SECOND].map((id) => call('GET', `/v1/models/${id}`)));
      return models.every(({ body }) => body.status === 'calibrated');
    },
    { withinMs: MOVED_WITHIN_MS, everyMs: 100, what: 'both maps' },
  );
  await until(async () => (await call('GET', '/v1/buckets/default')).body.embedding.space === 'canon-v1', {
    ...{ withinMs: MOVED_WITHIN_MS, everyMs: 100, what: 'the move of the bucket' },
  });
  const sent = upstreams.map(({ calls }) => calls.flatMap((each) => each.texts));
  // Nothing but the calibration texts went to the second vendor, and none of the stored documents.
  expect(sent[1]).toHaveLength(2_000);
  for (const text of texts) expect(sent[1]).not.toContain(text);

  const { body: projections } = await call('GET', '/v1/projections');
  expect(projections.data.map(({ model }: { model: string }) => model).toSorted()).toEqual([FIRST, SECOND]);
  for (const map of projections.data) expect(map).toMatchObject({ space: 'canon-v1', status: 'active', grade: 'good' });
  const { body: model } = await call('GET', `/v1/models/${SECOND}`);
  expect(model).toMatchObject({ space: 'canon-v1', score: expect.any(Number), map_version: expect.any(Number) });
  expect(service.stderr()).toContain('"cost":');

  // The first vendor is down: the second model embeds the queries of the bucket.
  (upstreams[0] as FakeUpstream).decide = () => ({ kind: 'status', status: 503 });
  for (const [at, text] of texts.entries()) {
    const json = { query: text.split(' ').toReversed().join(' '), mode: 'vector', top_k: 1 };
    const found = await call('POST', '/v2/buckets/default/search', json);
    expect(found.body).toMatchObject({ model: SECOND, warnings: [] });
    expect(found.body.results[0].text).toBe(texts[at]);
  }
  await service.end('SIGTERM');
}, 420_000);
