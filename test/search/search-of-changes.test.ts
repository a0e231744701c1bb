import { afterAll, beforeAll, expect, it } from 'vitest';
import { createBucket, deleteBucket } from '../../src/documents/buckets.ts';
import { BucketPolicy } from '../../src/documents/schema.ts';
import { updateLegWeights } from '../../src/index/index-store.ts';
import { UploadRequest } from '../../src/ingest/schema.ts';
import { uploadDocument } from '../../src/ingest/upload.ts';
import { weightsFor } from '../../src/search/fuse.ts';
import { SearchRequest } from '../../src/search/schema.ts';
import { searchBucket } from '../../src/search/search.ts';
import { openTestAppliance, type TestAppliance } from '../support/appliance.ts';
import { until } from '../support/until.ts';

/** Two processes of one installation: one changes the indexes that the other has seen. */
let here: TestAppliance;
let there: TestAppliance;
let worker: ReturnType<TestAppliance['appliance']['jobs']['worker']>;
beforeAll(async () => {
  here = await openTestAppliance();
  there = await openTestAppliance({}, { beside: here });
  worker = there.appliance.jobs.worker('ingest');
  await worker.start(new AbortController().signal);
});
afterAll(async () => {
  await worker.stop();
  await there.close();
  await here.close();
});

const makeBucket = (name: string) =>
  createBucket(there.appliance.sql, there.operator, { name, policy: BucketPolicy.parse({}) });

async function ingest(bucket: string, text: string): Promise<void> {
  const { sql } = there.appliance;
  const { uploads } = there.appliance.ingest;
  const content = { bytes: Buffer.from(text), fileName: 'notes.txt', contentType: null };
  const { id } = await uploadDocument(uploads, there.operator, bucket, content, UploadRequest.parse({}));
  await until(async () => (await sql`SELECT 1 FROM documents WHERE id = ${id} AND status = 'ready'`).length > 0);
}

async function search(bucket: string, fields: Record<string, unknown> = {}) {
  const request = SearchRequest.parse({ query: 'apple harvest', ...fields });
  const { bucket_id, results } = await searchBucket(here.appliance.search, here.operator, bucket, request);
  return { bucketId: bucket_id, texts: results.map(({ text }) => text).sort() };
}

it('the next search finds what another process wrote', async () => {
  const { id: bucketId } = await makeBucket('orchard');
  expect(await search('orchard')).toEqual({ bucketId, texts: [] });
  await ingest('orchard', 'The apple harvest begins in autumn.');
  expect(await search('orchard')).toEqual({ bucketId, texts: ['The apple harvest begins in autumn.'] });
  await ingest('orchard', 'An early apple harvest is in August.');
  const both = ['An early apple harvest is in August.', 'The apple harvest begins in autumn.'];
  expect(await search('orchard')).toEqual({ bucketId, texts: both });
  expect(await search(bucketId)).toEqual({ bucketId, texts: both });
});

it('a search by name uses the bucket that has the name now', async () => {
  const { id: first } = await makeBucket('cellar');
  await ingest('cellar', 'Apple harvest of the first year.');
  expect(await search('cellar')).toEqual({ bucketId: first, texts: ['Apple harvest of the first year.'] });
  await deleteBucket(there.appliance.sql, there.operator, 'cellar', 'cellar');
  await expect(search('cellar')).rejects.toMatchObject({ code: 'bucket_not_found' });
  const { id: second } = await makeBucket('cellar');
  expect(await search('cellar')).toEqual({ bucketId: second, texts: [] });
  await ingest('cellar', 'Apple harvest of the second year.');
  expect(await search('cellar')).toEqual({ bucketId: second, texts: ['Apple harvest of the second year.'] });
});

it('a search embeds nothing for a bucket that is known to be gone', async () => {
  await makeBucket('shed');
  await ingest('shed', 'Apple harvest tools.');
  await search('shed');
  await deleteBucket(there.appliance.sql, there.operator, 'shed', 'shed');
  await expect(search('shed')).rejects.toMatchObject({ code: 'bucket_not_found' });
  const { embedder } = here.appliance.search;
  let embedded = 0;
  const counting = Object.create(embedder, {
    embed: {
      value: (...request: Parameters<typeof embedder.embed>) => {
        embedded++;
        return embedder.embed(...request);
      },
    },
  });
  const context = { ...here.appliance.search, embedder: counting };
  const request = SearchRequest.parse({ query: 'apple harvest' });
  await expect(searchBucket(context, here.operator, 'shed', request)).rejects.toMatchObject({
    code: 'bucket_not_found',
  });
  expect(embedded).toBe(0);
});

it('the first search after another process tuned the weights of a bucket uses them', async () => {
  const { id: bucketId } = await makeBucket('garden');
  await ingest('garden', 'The apple harvest of the garden.');
  const request = SearchRequest.parse({ query: 'apple harvest', explain: true });
  const weights = async () => {
    const [result] = (await searchBucket(here.appliance.search, here.operator, 'garden', request)).results;
    return { keyword: result?.explain?.keyword?.weight, vector: result?.explain?.vector?.weight };
  };
  expect(await weights()).toEqual(weightsFor('lexical'));
  await updateLegWeights(there.appliance.sql, bucketId, { keyword: 1, vector: 0.7 });
  expect(await weights()).toEqual({ keyword: 1, vector: 0.7 });
});
