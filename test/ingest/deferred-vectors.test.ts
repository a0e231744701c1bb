import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createBucket } from '../../src/documents/buckets.ts';
import { CreateBucket } from '../../src/documents/schema.ts';
import { planDeferred } from '../../src/ingest/reindex/plan-deferred.ts';
import { reindexBucket } from '../../src/ingest/reindex/reindex-bucket.ts';
import { UploadRequest } from '../../src/ingest/schema.ts';
import { uploadDocument } from '../../src/ingest/upload.ts';
import { enqueueJob } from '../../src/jobs/store.ts';
import { newId } from '../../src/platform/ids.ts';
import { openTestApi, type TestApi } from '../support/api.ts';
import { until } from '../support/until.ts';

const NOTES = [
  { id: 'ferry', fileName: 'ferry.txt', text: 'The last boat to the island leaves the pier at 22:40 on weekdays.' },
  { id: 'leave', fileName: 'leave.txt', text: 'Annual leave must be requested at least two weeks in advance.' },
  { id: 'refund', fileName: 'refund.txt', text: '환불은 구매 후 7일 이내에 고객센터에서 신청할 수 있습니다.' },
  { id: 'wifi', fileName: 'wifi.txt', text: 'The passphrase of the wireless network is printed on the router.' },
];

let api: TestApi;
let key: string;
beforeAll(async () => {
  api = await openTestApi({ settings: { embeddings: { built_in: 'semantic' } } });
  key = await api.key();
});
afterAll(() => api.close());

async function details(bucket: string) {
  return (await api.call('GET', `/v1/buckets/${bucket}`, { key })).body;
}

async function best(bucket: string, query: string) {
  const { body } = await api.call('POST', `/v2/buckets/${bucket}/search`, { key, json: { query } });
  return body.results[0]?.citation.file_name ?? null;
}

async function jobsOf(bucket: string) {
  const { body } = await api.call('GET', `/v1/jobs?bucket_id=${bucket}&limit=100`, { key });
  return body.filter((job: { processing_type: string }) => job.processing_type === 'bucket_vectors');
}

async function newBucket(name: string): Promise<string> {
  return (await createBucket(api.appliance.sql, api.operator, CreateBucket.parse({ name }))).id;
}

/** Make a bucket whose documents get no vectors for ten minutes, since somebody has cancelled their job. */
async function newBucketWithCancelledJob(name: string): Promise<string> {
  const bucketId = await newBucket(name);
  const id = newId('job');
  await api.appliance.sql.begin(async (tx) => {
    await enqueueJob(tx, {
      ...{ id, kind: 'reindex', orgId: api.operator.orgId, bucketId, priority: 5, s3Key: '', fileName: name },
      ...{ fileSizeBytes: 0, processingType: 'bucket_vectors', metadataSnapshot: {} },
    });
    await tx`UPDATE jobs SET status = 'cancelled', completed_at = now() WHERE id = ${id}`;
  });
  return bucketId;
}

async function upload(bucket: string, { fileName, text }: (typeof NOTES)[number]): Promise<void> {
  const content = { bytes: Buffer.from(text), fileName, contentType: null };
  await uploadDocument(api.appliance.ingest.uploads, api.operator, bucket, content, UploadRequest.parse({}));
}

describe('documents of a model of this host', () => {
  it('are found by words when they are ready, and by meaning once their vectors are made', async () => {
    const bucket = await newBucket('notes');
    for (const note of NOTES) await upload(bucket, note);
    await until(async () => (await best(bucket, 'last boat island')) === 'ferry.txt', {
      withinMs: 120_000,
      what: 'words',
    });
    const done = await until(
      async () => {
        const now = await details(bucket);
        return now.words_only_chunks === 0 && now.embedding?.chunks === NOTES.length && now;
      },
      { withinMs: 120_000, what: 'vectors' },
    );
    expect(done.embedding).toMatchObject({ model: 'local/semantic-1', chunks: NOTES.length });
    // No word of these questions is in the document that answers it.
    expect(await best(bucket, 'how early must I ask for vacation?')).toBe('leave.txt');
    expect(await best(bucket, 'can I get my money back?')).toBe('refund.txt');
    const jobs = await jobsOf(bucket);
    expect(new Set(jobs.map(({ status }: { status: string }) => status))).toEqual(new Set(['ready']));
    const { body } = await api.call('GET', '/v1/documents?name=txt&limit=50', { key });
    expect(body.data.filter((each: { bucket_id: string }) => each.bucket_id === bucket)).toHaveLength(NOTES.length);
  });

  it('that come while others get their vectors get theirs soon after', async () => {
    const bucket = await newBucket('growing');
    for (const [nth, note] of NOTES.entries()) {
      await upload(bucket, note);
      await until(async () => (await details(bucket)).embedding?.chunks === nth + 1 || nth > 1, {
        withinMs: 120_000,
        what: 'the vectors of the first documents',
      });
    }
    await until(async () => (await details(bucket)).embedding?.chunks === NOTES.length, { withinMs: 120_000 });
    await until(async () => (await details(bucket)).words_only_chunks === 0, { withinMs: 120_000, what: 'vectors' });
    expect(await best(bucket, 'wann fährt das letzte Schiff?')).toBe('ferry.txt');
  });

  it('keep their state and are not tried again at once after a job was cancelled', async () => {
    const bucket = await newBucketWithCancelledJob('cancelled');
    await upload(bucket, NOTES[0] as (typeof NOTES)[number]);
    await upload(bucket, NOTES[1] as (typeof NOTES)[number]);
    await until(async () => (await details(bucket)).words_only_chunks === 2, { withinMs: 120_000, what: 'words' });
    expect(await best(bucket, 'annual leave')).toBe('leave.txt');
    expect(await details(bucket)).toMatchObject({ embedding: null, words_only_chunks: 2 });
    expect(await jobsOf(bucket)).toHaveLength(1);
  });

  it('get them in jobs of a bounded number of chunks, so that the next bucket has its turn', async () => {
    const bucket = await newBucketWithCancelledJob('bounded');
    for (const note of NOTES) await upload(bucket, note);
    const waiting = NOTES.length;
    await until(async () => (await details(bucket)).words_only_chunks === waiting, {
      withinMs: 120_000,
      what: 'words',
    });
    const { reindex, reembed } = api.appliance.ingest;
    const plan = async () => ({
      ...(await planDeferred(reembed, api.operator, bucket)),
      bounds: { batchChunks: 1, chunks: 1 },
    });
    const { signal } = new AbortController();
    const { result } = await reindexBucket(reindex, api.operator, plan, { signal, detail: null });
    expect(result).toMatchObject({ documents: 1, chunks: 1 });
    expect((await details(bucket)).words_only_chunks).toBe(waiting - 1);
  });
});
