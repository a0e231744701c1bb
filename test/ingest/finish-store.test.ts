import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { finishIngests, type WrittenIngest } from '../../src/ingest/finish-store.ts';
import { type NewGeneration, registerGenerations } from '../../src/ingest/generation-store.ts';
import { ingestStatements } from '../../src/ingest/ingest-statements.ts';
import { findSources, markProcessing } from '../../src/ingest/source-store.ts';
import { claimJobs, enqueueJob } from '../../src/jobs/store.ts';
import type { Sql } from '../../src/platform/postgres.ts';
import { createTestDatabase, type TestDatabase } from '../support/postgres.ts';
import { until } from '../support/until.ts';
import { waitingBackends } from '../support/waiting-backends.ts';

const SPACE = 'native:m@1';
const DOCUMENTS = ['doc_a', 'doc_b', 'doc_c', 'doc_d'];
let db: TestDatabase;
let written: WrittenIngest[];

beforeAll(async () => {
  db = await createTestDatabase({ poolMax: 10 });
  await db.sql`INSERT INTO organizations (id, name, plan) VALUES ('org_a', 'org_a', 'free')`;
});
afterAll(() => db.drop());

beforeEach(async () => {
  const { sql } = db;
  for (const table of ['jobs', 'documents', 'generations', 'reprojections', 'index_tables', 'buckets']) {
    await sql`DELETE FROM ${sql(table)}`;
  }
  for (const id of ['bkt_a', 'bkt_b']) {
    await sql`INSERT INTO buckets (id, org_id, name, policy) VALUES (${id}, 'org_a', ${id}, '{}')`;
    await sql`INSERT INTO index_tables (bucket_id, version, space, model, settled) VALUES (${id}, 1, ${SPACE}, 'm', true)`;
  }
  // The last document is of the second bucket.
  const bucketOf = (documentId: string) => (documentId === 'doc_d' ? 'bkt_b' : 'bkt_a');
  for (const id of DOCUMENTS) {
    await sql`
      INSERT INTO documents (id, org_id, bucket_id, file_name, size_bytes, sha256, object_key, ingest_options, status)
      VALUES (${id}, 'org_a', ${bucketOf(id)}, 'f', 1, ${Buffer.from(id)}, ${id}, '{}', 'queued')`;
    await enqueueJob(sql, {
      ...{ id: `job_${id}`, kind: 'ingest', orgId: 'org_a', bucketId: bucketOf(id), documentId: id, priority: 2 },
      ...{ s3Key: 'k', fileName: 'f', fileSizeBytes: 1, processingType: 'test' },
    });
  }
  const claim = { kind: 'ingest', workerId: 'wrk_t', firstPhase: 'extracting', leaseMs: 60_000, limit: 4 } as const;
  const jobs = (await claimJobs(sql, { ...claim, suspects: 'none' })).toSorted((a, b) => (a.id < b.id ? -1 : 1));
  written = jobs.map((job, nth) => {
    const documentId = job.documentId as string;
    const generation: NewGeneration = {
      ...{ id: job.generation as number, orgId: 'org_a', bucketId: bucketOf(documentId), documentId, jobId: job.id },
      ...{ artifactKey: `k${nth}`, chunksCount: nth + 1, embedModel: 'm', embedRevision: null, space: SPACE },
      ...{ mapVersion: null, nativeDimension: null, hasText: true, replaces: null },
    };
    const held = { id: job.id, fence: job.fence };
    return {
      held,
      generation,
      fileType: 'txt',
      pageCount: null,
      cost: nth / 2,
      tableName: null,
      snapshot: nth === 1 ? { a: 1 } : null,
    };
  });
  await registerGenerations(
    sql,
    written.map(({ generation }) => generation),
  );
});

const claimed = () => written.map(({ held, generation: { orgId, documentId } }) => ({ held, orgId, documentId }));
const find = () => findSources(db.sql, claimed());

