import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { embedLexical } from '../../src/embedding/providers/local.ts';
import type { ChunkReader } from '../../src/index/chunk-index.ts';
import { ReaderGone } from '../../src/index/chunk-index.ts';
import { TableCopies } from '../../src/index/copies/table-copies.ts';
import { toArrowTable } from '../../src/index/lance/chunk-table.ts';
import { LanceTables } from '../../src/index/lance/lance.ts';
import { LanceIndex } from '../../src/index/lance/lance-index.ts';
import { openLogger } from '../../src/platform/logger.ts';
import { makeDataDir } from '../support/appliance.ts';
import { drawText, generationOf, randomFrom } from './draw-rows.ts';

const NAME = 'buc_one';
const OPTIONS = { limit: 5, documentIds: null };
const { dataDir, remove } = makeDataDir();
let tables: LanceTables;
let indexes: TableCopies;
const lines: string[] = [];

beforeAll(async () => {
  const directory = path.join(dataDir, 'index');
  mkdirSync(directory);
  tables = new LanceTables(directory);
  const random = randomFrom(5);
  await (await tables.openForWriting(NAME)).add(toArrowTable([generationOf(1, [drawText(random, 40)])]) as never);
});
afterEach(async () => {
  await indexes.close();
  lines.length = 0;
});
afterAll(async () => {
  await tables.close();
  remove();
});

async function open(): Promise<ChunkReader> {
  const logger = openLogger('warn', { write: (line) => lines.push(line) });
  indexes = new TableCopies({ maxBytes: 2 ** 26, scratchIn: dataDir, threadsMax: 1, logger });
  const source = await new LanceIndex(tables, indexes).open([{ name: NAME, version: 1 }]);
  if (source === null || indexes.totals.tables !== 1) throw new Error('the table is not in memory');
  return source;
}

it('a search that fails in memory is reported, but not each time', async () => {
  const source = await open();
  for (let times = 0; times < 3; times++) {
    await expect(source.searchVectors(null as never, OPTIONS)).rejects.toThrow(ReaderGone);
  }
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { level: 'error', tables: [NAME], err: { message: expect.stringContaining('null') } },
  ]);
  expect(await source.searchVectors(embedLexical(['term1x']), OPTIONS)).toHaveLength(1);
});

it('a search of a copy that was dropped meanwhile is no fault', async () => {
  const source = await open();
  const copy = await indexes.find(NAME, 1, () => tables.openForReading(NAME, 1));
  if (copy) indexes.forget(copy);
  await expect(source.searchVectors(embedLexical(['term1x']), OPTIONS)).rejects.toThrow(ReaderGone);
  expect(lines).toEqual([]);
});
