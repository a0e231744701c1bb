import { mkdirSync } from 'node:fs';
import path from 'node:path';
import type { Table } from '@lancedb/lancedb';
import { afterAll, beforeEach, expect, it } from 'vitest';
import { embedLexical } from '../../src/embedding/providers/local.ts';
import type { Candidate } from '../../src/index/chunk-index.ts';
import { TableCopies } from '../../src/index/copies/table-copies.ts';
import { toArrowTable } from '../../src/index/lance/chunk-table.ts';
import { LanceTables } from '../../src/index/lance/lance.ts';
import { LanceIndex } from '../../src/index/lance/lance-index.ts';
import { analyse, weighTerms } from '../../src/language/analyser.ts';
import { openLogger } from '../../src/platform/logger.ts';
import { makeDataDir } from '../support/appliance.ts';
import { drawText, generationOf, randomFrom } from './draw-rows.ts';
import { untilCurrent } from './until-current.ts';

// A copy follows the commits of another process: it is told nothing, and reads from the table what has changed.

const { dataDir, remove } = makeDataDir();
const directory = path.join(dataDir, 'index');
mkdirSync(directory);
const random = randomFrom(23);
const readers = new LanceTables(directory);
const writers = new LanceTables(directory);
const resident = openIndexes();
const queries = Array.from({ length: 5 }, () => drawText(random, 5));
let name = '';
let nth = 0;
let table: Table;
let lastGeneration = 0;

beforeEach(async () => {
  name = `buc_followed${++nth}`;
  table = await writers.openForWriting(name);
});
afterAll(async () => {
  await resident.close();
  await readers.close();
  await writers.close();
  remove();
});

function openIndexes(): TableCopies {
  return new TableCopies({
    ...{ maxBytes: 64 * 1024 * 1024, scratchIn: dataDir, threadsMax: 1, logger: openLogger('error') },
  });
}

/** Commit generations of two rows each. */
async function append(generations: number): Promise<void> {
  const rows = Array.from({ length: generations }, () =>
    generationOf(++lastGeneration, [drawText(random, 20), drawText(random, 30)]),
  );
  await table.add(toArrowTable(rows) as never);
}

async function search(indexes: TableCopies) {
  const version = await untilCurrent(indexes, readers, table);
  const source = await new LanceIndex(readers, indexes).open([{ name, version }]);
  const options = { limit: 100, documentIds: null };
  const found = [];
  for (const query of queries) {
    const keyword = (await source?.searchKeywords(weighTerms(analyse(query)), options)) ?? [];
    const vector = (await source?.searchVectors(embedLexical([query]), options)) ?? [];
    const scores = (rows: readonly Candidate[]) => rows.map(({ chunkId, score }) => `${chunkId} ${score.toFixed(5)}`);
    found.push({ keyword: scores(keyword).sort(), vector: scores(vector).sort() });
  }
  return found;
}

/** Expect that the copy finds what another one finds that has just read the whole table of so many rows. */
async function expectSame(rows: number): Promise<void> {
  const whole = openIndexes();
  try {
    const found = await search(resident);
    expect(found).toEqual(await search(whole));
    expect(found[0]?.vector).toHaveLength(rows);
  } finally {
    await whole.close();
  }
}

it('a copy has the rows of one commit and of several', async () => {
  await append(10);
  await expectSame(20);
  await append(1);
  await expectSame(22);
  for (let commit = 0; commit < 3; commit++) await append(2);
  await expectSame(34);
});

it('a copy of an empty table has its first rows', async () => {
  await expectSame(0);
  await append(1);
  await expectSame(2);
});

it('as many rows that are removed as are appended are not mistaken for the same ones', async () => {
  await append(10);
  await expectSame(20);
  await table.delete(`generation = ${lastGeneration - 4}`);
  await append(1);
  await expectSame(20);
  // The last row that the copy has is removed too.
  await table.delete(`generation = ${lastGeneration}`);
  await append(2);
  await expectSame(22);
  await table.delete(`generation > ${lastGeneration - 3}`);
  await expectSame(18);
  await append(1);
  await expectSame(20);
});

it('rows that were merged into other files are the same rows, and those after them are found', async () => {
  await append(5);
  for (let commit = 0; commit < 4; commit++) await append(1);
  await expectSame(18);
  await table.optimize();
  await append(1);
  await expectSame(20);
  await append(1);
  await expectSame(22);
  await table.delete(`generation = ${lastGeneration - 5}`);
  await table.optimize();
  await append(3);
  await expectSame(26);
});

it('rows that came with another handle of the table stay when removed rows are erased', async () => {
  const others = new LanceTables(directory);
  try {
    await append(10);
    await expectSame(20);
    await table.delete(`generation = ${lastGeneration - 4}`);
    const deleted = await table.version();
    const copy = await resident.find(name, deleted, () => readers.openForReading(name, deleted));
    await append(1);
    const appended = await table.version();
    expect(await resident.find(name, appended, () => others.openForReading(name, appended))).toBe(copy);
    expect(await copy?.hasGone(table)).toBe(true);
    await expectSame(20);
    expect(copy?.size).toMatchObject({ rows: 22, removedRows: 2 });
  } finally {
    await others.close();
  }
});
