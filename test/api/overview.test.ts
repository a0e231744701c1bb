import { afterAll, beforeAll, expect, it } from 'vitest';
import { SCOPES } from '../../src/access/caller.ts';
import { openTestApi, type TestApi } from '../support/api.ts';
import { until } from '../support/until.ts';

let test: TestApi;
let operator: string;
beforeAll(async () => {
  test = await openTestApi();
  operator = await test.key({ scopes: [...SCOPES], authLevel: 10 });
  const upload = (json: object) => test.call('POST', '/v1/buckets/default/documents', { key: operator, json });
  await upload({ filename: 'open.txt', text: 'An open text.' });
  await upload({ filename: 'hidden.txt', text: 'A hidden text.', privacy_level: 9 });
  await upload({ filename: 'broken.pdf', content_base64: Buffer.from('%PDF-1.4 broken').toString('base64') });
  const { sql } = test.appliance;
  await until(async () => (await sql`SELECT 1 FROM documents WHERE status NOT IN ('ready', 'failed')`).length === 0, {
    what: 'ingest',
    withinMs: 60_000,
  });
});
afterAll(() => test.close());

const overview = async (key: string) => (await test.call('GET', '/v1/overview', { key })).body;

it('an overview counts jobs, documents and buckets, and names what needs attention', async () => {
  const body = await overview(operator);
  expect(body.documents).toMatchObject({ by_status: { ready: 2, failed: 1 }, keyword_only: 0 });
  expect(body.documents.bytes).toBeGreaterThan(0);
  expect(body.jobs).toMatchObject({ live: {}, last_day: { ready: 2, failed: 1 }, failure_rate: 1 / 3 });
  expect(body.buckets).toBe(1);
  expect(body.attention.find(({ name }: { name: string }) => name === 'jobs')).toMatchObject({
    severity: 'warning',
    message: expect.stringContaining('1 job failed'),
  });
});

const today = () => new Date().toISOString().slice(0, 10);

it('an overview counts the documents and searches of each day, and the searches without an answer', async () => {
  const key = await test.key({ scopes: ['search', 'documents:write'], authLevel: 10, org: 'searchers' });
  const { id } = (await test.call('GET', '/v1/buckets', { key })).body.data[0] ?? {};
  const bucket = id ?? 'default';
  const json = { filename: 'crane.txt', text: 'The warranty of the crane lasts two years.' };
  const upload = await test.call('POST', `/v1/buckets/${bucket}/documents`, { key, json });
  await until(async () => (await test.call('GET', `/v1/jobs/${upload.body.job_id}`, { key })).body.status === 'ready', {
    what: 'ingest',
    withinMs: 60_000,
  });
  const search = (query: string) => test.call('POST', `/v2/buckets/${bucket}/search`, { key, json: { query } });
  await search('warranty of the crane');
  await search('zebra xylophone');
  const body = await overview(key);
  expect(body.documents.added).toEqual([{ date: today(), documents: 1 }]);
  expect(body.searches).toEqual([{ date: today(), searches: 2, unanswered: 1 }]);
  expect((await overview(await test.key({ org: 'other', authLevel: 10 }))).searches).toEqual([]);
  const used = (by: string) => test.call('GET', '/v1/usage/buckets', { key: by });
  expect((await used(key)).body.data).toEqual([
    expect.objectContaining({ name: 'default', searches: 2, unanswered: 1, documents: 1 }),
  ]);
  const foreign = await used(await test.key({ org: 'other', authLevel: 10 }));
  expect(foreign.body.data.map(({ searches, documents }: Record<string, number>) => [searches, documents])).toEqual(
    foreign.body.data.map(() => [0, 0]),
  );
});

it('an overview lists runs that wait for an approval, for those who may approve', async () => {
  const scopes = ['documents:write', 'workflows:run', 'workflows:manage', 'platform_admin'] as const;
  const runner = await test.key({ scopes: [...scopes], authLevel: 10 });
  const json = {
    name: 'Store',
    definition: {
      blocks: [{ id: 'store', type: 'upload_document', with: { bucket: 'default', filename: 'a.txt', text: 'a' } }],
    },
  };
  const { id } = (await test.call('POST', '/v1/workflows', { key: runner, json })).body;
  await test.call('POST', `/v1/workflows/${id}/publish`, { key: runner });
  const run = await test.call('POST', `/v1/workflows/${id}/run`, { key: runner, json: { mode: 'live' } });
  const waiting = { run_id: run.body.run_id, workflow_id: id, workflow_name: 'Store' };
  expect((await overview(operator)).waiting_runs).toEqual([expect.objectContaining(waiting)]);
  const reader = await test.key({ scopes: ['search'], authLevel: 10 });
  expect((await overview(reader)).waiting_runs).toEqual([]);
  await test.call('POST', `/v1/workflows/${id}/runs/${run.body.run_id}/approve`, {
    key: operator,
    json: { approvals: { store: false } },
  });
  expect((await overview(operator)).waiting_runs).toEqual([]);
});

it('those who run the installation see its queues, workers, requests, providers and storage', async () => {
  await overview(operator);
  const { installation } = await overview(operator);
  expect(installation.workers).toContainEqual(expect.objectContaining({ kind: 'ingest', pid: process.pid }));
  expect(installation.throughput.history).toHaveLength(60);
  expect(installation.requests.per_second).toBeGreaterThan(0);
  expect(installation.storage.parts).toMatchObject({ database: 'ok', objects: 'ok', index: 'ok' });
  expect(installation.storage.disk_total_bytes).toBeGreaterThan(installation.storage.disk_free_bytes);
  expect(installation.storage.database_bytes).toBeGreaterThan(1_000_000);
});

it('an overview counts nothing that the caller may not see, and nothing of the installation', async () => {
  const low = await test.key({ authLevel: 1, scopes: SCOPES.filter((scope) => scope !== 'platform_admin') });
  const body = await overview(low);
  expect(body.installation).toBeNull();
  expect(body.documents.by_status).toEqual({ ready: 1, failed: 1 });
  expect(body.jobs.last_day).toEqual({ ready: 1, failed: 1 });
  const foreign = await overview(await test.key({ org: 'other', authLevel: 10 }));
  expect(foreign).toMatchObject({
    documents: { by_status: {}, bytes: 0 },
    jobs: { live: {}, last_day: {}, failure_rate: null },
    attention: [],
    installation: null,
  });
});
