import { readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createBucket } from '../../src/documents/buckets.ts';
import { BucketPolicy } from '../../src/documents/schema.ts';
import { LanceTables } from '../../src/index/lance/lance.ts';
import { LanceIndex } from '../../src/index/lance/lance-index.ts';
import { expungeDue } from '../../src/index/writing/expunge-bucket.ts';
import { PAGE_ROWS } from '../../src/index/writing/in-pages.ts';
import { IndexWriter } from '../../src/index/writing/index-writer.ts';
import { sweepTables } from '../../src/index/writing/replace-table.ts';
import { sweepGenerations } from '../../src/index/writing/sweep.ts';
import { dependencyDown } from '../../src/platform/errors.ts';
import { openTestAppliance, type TestAppliance } from '../support/appliance.ts';
import { filesWith } from '../support/files-with.ts';
import { registerGeneration } from '../support/generations.ts';
import { keepLogs } from '../support/logs.ts';
import { originIn } from '../support/origins.ts';
import { generationOf } from './draw-rows.ts';

const BUCKETS = 3;
const ROWS = 2;
const signal = new AbortController().signal;

let test: TestAppliance;
let logs: ReturnType<typeof keepLogs>;
let writer: IndexWriter;
/** Ids in the order in which maintenance goes through the buckets; the first one will be damaged. */
let bucketIds: string[];

beforeEach(async () => {
  test = await openTestAppliance();
  logs = keepLogs();
  const { sql } = test.appliance;
  writer = openWriter();
  bucketIds = [];
  for (let nth = 0; nth < BUCKETS; nth++) {
    const policy = BucketPolicy.parse({});
    bucketIds.push((await createBucket(sql, test.operator, { name: `herons${nth}`, policy })).id);
  }
  bucketIds.sort();
  for (const nth of bucketIds.keys()) for (let row = 0; row < ROWS; row++) await appendRow(nth, row);
});
afterEach(() => test.close());

function openWriter(): IndexWriter {
  const { sql, search } = test.appliance;
  return new IndexWriter({ sql, direct: sql, chunks: new LanceIndex(search.lance.tables), logger: logs.logger });
}

/** Append a row, or several equal ones, to a bucket. */
async function appendRow(nth: number, row: number, count = 1): Promise<void> {
  const bucketId = bucketIds[nth] as string;
  const id = generationIn(nth, row);
  await registerGeneration(test.appliance.sql, { id, orgId: test.operator.orgId, bucketId });
  const texts = Array.from({ length: count }, () => `heron ${row} ${canaryOf(nth, row)}`);
  await writer.append(bucketId, generationOf(id, texts), originIn('lexical-1'));
}

const generationIn = (nth: number, row: number) => 900_000 + nth * 100 + row;
const canaryOf = (nth: number, row: number) => `zqxkvj${nth}w${row}pf`;
const files = (nth: number, row: number) => filesWith(path.join(test.dataDir, 'index'), canaryOf(nth, row)).length;

/** Overwrite the files of rows of the first bucket. */
function damageFirst(): void {
  const data = path.join(test.dataDir, 'index', `${bucketIds[0]}.lance`, 'data');
  for (const file of readdirSync(data)) writeFileSync(path.join(data, file), 'damaged');
}

/** Buckets of which the log has warned. */
const warned = () => logs.lines.filter(({ level }) => level === 40).map((line) => line['bucket_id']);

it('an index that is damaged does not keep deleted text in the indexes of other buckets', async () => {
  const { sql, search } = test.appliance;
  for (const [nth, bucketId] of bucketIds.entries())
    await writer.dropDocuments(bucketId, [`doc_${generationIn(nth, 1)}`], signal);
  await writer.close();
  damageFirst();
  const context = { sql, direct: sql, chunks: new LanceIndex(search.lance.tables), logger: logs.logger };
  const due = expungeDue(context, { pauseMs: 0, smallChunks: 10_000, ageMs: 0 }, signal);
  await expect(due).rejects.toThrow();
  expect([files(1, 1), files(2, 1)]).toEqual([0, 0]);
  expect(warned()).toEqual([bucketIds[0]]);
});

it('a writer that is closed while it settles leaves the indexes to the next process', async () => {
  // A small table is settled after each commit.
  await appendRow(1, ROWS, 300);
  await appendRow(1, ROWS + 1);
  await writer.close();
  const { sql } = test.appliance;
  const [row] = await sql`SELECT settled FROM index_tables WHERE bucket_id = ${bucketIds[1] as string}`;
  expect(row).toEqual({ settled: false });
  await sql`UPDATE index_tables SET updated_at = now() - interval '1 hour'`;
  const next = openWriter();
  await next.settleAbandoned(signal);
  await next.close();
  expect((await sql`SELECT 1 FROM index_tables WHERE NOT settled`).length).toBe(0);
});