/** Run a change in a transaction, and keep its locks until the returned function is called. */
async function keepLocked(change: (tx: Sql) => Promise<unknown>): Promise<() => Promise<void>> {
  const locked = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  const changing = db.sql.begin(async (tx) => {
    await change(tx);
    locked.resolve();
    await released.promise;
  });
  await locked.promise;
  return async () => {
    released.resolve();
    await changing;
  };
}

const waitForBlocked = () => until(async () => (await waitingBackends(db.sql)).length > 0);

async function states(): Promise<string[]> {
  const rows = await db.sql`
    SELECT documents.id, documents.status, jobs.status AS job, active_generation = generation AS is_found
    FROM documents JOIN jobs ON document_id = documents.id ORDER BY documents.id`;
  return rows.map((row) => `${row['job']} ${row['status']}${row['is_found'] === true ? ' found' : ''}`);
}

it('many jobs read their documents and are finished by one statement each, with their own results', async () => {
  expect((await find()).map((source) => source?.documentId)).toEqual(DOCUMENTS);
  expect(await states()).toEqual(Array(4).fill('extracting queued'));
  expect(await finishIngests(db.sql, written)).toEqual(Array(4).fill('ready'));
  expect(await states()).toEqual(Array(4).fill('ready ready found'));
  const jobs = await db.sql`SELECT chunks_count, actual_cost, file_type, metadata_snapshot FROM jobs ORDER BY id`;
  expect([...jobs]).toEqual(
    [1, 2, 3, 4].map((chunks, nth) => ({
      ...{ chunks_count: chunks, actual_cost: nth / 2, file_type: 'txt' },
      metadata_snapshot: nth === 1 ? { a: 1 } : null,
    })),
  );
});

it('a snapshot with characters that PostgreSQL cannot store has replacement characters in their place', async () => {
  const [first] = written as [WrittenIngest];
  const snapshot = {
    extraction: { skipped: [{ name: 'a\0b', category: 'corrupt' }] },
    warnings: ['\ud800', '\\u0000'],
  };
  expect(await finishIngests(db.sql, [{ ...first, snapshot }])).toEqual(['ready']);
  const [job] = await db.sql`SELECT metadata_snapshot FROM jobs WHERE id = ${first.held.id}`;
  expect(job?.['metadata_snapshot']).toEqual({
    extraction: { skipped: [{ name: 'a\ufffdb', category: 'corrupt' }] },
    warnings: ['\ufffd', '\\u0000'],
  });
  const view = await enqueueJob(db.sql, {
    ...{ id: 'job_again', kind: 'ingest', orgId: 'org_a', bucketId: 'bkt_a', documentId: 'doc_a', priority: 2 },
    ...{ s3Key: 'k', fileName: 'f', fileSizeBytes: 1, processingType: 'test', metadataSnapshot: { 'k\0': 'v\0' } },
  });
  expect(view.metadata_snapshot).toEqual({ 'k\ufffd': 'v\ufffd' });
});

it('a source names the vectors of its bucket once searches find any', async () => {
  expect((await find()).map((source) => source?.origin)).toEqual(Array(4).fill(null));
  await finishIngests(db.sql, written.slice(0, 1));
  await db.sql`UPDATE jobs SET status = 'extracting'`;
  const found = { model: 'm', revision: null, space: SPACE };
  expect((await find()).map((source) => source?.origin)).toEqual([found, found, found, null]);
});

it('jobs that are lost, and documents that are deleted, are not read, and the others are', async () => {
  await db.sql`UPDATE jobs SET fence = fence + 1 WHERE document_id = 'doc_a'`;
  await db.sql`UPDATE documents SET status = 'deleting' WHERE id = 'doc_c'`;
  expect((await find()).map((source) => source?.documentId ?? null)).toEqual([null, 'doc_b', null, 'doc_d']);
});

it('only a document of a held job that no search finds is marked as being processed', async () => {
  await finishIngests(db.sql, written.slice(0, 1));
  await db.sql`UPDATE jobs SET fence = fence + 1 WHERE document_id = 'doc_b'`;
  await db.sql`UPDATE documents SET status = 'deleting' WHERE id = 'doc_c'`;
  for (const each of claimed()) await markProcessing(db.sql, each);
  expect(await states()).toEqual([
    'ready ready found',
    'extracting queued',
    'extracting deleting',
    'extracting processing',
  ]);
});

