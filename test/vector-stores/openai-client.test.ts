import type OpenAI from 'openai';
import { toFile } from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openTestApi, type TestApi } from '../support/api.ts';
import { until } from '../support/until.ts';
import { idsOf, openStoreClient, storeWith, textFile, uploadText } from '../support/vector-stores.ts';

// Vector stores through the official OpenAI library as published on npm, against a whole installation.

let test: TestApi;
let client: OpenAI;
beforeAll(async () => {
  test = await openTestApi();
  client = await openStoreClient(test);
});
afterAll(() => test.close());

describe('vector stores', () => {
  it('a store is created, read, changed, listed in pages and deleted', async () => {
    const made = await client.vectorStores.create({
      name: 'Support FAQ ✓',
      description: 'answers',
      expires_after: { anchor: 'last_active_at', days: 7 },
      metadata: { team: 'support' },
    });
    expect(made).toMatchObject({
      object: 'vector_store',
      name: 'Support FAQ ✓',
      description: 'answers',
      status: 'completed',
      usage_bytes: 0,
      file_counts: { in_progress: 0, completed: 0, failed: 0, cancelled: 0, total: 0 },
      expires_after: { anchor: 'last_active_at', days: 7 },
      metadata: { team: 'support' },
    });
    expect(made.expires_at).toBe((made.last_active_at ?? 0) + 7 * 86_400);
    expect(await client.vectorStores.retrieve(made.id)).toEqual(made);
    const edited = await client.vectorStores.update(made.id, { name: 'Answers', expires_after: null, metadata: null });
    expect(edited).toMatchObject({ id: made.id, name: 'Answers', expires_after: null, expires_at: null, metadata: {} });
    const others = [await client.vectorStores.create({}), await client.vectorStores.create({ name: 'Support FAQ ✓' })];
    expect(others[1]?.name).toBe('Support FAQ ✓');
    const wanted = [made.id, ...others.map(({ id }) => id)];
    const all = await idsOf(client.vectorStores.list({ limit: 1, order: 'asc' }));
    expect(all.slice(-3)).toEqual(wanted);
    expect(await idsOf(client.vectorStores.list({ limit: 2 }))).toEqual(all.toReversed());
    const before = await client.vectorStores.list({ limit: 1, before: wanted[2] as string, order: 'asc' });
    expect([before.data.map(({ id }) => id), before.has_more]).toEqual([[wanted[1]], true]);
    for (const id of wanted) {
      expect(await client.vectorStores.delete(id)).toEqual({ id, object: 'vector_store.deleted', deleted: true });
    }
    await expect(client.vectorStores.retrieve(made.id)).rejects.toMatchObject({ status: 404 });
  });

  it('a store is a bucket under a name that buckets may have, and a bucket is a store', async () => {
    const key = client.apiKey as string;
    const store = await client.vectorStores.create({ name: 'Guide für Gäste' });
    const bucket = await test.call('GET', `/v1/buckets/${store.id}`, { key });
    expect(bucket.body.name).toBe('Guide-fu-r-Ga-ste');
    expect((await client.vectorStores.retrieve('Guide-fu-r-Ga-ste')).id).toBe(store.id);
    const made = await test.call('POST', '/v1/buckets', { key, json: { name: 'manuals' } });
    expect(await client.vectorStores.retrieve('manuals')).toMatchObject({
      ...{ id: made.body.id, name: 'manuals', expires_at: null, last_active_at: null },
    });
    const named = await client.vectorStores.update('manuals', { name: 'All manuals', metadata: { a: 'b' } });
    expect(named).toMatchObject({ name: 'All manuals', metadata: { a: 'b' } });
    expect((await test.call('GET', '/v1/buckets/manuals', { key })).body.name).toBe('manuals');
  });

  it('a key neither deletes a bucket that was made otherwise nor lets it expire', async () => {
    await expect(client.vectorStores.delete('default')).rejects.toMatchObject({ status: 403, code: 'role_missing' });
    const expires_after = { anchor: 'last_active_at', days: 1 } as const;
    await expect(client.vectorStores.update('default', { expires_after })).rejects.toMatchObject({
      status: 400,
      param: 'expires_after',
    });
  });
});

