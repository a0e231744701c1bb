import { mkdirSync } from 'node:fs';
import path from 'node:path';
import type { Table } from '@lancedb/lancedb';
import type { RecordBatch } from 'apache-arrow';
import { afterAll, beforeEach, expect, it } from 'vitest';
import { analyse, weighTerms } from '../../../src/language/analyser.ts';
import { openLogger } from '../../../src/platform/logger.ts';
import type { ChunkSource } from '../../../src/search/chunk-source.ts';
import { toArrowTable } from '../../../src/search/chunk-table.ts';
import { LanceTables } from '../../../src/search/lance.ts';
import { openSource } from '../../../src/search/open-source.ts';
import type { RowSelection } from '../../../src/search/resident/protocol.ts';
import { toRowBatch } from '../../../src/search/resident/read-rows.ts';
import { ResidentIndexes } from '../../../src/search/resident/resident-indexes.ts';
import type { AppendedRows, RemovedRows } from '../../../src/search/resident/row-file.ts';
import { makeDataDir } from '../../support/appliance.ts';
import { until } from '../../support/until.ts';
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
  indexes = openIndexes();
  await commit(1);
  expect((await find())?.size.rows).toBe(2);
  readings = 0;
});
afterAll(async () => {
  await indexes.close();
  await tables.close();
  remove();
});

function openIndexes(logger = openLogger('warn')): ResidentIndexes {
  return new ResidentIndexes({ maxBytes: 64 * 1024 * 1024, scratchIn: dataDir, threadsMax: 1, logger });
}

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
    indexes.apply(name, rows);
    expect((await find())?.size.rows).toBe(generation * 2);
  }
  expect(readings).toBe(0);
});

it('rows after a commit that the copy does not have are read from the table', async () => {
  await commit(2);
  const rows = await commit(3);
  indexes.apply(name, rows);
  expect((await find())?.size.rows).toBe(6);
  expect(readings).toBe(1);
});

it('rows that the copy has already read are not added again', async () => {
  const rows = await commit(2);
  const other = openIndexes();
  // The table is newer than the version that is asked for.
  const openLatest = () => tables.openForReading(name, rows.after);
  expect((await other.find(name, rows.before, openLatest))?.version).toBe(rows.before);
  other.apply(name, rows);
  const copy = await other.find(name, rows.after, openLatest);
  expect([copy?.version, copy?.size.rows]).toEqual([rows.after, 4]);
  await other.close();
});

it('a commit that the end of the service leaves out of a copy is not reported', async () => {
  const lines: string[] = [];
  const other = openIndexes(openLogger('warn', { write: (line) => void lines.push(line) }));
  const version = await table.version();
  await other.find(name, version, () => tables.openForReading(name, version));
  const rows = await commit(2);
  other.apply(name, rows);
  // The thread has been asked, and has not answered.
  await new Promise(process.nextTick);
  await other.close();
  expect(lines).toEqual([]);
});

it('after rows were added, those that are missing are read, and deleted ones are removed', async () => {
  for (let generation = 2; generation < 12; generation++) {
    const rows = await commit(generation);
    indexes.apply(name, rows);
  }
  await commit(12);
  await table.delete('generation IN (1, 2)');
  const copy = await find();
  expect([copy?.size.rows, copy?.size.removedRows, readings]).toEqual([24, 4, 1]);
});

/** Delete rows as the writer does. */
async function removeRows(selected: RowSelection): Promise<RemovedRows> {
  const ofDocuments = selected.documentIds.map((id) => `document_id = '${id}'`);
  const ofGenerations = selected.generations.map((generation) => `generation = ${generation}`);
  const before = await table.version();
  await table.delete([...ofDocuments, ...ofGenerations].join(' OR '));
  return { before, after: await table.version(), selected };
}

/** Expect the copy to find the same as one that is read now. */
async function expectSameAsTable(): Promise<void> {
  const version = await table.version();
  const anew = openIndexes();
  await anew.find(name, version, () => tables.openForReading(name, version));
  const open = (resident: ResidentIndexes) =>
    openSource({ tables, resident }, [{ name, version, origin: null, weights: null }]);
  const [changed, read] = (await Promise.all([open(indexes), open(anew)])) as [ChunkSource, ChunkSource];
  const options = { limit: 20, documentIds: null };
  for (let query = 0; query < 5; query++) {
    const terms = weighTerms(analyse(drawText(random, 3, 200)));
    expect(await changed.searchKeywords(terms, options)).toEqual(await read.searchKeywords(terms, options));
    const vector = Float32Array.from({ length: 1024 }, () => random() - 0.5);
    expect(await changed.searchVectors(vector, options)).toEqual(await read.searchVectors(vector, options));
  }
  await anew.close();
}

it('rows that a commit removes are removed from a copy without reading the table', async () => {
  for (let generation = 2; generation < 20; generation++) indexes.apply(name, await commit(generation));
  indexes.apply(name, await removeRows({ documentIds: [], generations: [3, 19] }));
  indexes.apply(name, await removeRows({ documentIds: ['doc_5', 'doc_unknown'], generations: [] }));
  const copy = await find();
  expect([copy?.size.rows, copy?.size.removedRows, readings]).toEqual([38, 6, 0]);
  await expectSameAsTable();
});

it('after any commits, told or not, a copy finds what the table has', async () => {
  let generations = [1];
  for (let nth = 2; nth < 60; nth++) {
    const gone = random() < 0.4 ? generations.filter(() => random() < 0.2) : [];
    const rows = gone.length > 0 ? await removeRows({ documentIds: [], generations: gone }) : await commit(nth);
    generations = gone.length > 0 ? generations.filter((each) => !gone.includes(each)) : [...generations, nth];
    if (random() < 0.8) indexes.apply(name, rows);
    if (random() < 0.3) {
      const copy = await find();
      expect((copy?.size.rows ?? 0) - (copy?.size.removedRows ?? 0)).toBe(generations.length * 2);
    }
  }
  await find();
  await expectSameAsTable();
});

it('a copy of which much was removed is dropped, and the table is read anew', async () => {
  for (let generation = 2; generation < 5; generation++) indexes.apply(name, await commit(generation));
  indexes.apply(name, await removeRows({ documentIds: [], generations: [1, 2] }));
  await until(async () => indexes.totals.tables === 0, { what: 'the copy is dropped' });
  expect((await find())?.size).toMatchObject({ rows: 4, removedRows: 0 });
});

it('several searches that wait for the same rows read the table once', async () => {
  await commit(2);
  await Promise.all([find(), find(), find()]);
  expect(readings).toBe(1);
});
