import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { judgeSkew } from '../../src/cli/doctor.ts';
import { describeGrowth, findWarnings } from '../../src/cli/doctor-warnings.ts';
import { enqueueJob } from '../../src/jobs/store.ts';
import { removeWorker, touchWorker } from '../../src/jobs/worker-store.ts';
import { newId } from '../../src/platform/ids.ts';
import { openTestAppliance, type TestAppliance } from '../support/appliance.ts';
import { ingestAll } from '../support/ingest-all.ts';
import { runCommand } from './service.ts';

let installation: TestAppliance;
const DAY_MS = 24 * 3_600_000;
const GIB = 1024 ** 3;

beforeAll(async () => {
  installation = await openTestAppliance();
});
afterAll(() => installation.close());
beforeEach(async () => {
  const { sql, jobs } = installation.appliance;
  await sql`DELETE FROM jobs`;
  await sql`DELETE FROM documents`;
  const sign = jobs.chores(60_000).find(({ name }) => name === 'record that a reaper runs');
  await sign?.run(new AbortController().signal);
});

const warnings = (changes: object = {}) => {
  const { sql, config } = installation.appliance;
  return findWarnings(sql, { ...config, ...changes });
};

test('an installation with nothing to do and a reaper has no warnings', async () => {
  expect(await warnings()).toEqual([]);
});

test('jobs that are due and have no worker are a warning, until a worker is there', async () => {
  const { sql } = installation.appliance;
  const [bucket] = await sql`SELECT id FROM buckets LIMIT 1`;
  await enqueueJob(sql, {
    ...{ id: newId('job'), kind: 'ingest', orgId: installation.operator.orgId, bucketId: bucket?.['id'] as string },
    ...{ priority: 2, s3Key: 'k', fileName: 'a.txt', fileSizeBytes: 1, processingType: 'test', documentId: 'doc_0' },
  });
  expect(await warnings()).toEqual([
    {
      name: 'workers',
      detail: expect.stringMatching(/^1 ingest job waits, and no worker runs; start "service serve"/),
    },
  ]);
  await touchWorker(sql, { id: 'w', kind: 'ingest', host: 'h', pid: 1 });
  expect(await warnings()).toEqual([]);
  await removeWorker(sql, 'w');
  await sql`UPDATE jobs SET scheduled_at = now() + interval '1 hour'`;
  expect(await warnings()).toEqual([]);
});

test('a reaper that has not run for three intervals is a warning, and doctor prints it and exits with 0', async () => {
  const { sql } = installation.appliance;
  await sql`UPDATE reaper_runs SET ran_at = now() - interval '10 minutes'`;
  expect(await warnings()).toEqual([{ name: 'reaper', detail: expect.stringContaining('for 10 min') }]);
  const env = { SERVICE_DATA_DIR: installation.dataDir, DATABASE_URL: installation.databaseUrl };
  expect(await runCommand(['doctor'], env)).toMatchObject({
    ...{ code: 0, stdout: expect.stringMatching(/^! reaper: no reaper has run for \d+ min; start/m) },
  });
  await sql`DELETE FROM reaper_runs`;
  expect(await warnings()).toEqual([{ name: 'reaper', detail: expect.stringContaining('has run yet') }]);
});

test('documents that the built-in model embeds are a warning while it is the default', async () => {
  const { sql } = installation.appliance;
  const worker = installation.appliance.jobs.worker('ingest');
  await worker.start(new AbortController().signal);
  const document = { id: 'a', fileName: 'a.txt', text: 'The warranty of the pump is two years.' };
  await ingestAll(installation.appliance, installation.operator, 'default', [document]);
  await worker.stop();
  expect(await warnings()).toEqual([
    {
      name: 'default model',
      detail: expect.stringMatching(
        /^local\/lexical-1 embedded 1 document, .*"service models adopt local\/semantic-1"/,
      ),
    },
  ]);
  const providers = { 'vendor-a': { models: {} } };
  expect(await warnings({ providers })).toEqual([]);
  await sql`DELETE FROM documents`;
});

test('an alias over models that cannot be compared is a warning', async () => {
  const providers = { 'vendor-a': { models: {} }, 'vendor-e': { models: {} } };
  const alias = { default: 'vendor-a/text-embedding-3-small', ko: 'vendor-e/embeddings-v3' };
  expect(await warnings({ providers, alias })).toEqual([
    {
      name: 'alias',
      detail: expect.stringContaining('service projections fit --model vendor-a/text-embedding-3-small'),
    },
  ]);
  expect(await warnings({ providers, alias: { default: alias.default, ko: alias.default } })).toEqual([]);
});

test('a disk that will be full within two weeks at the current rate is a warning', () => {
  const week = { bytes: 70 * GIB, overMs: 7 * DAY_MS };
  expect(describeGrowth({ ...week, freeBytes: 50 * GIB })?.detail).toContain(
    'about 10.0 GiB a day, the disk is full in 5 days (50.0 GiB are free)',
  );
  expect(describeGrowth({ ...week, freeBytes: 200 * GIB })).toBeNull();
  expect(describeGrowth({ bytes: 0, overMs: DAY_MS, freeBytes: 1 })).toBeNull();
});

test('clocks that differ by more than a second are a warning, and by more than five the check fails', () => {
  expect(judgeSkew(-900)).toEqual({ status: 'ok', detail: "the database's clock differs by 900 ms" });
  expect(judgeSkew(1_500)).toMatchObject({ status: 'warning', detail: expect.stringContaining('NTP') });
  expect(judgeSkew(-6_000).status).toBe('down');
});