describe('files of a vector store', () => {
  it('uploadAndPoll ends with a searchable file, which the search names by the id of the list', async () => {
    const store = await client.vectorStores.create({ name: 'harbour' });
    const added = await client.vectorStores.files.uploadAndPoll(store.id, await textFile('The ferry leaves at noon.'));
    expect(added).toMatchObject({
      object: 'vector_store.file',
      vector_store_id: store.id,
      status: 'completed',
      last_error: null,
      usage_bytes: 25,
      chunking_strategy: { type: 'static', static: { max_chunk_size_tokens: 400, chunk_overlap_tokens: 60 } },
    });
    expect(added.id).toMatch(/^file_/);
    const page = await client.vectorStores.search(store.id, { query: 'when does the ferry leave' });
    expect(page.data).toMatchObject([
      { file_id: added.id, filename: 'notes.txt', content: [{ text: 'The ferry leaves at noon.' }] },
    ]);
    const content = await client.vectorStores.files.content(added.id, { vector_store_id: store.id });
    expect(content.data).toEqual([{ type: 'text', text: 'The ferry leaves at noon.' }]);
    expect((await client.vectorStores.retrieve(store.id)).file_counts).toMatchObject({ completed: 1, total: 1 });
    const key = client.apiKey as string;
    const found = await test.call('POST', `/v2/buckets/harbour/search`, { key, json: { query: 'ferry' } });
    expect(found.body.results).toHaveLength(1);
  });

  it('a document that was uploaded otherwise is a file under its own id', async () => {
    const key = client.apiKey as string;
    const store = await client.vectorStores.create({ name: 'mixed' });
    const json = { filename: 'museum.txt', text: 'The museum opens at ten.', metadata: { floor: '2' } };
    const { body } = await test.call('POST', `/v1/buckets/${store.id}/documents`, { key, json });
    const vector_store_id = store.id;
    const file = await client.vectorStores.files.poll(store.id, body.id);
    expect(file).toMatchObject({ id: body.id, status: 'completed', attributes: { floor: '2' } });
    const page = await client.vectorStores.search(store.id, { query: 'museum' });
    expect(page.data.map(({ file_id }) => file_id)).toEqual([body.id]);
    const edited = await client.vectorStores.files.update(body.id, { vector_store_id, attributes: { floor: 3 } });
    expect(edited.attributes).toEqual({ floor: 3 });
    await client.vectorStores.files.delete(body.id, { vector_store_id });
    expect(await idsOf(client.vectorStores.files.list(store.id))).toEqual([]);
  });

  it('files are listed in pages, by state, in both orders, also while they are removed', async () => {
    const { id, file_ids } = await storeWith(client, ['one', 'two', 'three', 'four']);
    const up = await idsOf(client.vectorStores.files.list(id, { limit: 3, order: 'asc' }));
    expect(up.toSorted()).toEqual(file_ids.toSorted());
    expect(await idsOf(client.vectorStores.files.list(id, { limit: 1 }))).toEqual(up.toReversed());
    const before = await client.vectorStores.files.list(id, { before: up[3] as string, order: 'asc', limit: 2 });
    expect([before.data.map((file) => file.id), before.has_more]).toEqual([[up[1], up[2]], true]);
    expect(await idsOf(client.vectorStores.files.list(id, { filter: 'completed', limit: 2 }))).toHaveLength(4);
    expect(await idsOf(client.vectorStores.files.list(id, { filter: 'failed' }))).toEqual([]);
    await expect(client.vectorStores.files.list(id, { after: 'file_none' })).rejects.toMatchObject({
      ...{ status: 400, param: 'after' },
    });
    for await (const file of client.vectorStores.files.list(id, { limit: 1 })) {
      await client.vectorStores.files.delete(file.id, { vector_store_id: id });
      await test.appliance.documents.purge(new AbortController().signal);
    }
    expect((await client.vectorStores.retrieve(id)).file_counts.total).toBe(0);
    expect((await client.files.retrieve(file_ids[0] as string)).id).toBe(file_ids[0]);
  });

  it('attributes keep their types, are replaced, and filter a search by number, text and truth', async () => {
    const store = await client.vectorStores.create({});
    const vector_store_id = store.id;
    const ids: string[] = [];
    for (const [year, draft] of [
      [9, true],
      [2024, false],
      [2025.5, false],
    ] as const) {
      const attributes = { year, draft, team: 'legal' };
      const file_id = await uploadText(client, `The harbour report of ${year}.`);
      const file = await client.vectorStores.files.createAndPoll(store.id, { file_id, attributes });
      expect(file).toMatchObject({ id: file_id, status: 'completed', attributes });
      ids.push(file_id);
    }
    const found = async (filters: OpenAI.VectorStoreSearchParams['filters'] & object) => {
      const page = await client.vectorStores.search(store.id, { query: 'harbour report', filters });
      return page.data.map(({ file_id }) => ids.indexOf(file_id)).toSorted();
    };
    expect(await found({ type: 'gt', key: 'year', value: 10 })).toEqual([1, 2]);
    expect(await found({ type: 'lte', key: 'year', value: 2024 })).toEqual([0, 1]);
    expect(await found({ type: 'in', key: 'year', value: [9, 2025.5] })).toEqual([0, 2]);
    expect(await found({ type: 'nin', key: 'year', value: [9] })).toEqual([1, 2]);
    expect(await found({ type: 'ne', key: 'team', value: 'legal' })).toEqual([]);
    const both = [
      { type: 'eq', key: 'draft', value: false },
      { type: 'gte', key: 'year', value: 2025 },
    ] as const;
    expect(await found({ type: 'and', filters: [...both] })).toEqual([2]);
    expect(await found({ type: 'or', filters: [...both, { type: 'lt', key: 'year', value: 10 }] })).toEqual([0, 1, 2]);
    const page = await client.vectorStores.search(store.id, { query: 'report 2024', max_num_results: 1 });
    expect(page.data[0]?.attributes).toEqual({ year: 2024, draft: false, team: 'legal' });
    const [first = ''] = ids;
    const edited = await client.vectorStores.files.update(first, {
      vector_store_id,
      attributes: { year: 3000, a: 'b' },
    });
    expect(edited.attributes).toEqual({ year: 3000, a: 'b' });
    expect(await found({ type: 'gt', key: 'year', value: 2999 })).toEqual([0]);
    expect(await found({ type: 'eq', key: 'team', value: 'legal' })).toEqual([1, 2]);
    expect((await client.vectorStores.files.update(first, { vector_store_id, attributes: null })).attributes).toEqual(
      {},
    );
  });

  it('a file that is added again stays one file, and is made anew only for other attributes or chunks', async () => {
    const { id, file_ids } = await storeWith(client, ['The museum opens at ten.']);
    const [file_id = ''] = file_ids;
    const documentOf = async () => {
      const [row] = await test.appliance.sql`SELECT document_id FROM vector_store_files WHERE bucket_id = ${id}`;
      return row?.['document_id'];
    };
    const first = await documentOf();
    await client.vectorStores.files.createAndPoll(id, { file_id });
    expect(await documentOf()).toBe(first);
    const attributes = { floor: 2 };
    const chunking_strategy = {
      ...{ type: 'static' as const, static: { max_chunk_size_tokens: 4096, chunk_overlap_tokens: 2048 } },
    };
    const again = await client.vectorStores.files.createAndPoll(id, { file_id, attributes, chunking_strategy });
    expect(again).toMatchObject({ id: file_id, status: 'completed', attributes, chunking_strategy });
    expect(await documentOf()).not.toBe(first);
    expect(await idsOf(client.vectorStores.files.list(id))).toEqual([file_id]);
    await Promise.all(Array.from({ length: 4 }, () => client.vectorStores.files.create(id, { file_id })));
    expect(await idsOf(client.vectorStores.files.list(id))).toEqual([file_id]);
  });

  it('a file that cannot be read fails with a code, and may be added again', async () => {
    const store = await client.vectorStores.create({});
    const ended = async (bytes: Buffer, name: string) => {
      return client.vectorStores.files.uploadAndPoll(store.id, await toFile(bytes, name));
    };
    expect(await ended(Buffer.from([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1, 0, 0, 0]), 'program')).toMatchObject({
      ...{ status: 'failed', last_error: { code: 'unsupported_file' } },
    });
    const broken = await ended(Buffer.from('%PDF-1.7\nnothing of a document'), 'broken.pdf');
    expect(broken).toMatchObject({ status: 'failed', last_error: { code: 'invalid_file' } });
    expect(broken.last_error?.message).not.toBe('');
    const again = await client.vectorStores.files.create(store.id, { file_id: broken.id });
    expect([again.id, again.status]).toEqual([broken.id, 'in_progress']);
    expect((await client.vectorStores.files.poll(store.id, broken.id)).status).toBe('failed');
    expect((await client.vectorStores.retrieve(store.id)).file_counts).toMatchObject({ failed: 2, total: 2 });
  });

  it('a repeated request to add a file gets its first reply, of which nothing is left once the document is removed', async () => {
    const key = client.apiKey as string;
    const file_id = await uploadText(client, 'The lighthouse is open in summer.');
    const { id } = await client.vectorStores.create({});
    const add = () =>
      test.call('POST', `/v1/vector_stores/${id}/files`, {
        ...{ key, json: { file_id, attributes: { secret: 'word' } } },
        headers: { 'Idempotency-Key': 'add-once' },
      });
    const first = await add();
    expect([first.status, first.body.attributes]).toEqual([200, { secret: 'word' }]);
    expect((await add()).body).toEqual(first.body);
    await client.vectorStores.files.poll(id, file_id);
    await client.vectorStores.files.delete(file_id, { vector_store_id: id });
    await test.appliance.documents.purge(new AbortController().signal);
    expect((await add()).status).toBe(410);
    const rows = await test.appliance.sql`SELECT 1 FROM idempotency_keys WHERE response_body::text LIKE '%secret%'`;
    expect(rows).toHaveLength(0);
  });

  it('deleting the file removes it from every store, and its bytes with the last of its documents', async () => {
    const file_id = await uploadText(client, 'The lighthouse is closed in winter.');
    const stores = await Promise.all(['a', 'b'].map(() => client.vectorStores.create({ file_ids: [file_id] })));
    for (const { id } of stores) await client.vectorStores.files.poll(id, file_id);
    const bytes = () => test.appliance.objects.head(`files/${test.operator.orgId}/${file_id}`);
    const weak = await openStoreClient(test, { scopes: ['embed'] });
    await expect(weak.files.delete(file_id)).rejects.toMatchObject({ status: 403 });
    await client.files.delete(file_id);
    for (const { id } of stores) expect(await idsOf(client.vectorStores.files.list(id))).toEqual([]);
    await until(async () => (await bytes()) === null, { what: 'the removal of the bytes' });
  });

  it('a document keeps the bytes of a file that somebody who may not see it deletes', async () => {
    const file_id = await uploadText(client, 'A secret of the board.');
    const { id } = await client.vectorStores.create({ file_ids: [file_id] });
    await client.vectorStores.files.poll(id, file_id);
    const { sql, objects, documents } = test.appliance;
    await sql`UPDATE documents SET privacy_level = 9 WHERE bucket_id = ${id}`;
    expect(await idsOf(client.vectorStores.files.list(id))).toEqual([]);
    await expect(client.vectorStores.files.retrieve(file_id, { vector_store_id: id })).rejects.toMatchObject({
      ...{ status: 404, code: 'file_not_found' },
    });
    await expect(client.vectorStores.files.create(id, { file_id })).rejects.toMatchObject({
      ...{ status: 404, code: 'file_not_found' },
    });
    await expect(client.vectorStores.delete(id)).rejects.toMatchObject({ status: 403, code: 'out_of_reach' });
    await client.files.delete(file_id);
    const key = `files/${test.operator.orgId}/${file_id}`;
    expect(await objects.head(key)).not.toBeNull();
    await sql`UPDATE documents SET status = 'deleting', active_generation = NULL WHERE bucket_id = ${id}`;
    await documents.purge(new AbortController().signal);
    expect(await objects.head(key)).toBeNull();
  });
});
