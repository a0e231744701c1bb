import type OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Scope } from '../../src/access/caller.ts';
import { openTestApi, type TestApi } from '../support/api.ts';
import { idsOf, openStoreClient, storeWith, textFile, uploadText } from '../support/vector-stores.ts';

// Batches of files, searches and refusals of vector stores, through the official OpenAI library.

let test: TestApi;
let client: OpenAI;
beforeAll(async () => {
  test = await openTestApi();
  client = await openStoreClient(test);
});
afterAll(() => test.close());

describe('batches of files', () => {
  it('uploadAndPoll of a batch ends with all files, old and new', async () => {
    const store = await client.vectorStores.create({});
    const fileIds = [await uploadText(client, 'The ferry leaves at noon.')];
    const files = [await textFile('The museum opens at ten.'), await textFile('The market is on Sunday.')];
    const batch = await client.vectorStores.fileBatches.uploadAndPoll(store.id, { files, fileIds });
    expect(batch).toMatchObject({ object: 'vector_store.files_batch', vector_store_id: store.id, status: 'completed' });
    expect(batch.file_counts).toEqual({ in_progress: 0, completed: 3, failed: 0, cancelled: 0, total: 3 });
    const listed = await idsOf(
      client.vectorStores.fileBatches.listFiles(batch.id, { vector_store_id: store.id, limit: 2 }),
    );
    expect(listed).toContain(fileIds[0]);
    expect(listed.toSorted()).toEqual((await idsOf(client.vectorStores.files.list(store.id))).toSorted());
  });

  it('files of a batch have attributes and chunks of their own', async () => {
    const store = await client.vectorStores.create({});
    const [a = '', b = ''] = await Promise.all(['The ferry.', 'The museum.'].map((text) => uploadText(client, text)));
    const chunking_strategy = {
      ...{ type: 'static' as const, static: { max_chunk_size_tokens: 100, chunk_overlap_tokens: 50 } },
    };
    const batch = await client.vectorStores.fileBatches.createAndPoll(store.id, {
      files: [{ file_id: a, attributes: { kind: 'boat' }, chunking_strategy }, { file_id: b }],
    });
    expect(batch.status).toBe('completed');
    const vector_store_id = store.id;
    const [first, second] = await Promise.all(
      [a, b].map((id) => client.vectorStores.files.retrieve(id, { vector_store_id })),
    );
    expect(first).toMatchObject({ attributes: { kind: 'boat' }, chunking_strategy });
    expect(second?.attributes).toEqual({});
    const all = await client.vectorStores.fileBatches.createAndPoll(store.id, {
      ...{ file_ids: [a, b, a], attributes: { kind: 'any' } },
    });
    expect(all.file_counts).toMatchObject({ completed: 2, total: 2 });
    expect((await client.vectorStores.files.retrieve(a, { vector_store_id })).attributes).toEqual({ kind: 'any' });
  });

  it('wrong batches are refused whole', async () => {
    const store = await client.vectorStores.create({});
    const file_id = await uploadText(client, 'The ferry.');
    const create = (body: object) => client.vectorStores.fileBatches.create(store.id, body as never);
    await expect(create({ file_ids: [file_id, 'file_none'] })).rejects.toMatchObject({
      ...{ status: 404, code: 'file_not_found', param: 'file_ids[1]' },
    });
    const other = { file_id, attributes: { a: 'b' } };
    await expect(create({ files: [{ file_id }, other] })).rejects.toMatchObject({ param: 'files[1].file_id' });
    await expect(create({})).rejects.toMatchObject({ status: 400 });
    await expect(create({ file_ids: [file_id], files: [{ file_id }] })).rejects.toMatchObject({ status: 400 });
    const tooMany = Array.from({ length: 2001 }, (_, i) => `file_${i}`);
    await expect(create({ file_ids: tooMany })).rejects.toMatchObject({ status: 400, param: 'file_ids' });
    expect((await client.vectorStores.retrieve(store.id)).file_counts.total).toBe(0);
  });
});

