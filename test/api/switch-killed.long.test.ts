import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openTestGateway, type TestGateway } from '../support/gateway.ts';
import { type ServiceProcess, startServiceProcess } from '../support/service-process.ts';
import { until } from '../support/until.ts';

const BUILT_IN = 'local/lexical-1';
const VENDOR = 'vendor-d/delta';
const DOCUMENTS = 200;
const KILLS = 3;
/** Calls to the vendor before each kill. */
const CALLS_BEFORE_KILL = 4;

let test: TestGateway;
let worker: ServiceProcess;
let key: string;
let env: NodeJS.ProcessEnv;
let serial = 0;

beforeAll(async () => {
  const settings = {
    models: [{ id: VENDOR, vendor: 'vendor-d', dimensions: 1024, max_tokens: 8192 }],
    workers: { lease_seconds: 5 },
  };
  test = await openTestGateway(settings);
  const file = path.join(test.dataDir, 'worker.yaml');
  const provider = { protocol: 'tei', base_url: test.korean.baseUrl('tei'), items_max: 8, concurrency_max: 2 };
  writeFileSync(file, JSON.stringify({ ...settings, providers: { 'vendor-d': provider } }));
  env = { SERVICE_CONFIG: file, SERVICE_DATA_DIR: test.dataDir, DATABASE_URL: test.databaseUrl };
  const scopes = ['embed', 'search', 'documents:write', 'buckets:manage', 'routing:manage', 'jobs:write'] as const;
  key = await test.key({ authLevel: 10, scopes: [...scopes] });
  worker = await startServiceProcess(['worker', 'ingest'], env);
});
afterAll(async () => {
  await worker?.end('SIGKILL');
  await test.close();
});

interface Known {
  readonly id: string;
  readonly word: string;
}

const call = (method: string, route: string, json?: unknown) =>
  test.call(method, route, { key, ...(json === undefined ? {} : { json }) });

async function upload(): Promise<Known> {
  const word = `heron${++serial}q`;
  const json = { filename: `${word}.txt`, text: `The ${word} stands still in the shallow water of the harbour.` };
  const { status, body } = await call('POST', '/v1/buckets/manuals/documents', json);
  expect(status).toBe(202);
  return { id: body.id, word };
}

async function find(query: string): Promise<string[]> {
  const { status, body } = await call('POST', '/v2/buckets/manuals/search', { query, mode: 'keyword', top_k: 5 });
  expect(status).toBe(200);
  return body.results.map((hit: { document_id: string }) => hit.document_id);
}

async function settled(): Promise<void> {
  const isSettled = async () => {
    const [row] = await test.appliance.sql`
      SELECT count(*)::int AS count FROM jobs WHERE status NOT IN ('ready', 'failed', 'cancelled')`;
    return row?.['count'] === 0;
  };
  await until(isSettled, { withinMs: 300_000, everyMs: 100, what: 'the end of all jobs' });
}

it('a bucket moves to another model while it is used, although its worker is killed three times', async () => {
  await call('POST', '/v1/buckets', { name: 'manuals' });
  await call('PUT', '/v1/routing', { primary: BUILT_IN });
  const known = await Promise.all(Array.from({ length: DOCUMENTS }, upload));
  await settled();
  await call('PUT', '/v1/routing', { primary: VENDOR });
  const { calls } = test.korean;
  test.korean.decide = () => ({ kind: 'delay', ms: 50 });
  const { status, body } = await call('POST', '/v1/buckets/manuals/reembed', {});
  expect(status).toBe(202);

  const deleted: Known[] = [];
  for (let kill = 0; kill < KILLS; kill++) {
    const before = calls.length;
    await until(async () => calls.length >= before + CALLS_BEFORE_KILL, {
      ...{ withinMs: 180_000, what: 'calls to the vendor' },
    });
    await worker.end('SIGKILL');
    // The bucket is used while no worker runs.
    known.push(await upload());
    const [gone] = known.splice(7, 1) as [Known];
    expect((await call('DELETE', `/v1/buckets/manuals/documents/${gone.id}`)).status).toBe(200);
    deleted.push(gone);
    const edited = known[kill] as Known;
    const edit = await call('PATCH', `/v1/buckets/manuals/documents/${edited.id}/metadata`, { metadata: { n: kill } });
    expect(edit.status).toBe(200);
    const untouched = known[50] as Known;
    expect(await find(untouched.word)).toEqual([untouched.id]);
    worker = await startServiceProcess(['worker', 'ingest'], env);
  }
  test.korean.decide = () => null;
  await settled();
  expect((await call('GET', `/v1/jobs/${body.job_id}`)).body.status).toBe('ready');
  expect((await call('GET', '/v1/buckets/manuals')).body.embedding).toMatchObject({ model: VENDOR });
  const missing: string[] = [];
  for (const { id, word } of known) if ((await find(word)).join() !== id) missing.push(word);
  expect(missing).toEqual([]);
  for (const { id, word } of deleted) expect(await find(word)).not.toContain(id);
  const [first] = known as [Known];
  const found = await call('POST', '/v2/buckets/manuals/search', { query: `The ${first.word} stands`, mode: 'vector' });
  expect(found.body).toMatchObject({ model: VENDOR, warnings: [] });
}, 900_000);
