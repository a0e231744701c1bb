import type OpenAI from 'openai';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openTestApi, type TestApi } from '../support/api.ts';
import { idsOf, openStoreClient, storeWith, uploadText } from '../support/vector-stores.ts';

// Expiry of vector stores, which is moved into the past in the database.

let test: TestApi;
let client: OpenAI;
beforeAll(async () => {
  test = await openTestApi();
  client = await openStoreClient(test);
});
afterAll(() => test.close());

const expires_after = { anchor: 'last_active_at', days: 2 } as const;

/** Let the last activity of a store, and its newest upload, be this many days ago. */
async function age(id: string, days: number): Promise<void> {
  const { sql } = test.appliance;
  await sql`UPDATE vector_stores SET last_active_at = now() - ${days} * interval '1 day' WHERE bucket_id = ${id}`;
  await sql`UPDATE documents SET created_at = now() - ${days} * interval '1 day' WHERE bucket_id = ${id}`;
}

async function runChores(): Promise<void> {
  for (const chore of test.appliance.vectorStores.chores(1_000)) await chore.run(new AbortController().signal);
  await test.appliance.documents.purge(new AbortController().signal);
}

it('an expired store says so, takes nothing, loses its files, and is gone after 30 days', async () => {
  const { id, file_ids } = await storeWith(client, ['The ferry leaves at noon.'], { expires_after });
  await runChores();
  expect((await client.vectorStores.retrieve(id)).status).toBe('completed');
  await age(id, 3);
  expect(await client.vectorStores.retrieve(id)).toMatchObject({ status: 'expired', file_counts: { total: 1 } });
  const expired = { status: 400, code: 'vector_store_expired' };
  const file_id = file_ids[0] as string;
  await expect(client.vectorStores.search(id, { query: 'ferry' })).rejects.toMatchObject(expired);
  await expect(client.vectorStores.update(id, { name: 'again' })).rejects.toMatchObject(expired);
  await expect(client.vectorStores.files.create(id, { file_id })).rejects.toMatchObject(expired);
  await expect(client.vectorStores.fileBatches.create(id, { file_ids })).rejects.toMatchObject(expired);
  await runChores();
  expect(await client.vectorStores.retrieve(id)).toMatchObject({ status: 'expired', file_counts: { total: 0 } });
  expect(await test.appliance.sql`SELECT 1 FROM documents WHERE bucket_id = ${id}`).toHaveLength(0);
  expect((await client.files.retrieve(file_id)).id).toBe(file_id);
  await age(id, 31);
  await runChores();
  expect((await client.vectorStores.retrieve(id)).status).toBe('expired');
  await age(id, 33);
  await runChores();
  await expect(client.vectorStores.retrieve(id)).rejects.toMatchObject({ status: 404 });
  const rows = await test.appliance.sql`SELECT action FROM audit_log WHERE target = ${id} ORDER BY id`;
  expect(rows.map(({ action }) => action)).toEqual(['bucket.create', 'vector_store.expire', 'bucket.delete']);
});

it('searches by any route, changes and uploads keep a store from expiring', async () => {
  const { id } = await storeWith(client, ['The museum opens at ten.'], { expires_after });
  const key = client.apiKey as string;
  const activeSeconds = async () => {
    await test.appliance.insight.log.flush();
    return Date.now() / 1000 - ((await client.vectorStores.retrieve(id)).last_active_at ?? 0);
  };
  const file_id = await uploadText(client, 'The market is on Sunday.');
  const uses: [name: string, use: () => Promise<unknown>][] = [
    ['a search in the shape of OpenAI', () => client.vectorStores.search(id, { query: 'museum' })],
    ['a search', () => test.call('POST', `/v2/buckets/${id}/search`, { key, json: { query: 'museum' } })],
    ['a search of several', () => test.call('POST', '/v2/search', { key, json: { buckets: [id], query: 'museum' } })],
    ['a file', () => client.vectorStores.files.create(id, { file_id })],
    ['a removed file', () => client.vectorStores.files.delete(file_id, { vector_store_id: id })],
    ['a change', () => client.vectorStores.update(id, { metadata: { a: 'b' } })],
    [
      'an upload',
      () => test.call('POST', `/v1/buckets/${id}/documents`, { key, json: { filename: 'a.txt', text: 'A new one.' } }),
    ],
  ];
  for (const [name, use] of uses) {
    await age(id, 1);
    expect(await activeSeconds()).toBeGreaterThan(80_000);
    await use();
    expect([name, (await activeSeconds()) < 600]).toEqual([name, true]);
  }
});

it('a search of an expired bucket does not bring it back, and a bucket that was made otherwise never expires', async () => {
  const { id } = await storeWith(client, ['The ferry leaves at noon.'], { expires_after });
  const key = client.apiKey as string;
  await age(id, 3);
  await test.call('POST', `/v2/buckets/${id}/search`, { key, json: { query: 'ferry' } });
  await test.appliance.insight.log.flush();
  expect((await client.vectorStores.retrieve(id)).status).toBe('expired');
  await client.vectorStores.update('default', { metadata: { a: 'b' } });
  await age((await client.vectorStores.retrieve('default')).id, 4_000);
  await runChores();
  expect((await client.vectorStores.retrieve('default')).status).toBe('completed');
});

it('an upload into an expired bucket is not lost', async () => {
  const { id } = await storeWith(client, ['The ferry leaves at noon.'], { expires_after });
  const key = client.apiKey as string;
  await age(id, 3);
  const json = { filename: 'new.txt', text: 'The market is on Sunday.' };
  const { body } = await test.call('POST', `/v1/buckets/${id}/documents`, { key, json });
  await runChores();
  expect(await client.vectorStores.retrieve(id)).toMatchObject({ status: expect.not.stringMatching('expired') });
  expect(await idsOf(client.vectorStores.files.list(id))).toContain(body.id);
});

it('ids of removed files and old batches are forgotten', async () => {
  const { id, file_ids } = await storeWith(client, ['The ferry.', 'The museum.']);
  const batch = await client.vectorStores.fileBatches.create(id, { file_ids });
  const [first = ''] = file_ids;
  await client.vectorStores.files.delete(first, { vector_store_id: id });
  await runChores();
  const { sql } = test.appliance;
  const kept = () => sql`SELECT 1 FROM vector_store_files WHERE bucket_id = ${id} AND file_id = ${first}`;
  expect(await kept()).toHaveLength(1);
  expect((await client.vectorStores.fileBatches.retrieve(batch.id, { vector_store_id: id })).file_counts.total).toBe(1);
  await sql`UPDATE vector_store_files SET removed_at = now() - interval '2 days' WHERE removed_at IS NOT NULL`;
  await sql`UPDATE vector_store_batches SET created_at = now() - interval '31 days'`;
  await runChores();
  expect(await kept()).toHaveLength(0);
  await expect(client.vectorStores.fileBatches.retrieve(batch.id, { vector_store_id: id })).rejects.toMatchObject({
    ...{ status: 404, code: 'file_batch_not_found' },
  });
});
