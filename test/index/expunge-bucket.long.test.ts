import { readdirSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createBucket } from '../../src/documents/buckets.ts';
import { BucketPolicy } from '../../src/documents/schema.ts';
import type { IndexedGeneration } from '../../src/index/chunk-index.ts';
import { getIndexTable } from '../../src/index/index-store.ts';
import { toArrowTable } from '../../src/index/lance/chunk-table.ts';
import { buildTokenIndex, LanceTables, TOKEN_INDEX_NAME } from '../../src/index/lance/lance.ts';
import { LanceIndex } from '../../src/index/lance/lance-index.ts';
import { searchKeywords } from '../../src/index/lance/legs.ts';
import { expungeBucket, expungeDue } from '../../src/index/writing/expunge-bucket.ts';
import { IndexWriter } from '../../src/index/writing/index-writer.ts';
import { type ReindexRun, startReindexRun } from '../../src/index/writing/reindex-store.ts';
import { analyse, weighTerms } from '../../src/language/analyser.ts';
import { openLogger } from '../../src/platform/logger.ts';
import { inTransaction } from '../../src/platform/postgres.ts';
import { INDEX_DIMENSIONS } from '../../src/projection/resize.ts';
import { SearchRequest } from '../../src/search/schema.ts';
import { searchBucket } from '../../src/search/search.ts';
import { openTestAppliance, type TestAppliance } from '../support/appliance.ts';
import { filesWith } from '../support/files-with.ts';
import { registerGeneration } from '../support/generations.ts';
import { originIn } from '../support/origins.ts';

/** A word that occurs in no other text, and too rare for LanceDB to compress. */
const CANARY = 'zqxkvj7731wpf';
const signal = new AbortController().signal;

let test: TestAppliance;
beforeAll(async () => {
  test = await openTestAppliance();
});
afterAll(() => test.close());

const context = () => {
  const { sql, search, logger } = test.appliance;
  return { sql, direct: sql, chunks: new LanceIndex(search.lance.tables), logger };
};

function generation(id: number, text: string): IndexedGeneration {
  const vectors = new Float32Array(INDEX_DIMENSIONS);
  vectors[id % INDEX_DIMENSIONS] = 1;
  return {
    vectors,
    chunks: [
      {
        chunkId: `doc_${id}_${id}_0`,
        documentId: `doc_${id}`,
        generation: id,
        collectionId: null,
        chunkIndex: 0,
        text,
        tokens: analyse(text).join(' '),
        locator: { page: null, heading_path: [], start: 0, end: text.length },
        modality: 'text',
        privacyLevel: 1,
        eventTimeMs: null,
      },
    ],
  };
}

/** Create a bucket with an index of these texts, as ingest would; returns it with the writer of its index. */
async function indexOf(name: string, texts: readonly string[]): Promise<{ bucketId: string; writer: IndexWriter }> {
  const { sql, search } = test.appliance;
  const { id: bucketId } = await createBucket(sql, test.operator, { name, policy: BucketPolicy.parse({}) });
  const writer = new IndexWriter({
    sql,
    direct: sql,
    chunks: new LanceIndex(search.lance.tables),
    logger: openLogger('silent'),
  });
  await append(writer, bucketId, texts);
  await writer.close();
  return { bucketId, writer };
}

let generations = 0;
async function append(writer: IndexWriter, bucketId: string, texts: readonly string[], run?: string) {
  for (const text of texts) {
    const id = ++generations;
    await registerGeneration(test.appliance.sql, { id, orgId: test.operator.orgId, bucketId });
    const options = run === undefined ? {} : { run };
    await writer.append(bucketId, generation(id, text), originIn('lexical-1'), options);
  }
}

const filesOfIndex = (text: string) => filesWith(path.join(test.dataDir, 'index'), text);

async function findIn(tables: LanceTables, bucketId: string, query: string): Promise<string[]> {
  const own = await getIndexTable(test.appliance.sql, bucketId);
  const table = own && (await tables.openForReading(own.name, own.version));
  if (!table) return [];
  const found = await searchKeywords(table, weighTerms(analyse(query)), { limit: 100, documentIds: null });
  return found.map((each) => each.text);
}

