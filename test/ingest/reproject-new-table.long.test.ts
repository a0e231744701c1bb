import { expect, it, vi } from 'vitest';
import { deleteDocument } from '../../src/documents/documents.ts';
import { lockIndexSpace } from '../../src/index/index-store.ts';
import { LanceIndex } from '../../src/index/lance/lance-index.ts';
import { findReindexRun } from '../../src/index/writing/reindex-store.ts';
import { UploadRequest } from '../../src/ingest/schema.ts';
import { uploadDocument } from '../../src/ingest/upload.ts';
import { SearchRequest } from '../../src/search/schema.ts';
import { searchBucket } from '../../src/search/search.ts';
import { calibrate } from '../support/calibrate.ts';
import { until } from '../support/until.ts';
import { ALPHA, BETA, failure, native, reprojectionUnderTest, signal, texts } from './reprojection-under-test.ts';

vi.setConfig({ testTimeout: 180_000 });

const under = reprojectionUnderTest();

it('the first map of a model moves a bucket into the canonical space at once, while searches continue', async () => {
  const model = native(0);
  const mine = [...texts(60, 6), 'kingfisher island storm'];
  await under.ingest(model, mine);
  expect((await under.contents()).space).toBe(`native:${model}@1`);
  await calibrate(under.test.appliance, model);

  const before = under.test.upstream.calls.filter((call) => call.texts.length > 1).length;
  let isDone = false;
  const run = under.reproject([model]).finally(() => {
    isDone = true;
  });
  const seen: { names: readonly string[]; scored: boolean; warnings: number }[] = [];
  while (!isDone) {
    const { names, results, warnings } = await under.search('kingfisher island', 'hybrid');
    const scored = results.some((hit) => hit.scores.vector_score !== null);
    seen.push({ names, scored, warnings: warnings.length });
  }
  expect(await run).toMatchObject({ mode: 'new_table', documents: 61, space: 'canon-v1' });
  expect(seen.every(({ names }) => names.includes('d60.txt'))).toBe(true);
  // By keyword and vector all the time: queries follow the space of the bucket.
  expect(seen.every(({ scored, warnings }) => scored && warnings === 0)).toBe(true);
  expect(under.test.upstream.calls.filter((call) => call.texts.length > 1)).toHaveLength(before);

  await under.sweep();
  await under.expectExact();
  await under.route(BETA);
  const found = await under.search('storm island kingfisher');
  expect(found).toMatchObject({ model, warnings: [] });
  expect(found.names[0]).toBe('d60.txt');
  await under.ingest(ALPHA, ['oven butter kettle'], 'new');
  expect((await under.search('butter oven')).names[0]).toBe('new0.txt');
});

it('an interrupted move into the canonical space is completed by the next run, without duplicate rows', async () => {
  const model = native(1);
  // Five documents of about 450 chunks each make several batches.
  const long = (seed: number) => texts(1_500, seed).join('. ');
  await under.ingest(model, [20, 21, 22, 23, 24].map(long), 'long', { chunk_size: 64, chunk_overlap: 0 });
  const chunks = (await under.contents()).rows.length;
  expect(chunks).toBeGreaterThan(2_000);
  await calibrate(under.test.appliance, model);
  const stop = new AbortController();
  const interrupted = under.reproject([model], {
    signal: stop.signal,
    onProgress: () => stop.abort(new Error('stop')),
  });
  expect((await failure(interrupted))?.message).toBe('stop');
  const run = await findReindexRun(under.test.appliance.sql, under.bucket.id);
  // As a kill leaves it: of one document, rows are missing.
  const table = await under.test.appliance.search.lance.tables.openForWriting(run?.tableName as string);
  const [some] = await table.query().select(['generation']).limit(1).toArray();
  await table.delete(`generation = ${some.generation} AND chunk_index > 10`);
  const kept = new Set((await table.query().select(['generation']).toArray()).map((row) => Number(row.generation)));
  expect(kept.size).toBeGreaterThan(1);
  // A sweep between the two runs keeps the data that the second run resumes.
  await under.sweep();
  expect((await under.contents()).space).toBe(`native:${model}@1`);
  const report = await under.reproject([model]);
  expect(report).toMatchObject({ mode: 'new_table', documents: 5 - kept.size + 1 });
  await under.sweep();
  await under.expectExact();
  expect((await under.contents()).rows).toHaveLength(chunks);
});

it('a move into the canonical space takes uploads along that come meanwhile, and drops the old table when nobody reads it', async () => {
  const model = native(2);
  await under.ingest(model, texts(3, 9));
  await calibrate(under.test.appliance, model);
  const { sql } = under.test.appliance;
  const { uploads } = under.test.appliance.ingest;
  let jobId = '';
  let isFirst = true;
  const context = under.beforePut(async () => {
    if (!isFirst) return;
    isFirst = false;
    const content = { bytes: Buffer.from('rope sail anchor'), fileName: 'late.txt', contentType: null };
    const reply = await uploadDocument(
      uploads,
      under.test.operator,
      under.bucket.name,
      content,
      UploadRequest.parse({}),
    );
    jobId = reply.job_id as string;
    await until(async () => {
      const rows = await sql`SELECT 1 FROM jobs WHERE id = ${jobId} AND status = 'ready'`;
      return rows.length > 0;
    });
  });
  const before = (await under.contents()).name as string;
  expect(await under.reproject([model], { context })).toMatchObject({ documents: 4 });
  expect((await under.search('rope sail anchor')).names[0]).toBe('late.txt');
  const namesOf = async () => (await sql`SELECT table_name FROM retired_index_tables`).map((row) => row['table_name']);
  await under.sweep();
  expect(await namesOf()).toContain(before);
  await sql`UPDATE retired_index_tables SET retired_at = now() - interval '1 hour'`;
  await under.sweep();
  expect(await namesOf()).not.toContain(before);
  expect(await under.test.appliance.search.lance.tables.openForReading(before, 1)).toBeNull();
});

