import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { createBucket, deleteBucket } from '../../src/documents/buckets.ts';
import { BucketPolicy } from '../../src/documents/schema.ts';
import { recoverJobs } from '../../src/jobs/recovery.ts';
import { openTestAppliance, type TestAppliance } from '../support/appliance.ts';
import { filesWith } from '../support/files-with.ts';
import { ingestAll } from '../support/ingest-all.ts';
import { type ServiceProcess, startServiceProcess } from '../support/service-process.ts';
import { until } from '../support/until.ts';

const CANARY = 'zqxkvj8853wpf';
const INGESTED = 40;
/** Enough that a removal is under way for a while. */
const ROWS = 3_000;

let test: TestAppliance;
let worker: ServiceProcess | null = null;
beforeAll(async () => {
  test = await openTestAppliance();
});
afterEach(async () => {
  await worker?.end('SIGKILL');
  worker = null;
});
afterAll(() => test.close());

const names = ['hard-deleted', 'deleted'];
let name: string;
let bucketId: string;
/** A bucket with documents that have all that ingest gives them, and many more that are rows only. */
beforeEach(async () => {
  name = names.shift() as string;
  const { sql } = test.appliance;
  bucketId = (await createBucket(sql, test.operator, { name, policy: BucketPolicy.parse({}) })).id;
  const ingest = test.appliance.jobs.worker('ingest');
  await ingest.start(new AbortController().signal);
  const texts = Array.from({ length: INGESTED }, (_, i) => `${i < INGESTED / 2 ? CANARY : 'Heron'} number ${i}.`);
  const documents = texts.map((text, i) => ({ id: String(i), fileName: `${i}.txt`, text }));
  await ingestAll(test.appliance, test.operator, name, documents).finally(() => ingest.stop());
  await sql`
    INSERT INTO documents (id, org_id, bucket_id, file_name, size_bytes, sha256, object_key, ingest_options, status)
    SELECT 'doc_' || right(${bucketId}, 6) || lpad(i::text, 4, '0'), ${test.operator.orgId}, ${bucketId}, 'row.txt', 1, '\\x00', 'k', '{}', 'ready'
    FROM generate_series(1, ${ROWS}) AS i`;
  expect(filesWith(test.dataDir, CANARY)).not.toEqual([]);
});

async function startProcess(...args: string[]): Promise<void> {
  const env = { DATABASE_URL: test.databaseUrl, SERVICE_LOG_LEVEL: 'error' };
  worker = await startServiceProcess([...args, '--data-dir', test.dataDir], env);
}

const countOf = async (table: 'documents' | 'generations') => {
  const [row] = await test.appliance
    .sql`SELECT count(*)::int AS n FROM ${test.appliance.sql(table)} WHERE bucket_id = ${bucketId}`;
  return row?.['n'] as number;
};

it('a hard delete whose worker is killed at any of its steps is finished by the next', {
  timeout: 180_000,
}, async () => {
  const { sql, metadata, search } = test.appliance;
  // By their bytes in storage, not by a query: what holds the canary, and every row.
  const rows = await sql`
    SELECT id FROM documents WHERE bucket_id = ${bucketId}
      AND (file_name = 'row.txt' OR split_part(file_name, '.', 1)::int < ${INGESTED / 2})`;
  const ids = rows.map((row) => row['id'] as string);
  expect(ids).toHaveLength(ROWS + INGESTED / 2);
  const request = { caller: test.operator, bucketId, where: null, statement: 's' };
  const { jobId } = await metadata.queueHardDelete({ ...request, documentIds: ids });
  const crashes: number[] = [];
  const steps = [
    async () => (await countOf('generations')) < INGESTED,
    async () => (await countOf('documents')) < INGESTED / 2 + ROWS,
  ];
  for (const step of steps) {
    await startProcess('worker', 'ingest');
    await until(step, { withinMs: 60_000, everyMs: 2 });
    await worker?.end('SIGKILL');
    expect(await countOf('documents')).toBeGreaterThan(INGESTED / 2);
    await recoverJobs(sql, new Map());
    const [job] = await sql`SELECT status, crash_count FROM jobs WHERE id = ${jobId}`;
    expect(job?.['status']).toBe('queued');
    crashes.push(job?.['crash_count'] as number);
  }
  expect(crashes).toEqual([1, 2]);
  await startProcess('worker', 'ingest');
  const state = async () => (await sql`SELECT status FROM jobs WHERE id = ${jobId}`)[0]?.['status'];
  await until(async () => (await state()) === 'ready', { withinMs: 60_000, what: 'the end of the job' });
  expect(filesWith(test.dataDir, CANARY)).toEqual([]);
  expect([await countOf('documents'), await countOf('generations')]).toEqual([INGESTED / 2, INGESTED / 2]);
  const table = await search.tables.read(bucketId, Number.MAX_SAFE_INTEGER);
  expect(await table?.countRows()).toBe(INGESTED / 2);
  const tombstones = await sql`
    SELECT count(*)::int AS n FROM audit_log WHERE action = 'document.hard_delete' AND target = ANY(${ids})`;
  expect(tombstones).toEqual([{ n: ids.length }]);
});

it('a bucket whose deletion is killed in the middle is removed by the next process', { timeout: 180_000 }, async () => {
  const { sql, objects } = test.appliance;
  const rows = await sql`SELECT id FROM documents WHERE bucket_id = ${bucketId} AND file_name <> 'row.txt'`;
  const ids = new Set(rows.map((row) => row['id'] as string));
  const waiting = await sql`
    INSERT INTO jobs (id, kind, org_id, bucket_id, document_id, fair_rank, status, s3_key, file_name, file_size)
    VALUES ('job_waiting', 'ingest', ${test.operator.orgId}, ${bucketId}, ${[...ids][0] as string}, 0, 'queued', 'k', 'x.txt', 1)
    RETURNING id`;
  await deleteBucket(sql, test.operator, name, name);
  expect(await sql`SELECT status FROM jobs WHERE id = ${waiting[0]?.['id']}`).toEqual([{ status: 'cancelled' }]);
  await startProcess('serve', '--port', '0');
  await until(async () => (await countOf('documents')) < ROWS, { withinMs: 60_000, everyMs: 2 });
  await worker?.end('SIGKILL');
  expect(await countOf('documents')).toBeGreaterThan(0);
  await startProcess('serve', '--port', '0');
  const gone = async () => (await sql`SELECT 1 FROM buckets WHERE id = ${bucketId}`).length === 0;
  await until(gone, { withinMs: 60_000, what: 'the removal of the bucket' });
  expect([await countOf('documents'), await countOf('generations')]).toEqual([0, 0]);
  expect(filesWith(test.dataDir, CANARY)).toEqual([]);
  expect(filesWith(test.dataDir, bucketId)).toEqual([]);
  for await (const { key } of objects.list('documents/')) expect(ids.has(key.split('/')[2] as string)).toBe(false);
  for (const table of ['index_tables', 'reprojections', 'retired_index_tables']) {
    expect(await sql`SELECT 1 FROM ${sql(table)} WHERE bucket_id = ${bucketId}`).toHaveLength(0);
  }
});