it('an index that is damaged does not keep those of other buckets from being settled', async () => {
  const { sql } = test.appliance;
  // The first writer may still be settling what it appended.
  await writer.close();
  damageFirst();
  await sql`UPDATE index_tables SET settled = false, updated_at = now() - interval '1 hour'`;
  const next = openWriter();
  await expect(next.settleAbandoned(signal)).rejects.toThrow();
  await next.close();
  const rows = await sql`SELECT bucket_id FROM index_tables WHERE NOT settled`;
  expect(rows.map((row) => row['bucket_id'])).toEqual([bucketIds[0]]);
  expect(warned()).toEqual([bucketIds[0]]);
});

it('more damaged indexes than fit on a page do not keep those behind them from being reached', async () => {
  const { sql } = test.appliance;
  await writer.close();
  class StubbornTables extends LanceTables {
    override openForWriting(name: string) {
      if (name.startsWith('bkt_!')) throw new Error('the file system refuses');
      return super.openForWriting(name);
    }
    override async drop(name: string): Promise<void> {
      if (name.startsWith('bkt_!')) throw new Error('the file system refuses');
      await super.drop(name);
    }
  }
  const tables = new StubbornTables(path.join(test.dataDir, 'index'));
  await sql`
    INSERT INTO index_tables (bucket_id, version, settled, updated_at)
    SELECT 'bkt_!' || n, 1, false, now() - interval '1 hour' FROM generate_series(1, ${PAGE_ROWS + 1}) AS n`;
  await sql`
    INSERT INTO retired_index_tables (table_name, bucket_id, retired_at)
    SELECT 'bkt_!' || n || '_old', 'bkt_!' || n, now() - interval '1 day' FROM generate_series(1, ${PAGE_ROWS + 1}) AS n`;
  for (const bucketId of bucketIds) {
    await sql`
      UPDATE index_tables SET settled = false, updated_at = now() - interval '1 minute' WHERE bucket_id = ${bucketId}`;
    await sql`
      INSERT INTO retired_index_tables (table_name, bucket_id, retired_at)
      VALUES (${`${bucketId}_old`}, ${bucketId}, now() - interval '1 day')`;
  }
  const stubborn = new IndexWriter({ sql, direct: sql, chunks: new LanceIndex(tables), logger: logs.logger });
  await expect(stubborn.settleAbandoned(signal)).rejects.toThrow('the file system refuses');
  expect(warned()).toHaveLength(PAGE_ROWS + 1);
  expect(await sql`SELECT 1 FROM index_tables WHERE NOT settled AND bucket_id = ANY(${bucketIds})`).toHaveLength(0);
  await expect(
    sweepTables({ sql, direct: sql, chunks: new LanceIndex(tables), logger: logs.logger }, signal),
  ).rejects.toThrow('refuses');
  expect(await sql`SELECT bucket_id FROM retired_index_tables`).toHaveLength(PAGE_ROWS + 1);
  await tables.close();
});

it('an index that is damaged does not keep dead generations of other buckets', async () => {
  const { sql, objects } = test.appliance;
  await writer.close();
  damageFirst();
  const context = { sql, objects, index: writer, logger: logs.logger };
  await expect(sweepGenerations(context, signal, { after: 0 })).rejects.toThrow();
  const left = await sql`SELECT DISTINCT bucket_id FROM generations`;
  expect(left.map((row) => row['bucket_id'])).toEqual([bucketIds[0]]);
  expect(warned()).toEqual([bucketIds[0]]);
});

it('a replaced table that cannot be dropped does not keep those of other buckets', async () => {
  const { sql } = test.appliance;
  const [first] = bucketIds;
  class StubbornTables extends LanceTables {
    override async drop(name: string): Promise<void> {
      if (name.startsWith(first as string)) throw new Error('the file system refuses');
      await super.drop(name);
    }
  }
  const tables = new StubbornTables(path.join(test.dataDir, 'index'));
  for (const bucketId of bucketIds) {
    await tables.openForWriting(`${bucketId}_old`);
    await sql`
      INSERT INTO retired_index_tables (table_name, bucket_id, retired_at)
      VALUES (${`${bucketId}_old`}, ${bucketId}, now() - interval '1 day')`;
  }
  const context = { sql, direct: sql, chunks: new LanceIndex(tables), logger: logs.logger };
  await expect(sweepTables(context, signal)).rejects.toThrow('the file system refuses');
  const left = await sql`SELECT bucket_id FROM retired_index_tables`;
  expect(left.map((row) => row['bucket_id'])).toEqual([first]);
  expect(warned()).toEqual([first]);
  await tables.close();
});

it('maintenance ends at the first bucket if the whole index is out of reach', async () => {
  const { sql } = test.appliance;
  let asked = 0;
  class LostTables extends LanceTables {
    override async requireReach(): Promise<void> {
      asked++;
      throw dependencyDown('index', 'out of reach');
    }
  }
  const tables = new LostTables(path.join(test.dataDir, 'index'));
  const lost = new IndexWriter({ sql, direct: sql, chunks: new LanceIndex(tables), logger: logs.logger });
  await sql`UPDATE index_tables SET settled = false, updated_at = now() - interval '1 hour'`;
  await expect(lost.settleAbandoned(signal)).rejects.toMatchObject({ code: 'index_unavailable' });
  expect([asked, warned()]).toEqual([1, []]);
  await tables.close();
});
