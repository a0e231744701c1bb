import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createBucket, deleteBucket } from '../../src/documents/buckets.ts';
import { markDocuments } from '../../src/documents/deletion-store.ts';
import { deleteDocument } from '../../src/documents/documents.ts';
import { BucketPolicy } from '../../src/documents/schema.ts';
import { UploadRequest } from '../../src/ingest/schema.ts';
import { uploadDocument } from '../../src/ingest/upload.ts';
import type { Service } from '../../src/platform/lifecycle.ts';
import { openTestAppliance, type TestAppliance } from '../support/appliance.ts';
import { until } from '../support/until.ts';

let test: TestAppliance;
let worker: Service;
const signal = new AbortController().signal;

beforeAll(async () => {
  test = await openTestAppliance();
  worker = test.appliance.jobs.worker('ingest');
  await worker.start(signal);
});
afterAll(async () => {
  await worker.stop();
  await test.close();
});

function upload(bucket: string, i: number) {
  const content = { bytes: Buffer.from(`Race number ${i}.`), fileName: `race-${i}.txt`, contentType: null };
  return uploadDocument(test.appliance.ingest.uploads, test.operator, bucket, content, UploadRequest.parse({}));
}

const purge = () => test.appliance.documents.purge(signal);

async function allJobsDone(): Promise<void> {
  await until(async () => {
    await purge();
    const { sql } = test.appliance;
    const open = await sql`
      SELECT 1 FROM jobs WHERE status NOT IN ('ready', 'failed', 'cancelled')
      UNION ALL SELECT 1 FROM documents WHERE status NOT IN ('ready', 'failed')
      UNION ALL SELECT 1 FROM buckets WHERE deleting_at IS NOT NULL`;
    return open.length === 0;
  });
}

/** Finds index rows of generations that are not live, and stored objects without a document. */
async function leftovers(bucketId: string): Promise<string[]> {
  const { sql, search, objects } = test.appliance;
  const live = new Set((await sql`SELECT active_generation AS id FROM documents`).map((row) => Number(row['id'])));
  const table = await search.lance.tables.openForReading(bucketId, Number.MAX_SAFE_INTEGER);
  await table?.checkoutLatest();
  const rows = table ? await table.query().select(['generation']).toArray() : [];
  const left = rows
    .map((row) => Number(row.generation))
    .filter((id) => !live.has(id))
    .map((id) => `index row of ${id}`);
  const known = new Set((await sql`SELECT id FROM documents`).map((row) => row['id'] as string));
  for await (const object of objects.list('documents/')) {
    if (!known.has(object.key.split('/')[2] as string)) left.push(object.key);
  }
  return left;
}

/** Expects no leftovers; a worker whose document was deleted first has to remove the artifact that it was writing. */
async function expectNoLeftovers(bucketId: string): Promise<void> {
  await until(async () => (await leftovers(bucketId)).length === 0, { withinMs: 5_000 }).catch(() => undefined);
  expect(await leftovers(bucketId)).toEqual([]);
}

it('documents deleted at any moment of their ingest leave no rows or objects', { timeout: 60_000 }, async () => {
  const { sql } = test.appliance;
  const bucket = await createBucket(sql, test.operator, { name: 'races', policy: BucketPolicy.parse({}) });
  const one = async (i: number) => {
    const { id } = await upload('races', i);
    await delay((i * 37) % 120); // The deletion happens at varying times of the ingest.
    await deleteDocument(sql, test.operator, 'races', id);
    await purge();
  };
  for (let round = 0; round < 20; round++) await Promise.all(Array.from({ length: 6 }, (_, k) => one(round * 6 + k)));
  await allJobsDone();
  await expectNoLeftovers(bucket.id);
});

it('a bucket deleted during uploads is removed with all of them, and none of them hangs', {
  timeout: 60_000,
}, async () => {
  const { sql } = test.appliance;
  for (let round = 0; round < 5; round++) {
    const name = `doomed-${round}`;
    const bucket = await createBucket(sql, test.operator, { name, policy: BucketPolicy.parse({}) });
    const uploads = Array.from({ length: 12 }, (_, i) =>
      upload(name, i).then(
        () => 'taken',
        (error) => error.code,
      ),
    );
    await delay(round * 5);
    await deleteBucket(sql, test.operator, name, name);
    expect(['taken', 'bucket_not_found']).toEqual(expect.arrayContaining([...new Set(await Promise.all(uploads))]));
    await allJobsDone();
    await expectNoLeftovers(bucket.id);
  }
});

it('a job that was created while its document was being deleted ends as cancelled', { timeout: 60_000 }, async () => {
  const { sql } = test.appliance;
  await createBucket(sql, test.operator, { name: 'late', policy: BucketPolicy.parse({}) });
  await worker.stop();
  const { id, job_id: jobId } = await upload('late', 1);
  // The deletion has already cancelled the jobs that it saw.
  await markDocuments(sql, test.operator.orgId, [id]);
  worker = test.appliance.jobs.worker('ingest');
  await worker.start(signal);
  const ended = async () => {
    const [job] = await sql`SELECT status FROM jobs WHERE id = ${jobId}`;
    return ['ready', 'failed', 'cancelled'].includes(job?.['status'] as string);
  };
  await until(ended, { withinMs: 30_000, what: 'the end of the job' });
  expect([...(await sql`SELECT status, error_message FROM jobs WHERE id = ${jobId}`)]).toEqual([
    { status: 'cancelled', error_message: null },
  ]);
});