const herons = (count: number) => Array.from({ length: count }, (_, i) => `Heron number ${i} stands still.`);

it('expunging removes the text of a deleted chunk from the storage, where merging would have kept it', async () => {
  const { bucketId, writer } = await indexOf('expunge', [...herons(30), `${CANARY} was here.`]);
  const id = `doc_${generations}`;
  const table = await test.appliance.search.lance.tables.openForWriting(bucketId);
  await table.optimize(); // Merge the appends, so that the deletion leaves nothing to merge.
  await writer.dropDocuments(bucketId, [id], signal);
  await table.checkoutLatest();
  await table.optimize({ cleanupOlderThan: new Date() });
  expect(filesOfIndex(CANARY)).not.toEqual([]);
  for (let times = 0; times < 2; times++) {
    await expungeBucket(context(), bucketId, signal);
    expect(filesOfIndex(CANARY)).toEqual([]);
    expect(filesOfIndex(id)).toEqual([]);
    expect(await table.listVersions()).toHaveLength(1);
    expect(await findIn(test.appliance.search.lance.tables, bucketId, 'heron stands')).toHaveLength(30);
  }
});

it('expunging also covers tables that were replaced lately or are being built', async () => {
  const { bucketId, writer } = await indexOf('expunge-others', [...herons(12), `${CANARY} in the old table.`]);
  const removed = `doc_${generations}`;
  const { sql } = test.appliance;
  const run: ReindexRun = {
    ...{ id: 'rpj_1', bucketId, tableName: `${bucketId}_rpj_1`, kind: 'reproject', jobId: null },
    origin: originIn('lexical-1'),
  };
  await inTransaction(sql, (tx) => startReindexRun(tx, run));
  await append(writer, bucketId, [...herons(12), `${CANARY} in the next table.`], run.id);
  await writer.dropDocuments(bucketId, [removed, `doc_${generations}`], signal);
  await sql`INSERT INTO retired_index_tables (table_name, bucket_id) VALUES (${`${bucketId}_rpj_0`}, ${bucketId})`;
  await test.appliance.search.lance.tables.openForWriting(`${bucketId}_rpj_0`);
  expect(filesOfIndex(CANARY).map((file) => file.split('.')[0])).toEqual(
    expect.arrayContaining([bucketId, `${bucketId}_rpj_1`]),
  );
  await expungeBucket(context(), bucketId, signal);
  expect(filesOfIndex(CANARY)).toEqual([]);
  const directories = readdirSync(path.join(test.dataDir, 'index'));
  expect(directories.filter((name) => name.startsWith(bucketId))).toHaveLength(2);
  expect(await (await test.appliance.search.lance.tables.openForWriting(`${bucketId}_rpj_1`)).countRows()).toBe(12);
});

it('expunging does nothing to a bucket without an index, and empties an index whose rows are all deleted', async () => {
  await expungeBucket(context(), 'bkt_never', signal);
  const { bucketId, writer } = await indexOf('expunge-all', [`${CANARY} alone.`]);
  await writer.dropDocuments(bucketId, [`doc_${generations}`], signal);
  await expungeBucket(context(), bucketId, signal);
  expect(filesOfIndex(CANARY)).toEqual([]);
  await append(writer, bucketId, ['A heron comes back.']);
  expect(await findIn(test.appliance.search.lance.tables, bucketId, 'heron')).toEqual(['A heron comes back.']);
});