it('of jobs that are finished together, those that are lost or too late stay as they were', async () => {
  await db.sql`UPDATE jobs SET fence = fence + 1 WHERE document_id = 'doc_a'`;
  await db.sql`UPDATE documents SET status = 'deleting' WHERE id = 'doc_c'`;
  await db.sql`UPDATE index_tables SET space = 'native:other@1' WHERE bucket_id = 'bkt_b'`;
  expect(await finishIngests(db.sql, written)).toEqual(['lost', 'ready', 'lost', 'moved']);
  expect(await states()).toEqual([
    'extracting queued',
    'ready ready found',
    'extracting deleting',
    'extracting queued',
  ]);
});

it('of two jobs of one document that are finished together, the generation of the later one becomes active', async () => {
  const [first, ...others] = written as [WrittenIngest, ...WrittenIngest[]];
  await db.sql`UPDATE jobs SET document_id = 'doc_a', generation = 1000 WHERE id = 'job_doc_b'`;
  const later = { ...first.generation, id: 1000, chunksCount: 7 };
  const second = { ...(others[0] as WrittenIngest), generation: later };
  for (const both of [
    [first, second],
    [second, first],
  ]) {
    await db.sql`UPDATE jobs SET status = 'extracting'`;
    expect(await finishIngests(db.sql, both)).toEqual(['ready', 'ready']);
    const [row] = await db.sql`SELECT active_generation, chunks_count FROM documents WHERE id = 'doc_a'`;
    expect(row).toEqual({ active_generation: 1000, chunks_count: 7 });
  }
});

it('nothing becomes visible in a bucket whose index is about to be replaced', async () => {
  await db.sql`
    INSERT INTO reprojections (id, bucket_id, kind, table_name, model, revision, space, closing_until)
    VALUES ('rpr_a', 'bkt_a', 'rebuild', 'next', 'm', NULL, ${SPACE}, now() + interval '1 minute')`;
  expect(await finishIngests(db.sql, written)).toEqual(['moved', 'moved', 'moved', 'ready']);
});

it('a job that is cancelled while its finish waits for it is lost, and the others are finished', async () => {
  const cancelled = Promise.withResolvers<void>();
  const locked = Promise.withResolvers<void>();
  const cancelling = db.sql.begin(async (tx) => {
    await tx`UPDATE jobs SET status = 'cancelled' WHERE document_id = 'doc_b'`;
    locked.resolve();
    await cancelled.promise;
  });
  await locked.promise;
  const finishing = finishIngests(db.sql, written);
  await waitForBlocked();
  cancelled.resolve();
  await cancelling;
  expect(await finishing).toEqual(['ready', 'lost', 'ready', 'ready']);
  expect((await states())[1]).toBe('cancelled queued');
});

it('a document that becomes hidden from searches while its finish waits for it gets no active generation', async () => {
  const edited = Promise.withResolvers<void>();
  const locked = Promise.withResolvers<void>();
  const editing = db.sql.begin(async (tx) => {
    await tx`UPDATE documents SET searchable = false WHERE id = 'doc_b'`;
    locked.resolve();
    await edited.promise;
  });
  await locked.promise;
  const finishing = finishIngests(db.sql, written);
  await waitForBlocked();
  edited.resolve();
  await editing;
  expect(await finishing).toEqual(Array(4).fill('ready'));
  expect(await states()).toEqual(['ready ready found', 'ready ready', 'ready ready found', 'ready ready found']);
});

