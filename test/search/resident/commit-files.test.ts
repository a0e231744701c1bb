import { existsSync, mkdirSync, readdirSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Table } from '@lancedb/lancedb';
import type { RecordBatch } from 'apache-arrow';
import { afterAll, afterEach, beforeEach, expect, it } from 'vitest';
import { analyse, weighTerms } from '../../../src/language/analyser.ts';
import { openLogger } from '../../../src/platform/logger.ts';
import type { ChunkSource } from '../../../src/search/chunk-source.ts';
import { toArrowTable } from '../../../src/search/chunk-table.ts';
import { LanceTables } from '../../../src/search/lance.ts';
import { openSource } from '../../../src/search/open-source.ts';
import { toRowBatch } from '../../../src/search/resident/read-rows.ts';
import { ResidentIndexes } from '../../../src/search/resident/resident-indexes.ts';
import { encodeCommit } from '../../../src/search/resident/row-file.ts';
import { makeDataDir } from '../../support/appliance.ts';
import { until } from '../../support/until.ts';
import { drawText, generationOf, randomFrom } from './draw-rows.ts';

const { dataDir, remove } = makeDataDir();
const directory = path.join(dataDir, 'index');
mkdirSync(directory);
const random = randomFrom(60);
let nth = 0;
let name = '';
/** Tables of the writer, and those of a reader in another process, which has nothing in common with it but the files. */
let writing: LanceTables;
let reading: LanceTables;
let table: Table;
let indexes: ResidentIndexes;
/** Times that the reader opened the table. */
let readings = 0;

beforeEach(async () => {
  name = `bkt_commits${++nth}`;
  writing = new LanceTables(directory);
  reading = new LanceTables(directory);
  indexes = openIndexes();
  table = await writing.openForAppend(name);
  await commit(1);
  await find();
  readings = 0;
});
afterEach(async () => {
  await indexes.close();
  await Promise.all([writing.close(), reading.close()]);
});
afterAll(remove);

function openIndexes(): ResidentIndexes {
  return new ResidentIndexes({
    ...{ maxBytes: 64 * 1024 * 1024, scratchIn: dataDir, threadsMax: 1, logger: openLogger('silent') },
  });
}

/** Commit rows of a generation as the writer does. */
async function commit(generation: number, rows = 3): Promise<void> {
  const texts = Array.from({ length: rows }, () => drawText(random, 20, 200));
  const added = toArrowTable([generationOf(generation, texts)]);
  const before = await table.version();
  await table.add(added as never);
  const batch = toRowBatch(added.batches[0] as RecordBatch);
  await writing.commitFiles?.save(name, { before, after: await table.version(), batch });
}

async function find() {
  const version = await table.version();
  const open = () => {
    readings++;
    return reading.openForReading(name, version);
  };
  const copy = await indexes.find(name, version, open, reading.filesOf(name));
  expect(copy?.version).toBe(version);
  return copy;
}

const filesOf = () => readdirSync(path.join(directory, `${name}.lance`)).filter((file) => file.startsWith('commit-'));
const fileOf = (version: number) => reading.filesOf(name)?.committed(version) as string;

it('a copy follows the commits of another process by their files, and finds what the table has', async () => {
  for (let generation = 2; generation < 12; generation++) {
    await commit(generation, generation);
    if (generation % 3 === 0) await find();
  }
  expect([(await find())?.size.rows, readings]).toEqual([3 + 65, 0]);
  const anew = openIndexes();
  const version = await table.version();
  await anew.find(name, version, () => reading.openForReading(name, version));
  const open = (resident: ResidentIndexes) =>
    openSource({ tables: reading, resident }, [{ name, version, origin: null, weights: null }]);
  const [followed, read] = (await Promise.all([open(indexes), open(anew)])) as [ChunkSource, ChunkSource];
  const options = { limit: 20, documentIds: null };
  for (let query = 0; query < 20; query++) {
    const terms = weighTerms(analyse(drawText(random, 3, 200)));
    const found = await followed.searchKeywords(terms, options);
    expect(found).toEqual(await read.searchKeywords(terms, options));
    expect(await followed.readPassages(found)).toEqual(await read.readPassages(found));
    const vector = Float32Array.from({ length: 1024 }, () => random() - 0.5);
    expect(await followed.searchVectors(vector, options)).toEqual(await read.searchVectors(vector, options));
  }
  expect(readings).toBe(0);
  await anew.close();
});

