import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createBucket } from '../../src/documents/buckets.ts';
import { deleteDocument } from '../../src/documents/documents.ts';
import { BucketPolicy } from '../../src/documents/schema.ts';
import { getIndexTable } from '../../src/index/index-store.ts';
import { findReindexRun, type ReindexRun } from '../../src/index/writing/reindex-store.ts';
import { copyGenerations } from '../../src/index/writing/replace-table.ts';
import { rebuildIndex } from '../../src/ingest/reindex/reindex-bucket.ts';
import { UploadRequest } from '../../src/ingest/schema.ts';
import { uploadDocument } from '../../src/ingest/upload.ts';
import type { Service } from '../../src/platform/lifecycle.ts';
import { SearchRequest } from '../../src/search/schema.ts';
import { searchBucket } from '../../src/search/search.ts';
import { openTestAppliance, type TestAppliance } from '../support/appliance.ts';
import { ingestAll } from '../support/ingest-all.ts';
import { originIn } from '../support/origins.ts';

let test: TestAppliance;
let worker: Service;
let bucket: string;
let bucketId: string;
let serial = 0;
const signal = new AbortController().signal;
const NAMES = ['harbour', 'mountain', 'payroll', 'ferry', 'garden', 'library'];
const textOf = (name: string) => `The ${name} opens at seven, says the notice at the ${name} gate.`;

beforeAll(async () => {
  test = await openTestAppliance();
  worker = test.appliance.jobs.worker('ingest');
  await worker.start(signal);
});
afterAll(async () => {
  await worker.stop();
  await test.close();
});
beforeEach(async () => {
  bucket = `bucket-${++serial}`;
  bucketId = (await createBucket(test.appliance.sql, test.operator, { name: bucket, policy: BucketPolicy.parse({}) }))
    .id;
});

const ingest = (names: readonly string[]) =>
  ingestAll(
    test.appliance,
    test.operator,
    bucket,
    names.map((name) => ({ id: name, fileName: `${name}.txt`, text: textOf(name) })),
  );

async function find(query: string) {
  const { results } = await searchBucket(test.appliance.search, test.operator, bucket, SearchRequest.parse({ query }));
  return results;
}

/** Search result that can be compared: passages with equal scores may be in any order. */
async function comparableResults(query: string) {
  const results = await find(query);
  const [first] = results;
  return {
    first: [first?.id, first?.text, first?.citation, first?.scores.vector_score?.toFixed(6)],
    all: results.map((result) => result.id).sort(),
  };
}

const rebuild = (options: Partial<Parameters<typeof rebuildIndex>[3]> = {}) =>
  rebuildIndex(test.appliance.ingest.reindex, test.operator, bucket, { signal, ...options });

const liveRows = async () => {
  const own = await getIndexTable(test.appliance.sql, bucketId);
  return own && (await test.appliance.search.lance.tables.openForWriting(own.name)).countRows();
};

describe('a rebuilt index', () => {
  it('a rebuilt index finds what the lost one found, without calling a provider', async () => {
    await ingest(NAMES);
    await test.appliance.ingest.reindex.index.optimize(bucketId, signal);
    const before = await Promise.all(NAMES.map(comparableResults));
    const own = await getIndexTable(test.appliance.sql, bucketId);
    await test.appliance.search.lance.tables.drop(own?.name as string);
    const seen: number[] = [];
    const report = await rebuild({ onProgress: (done) => void seen.push(done) });
    expect(report).toMatchObject({ documents: NAMES.length, chunks: NAMES.length, left_out: [] });
    expect(seen.at(-1)).toBe(NAMES.length);
    expect(await Promise.all(NAMES.map(comparableResults))).toEqual(before);
    expect(await liveRows()).toBe(NAMES.length);
    expect(await findReindexRun(test.appliance.sql, bucketId)).toBeNull();
  });

  it('a rebuilt index has no rows of deleted documents', async () => {
    const { idOf } = await ingest(NAMES);
    const [first] = idOf.keys();
    await deleteDocument(test.appliance.sql, test.operator, bucket, first as string);
    expect(await rebuild()).toMatchObject({ documents: NAMES.length - 1 });
    expect(await liveRows()).toBe(NAMES.length - 1);
    const added = await test.appliance.sql`SELECT 1 FROM documents WHERE bucket_id = ${bucketId} AND status = 'ready'`;
    expect(added).toHaveLength(NAMES.length - 1);
  });

  it('a rebuilt index contains every document that is ingested during the rebuild', async () => {
    await ingest(NAMES.slice(0, 2));
    const more = Array.from({ length: 30 }, (_, n) => `${NAMES[n % 6]}-${n}`);
    for (const name of more) {
      const content = { bytes: Buffer.from(textOf(name)), fileName: `${name}.txt`, contentType: null };
      await uploadDocument(test.appliance.ingest.uploads, test.operator, bucket, content, UploadRequest.parse({}));
    }
    const isReady = async () =>
      (
        await test.appliance.sql`
      SELECT 1 FROM documents WHERE bucket_id = ${bucketId} AND status = 'ready'`
      ).length === 32;
    do await rebuild();
    while (!(await isReady()));
    await rebuild();
    for (const name of more.slice(0, 6)) expect((await find(name))[0]?.citation.file_name).toBe(`${name}.txt`);
    expect(await liveRows()).toBe(32);
  });

  it('an interrupted rebuild is resumed by the next run, without duplicate rows', async () => {
    await ingest(NAMES);
    const abort = new AbortController();
    const interrupted = rebuild({
      signal: abort.signal,
      onProgress: (done) => done >= 2 && abort.abort(new Error('interrupted')),
    });
    await expect(interrupted).rejects.toThrow('interrupted');
    expect((await find('harbour'))[0]?.citation.file_name).toBe('harbour.txt');
    expect(await rebuild()).toMatchObject({ documents: NAMES.length });
    expect(await liveRows()).toBe(NAMES.length);
  });

  it('a rebuild leaves out damaged documents only on request, and names them', async () => {
    const { idOf } = await ingest(NAMES);
    const [[lost, name]] = [...idOf] as [[string, string]];
    const [row] = await test.appliance.sql`SELECT artifact_key FROM generations WHERE document_id = ${lost}`;
    await test.appliance.ingest.reindex.objects.delete(row?.['artifact_key'] as string);
    await expect(rebuild()).rejects.toMatchObject({ code: 'artifact_corrupt', details: { document_id: lost } });
    expect((await find(name))[0]?.citation.file_name).toBe(`${name}.txt`);
    expect(await rebuild({ leaveOutDamaged: true })).toMatchObject({ documents: NAMES.length - 1, left_out: [lost] });
    expect((await find(name)).map((hit) => hit.document_id)).not.toContain(lost);
  });

  it('rows that jobs in progress wrote to the current table are copied to the new one', async () => {
    await ingest(NAMES.slice(0, 2));
    const { sql } = test.appliance;
    const { reindex } = test.appliance.ingest;
    const [row] = await sql`SELECT id FROM generations WHERE bucket_id = ${bucketId} LIMIT 1`;
    const into = await test.appliance.search.lance.tables.openForWriting(`${bucketId}_next`);
    const run: ReindexRun = {
      ...{ id: 'rpj_x', bucketId, tableName: `${bucketId}_next`, kind: 'rebuild', jobId: null },
      origin: originIn('x'),
    };
    await copyGenerations(reindex, run, [Number(row?.['id'])]);
    expect(await into.countRows()).toBe(1);
  });

  it('a rebuild of a bucket without an index is refused', async () => {
    await expect(rebuild()).rejects.toMatchObject({ code: 'index_empty', status: 409 });
  });
});