it.each([
  ['its document', (tx: Sql) => tx`SELECT 1 FROM documents WHERE id = 'doc_d' FOR UPDATE`],
  ['its row', (tx: Sql) => tx`SELECT 1 FROM jobs WHERE document_id = 'doc_d' FOR UPDATE`],
  ['the index of its bucket', (tx: Sql) => tx`SELECT 1 FROM index_tables WHERE bucket_id = 'bkt_b' FOR UPDATE`],
])('a job waits while %s is locked, and the jobs that share its statement do not', async (_, lock) => {
  const statements = ingestStatements(db.sql);
  const release = await keepLocked(lock);
  const [a, b, c, waiting] = written.map((each) => statements.finish(each));
  expect(await Promise.all([a, b, c])).toEqual(['ready', 'ready', 'ready']);
  await waitForBlocked();
  expect((await states())[3]).toBe('extracting queued');
  await release();
  expect(await waiting).toBe('ready');
  expect(await states()).toEqual(Array(4).fill('ready ready found'));
});

it('a job whose document is deleted, or whose index is replaced, while its own statement waits is lost or moved', async () => {
  const statements = ingestStatements(db.sql);
  const release = await keepLocked(async (tx) => {
    await tx`UPDATE documents SET status = 'deleting' WHERE id = 'doc_b'`;
    // Not a change of the key, so that it must lock the row as the replacement of an index does.
    await tx`SELECT 1 FROM index_tables WHERE bucket_id = 'bkt_b' FOR UPDATE`;
    await tx`UPDATE index_tables SET space = 'native:other@1' WHERE bucket_id = 'bkt_b'`;
  });
  const [a, b, c, d] = written.map((each) => statements.finish(each));
  expect(await Promise.all([a, c])).toEqual(['ready', 'ready']);
  await until(async () => (await waitingBackends(db.sql)).length === 2);
  await release();
  expect(await Promise.all([b, d])).toEqual(['lost', 'moved']);
});

it('of two jobs of one document that wait for it together, the generation of the later one becomes active', async () => {
  const [first, second] = written as [WrittenIngest, WrittenIngest];
  await db.sql`UPDATE jobs SET document_id = 'doc_a', generation = 1000 WHERE id = 'job_doc_b'`;
  const later = { ...second, generation: { ...first.generation, id: 1000, chunksCount: 7 } };
  for (const locked of ['documents', 'jobs'] as const) {
    for (const both of [
      [first, later],
      [later, first],
    ]) {
      await db.sql`UPDATE jobs SET status = 'extracting'`;
      const statements = ingestStatements(db.sql);
      // Of the jobs only that of the earlier generation is locked.
      const id = locked === 'documents' ? 'doc_a' : first.held.id;
      const release = await keepLocked((tx) => tx`SELECT 1 FROM ${tx(locked)} WHERE id = ${id} FOR UPDATE`);
      const finishing = Promise.all(both.map((each) => statements.finish(each)));
      await waitForBlocked();
      await release();
      expect(await finishing).toEqual(['ready', 'ready']);
      const [row] = await db.sql`SELECT active_generation, chunks_count FROM documents WHERE id = 'doc_a'`;
      expect(row).toEqual({ active_generation: 1000, chunks_count: 7 });
    }
  }
});

it('a generation is registered once its document is no longer locked, and others do not wait for it', async () => {
  await db.sql`DELETE FROM generations`;
  const statements = ingestStatements(db.sql);
  const release = await keepLocked((tx) => tx`UPDATE documents SET status = 'deleting' WHERE id IN ('doc_b', 'doc_c')`);
  const [a, b, c, d] = written.map(({ generation }) => statements.register(generation));
  expect(await Promise.all([a, d])).toEqual([true, true]);
  await waitForBlocked();
  await release();
  expect(await Promise.all([b, c])).toEqual([false, false]);
  await db.sql`UPDATE documents SET status = 'queued'`;
  const again = await keepLocked((tx) => tx`UPDATE documents SET privacy_level = 1 WHERE id = 'doc_b'`);
  const registering = statements.register((written[1] as WrittenIngest).generation);
  await waitForBlocked();
  await again();
  expect(await registering).toBe(true);
  const rows = await db.sql`SELECT document_id FROM generations ORDER BY document_id`;
  expect(rows.map((row) => row['document_id'])).toEqual(['doc_a', 'doc_b', 'doc_d']);
});
