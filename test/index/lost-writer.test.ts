import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createBucket } from '../../src/documents/buckets.ts';
import { BucketPolicy } from '../../src/documents/schema.ts';
import { getIndexTable } from '../../src/index/index-store.ts';
import { LanceTables } from '../../src/index/lance/lance.ts';
import { LanceIndex } from '../../src/index/lance/lance-index.ts';
import { markSettled, publishVersion } from '../../src/index/writing/index-versions-store.ts';
import { IndexWriter } from '../../src/index/writing/index-writer.ts';
import { startReindexRun } from '../../src/index/writing/reindex-store.ts';
import { nextTableName, swapTable } from '../../src/index/writing/replace-table.ts';
import { openLogger } from '../../src/platform/logger.ts';
import { inTransaction } from '../../src/platform/postgres.ts';
import { openTestAppliance, type TestAppliance } from '../support/appliance.ts';
import { registerGeneration } from '../support/generations.ts';
import { originIn } from '../support/origins.ts';
import { generationOf } from './draw-rows.ts';

const RUN_ID = 'rpj_1';
const ORIGIN = originIn('lexical-1');

let test: TestAppliance;
let bucketId: string;
beforeEach(async () => {
  test = await openTestAppliance();
  const policy = BucketPolicy.parse({});
  bucketId = (await createBucket(test.appliance.sql, test.operator, { name: 'herons', policy })).id;
});
afterEach(() => test.close());

/** Replace the table of the bucket by an empty one, as a rebuild does. */
async function replaceTable(tables: LanceTables): Promise<string> {
  const { sql } = test.appliance;
  const name = nextTableName(bucketId, RUN_ID, 'lance');
  const run = { id: RUN_ID, bucketId, tableName: name, kind: 'rebuild', origin: ORIGIN, jobId: null } as const;
  await inTransaction(sql, (tx) => startReindexRun(tx, run));
  await swapTable({ sql, direct: sql, chunks: new LanceIndex(tables) }, test.operator.orgId, run, async () => true);
  return name;
}

async function append(writer: IndexWriter, id: number): Promise<void> {
  await registerGeneration(test.appliance.sql, { id, orgId: test.operator.orgId, bucketId });
  await writer.append(bucketId, generationOf(id, [`heron number ${id}`]), ORIGIN);
}

it('a writer that lost its lock after its commit does not publish its version as one of the table that replaced its own', async () => {
  const { sql, search } = test.appliance;
  /** Tables of a process that is stopped right after its commit: it loses its lock, and its table is replaced. */
  class StoppedTables extends LanceTables {
    isStopped = false;
    replacedBy = '';
    override async mapErrors<T>(work: Promise<T>): Promise<T> {
      const outcome = await super.mapErrors(work);
      const isCommit = typeof (outcome as { version?: unknown } | undefined)?.version === 'number';
      if (this.isStopped && isCommit) {
        this.isStopped = false;
        await sql`
          SELECT pg_terminate_backend(pid, 5000) FROM pg_locks
          WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
            AND (classid::bigint << 32 | objid::bigint) = hashtextextended(${`index/${bucketId}`}, 0)`;
        this.replacedBy = await replaceTable(search.lance.tables);
      }
      return outcome;
    }
  }
  const stopped = new StoppedTables(path.join(test.dataDir, 'index'));
  const writer = new IndexWriter({ sql, direct: sql, chunks: new LanceIndex(stopped), logger: openLogger('silent') });
  for (let id = 900_001; id <= 900_010; id++) await append(writer, id);
  stopped.isStopped = true;
  await expect(append(writer, 900_011)).rejects.toMatchObject({ code: 'index_lock_lost', retryable: true });
  const own = await getIndexTable(sql, bucketId);
  expect(own?.name).toBe(stopped.replacedBy);
  expect(own?.version).toBe(await (await search.lance.tables.openForWriting(stopped.replacedBy)).version());

  // Another process finds what is committed to the new table.
  await append(search.index, 900_012);
  const readers = new LanceTables(path.join(test.dataDir, 'index'));
  const version = (await getIndexTable(sql, bucketId))?.version as number;
  const table = await readers.openForReading(stopped.replacedBy, version);
  expect(await table?.countRows()).toBe(1);
  await writer.close();
  for (const tables of [readers, stopped]) await tables.close();
});

it('a version is recorded only for the table that the bucket is in', async () => {
  const { sql, search } = test.appliance;
  const versionOf = async () => (await getIndexTable(sql, bucketId))?.version;
  const next = nextTableName(bucketId, RUN_ID, 'lance');
  const of = (name: string, version: number) => ({
    ...{ name, version, fragments: 1, unindexedRows: 0, isDueToSettle: false },
    ...{ origin: ORIGIN, settled: false },
  });
  const lost = { code: 'index_lock_lost', status: 503 };
  await expect(publishVersion(sql, bucketId, of(next, 90))).rejects.toMatchObject(lost);
  expect(await versionOf()).toBeUndefined();
  await publishVersion(sql, bucketId, of(bucketId, 5));
  await publishVersion(sql, bucketId, of(bucketId, 4));
  expect(await versionOf()).toBe(5);

  await replaceTable(search.lance.tables);
  const first = await versionOf();
  await expect(publishVersion(sql, bucketId, of(bucketId, 91))).rejects.toMatchObject(lost);
  await expect(markSettled(sql, bucketId, of(bucketId, 92))).rejects.toMatchObject(lost);
  expect(await versionOf()).toBe(first);
  await publishVersion(sql, bucketId, of(next, 93));
  await markSettled(sql, bucketId, of(next, 94));
  expect(await versionOf()).toBe(94);
});