it('a search that reads an older version of the table is repeated on the new one', async () => {
  const { bucketId } = await indexOf('expunge-readers', herons(20));
  const { sql, search } = test.appliance;
  await sql`
    INSERT INTO documents (id, org_id, bucket_id, file_name, size_bytes, sha256, object_key, ingest_options, status, active_generation)
    SELECT document_id, org_id, bucket_id, 'heron.txt', 1, '\\x00', 'k', '{}', 'ready', id
    FROM generations WHERE bucket_id = ${bucketId}`;
  // Another process that opens the old version just before it is removed.
  const tables = new LanceTables(path.join(test.dataDir, 'index'));
  const find = (from: typeof search) =>
    searchBucket(
      from,
      test.operator,
      bucketId,
      SearchRequest.parse({ query: 'heron number', mode: 'keyword', top_k: 5 }),
    );
  expect((await find({ ...search, chunks: new LanceIndex(tables) })).results).toHaveLength(5);
  let reads = 0;
  const late = Object.assign(Object.create(tables) as LanceTables, {
    mapErrors: (work: Promise<unknown>) => tables.mapErrors(work),
    async openForReading(name: string, version: number) {
      const table = await tables.openForReading(name, version);
      if (reads++ === 0) await expungeBucket(context(), bucketId, signal);
      return table;
    },
  });
  expect((await find({ ...search, chunks: new LanceIndex(late) })).results).toHaveLength(5);
  // Each attempt opens the table for its legs, and for the sample that results are judged by.
  expect(reads).toBe(4);
  await tables.close();
});

it('a keyword index can have more words than fit into one batch, also on a machine of few cores', {
  timeout: 60_000,
}, async () => {
  let words = 0;
  const text = () => Array.from({ length: 3_000 }, () => `t${(words++).toString(36)}`).join(' ');
  const tables = new LanceTables(path.join(test.dataDir, 'many-words'));
  const table = await tables.openForWriting('bkt_words');
  await table.add(toArrowTable(Array.from({ length: 100 }, (_, i) => generation(i, text()))) as never);
  await buildTokenIndex(table);
  expect((await table.indexStats(TOKEN_INDEX_NAME))?.numUnindexedRows).toBe(0);
  await tables.close();
});

const DUE = { pauseMs: 0, smallChunks: 10_000, ageMs: 600_000 };
const isNoted = async (bucketId: string) => {
  const [row] = await test.appliance.sql`SELECT deleted_since FROM index_tables WHERE bucket_id = ${bucketId}`;
  return row?.['deleted_since'] !== null;
};

it('an index is rewritten once after documents were deleted, and not without a deletion', async () => {
  const { bucketId, writer } = await indexOf('due', [...herons(20), `${CANARY} was here too.`]);
  const table = await test.appliance.search.lance.tables.openForWriting(bucketId);
  await expungeDue(context(), DUE, signal);
  const version = await table.version();
  await writer.dropDocuments(bucketId, [`doc_${generations}`], signal);
  expect(await isNoted(bucketId)).toBe(true);
  await expungeDue(context(), { ...DUE, pauseMs: 60_000 }, signal);
  expect(filesOfIndex(CANARY)).not.toEqual([]);
  await expungeDue(context(), DUE, signal);
  expect([filesOfIndex(CANARY), await isNoted(bucketId)]).toEqual([[], false]);
  await table.checkoutLatest();
  const rewritten = await table.version();
  expect(rewritten).toBeGreaterThan(version);
  await expungeDue(context(), DUE, signal);
  await table.checkoutLatest();
  expect(await table.version()).toBe(rewritten);
});

it('a large index is rewritten once the first deletion is old enough, however many follow', async () => {
  const { bucketId, writer } = await indexOf('due-large', [...herons(20), `${CANARY} was large.`]);
  const { sql } = test.appliance;
  await sql`
    INSERT INTO documents (id, org_id, bucket_id, file_name, size_bytes, sha256, object_key, ingest_options, status, chunks_count)
    VALUES ('doc_large', ${test.operator.orgId}, ${bucketId}, 'a.txt', 1, '\\x00', 'k', '{}', 'ready', 10001)`;
  await writer.dropDocuments(bucketId, [`doc_${generations}`], signal);
  await expungeDue(context(), DUE, signal);
  expect(await isNoted(bucketId)).toBe(true);
  await sql`UPDATE index_tables SET deleted_since = now() - interval '11 minutes' WHERE bucket_id = ${bucketId}`;
  await expungeDue(context(), { ...DUE, pauseMs: 60_000 }, signal);
  expect([filesOfIndex(CANARY), await isNoted(bucketId)]).toEqual([[], false]);
});
