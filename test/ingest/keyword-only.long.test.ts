import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import type { Caller } from '../../src/access/caller.ts';
import type { Appliance } from '../../src/appliance/appliance.ts';
import { getIndexTable } from '../../src/index/index-store.ts';
import { rebuildIndex } from '../../src/ingest/reindex/reindex-bucket.ts';
import { UploadRequest } from '../../src/ingest/schema.ts';
import { uploadDocument } from '../../src/ingest/upload.ts';
import { doChores } from '../../src/platform/chores.ts';
import type { Service } from '../../src/platform/lifecycle.ts';
import { backUp, makeFolder, openOtherMachine, searchTexts, secretKeyOf } from '../backup/support.ts';
import { openTestGateway, type TestGateway } from '../support/gateway.ts';
import { until } from '../support/until.ts';

const VENDOR = 'vendor-a/alpha';

let test: TestGateway;
let worker: Service;
let key: string;
let serial = 0;

beforeAll(async () => {
  test = await openTestGateway(
    {
      models: [{ id: VENDOR, vendor: 'vendor-a', dimensions: 160, max_tokens: 8192 }],
      workers: { retries_max: 0 },
      embeddings: { cache_bytes: 0 },
    },
    { semantic: true, dimensions: { alpha: 160 } },
  );
  worker = test.appliance.jobs.worker('ingest');
  await worker.start(new AbortController().signal);
  key = await test.key({
    authLevel: 10,
    scopes: ['embed', 'search', 'documents:write', 'buckets:manage', 'routing:manage', 'jobs:write'],
  });
  await call('PUT', '/v1/routing', { primary: VENDOR });
});
afterAll(async () => {
  await worker.stop();
  await test.close();
});

const call = (method: string, path: string, json?: unknown) =>
  test.call(method, path, { key, ...(json === undefined ? {} : { json }) });

const take = (): void => {
  test.upstream.decide = () => ({ kind: 'status', status: 503 });
};
/** Have the provider answer again, and wait until its circuit breaker has noticed. */
async function giveBack(): Promise<void> {
  test.upstream.decide = () => null;
  const answers = async () =>
    (await call('POST', '/v1/embeddings', { input: 'harbour', model: VENDOR })).status === 200;
  await until(answers, { withinMs: 120_000, everyMs: 250, what: 'an answer of the provider' });
}

/** Upload a document that one word finds, and wait for the end of its job. */
async function upload(bucket: string): Promise<{ id: string; word: string; status: string }> {
  const word = `heron${++serial}q`;
  const json = { filename: `${word}.txt`, text: `The ${word} stands still in the shallow water of the harbour.` };
  const { body } = await call('POST', `/v1/buckets/${bucket}/documents`, json);
  await settled(bucket);
  return { id: body.id, word, status: (await read(bucket, body.id)).status };
}

const read = async (bucket: string, id: string) => (await call('GET', `/v1/buckets/${bucket}/documents/${id}`)).body;

async function settled(bucket: string): Promise<void> {
  const isSettled = async () => {
    const [row] = await test.appliance.sql`
      SELECT count(*)::int AS count FROM jobs JOIN buckets ON buckets.id = jobs.bucket_id
      WHERE buckets.name = ${bucket} AND jobs.status NOT IN ('ready', 'failed', 'cancelled')`;
    return row?.['count'] === 0;
  };
  await until(isSettled, { withinMs: 60_000, what: 'the end of all jobs' });
}

async function find(bucket: string, query: string, mode: string): Promise<string[]> {
  const { status, body } = await call('POST', `/v2/buckets/${bucket}/search`, { query, mode, top_k: 20 });
  expect(status).toBe(200);
  return body.results.map((hit: { document_id: string }) => hit.document_id);
}