it('a copy follows what another process removes, by files without any text', async () => {
  for (let generation = 2; generation < 13; generation++) await commit(generation);
  await find();
  const removals = [
    { selected: { documentIds: ['doc_2', 'doc_unknown'], generations: [] }, predicate: "document_id = 'doc_2'" },
    { selected: { documentIds: [], generations: [4] }, predicate: 'generation = 4' },
  ];
  for (const [nth, { selected, predicate }] of removals.entries()) {
    table = await writing.openForWriting(name);
    const before = await table.version();
    await table.delete(predicate);
    await writing.commitFiles?.save(name, { before, after: await table.version(), selected });
    expect(filesOf()).toHaveLength(1);
    const copy = await find();
    expect([copy?.size.removedRows, readings]).toEqual([3 * (nth + 1), 0]);
  }
  await commit(13);
  const copy = await find();
  expect([copy?.size.rows, copy?.size.removedRows, readings]).toEqual([39, 6, 0]);
});

it('once a search has followed a commit, later ones are followed before a search asks for them', async () => {
  await commit(2);
  await find();
  for (let generation = 3; generation < 10; generation++) await commit(generation);
  await until(async () => indexes.totals.rows === 27, { what: 'the rows of commits without a search' });
  expect([(await find())?.size.rows, readings]).toEqual([27, 0]);
  // A commit without a file, and those after it, wait for the next search.
  await commit(10, 600);
  await commit(11);
  expect([(await find())?.size.rows, readings]).toEqual([630, 1]);
});

it.each([
  ['is missing', (file: string) => rmSync(file)],
  ['is empty', (file: string) => truncateSync(file)],
  ['is cut off', (file: string) => truncateSync(file, statSync(file).size - 1)],
  ['is of another format', (file: string) => writeFileSync(file, 'appended 2')],
])('if a file of a commit %s, the copy reads the table from there on', async (_, damage) => {
  await commit(2);
  await commit(3);
  await commit(4);
  damage(fileOf((await table.version()) - 1));
  expect([(await find())?.size.rows, readings]).toEqual([12, 1]);
});

it('a file of another commit is not read in place of the next one', async () => {
  await commit(2);
  const version = await table.version();
  const [batch] = toArrowTable([generationOf(9, ['not of this commit'])]).batches;
  const rows = { before: version - 2, after: version - 1, batch: toRowBatch(batch as RecordBatch) };
  writeFileSync(fileOf(version), Buffer.concat(encodeCommit(rows)));
  expect([(await find())?.size.rows, readings]).toEqual([6, 1]);
});

it('files go when the table is opened for anything but an append, so that no deleted text stays in them', async () => {
  await commit(2);
  await commit(3);
  await find();
  expect(filesOf()).toHaveLength(3);
  expect(statSync(fileOf(await table.version())).mode & 0o777).toBe(0o600);
  await writing.openForAppend(name);
  expect(filesOf()).toHaveLength(3);
  await (await writing.openForWriting(name)).delete('generation = 2');
  expect(filesOf()).toEqual([]);
  await commit(4);
  const copy = await find();
  expect([copy?.size.rows, copy?.size.removedRows, readings]).toEqual([12, 3, 1]);
});

it('the first commit of a process removes the files of a process that was killed', async () => {
  await commit(2);
  await writing.close();
  writing = new LanceTables(directory);
  table = await writing.openForAppend(name);
  await commit(3);
  expect(filesOf()).toEqual([path.basename(fileOf(await table.version()))]);
  expect([(await find())?.size.rows, readings]).toEqual([9, 1]);
});

it('only the last commits have files, and none of many rows', async () => {
  for (let generation = 2; generation < 70; generation++) await commit(generation, 1);
  expect(filesOf()).toHaveLength(64);
  expect(existsSync(fileOf(await table.version()))).toBe(true);
  await commit(70, 600);
  expect(existsSync(fileOf(await table.version()))).toBe(false);
});

it('a copy that is many commits behind reads the table at once', async () => {
  for (let generation = 2; generation < 40; generation++) await commit(generation, 1);
  expect([(await find())?.size.rows, readings]).toEqual([41, 1]);
});

it('an index on an object store has no such files', async () => {
  const remote = new LanceTables('s3://bucket/index');
  expect([remote.commitFiles, remote.filesOf(name)]).toEqual([null, null]);
  await remote.close();
});
