import type OpenAI from 'openai';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openTestApi, type TestApi } from '../support/api.ts';
import { idsOf, openStoreClient, uploadText } from '../support/vector-stores.ts';

// Batches of files without a worker, so that nothing ends by itself.

let test: TestApi;
let client: OpenAI;
beforeAll(async () => {
  test = await openTestApi({ worker: false, settings: { plans: { free: { storage_bytes: 200_000 } } } });
  client = await openStoreClient(test);
});
afterAll(() => test.close());

it('a cancelled batch ends, its files say so, and they may be added again', async () => {
  const file_ids = await Promise.all(['one', 'two', 'three'].map((text) => uploadText(client, text)));
  const { id: vector_store_id } = await client.vectorStores.create({});
  const batch = await client.vectorStores.fileBatches.create(vector_store_id, { file_ids });
  expect([batch.status, batch.file_counts.in_progress]).toEqual(['in_progress', 3]);
  expect((await client.vectorStores.retrieve(vector_store_id)).status).toBe('in_progress');
  const raw = await client.vectorStores.fileBatches.retrieve(batch.id, { vector_store_id }).asResponse();
  expect(raw.headers.get('openai-poll-after-ms')).toBe('500');
  const cancelled = await client.vectorStores.fileBatches.cancel(batch.id, { vector_store_id });
  expect(cancelled).toMatchObject({ status: 'cancelled', file_counts: { cancelled: 3, in_progress: 0, total: 3 } });
  const [first = ''] = file_ids;
  expect(await client.vectorStores.files.retrieve(first, { vector_store_id })).toMatchObject({
    ...{ status: 'cancelled', last_error: null },
  });
  const files = client.vectorStores.fileBatches.listFiles(batch.id, { vector_store_id, filter: 'cancelled' });
  expect((await idsOf(files)).toSorted()).toEqual(file_ids.toSorted());
  expect(await client.vectorStores.fileBatches.cancel(batch.id, { vector_store_id })).toEqual(cancelled);
  expect((await client.vectorStores.files.create(vector_store_id, { file_id: first })).status).toBe('in_progress');
  expect((await client.vectorStores.retrieve(vector_store_id)).file_counts).toMatchObject({
    ...{ in_progress: 1, cancelled: 2, total: 3 },
  });
});

it('a batch of 2,000 files is one request, which copies no bytes', async () => {
  const [first = ''] = await Promise.all([uploadText(client, 'The same bytes.')]);
  const { sql, objects } = test.appliance;
  // The rows of 1,999 more uploads.
  await sql`
    INSERT INTO files (id, org_id, purpose, file_name, size_bytes, object_key, sha256)
    SELECT 'file_many' || n, org_id, purpose, file_name, size_bytes, object_key || n, sha256
    FROM files, generate_series(1, 1999) n WHERE id = ${first}`;
  const file_ids = [first, ...Array.from({ length: 1_999 }, (_, n) => `file_many${n + 1}`)];
  const { id } = await client.vectorStores.create({});
  const attributes = Object.fromEntries(Array.from({ length: 16 }, (_, n) => [`key${n}`, n]));
  const files = file_ids.map((file_id) => ({ file_id, attributes }));
  const batch = await client.vectorStores.fileBatches.create(id, { files });
  expect(batch.file_counts).toMatchObject({ in_progress: 2_000, total: 2_000 });
  const keys: string[] = [];
  for await (const { key } of objects.list('documents/')) keys.push(key);
  expect(keys).toEqual([]);
  expect((await client.vectorStores.fileBatches.cancel(batch.id, { vector_store_id: id })).status).toBe('cancelled');
});

it('a file counts for the storage of the plan once for each store, and one that takes the place of another once', async () => {
  const small = await openStoreClient(test, { org: 'small' });
  const [a = '', b = ''] = [await uploadText(small, 'x'.repeat(150_000)), await uploadText(small, 'x'.repeat(40_000))];
  const { id } = await small.vectorStores.create({ file_ids: [a] });
  const other = await small.vectorStores.create({ file_ids: [b] });
  await expect(uploadText(small, 'x'.repeat(10_001))).rejects.toMatchObject({
    ...{ status: 402, code: 'storage_quota_exceeded' },
  });
  await expect(small.vectorStores.files.create(other.id, { file_id: a })).rejects.toMatchObject({ status: 402 });
  await expect(small.vectorStores.fileBatches.create(id, { file_ids: [a, b] })).rejects.toMatchObject({ status: 402 });
  await expect(small.vectorStores.create({ name: 'full', file_ids: [b] })).rejects.toMatchObject({ status: 402 });
  expect(await idsOf(small.vectorStores.list({ limit: 100 }))).toHaveLength(3);
  const again = await small.vectorStores.files.create(id, { file_id: a, attributes: { kind: 'other' } });
  expect(again.attributes).toEqual({ kind: 'other' });
});

it('a department is set by the attribute scope, as in an upload, and a policy may refuse it', async () => {
  const key = client.apiKey as string;
  const policy = { departments: ['sales'] };
  const { body } = await test.call('POST', '/v1/buckets', { key, json: { name: 'of-sales', policy } });
  const file_id = await uploadText(client, 'For sales.');
  const add = (scope: string) =>
    client.vectorStores.files.create('of-sales', { file_id, attributes: { scope, a: 'b' } });
  await expect(add('legal')).rejects.toMatchObject({ status: 400, param: 'metadata.scope' });
  expect(await add('sales')).toMatchObject({ id: file_id, status: 'in_progress', attributes: { a: 'b' } });
  await expect(client.vectorStores.files.retrieve(file_id, { vector_store_id: body.id })).rejects.toMatchObject({
    ...{ status: 404, code: 'file_not_found' },
  });
  const { sql } = test.appliance;
  expect(await sql`SELECT scope, metadata FROM documents WHERE bucket_id = ${body.id}`).toEqual([
    { scope: 'sales', metadata: { a: 'b' } },
  ]);
});