it('a document that cannot be embedded is listed as failed with the reason, found by its words, and embedded once the provider is back', async () => {
  await call('POST', '/v1/buckets', { name: 'outage' });
  take();
  const first = await upload('outage');
  const second = await upload('outage');
  expect(await read('outage', first.id)).toMatchObject({
    ...{ status: 'failed', chunks_count: 1, embed_model: null, error_message: expect.stringContaining('vendor-a') },
  });
  for (const { id, word } of [first, second]) {
    expect((await find('outage', word, 'keyword'))[0]).toBe(id);
    expect((await find('outage', word, 'hybrid'))[0]).toBe(id);
  }
  expect((await call('GET', '/v1/buckets/outage')).body.embedding).toBeNull();

  await giveBack();
  const third = await upload('outage');
  expect(third.status).toBe('ready');
  // Documents without vectors are no result of a vector search.
  expect(await find('outage', 'harbour water', 'vector')).toEqual([third.id]);
  await doChores(test.appliance.ingest.chores(1_000), new AbortController().signal);
  await settled('outage');
  for (const { id, word } of [first, second]) {
    expect(await read('outage', id)).toMatchObject({ status: 'ready', error_message: null, embed_model: VENDOR });
    expect((await find('outage', word, 'keyword'))[0]).toBe(id);
  }
  expect((await find('outage', 'harbour water', 'vector')).toSorted()).toEqual(
    [first.id, second.id, third.id].toSorted(),
  );
  const queued = await test.appliance.sql`SELECT 1 FROM jobs WHERE processing_type = 'retry'`;
  await doChores(test.appliance.ingest.chores(1_000), new AbortController().signal);
  expect(await test.appliance.sql`SELECT 1 FROM jobs WHERE processing_type = 'retry'`).toHaveLength(queued.length);
});

it('an edited document whose stored vectors are lost is found by its words while its provider is down', async () => {
  await call('POST', '/v1/buckets', { name: 'edited' });
  const known = await upload('edited');
  for await (const { key: object } of test.appliance.objects.list('documents/')) {
    if (object.includes(known.id) && !object.endsWith('original')) await test.appliance.objects.delete(object);
  }
  take();
  await call('PATCH', `/v1/buckets/edited/documents/${known.id}/metadata`, { metadata: { team: 'b' } });
  await settled('edited');
  expect(await read('edited', known.id)).toMatchObject({ status: 'failed', metadata: { team: 'b' } });
  expect(await find('edited', known.word, 'keyword')).toEqual([known.id]);
  // A further edit keeps it where it is.
  await call('PATCH', `/v1/buckets/edited/documents/${known.id}/metadata`, { metadata: { team: 'c' } });
  await settled('edited');
  expect(await find('edited', known.word, 'keyword')).toEqual([known.id]);
  await giveBack();
  await call('PATCH', `/v1/buckets/edited/documents/${known.id}/metadata`, { metadata: { team: 'd' } });
  await settled('edited');
  expect(await read('edited', known.id)).toMatchObject({ status: 'ready', metadata: { team: 'd' } });
  expect(await find('edited', known.word, 'vector')).toEqual([known.id]);
});

it('a rebuild keeps documents without vectors, a reembed embeds them, and a deleted one is not found', async () => {
  await call('POST', '/v1/buckets', { name: 'rebuilt' });
  const embedded = await upload('rebuilt');
  take();
  const [waiting, deleted] = [await upload('rebuilt'), await upload('rebuilt')];
  const signal = new AbortController().signal;
  const report = await rebuildIndex(test.appliance.ingest.reindex, test.operator, 'rebuilt', { signal });
  expect(report).toMatchObject({ documents: 3, left_out: [] });
  for (const { id, word } of [embedded, waiting]) expect(await find('rebuilt', word, 'keyword')).toEqual([id]);
  expect((await call('DELETE', `/v1/buckets/rebuilt/documents/${deleted.id}`)).status).toBe(200);
  expect(await find('rebuilt', deleted.word, 'keyword')).toEqual([]);
  await giveBack();
  const { body, status } = await call('POST', '/v1/buckets/rebuilt/reembed', {});
  expect({ status, texts: body.texts }).toEqual({ status: 202, texts: 1 });
  await settled('rebuilt');
  expect(await read('rebuilt', waiting.id)).toMatchObject({ status: 'ready', embed_model: VENDOR });
  expect((await find('rebuilt', 'harbour water', 'vector')).toSorted()).toEqual([embedded.id, waiting.id].toSorted());
});