describe('searches', () => {
  it('each of several queries is searched by itself', async () => {
    const { id, file_ids } = await storeWith(client, [
      'The ferry leaves at noon.',
      'The museum opens at ten.',
      'Nothing of the kind.',
    ]);
    const search = (query: string | string[], more: object = {}) => client.vectorStores.search(id, { query, ...more });
    const page = await search(['ferry noon', 'museum ten'], { max_num_results: 2 });
    expect(page.data.map(({ file_id }) => file_id).toSorted()).toEqual(file_ids.slice(0, 2).toSorted());
    const alone = await search('museum ten', { max_num_results: 1 });
    const same = page.data.find(({ file_id }) => file_id === alone.data[0]?.file_id);
    expect(same?.score).toBe(alone.data[0]?.score);
    const key = client.apiKey as string;
    const json = { query: 'ferry', rewrite_query: true, ranking_options: { ranker: 'auto', score_threshold: 0.1 } };
    const plain = await test.call('POST', `/v1/vector_stores/${id}/search`, { key, json });
    expect(plain.body.search_query).toEqual(['ferry']);
    expect(plain.headers.get('x-service-warning')).toContain('rewrite_query has no effect');
    await expect(search('x', { ranking_options: { ranker: 'best' } })).rejects.toMatchObject({ status: 400 });
  });
});

describe('refusals', () => {
  it.each([
    [{ attributes: Object.fromEntries(Array.from({ length: 17 }, (_, i) => [`k${i}`, 1])) }, 'attributes'],
    [{ attributes: { note: 'x'.repeat(513) } }, 'attributes.note'],
    [{ attributes: { ['k'.repeat(65)]: 1 } }, `attributes.${'k'.repeat(65)}`],
    [{ attributes: { chunk_id: 'x' } }, 'attributes.chunk_id'],
    [{ attributes: { list: ['x'] } }, 'attributes.list'],
    [{ chunking_strategy: chunks(99, 0) }, 'chunking_strategy.static.max_chunk_size_tokens'],
    [{ chunking_strategy: chunks(4097, 0) }, 'chunking_strategy.static.max_chunk_size_tokens'],
    [{ chunking_strategy: chunks(200, 101) }, 'chunking_strategy.static.chunk_overlap_tokens'],
    [{ chunking_strategy: { type: 'other' } }, 'chunking_strategy.type'],
  ])('a file is refused with %j', async (more, param) => {
    const { id } = await client.vectorStores.create({});
    const file_id = await uploadText(client, 'x');
    await expect(client.vectorStores.files.create(id, { file_id, ...more } as never)).rejects.toMatchObject({
      ...{ status: 400, type: 'invalid_request_error', param },
    });
  });

  it('files of other purposes, and stores and files of other organizations, are refused', async () => {
    const { id, file_ids } = await storeWith(client, ['mine']);
    const [file_id = ''] = file_ids;
    const input = await client.files.create({ file: await textFile('{}', 'a.jsonl'), purpose: 'batch' });
    await expect(client.vectorStores.files.create(id, { file_id: input.id })).rejects.toMatchObject({ status: 400 });
    await expect(client.vectorStores.files.create(id, { file_id: 'file_none' })).rejects.toMatchObject({
      ...{ status: 404, code: 'file_not_found', param: 'file_id' },
    });
    await expect(client.vectorStores.create({ file_ids: ['file_none'] })).rejects.toMatchObject({ status: 404 });
    const other = await openStoreClient(test, { org: 'other' });
    const { id: theirs } = await other.vectorStores.create({});
    const attempts = [
      () => other.vectorStores.retrieve(id),
      () => other.vectorStores.update(id, { name: 'x' }),
      () => other.vectorStores.delete(id),
      () => other.vectorStores.search(id, { query: 'x' }),
      () => other.vectorStores.files.list(id),
      () => other.vectorStores.files.create(id, { file_id }),
      () => other.vectorStores.files.create(theirs, { file_id }),
      () => other.vectorStores.files.delete(file_id, { vector_store_id: id }),
      () => other.vectorStores.files.retrieve(file_id, { vector_store_id: theirs }),
      () => other.vectorStores.fileBatches.create(id, { file_ids: [file_id] }),
    ];
    for (const attempt of attempts) await expect(attempt()).rejects.toMatchObject({ status: 404 });
  });

  it('a key adds files only with the scopes that write documents and read files', async () => {
    const { id, file_ids } = await storeWith(client, ['x']);
    for (const scopes of [['documents:write'], ['embed']] as Scope[][]) {
      const weak = await openStoreClient(test, { scopes });
      await expect(weak.vectorStores.files.create(id, { file_id: file_ids[0] as string })).rejects.toMatchObject({
        status: 403,
      });
    }
    const reader = await openStoreClient(test, { scopes: ['embed'] });
    expect(await idsOf(reader.vectorStores.files.list(id))).toEqual([]);
  });
});

function chunks(max_chunk_size_tokens: number, chunk_overlap_tokens: number) {
  return { type: 'static', static: { max_chunk_size_tokens, chunk_overlap_tokens } };
}
