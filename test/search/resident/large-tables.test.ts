import { mkdirSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { embedLexical, embedLexicalPassages } from '../../../src/embedding/providers/local.ts';
import { analyse, weighTerms } from '../../../src/language/analyser.ts';
import { openLogger } from '../../../src/platform/logger.ts';
import { toArrowTable } from '../../../src/search/chunk-table.ts';
import { LanceTables } from '../../../src/search/lance.ts';
import { openSource } from '../../../src/search/open-source.ts';
import { BestRows } from '../../../src/search/resident/best-rows.ts';
import { LargestNumbers } from '../../../src/search/resident/largest-numbers.ts';
import { ResidentIndexes } from '../../../src/search/resident/resident-indexes.ts';
import { SketchedRows } from '../../../src/search/resident/sketched-rows.ts';
import { VectorBlocks } from '../../../src/search/resident/vector-blocks.ts';
import { VectorRows } from '../../../src/search/resident/vector-rows.ts';
import { makeDataDir } from '../../support/appliance.ts';
import { drawText, generationOf, randomFrom } from './draw-rows.ts';

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
let large: ResidentIndexes;
let whole: ResidentIndexes;

beforeAll(() => {
  const directory = path.join(dataDir, 'index');
  mkdirSync(directory);
  tables = new LanceTables(directory);
  const options = { maxBytes: 2 ** 28, scratchIn: dataDir, threadsMax: 1, logger };
  large = new ResidentIndexes({ ...options, largeRows: 1 });
  whole = new ResidentIndexes(options);
});
afterAll(async () => {
  await large.close();
  await whole.close();
  await tables.close();
  remove();
});

async function search(indexes: ResidentIndexes, version: number, documentIds: readonly string[] | null) {
  const source = await openSource({ tables, resident: indexes }, [
    { name: NAME, version, origin: null, weights: null },
  ]);
  expect(source?.isInMemory).toBe(true);
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
    for (const documentIds of [null, some, ['doc_2']]) {
      expect(await search(large, version, documentIds)).toEqual(await search(whole, version, documentIds));
    }
  };
  await write.add(toArrowTable(written.slice(0, 40)) as never);
  await compare();
  await write.add(toArrowTable(written.slice(40)) as never);
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
  const missing = new ResidentIndexes({
    ...{ maxBytes: 2 ** 28, threadsMax: 1, logger: openLogger('silent'), largeRows: 1 },
    scratchIn: path.join(dataDir, 'missing'),
  });
  expect(await missing.find(NAME, 1, () => tables.openForReading(NAME, 1))).toBeNull();
  await missing.close();
});

it('sketches lead to the nearest of many rows, with and without a filter', () => {
  const ROWS = 24_000;
  const blocks = new VectorBlocks();
  const [sketched, all] = [new SketchedRows(blocks, dataDir), new VectorRows(blocks)];
  for (let from = 0; from < ROWS; from += 1_000) {
    const vectors = embedLexicalPassages(Array.from({ length: 1_000 }, () => drawText(random, 30)));
    sketched.add(vectors);
    all.add(vectors);
  }
  const filters = { none: () => 1, most: () => Number(random() < 0.9), few: () => Number(random() < 0.1) };
  for (const draw of Object.values(filters)) {
    const allowed = draw === filters.none ? null : Uint8Array.from({ length: ROWS }, draw);
    let equal = 0;
    for (const query of queries) {
      const margin = blocks.setQuery(0, embedLexical([query]));
      const [ours, exact] = [sketched, all].map((rows) => {
        const best = new BestRows(10, String);
        const slotQuery = { slot: 0, margin, lowerBounds: new LargestNumbers(10) };
        const [candidates] = rows.estimate([slotQuery], allowed);
        if (candidates) rows.offer(slotQuery, candidates, { best, first: 0 });
        return best.toSorted();
      });
      for (const { row } of ours ?? []) expect(allowed?.[row] ?? 1).toBe(1);
      const last = exact?.at(-1)?.score as number;
      equal += (ours ?? []).filter(({ score }) => score >= last).length / 10;
    }
    expect(equal / queries.length).toBeGreaterThanOrEqual(0.98);
  }
  sketched.release();
  const again = new SketchedRows(blocks, dataDir);
  again.add(new Float32Array(1_024));
  expect(again.memoryBytes).toBeLessThan(1_500_000);
  again.release();
});
