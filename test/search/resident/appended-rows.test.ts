import { mkdirSync } from 'node:fs';
import path from 'node:path';
import type { Table } from '@lancedb/lancedb';
import type { RecordBatch } from 'apache-arrow';
import { afterAll, beforeEach, expect, it } from 'vitest';
import { openLogger } from '../../../src/platform/logger.ts';
import { toArrowTable } from '../../../src/search/chunk-table.ts';
import { LanceTables } from '../../../src/search/lance.ts';
import { toRowBatch } from '../../../src/search/resident/read-rows.ts';
import { ResidentIndexes } from '../../../src/search/resident/resident-indexes.ts';
import type { AppendedRows } from '../../../src/search/resident/row-file.ts';
import { makeDataDir } from '../../support/appliance.ts';
import { drawText, generationOf, randomFrom } from './draw-rows.ts';

const { dataDir, remove } = makeDataDir();
const directory = path.join(dataDir, 'index');
mkdirSync(directory);
const tables = new LanceTables(directory);
const random = randomFrom(11);
let name = '';
let nth = 0;
let table: Table;
let indexes: ResidentIndexes;
/** Times that the table was opened to be read. */
let readings = 0;

beforeEach(async () => {
  await indexes?.close();
  name = `buc_appended${++nth}`;
  table = await tables.openForWriting(name);
  indexes = new ResidentIndexes({
    maxBytes: 64 * 1024 * 1024,
    scratchIn: dataDir,
    threadsMax: 1,
    logger: openLogger('warn'),
  });
  await commit(1);
  expect((await find())?.size.rows).toBe(2);
  readings = 0;
});
afterAll(async () => {
  await indexes.close();
  await tables.close();
  remove();
});

/** Commit two rows of a generation to the table. */
async function commit(generation: number): Promise<AppendedRows> {
  const rows = toArrowTable([generationOf(generation, [drawText(random, 20), drawText(random, 20)])]);
  const before = await table.version();
  await table.add(rows as never);
  return { before, after: await table.version(), batch: toRowBatch(rows.batches[0] as RecordBatch) };
}

async function find() {
  const version = await table.version();
  const copy = await indexes.find(name, version, () => {
    readings++;
    return tables.openForReading(name, version);
  });
  expect(copy?.version).toBe(version);
  return copy;
}

it('rows of a commit are added to a copy without reading the table', async () => {
  for (let generation = 2; generation < 12; generation++) {
    const rows = await commit(generation);
    indexes.append(name, rows);
    expect((await find())?.size.rows).toBe(generation * 2);
  }
  expect(readings).toBe(0);
});

it('rows after a commit that the copy does not have are read from the table', async () => {
  await commit(2);
  const rows = await commit(3);
  indexes.append(name, rows);
  expect((await find())?.size.rows).toBe(6);
  expect(readings).toBe(1);
});

it('rows that the copy has already read are not added again', async () => {
  const rows = await commit(2);
  const other = new ResidentIndexes({
    maxBytes: 64 * 1024 * 1024,
    scratchIn: dataDir,
    threadsMax: 1,
    logger: openLogger('warn'),
  });
  // The table is newer than the version that is asked for.
  const openLatest = () => tables.openForReading(name, rows.after);
  expect((await other.find(name, rows.before, openLatest))?.version).toBe(rows.before);
  other.append(name, rows);
  const copy = await other.find(name, rows.after, openLatest);
  expect([copy?.version, copy?.size.rows]).toEqual([rows.after, 4]);
  await other.close();
});

it('after rows were added, those that are missing are read, and deleted ones are removed', async () => {
  for (let generation = 2; generation < 12; generation++) {
    const rows = await commit(generation);
    indexes.append(name, rows);
  }
  await commit(12);
  await table.delete('generation IN (1, 2)');
  const copy = await find();
  expect([copy?.size.rows, copy?.size.removedRows, readings]).toEqual([24, 4, 1]);
});

it('several searches that wait for the same rows read the table once', async () => {
  await commit(2);
  await Promise.all([find(), find(), find()]);
  expect(readings).toBe(1);
});