it('a bucket with nothing but documents without vectors is rebuilt, and takes vectors of any space afterwards', async () => {
  await call('POST', '/v1/buckets', { name: 'words' });
  take();
  const first = await upload('words');
  const { appliance } = test;
  const [row] = await appliance.sql`SELECT id FROM buckets WHERE name = 'words'`;
  const bucketId = row?.['id'] as string;
  const before = await getIndexTable(appliance.sql, bucketId);
  expect(before?.origin).toBeNull();
  const signal = new AbortController().signal;
  const report = await rebuildIndex(appliance.ingest.reindex, test.operator, 'words', { signal });
  expect(report).toMatchObject({ documents: 1, chunks: 1, left_out: [] });
  const after = await getIndexTable(appliance.sql, bucketId);
  expect(after?.origin).toBeNull();
  expect(after?.name).not.toBe(before?.name);
  expect(await find('words', first.word, 'keyword')).toEqual([first.id]);
  await giveBack();
  const second = await upload('words');
  expect(second.status).toBe('ready');
  expect(await find('words', second.word, 'vector')).toEqual([second.id]);
  expect((await find('words', 'harbour', 'keyword')).toSorted()).toEqual([first.id, second.id].toSorted());
});

it('a restore builds the index of a bucket with nothing but documents without vectors, and later uploads are found', async () => {
  await call('POST', '/v1/buckets', { name: 'restored' });
  take();
  const own = [await upload('restored'), await upload('restored'), await upload('restored')];
  await giveBack();
  const folder = makeFolder();
  const other = await openOtherMachine(secretKeyOf(test.dataDir));
  onTestFinished(async () => {
    await other.remove();
    folder.remove();
  });
  const { appliance } = test;
  await call('PUT', '/v1/routing', { primary: 'local/lexical-1' });
  await backUp(appliance, folder.location);
  await call('PUT', '/v1/routing', { primary: VENDOR });
  await other.restore(folder.location);

  const restored = await other.open();
  const restoredWorker = restored.jobs.worker('ingest');
  onTestFinished(async () => {
    await restoredWorker.stop();
    await restored.close();
  });
  const operator = await restored.access.operator('default');
  const findThere = async (query: string) =>
    (await searchTexts(restored, operator, 'restored', query)).map(([text]) => /heron\d+q|later\d/.exec(text)?.[0]);
  expect((await findThere('harbour')).toSorted()).toEqual(own.map(({ word }) => word).toSorted());
  await restoredWorker.start(new AbortController().signal);
  for (const word of ['later1', 'later2']) {
    await uploadText(restored, operator, `The ${word} comes into the harbour.`);
    expect(await findThere(word)).toContain(word);
  }
  expect(await findThere('harbour')).toHaveLength(5);
});

/** Upload a text into the restored bucket, and wait until it is ready. */
async function uploadText(appliance: Appliance, caller: Caller, text: string): Promise<void> {
  const content = { bytes: Buffer.from(text), fileName: 'later.txt', contentType: null };
  const request = UploadRequest.parse({ on_duplicate: 'allow' });
  const { id } = await uploadDocument(appliance.ingest.uploads, caller, 'restored', content, request);
  const isReady = async () => {
    const [row] = await appliance.sql`SELECT status FROM documents WHERE id = ${id}`;
    return row?.['status'] === 'ready';
  };
  await until(isReady, { withinMs: 60_000, what: 'a document' });
}
