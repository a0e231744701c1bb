import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { deleteDocument } from '../../src/documents/documents.ts';
import { getVisibleJob } from '../../src/documents/job-documents.ts';
import { UploadRequest } from '../../src/ingest/schema.ts';
import { uploadDocument } from '../../src/ingest/upload.ts';
import { cancelJob, deleteJob, type JobOperations, reprocessJob } from '../../src/jobs/operations.ts';
import { reapStaleJobs } from '../../src/jobs/reap.ts';
import { claimJobs } from '../../src/jobs/store.ts';
import type { Service } from '../../src/platform/lifecycle.ts';
import { SearchRequest } from '../../src/search/schema.ts';
import { searchBucket } from '../../src/search/search.ts';
import { openTestAppliance, type TestAppliance } from '../support/appliance.ts';
import { createTestRandom } from '../support/random.ts';
import { until } from '../support/until.ts';

let test: TestAppliance;
let operations: JobOperations;
const services: Service[] = [];

beforeAll(async () => {
  test = await openTestAppliance();
  ({ operations } = test.appliance.jobs);
});
afterEach(async () => {
  for (const service of services.splice(0)) await service.stop();
});
afterAll(() => test.close());

async function start(service: Service): Promise<void> {
  services.push(service);
  await service.start(new AbortController().signal);
}

let uploads = 0;
async function upload(text = `Lantern number ${++uploads}.`): Promise<{ id: string; job: string }> {
  const content = { bytes: Buffer.from(text), fileName: 'lantern.txt', contentType: null };
  const reply = await uploadDocument(
    test.appliance.ingest.uploads,
    test.operator,
    'default',
    content,
    UploadRequest.parse({}),
  );
  return { id: reply.id, job: reply.job_id as string };
}

const jobOf = (id: string) => getVisibleJob(test.appliance.sql, test.operator, id);
const endOf = (id: string, status: string) => until(async () => (await jobOf(id)).status === status, { what: status });

async function documentOf(
  id: string,
): Promise<{ status: string; error_message: string | null; active_generation: number | null }> {
  const [row] = await test.appliance
    .sql`SELECT status, error_message, active_generation FROM documents WHERE id = ${id}`;
  return row as never;
}

/** Number of chunks of the document that a search finds. */
async function found(query: string, id: string): Promise<number> {
  const reply = await searchBucket(test.appliance.search, test.operator, 'default', SearchRequest.parse({ query }));
  return reply.results.filter((result) => result.document_id === id).length;
}

describe('reprocess', () => {
  it('a reprocessed document is found by its old generation until the new one is live, never by both or none', {
    timeout: 60_000,
  }, async () => {
    await start(test.appliance.jobs.worker('ingest'));
    const { id, job } = await upload('The heron nests in April.');
    await endOf(job, 'ready');
    const before = await documentOf(id);
    const first = await jobOf(job);
    let runs = 0;
    let origin = job;
    for (let round = 0; round < 3; round++) {
      const again = await reprocessJob(operations, test.operator, origin);
      expect(again).toMatchObject({
        ...{ status: 'queued', reprocess_of_job_id: origin, document_id: id, bucket_id: first.bucket_id },
        ...{ priority: first.priority, s3_key: first.s3_key, file_name: first.file_name, file_size: first.file_size },
        ...{ file_type: 'txt', processing_type: 'document_upload' },
        metadata_snapshot: { file_name: 'lantern.txt', captured_at: expect.any(String) },
      });
      do {
        expect(await found('heron nests', id)).toBe(1);
        expect((await documentOf(id)).status).toBe('ready');
        runs++;
      } while ((await jobOf(again.id)).status !== 'ready');
      expect(await found('heron nests', id)).toBe(1);
      origin = again.id;
    }
    expect(runs).toBeGreaterThanOrEqual(3);
    expect((await documentOf(id)).active_generation).not.toBe(before.active_generation);
    expect(await jobOf(job)).toEqual(first);
  });

  it('a failed document that is reprocessed is queued, then ready', async () => {
    const { id, job } = await upload();
    await cancelJob(operations, test.operator, job, { force: false });
    expect((await documentOf(id)).status).toBe('failed');
    const again = await reprocessJob(operations, test.operator, job);
    expect((await documentOf(id)).status).toBe('queued');
    await start(test.appliance.jobs.worker('ingest'));
    await endOf(again.id, 'ready');
    expect((await documentOf(id)).status).toBe('ready');
  });

  it('reprocessing a deleted document is a 404', async () => {
    const { id, job } = await upload();
    await deleteDocument(test.appliance.sql, test.operator, 'default', id);
    for (const purge of [async () => {}, () => test.appliance.documents.purge(new AbortController().signal)]) {
      await purge();
      await expect(reprocessJob(operations, test.operator, job)).rejects.toMatchObject({
        code: 'document_not_found',
        status: 404,
      });
    }
  });
});

