import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { embedLexical } from '../../src/embedding/providers/local.ts';
import type { ChunkReader, ComparedRow } from '../../src/index/chunk-index.ts';
import { TableCopies } from '../../src/index/copies/table-copies.ts';
import { toArrowTable } from '../../src/index/lance/chunk-table.ts';
import { LanceTables } from '../../src/index/lance/lance.ts';
import { LanceIndex } from '../../src/index/lance/lance-index.ts';
import { sampleTable } from '../../src/index/lance/sample-table.ts';
import { RowSamples, SAMPLED_ROWS_MAX } from '../../src/index/row-samples.ts';
import { analyse } from '../../src/language/analyser.ts';
import { openLogger } from '../../src/platform/logger.ts';
import { makeDataDir } from '../support/appliance.ts';
import { until } from '../support/until.ts';
import { drawText, generationOf, randomFrom } from './draw-rows.ts';

const { dataDir, remove } = makeDataDir();
const random = randomFrom(24);
const resident = new TableCopies({
  ...{ maxBytes: 2 ** 28, scratchIn: dataDir, threadsMax: 1, logger: openLogger('warn') },
});
let tables: LanceTables;

beforeAll(() => {
  const directory = path.join(dataDir, 'index');
  mkdirSync(directory);
  tables = new LanceTables(directory);
});
afterAll(async () => {
  await resident.close();
  await tables.close();
  remove();
});

const newSamples = () => new RowSamples((table) => sampleTable(tables, table));

async function write(name: string, documents: number) {
  const table = await tables.openForWriting(name);
  const drawn = Array.from({ length: documents }, (_, nth) => generationOf(nth + 1, [drawText(random, 40, 200)]));
  await table.add(toArrowTable(drawn) as never);
  return { name, version: await table.version(), origin: null, weights: null };
}

const open = (index: Awaited<ReturnType<typeof write>>, indexes: TableCopies | null = resident) =>
  new LanceIndex(tables, indexes).open([index]) as Promise<ChunkReader>;

const text = drawText(random, 6, 200);
const query = { vector: embedLexical([text]), terms: [...new Set([...analyse(text), 'nowhere'])] };

const compare = async (source: ChunkReader) => (await source.compareSample(query)) as ComparedRow[];

it('a copy of few rows has the sample that is read from its table', async () => {
  const index = await write('buc_few', SAMPLED_ROWS_MAX);
  const expected = (await newSamples().read([index])).flatMap((sample) => sample.compare(query));
  const compared = await compare(await open(index));
  expect(compared.length).toBe(SAMPLED_ROWS_MAX);
  expect(compared.map(({ documentId }) => documentId)).toEqual(expected.map(({ documentId }) => documentId));
  expect(compared.map(({ terms }) => [...terms])).toEqual(expected.map(({ terms }) => [...terms]));
  expect(expected.some(({ terms }) => terms.size > 0)).toBe(true);
  for (const [at, { cosine }] of compared.entries()) expect(cosine).toBeCloseTo(expected[at]?.cosine as number, 5);
});

it('a table has the same sample after its files were merged, and nearly the same with a few new rows', async () => {
  const index = await write('buc_many', 150);
  const table = await tables.openForWriting(index.name);
  const more = Array.from({ length: 150 }, (_, nth) => generationOf(nth + 151, [drawText(random, 40, 200)]));
  await table.add(toArrowTable(more) as never);
  const idsAt = async (version: number) => {
    const [sample] = await newSamples().read([{ ...index, version }]);
    return (sample?.compare(query) ?? []).map(({ documentId }) => documentId).toSorted();
  };
  const before = await idsAt(await table.version());
  expect(new Set(before).size).toBe(SAMPLED_ROWS_MAX);
  await table.optimize();
  expect(await idsAt(await table.version())).toEqual(before);
  await table.add(toArrowTable([generationOf(301, [drawText(random, 40, 200)])]) as never);
  const after = await idsAt(await table.version());
  expect(after.filter((id) => !before.includes(id)).length).toBeLessThanOrEqual(1);
});

it('a table that grew has the sample that another process reads', async () => {
  const index = await write('buc_grows', SAMPLED_ROWS_MAX + 22);
  const samples = newSamples();
  const compareBy = async (own: RowSamples, version: number) => {
    const [sample] = await own.read([{ ...index, version }]);
    return sample?.compare(query);
  };
  const before = await compareBy(samples, index.version);
  const table = await tables.openForWriting(index.name);
  const more = Array.from({ length: 300 }, (_, nth) => generationOf(nth + 151, [drawText(random, 40, 200)]));
  await table.add(toArrowTable(more) as never);
  const version = await table.version();
  const after = await compareBy(samples, version);
  expect(after).toEqual(await compareBy(newSamples(), version));
  expect(after).not.toEqual(before);
  expect(await compareBy(samples, version)).toEqual(after);
});

it('rows that were removed are not in the sample of a copy', async () => {
  const index = await write('buc_removed', 50);
  await open(index);
  const table = await tables.openForWriting(index.name);
  await table.delete("document_id IN ('doc_1', 'doc_2')");
  const compareNow = async () => compare(await open({ ...index, version: await table.version() }));
  await until(async () => (await compareNow()).length === 48, { what: 'removal of rows that are gone' });
  const compared = await compareNow();
  expect(compared.map(({ documentId }) => documentId)).toEqual(
    Array.from({ length: 48 }, (_, nth) => `doc_${nth + 3}`),
  );
});

it('a query without a vector has the terms of a sample, and no cosines', async () => {
  const source = await open(await write('buc_words', 10));
  const compared = (await source.compareSample({ ...query, vector: null })) as ComparedRow[];
  expect(compared.map(({ cosine }) => cosine)).toEqual(Array.from({ length: 10 }, () => null));
  expect(compared.some(({ terms }) => terms.size > 0)).toBe(true);
});

it('the sample of more rows, or of a table without a copy, is read from the table', async () => {
  const index = await write('buc_more', SAMPLED_ROWS_MAX + 1);
  const source = await open(index);
  const expected = (await newSamples().read([index])).flatMap((sample) => sample.compare(query));
  expect(expected).toHaveLength(SAMPLED_ROWS_MAX);
  expect(await compare(source)).toEqual(expected);
  expect(await compare(await open(index, null))).toEqual(expected);
});
