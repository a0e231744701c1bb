import { mkdirSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { embedLexical } from '../../src/embedding/providers/local.ts';
import { TableCopies } from '../../src/index/copies/table-copies.ts';
import { toArrowTable } from '../../src/index/lance/chunk-table.ts';
import { LanceTables } from '../../src/index/lance/lance.ts';
import { LanceIndex } from '../../src/index/lance/lance-index.ts';
import { analyse, weighTerms } from '../../src/language/analyser.ts';
import { openLogger } from '../../src/platform/logger.ts';
import { makeDataDir } from '../support/appliance.ts';
import { drawText, generationOf, randomFrom } from './draw-rows.ts';
import { untilCurrent } from './until-current.ts';

const NAME = 'buc_large';
const LIMIT = 61;
const { dataDir, remove } = makeDataDir();
const random = randomFrom(77);
const written = Array.from({ length: 60 }, (_, nth) =>
  generationOf(nth + 1, [drawText(random, 40), drawText(random, 60), drawText(random, 20)]),
);
const queries = Array.from({ length: 10 }, () => drawText(random, 1 + Math.floor(random() * 8)));
const logger = openLogger('warn');

let tables: LanceTables;
let large: TableCopies;
let whole: TableCopies;

beforeAll(() => {
  const directory = path.join(dataDir, 'index');
  mkdirSync(directory);
  tables = new LanceTables(directory);
  const options = { maxBytes: 2 ** 28, scratchIn: dataDir, threadsMax: 1, logger };
  large = new TableCopies({ ...options, largeRows: 0 });
  whole = new TableCopies(options);
});
afterAll(async () => {
  await large.close();
  await whole.close();
  await tables.close();
  remove();
});

async function search(indexes: TableCopies, version: number, documentIds: readonly string[] | null) {
  const source = await new LanceIndex(tables, indexes).open([{ name: NAME, version }]);
  expect(indexes.totals.tables).toBe(1);
  const found = [];
  for (const query of queries) {
    const options = { limit: LIMIT, documentIds };
    const keyword = (await source?.searchKeywords(weighTerms(analyse(query)), options)) ?? [];
    const vector = (await source?.searchVectors(embedLexical([query]), options)) ?? [];
    found.push(await source?.readPassages([...keyword, ...vector]));
  }
  return found;
}

it('a large copy finds what a whole one finds, while rows are added and removed', async () => {
  const write = await tables.openForWriting(NAME);
  const some = written.filter((_, nth) => nth % 3 === 0).map((_, nth) => `doc_${nth + 1}`);
  const compare = async () => {
    const version = await write.version();
    for (const indexes of [large, whole]) await untilCurrent(indexes, tables, write);
    for (const documentIds of [null, some, ['doc_2']]) {
      const [ours, theirs] = [await search(large, version, documentIds), await search(whole, version, documentIds)];
      for (const [nth, own] of ours.entries()) {
        const passages = new Map(theirs[nth]?.map(({ chunkId, text, locator }) => [chunkId, { text, locator }]));
        expect(own).toHaveLength(theirs[nth]?.length ?? 0);
        // Cosines that differ by less than 1e-5 may be in another order.
        for (const [at, { chunkId, text, locator, score }] of (own ?? []).entries()) {
          expect(score).toBeCloseTo(theirs[nth]?.[at]?.score ?? 0, 4);
          if (passages.has(chunkId)) expect({ text, locator }).toEqual(passages.get(chunkId));
        }
      }
    }
  };
  await write.add(toArrowTable(written.slice(0, 45)) as never);
  await compare();
  await write.add(toArrowTable(written.slice(45)) as never);
  await compare();
  await write.delete('generation < 8');
  await compare();
  expect(large.totals.rows).toBe(53 * 3);
});

it('the files of a large copy have no name', () => {
  expect(readdirSync(dataDir)).toEqual(['index']);
});

it('a removed row of a large copy has no text any more', async () => {
  const copy = await large.find(NAME, 1, () => tables.openForReading(NAME, 1));
  const rows = Uint32Array.of(0, 100);
  const tableNumbers = Uint32Array.of(copy?.number as number, copy?.number as number);
  const texts = await copy?.thread.call('readTexts', { tables: tableNumbers, rows });
  expect(texts?.[0]).toBeNull();
  expect(texts?.[1]?.text.length).toBeGreaterThan(0);
});

it('without a folder for its files a table is not copied, and searches use the table', async () => {
  const missing = new TableCopies({
    ...{ maxBytes: 2 ** 28, threadsMax: 1, logger: openLogger('silent'), largeRows: 0 },
    scratchIn: path.join(dataDir, 'missing'),
  });
  expect(await missing.find(NAME, 1, () => tables.openForReading(NAME, 1))).toBeNull();
  await missing.close();
});