describe('a document whose job ends without a result', () => {
  it('a document keeps its status after a cancelled job while another job works on it', async () => {
    const { id, job } = await upload();
    await cancelJob(operations, test.operator, job, { force: false });
    const [one, two] = [
      await reprocessJob(operations, test.operator, job),
      await reprocessJob(operations, test.operator, job),
    ];
    await cancelJob(operations, test.operator, one.id, { force: false });
    expect((await documentOf(id)).status).toBe('queued');
    await cancelJob(operations, test.operator, two.id, { force: false });
    expect((await documentOf(id)).status).toBe('failed');
  });

  it('a document has failed when its last two jobs end at the same time', async () => {
    for (let round = 0; round < 20; round++) {
      const { id, job } = await upload();
      await cancelJob(operations, test.operator, job, { force: false });
      const jobs = [
        await reprocessJob(operations, test.operator, job),
        await reprocessJob(operations, test.operator, job),
      ];
      await Promise.all(jobs.map((again) => cancelJob(operations, test.operator, again.id, { force: false })));
      expect((await documentOf(id)).status).toBe('failed');
    }
  });

  it('a document stays searchable when a later job is cancelled', async () => {
    await start(test.appliance.jobs.worker('ingest'));
    const { id, job } = await upload('The otter sleeps afloat.');
    await endOf(job, 'ready');
    await services.pop()?.stop();
    const again = await reprocessJob(operations, test.operator, job);
    await cancelJob(operations, test.operator, again.id, { force: false });
    expect(await documentOf(id)).toMatchObject({ status: 'ready', error_message: null });
    expect(await found('otter sleeps', id)).toBe(1);
  });

  it('a document has failed when its queued job is deleted, and can be uploaded again', async () => {
    const { id, job } = await upload('The same bytes.');
    await deleteJob(operations, test.operator, job);
    expect(await documentOf(id)).toMatchObject({
      status: 'failed',
      error_message: 'its job was deleted; upload the document again',
    });
    const again = await upload('The same bytes.');
    expect(again.id).not.toBe(id);
    await deleteJob(operations, test.operator, again.job);
  });

  it('a document has failed when its job is reaped', async () => {
    const { sql } = test.appliance;
    const { id, job } = await upload();
    const claim = { kind: 'ingest', workerId: 'wrk_gone', firstPhase: 'extracting', leaseMs: 3_600_000 } as const;
    await claimJobs(sql, { ...claim, limit: 100, suspects: 'none' });
    await sql`UPDATE jobs SET checkpoint_at = now() - interval '1 hour' WHERE id = ${job}`;
    const reply = await reapStaleJobs(operations, 'cron', { timeoutMinutes: 45 });
    expect(reply.jobs.map((reaped) => reaped.job_id)).toEqual([job]);
    expect(await jobOf(job)).toMatchObject({ status: 'failed', error_category: 'stale', failed_phase: 'extracting' });
    expect((await documentOf(id)).status).toBe('failed');
  });
});

/** Finds index rows and chunk artifacts of generations that are not live. */
async function leftovers(): Promise<string[]> {
  const { sql, search, objects } = test.appliance;
  const live = new Set(
    (await sql`SELECT active_generation AS id FROM documents WHERE active_generation IS NOT NULL`).map((row) =>
      Number(row['id']),
    ),
  );
  const [bucket] = await sql`SELECT id FROM buckets WHERE org_id = ${test.operator.orgId} AND name = 'default'`;
  const table = await search.lance.tables.openForReading(bucket?.['id'], Number.MAX_SAFE_INTEGER);
  await table?.checkoutLatest();
  const rows = table ? await table.query().select(['generation']).toArray() : [];
  const left = rows
    .map((row) => Number(row.generation))
    .filter((id) => !live.has(id))
    .map((id) => `row of ${id}`);
  for await (const { key } of objects.list('documents/')) {
    const generation = /\/chunks-(\d+)$/.exec(key)?.[1];
    if (generation !== undefined && !live.has(Number(generation))) left.push(key);
  }
  return left;
}

const ORDER = ['queued', 'extracting', 'chunking', 'embedding', 'indexing', 'ready'];

it('an ingest that is cancelled at any moment has one outcome, its chunks are never found, and sweeps remove them', {
  timeout: 120_000,
}, async () => {
  const { appliance, operator } = test;
  const random = createTestRandom('ingest against cancel');
  await start(appliance.jobs.worker('ingest'));
  const one = async (i: number) => {
    const { id, job } = await upload(`Marmot ${i} whistles at dawn.`);
    // The cancellation happens in a random phase of the ingest, after a random delay.
    const from = 1 + random.int(ORDER.length - 1);
    await until(async () => ORDER.indexOf((await jobOf(job)).status) >= from, { everyMs: 2 });
    await delay(random.int(20));
    const outcome = await cancelJob(operations, operator, job, { force: true }).catch((error) => error);
    return { id, job, isCancelled: outcome.status === 'cancelled' };
  };
  const races: Awaited<ReturnType<typeof one>>[] = [];
  for (let round = 0; round < 20; round++) {
    races.push(...(await Promise.all(Array.from({ length: 6 }, (_, k) => one(round * 6 + k)))));
    // The sweep runs right after the cancellations, while some workers have not noticed them yet.
    const reaper = appliance.reaper();
    await reaper.start(new AbortController().signal);
    await delay(random.int(40));
    await reaper.stop();
  }
  for (const { id, job, isCancelled } of races) {
    expect([job, (await jobOf(job)).status]).toEqual([job, isCancelled ? 'cancelled' : 'ready']);
    const { status, active_generation } = await documentOf(id);
    expect([id, status, active_generation !== null]).toEqual([id, isCancelled ? 'failed' : 'ready', !isCancelled]);
  }
  const cancelled = new Set(races.filter((race) => race.isCancelled).map((race) => race.id));
  const reply = await searchBucket(
    appliance.search,
    operator,
    'default',
    SearchRequest.parse({ query: 'marmot whistles', top_k: 100 }),
  );
  expect(reply.results.filter((result) => cancelled.has(result.document_id))).toEqual([]);
  expect(cancelled.size).toBeGreaterThan(0);
  process.stderr.write(`ingest against cancel: ${cancelled.size} of ${races.length} cancelled\n`);
  await services.pop()?.stop();
  await start(appliance.reaper());
  await until(async () => (await leftovers()).length === 0, { withinMs: 10_000 }).catch(() => undefined);
  expect(await leftovers()).toEqual([]);
});
