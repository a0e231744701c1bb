import { afterAll, beforeAll, expect, it } from 'vitest';
import { createBucket } from '../../src/documents/buckets.ts';
import { deleteDocument } from '../../src/documents/documents.ts';
import { BucketPolicy } from '../../src/documents/schema.ts';
import { UploadRequest } from '../../src/ingest/schema.ts';
import { uploadDocument } from '../../src/ingest/upload.ts';
import type { Service } from '../../src/platform/lifecycle.ts';
import { SearchRequest } from '../../src/search/schema.ts';
import { searchBucket } from '../../src/search/search.ts';
import { openTestAppliance, type TestAppliance } from '../support/appliance.ts';
import { until } from '../support/until.ts';

/** Two processes of one installation; only the first has a worker. */
let here: TestAppliance;
let there: TestAppliance;
let worker: Service;
let bucketId: string;

beforeAll(async () => {
  here = await openTestAppliance();
  there = await openTestAppliance({}, { beside: here });
  worker = here.appliance.jobs.worker('ingest');
  await worker.start(new AbortController().signal);
  ({ id: bucketId } = await createBucket(here.appliance.sql, here.operator, {
    ...{ name: 'fresh', policy: BucketPolicy.parse({}) },
  }));
});
afterAll(async () => {
  await worker.stop();
  await there.close();
  await here.close();
});

async function upload(word: string): Promise<string> {
  const content = { bytes: Buffer.from(`The ${word} lies at anchor.`), fileName: `${word}.txt`, contentType: null };
  const { uploads } = here.appliance.ingest;
  return (await uploadDocument(uploads, here.operator, bucketId, content, UploadRequest.parse({}))).id;
}

async function find({ appliance, operator }: TestAppliance, word: string): Promise<string[]> {
  const request = SearchRequest.parse({ query: word, mode: 'keyword' });
  const { results } = await searchBucket(appliance.search, operator, bucketId, request);
  return results.map((result) => result.document_id);
}

it('a document that is ready is found by the very next search of every process, from memory', async () => {
  const names = Array.from({ length: 8 }, (_, nth) => `vessel${nth}`);
  const [first = ''] = names;
  const ids = new Map([[first, await upload(first)]]);
  for (const name of names) {
    const id = ids.get(name) ?? (await upload(name));
    const isReady = async () =>
      (await here.appliance.sql`SELECT 1 FROM documents WHERE id = ${id} AND status = 'ready'`).length === 1;
    await until(isReady, { what: 'the ingest of a document', withinMs: 60_000 });
    for (const side of [there, here]) expect(await find(side, name)).toEqual([id]);
  }
  for (const side of [here, there]) expect(side.appliance.search.lance.copies?.totals.tables).toBe(1);
});

it('a commit brings the copy of its own process up to date before the next search', async () => {
  const rows = () => here.appliance.search.lance.copies?.totals.rows as number;
  await find(here, 'schooner');
  const before = rows();
  await upload('schooner');
  await until(async () => rows() === before + 1, { what: 'the copy with the new row', withinMs: 60_000 });
});

it('a document that was deleted is found by no process any more, and its text leaves the memory', async () => {
  const id = await upload('galleon');
  await until(async () => (await find(there, 'galleon')).length === 1, { withinMs: 60_000 });
  await find(here, 'galleon');
  const rows = there.appliance.search.lance.copies?.totals.rows as number;
  await deleteDocument(here.appliance.sql, here.operator, bucketId, id);
  for (const side of [here, there]) expect(await find(side, 'galleon')).toEqual([]);
  await here.appliance.documents.purge(new AbortController().signal);
  for (const side of [here, there]) {
    expect(await find(side, 'galleon')).toEqual([]);
    await until(async () => side.appliance.search.lance.copies?.totals.rows === rows - 1);
  }
});