it('a search during the swap of tables is answered from the new table', async () => {
  const model = native(3);
  await under.ingest(model, [...texts(5, 10), 'kingfisher nest']);
  await calibrate(under.test.appliance, model);
  let isFirst = true;
  const tables = Object.create(under.test.appliance.search.lance.tables, {
    openForReading: {
      value: async (name: string, version: number) => {
        const table = await under.test.appliance.search.lance.tables.openForReading(name, version);
        if (isFirst) {
          isFirst = false;
          await under.reproject([model]);
        }
        return table;
      },
    },
  });
  const request = SearchRequest.parse({ query: 'kingfisher' });
  const { copies } = under.test.appliance.search.lance;
  const search = { ...under.test.appliance.search, chunks: new LanceIndex(tables, copies) };
  const reply = await searchBucket(search, under.test.operator, under.bucket.name, request);
  expect(isFirst).toBe(false);
  expect(reply.results[0]?.citation.file_name).toBe('d5.txt');
  expect(reply.results[0]?.scores.vector_score).not.toBeNull();
});

it('a move into the canonical space leaves out a document that is deleted meanwhile, and locks out writes of the old space', async () => {
  const model = native(4);
  await under.ingest(model, texts(4, 11));
  await calibrate(under.test.appliance, model);
  const { sql, objects, documents } = under.test.appliance;
  const [gone] = (await under.contents()).live;
  let isDeleted = false;
  // The new generation is registered, but not yet stored or in the table: it must not be counted, and must be removed.
  const context = under.beforePut(async (key) => {
    if (isDeleted || !key.includes(`/${gone?.['id']}/`)) return;
    isDeleted = true;
    await deleteDocument(sql, under.test.operator, under.bucket.name, gone?.['id'] as string);
    await documents.purge(signal);
  });
  expect(await under.reproject([model], { context })).toMatchObject({ documents: 3 });
  expect(isDeleted).toBe(true);
  await under.sweep();
  await under.expectExact();
  for await (const object of objects.list(`documents/${under.test.operator.orgId}/${gone?.['id']}/`)) {
    expect(object.key).toBe('nothing is left');
  }
  expect(await sql.begin((tx) => lockIndexSpace(tx, under.bucket.id, `native:${model}@1`))).toBe(false);
  expect(await sql.begin((tx) => lockIndexSpace(tx, under.bucket.id, 'canon-v1'))).toBe(true);
});

it('a move into the canonical space stops at a damaged artifact, names its document, and continues once it is deleted', async () => {
  const model = native(5);
  await under.ingest(model, texts(5, 12));
  await calibrate(under.test.appliance, model);
  const { sql, objects } = under.test.appliance;
  const [damaged] = (await under.contents()).live;
  await objects.put(damaged?.['artifact_key'] as string, Buffer.from('not an artifact'));
  const error = await failure(under.reproject([model]));
  expect(error).toMatchObject({ code: 'reproject_incomplete', status: 409 });
  expect(error.message).toContain(damaged?.['id']);
  expect((await under.contents()).space).toBe(`native:${model}@1`);
  await deleteDocument(sql, under.test.operator, under.bucket.name, damaged?.['id'] as string);
  // The other four documents were written before the run stopped, with a map that is no longer in use.
  const { map_version: version } = await calibrate(under.test.appliance, model, { pairs: 550 });
  expect(await under.reproject([model])).toMatchObject({ mode: 'new_table', documents: 4 });
  const { space, live } = await under.contents();
  expect([space, new Set(live.map((row) => row['map_version']))]).toEqual(['canon-v1', new Set([version])]);
  await under.test.appliance.documents.purge(signal);
  await under.sweep();
  await under.expectExact();
});

it('a move into the canonical space is removed completely an hour after its last heartbeat', async () => {
  const model = native(6);
  await under.ingest(model, texts(20, 13));
  await calibrate(under.test.appliance, model);
  const stop = new AbortController();
  await failure(under.reproject([model], { signal: stop.signal, onProgress: () => stop.abort(new Error('stop')) }));
  const { sql } = under.test.appliance;
  const run = await findReindexRun(sql, under.bucket.id);
  await sql`UPDATE reprojections SET touched_at = now() - interval '2 hours'`;
  await under.sweep();
  expect(await findReindexRun(sql, under.bucket.id)).toBeNull();
  await sql`UPDATE retired_index_tables SET retired_at = now() - interval '1 hour'`;
  await under.sweep();
  expect(await under.test.appliance.search.lance.tables.openForReading(run?.tableName as string, 1)).toBeNull();
  await under.expectExact();
  expect(await under.reproject([model])).toMatchObject({ documents: 20 });
  await under.sweep();
  await under.expectExact();
});
