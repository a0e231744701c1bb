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
