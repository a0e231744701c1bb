import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { embedLexical } from '../../src/embedding/providers/local.ts';
import type { Candidate, ChunkReader } from '../../src/index/chunk-index.ts';
import { TableCopies } from '../../src/index/copies/table-copies.ts';
import { toArrowTable } from '../../src/index/lance/chunk-table.ts';
import { LanceTables } from '../../src/index/lance/lance.ts';
import { LanceIndex } from '../../src/index/lance/lance-index.ts';
import { settle } from '../../src/index/lance/settle.ts';
import { analyse, weighTerms } from '../../src/language/analyser.ts';
import { openLogger } from '../../src/platform/logger.ts';
import { makeDataDir } from '../support/appliance.ts';
import { drawText, generationOf, randomFrom } from './draw-rows.ts';
import { untilCurrent } from './until-current.ts';

const NAME = 'buc_equal';
const DOCUMENTS = 160;
const PER_DOCUMENT = 4;
const LIMIT = 61;

const { dataDir, remove } = makeDataDir();
const random = randomFrom(2026);
const written = Array.from({ length: DOCUMENTS }, (_, nth) =>
  generationOf(
    nth + 1,
    Array.from({ length: PER_DOCUMENT }, () => drawText(random, 20 + Math.floor(random() * 80))),
  ),
);
const vectors = new Map(
  written.flatMap((generation) =>
    generation.chunks.map((chunk, at) => [chunk.chunkId, generation.vectors.subarray(at * 1024, (at + 1) * 1024)]),
  ),
);
const queries = Array.from({ length: 12 }, () => drawText(random, 1 + Math.floor(random() * 12)));

let tables: LanceTables;
let resident: TableCopies;
let version: number;
let fromTable: ChunkReader;

const openedAt = (at: number, indexes: TableCopies | null) =>
  new LanceIndex(tables, indexes).open([{ name: NAME, version: at }]) as Promise<ChunkReader>;

beforeAll(async () => {
  const directory = path.join(dataDir, 'index');
  mkdirSync(directory);
  tables = new LanceTables(directory);
  const table = await tables.openForWriting(NAME);
  for (let from = 0; from < DOCUMENTS; from += 40)
    await table.add(toArrowTable(written.slice(from, from + 40)) as never);
  resident = new TableCopies({ maxBytes: 2 ** 28, scratchIn: dataDir, threadsMax: 1, logger: openLogger('warn') });
  // The copy is read before the table is settled, and compared with the table after it.
  await openedAt(await table.version(), resident);
  await table.optimize();
  version = await table.version();
  fromTable = await openedAt(version, null);
});
afterAll(async () => {
  await resident.close();
  await tables.close();
  remove();
});

/** Check that two lists have equal scores, and equal chunks where scores differ by more than rounding. */
function expectEqual(found: readonly Candidate[], expected: readonly Candidate[]): void {
  expect(found.length).toBe(expected.length);
  const scores = new Map(expected.map(({ chunkId, score }) => [chunkId, score]));
  const last = expected.at(-1)?.score ?? 0;
  for (const [at, { chunkId, score }] of found.entries()) {
    expect(Math.abs(score - (expected[at]?.score as number))).toBeLessThan(1e-5);
    expect(Math.abs(score - (scores.get(chunkId) ?? last))).toBeLessThan(1e-5);
  }
}

it.each(['all documents', 'some documents', 'few documents'])(
  'both legs find the same in memory as in a settled table, among %s',
  async (scope) => {
    const source = await openedAt(version, resident);
    const share = { 'all documents': 1, 'some documents': 0.4, 'few documents': 0.02 }[scope] as number;
    const documentIds =
      share === 1
        ? null
        : Array.from({ length: DOCUMENTS }, (_, nth) => `doc_${nth + 1}`).filter(() => random() < share);
    const options = { limit: LIMIT, documentIds };
    for (const query of queries) {
      const terms = weighTerms(analyse(query));
      expectEqual(await source.searchKeywords(terms, options), await fromTable.searchKeywords(terms, options));
      const vector = embedLexical([query]);
      expectEqual(await source.searchVectors(vector, options), await fromTable.searchVectors(vector, options));
      const found = await source.searchKeywords(terms, options);
      await fromTable.searchKeywords(terms, options);
      const [inMemory, stored] = await Promise.all([source, fromTable].map((own) => own.readCosines(vector, found)));
      for (const [at, { chunkId }] of found.entries()) {
        const exact = (vectors.get(chunkId) as Float32Array).reduce((sum, x, nth) => sum + x * (vector[nth] ?? 0), 0);
        for (const cosines of [inMemory, stored]) expect(Math.abs((cosines?.[at] ?? 0) - exact)).toBeLessThan(1e-5);
      }
    }
  },
);

it('terms of synonyms with fractional weights find the same in memory as in a settled table', async () => {
  for (const query of queries) {
    const [first = [], second = []] = [analyse(query), analyse(queries[0] as string)];
    const expanded = new Map([[NAME, [...weighTerms(first), { terms: [...new Set(second)], weight: 1 / 3 }]]]);
    const index = { name: NAME, version };
    const search = async (indexes: TableCopies | null) => {
      const source = (await new LanceIndex(tables, indexes).open([index], { ownTerms: expanded })) as ChunkReader;
      return source.searchKeywords(weighTerms(first), { limit: LIMIT, documentIds: null });
    };
    expectEqual(await search(resident), await search(null));
  }
});

it('cosines in memory are exact, and every one of the best is found', async () => {
  const source = await openedAt(version, resident);
  for (const query of queries) {
    const vector = embedLexical([query]);
    const exact = [...vectors].map(([id, own]) => ({
      id,
      score: own.reduce((sum, x, at) => sum + x * (vector[at] ?? 0), 0),
    }));
    const best = exact.sort((a, b) => b.score - a.score).slice(0, LIMIT);
    const found = await source.searchVectors(vector, { limit: LIMIT, documentIds: null });
    for (const [at, { score }] of found.entries())
      expect(Math.abs(score - (best[at]?.score as number))).toBeLessThan(1e-5);
  }
});

it('passages in memory are those of the table', async () => {
  const [query = ''] = queries;
  const terms = weighTerms(analyse(query));
  const [ours, theirs] = await Promise.all(
    [await openedAt(version, resident), fromTable].map(async (source) => {
      const found = await source.searchKeywords(terms, { limit: LIMIT, documentIds: null });
      return source.readPassages(found);
    }),
  );
  const texts = new Map(theirs?.map(({ chunkId, text, locator }) => [chunkId, { text, locator }]));
  for (const { chunkId, text, locator } of ours ?? []) {
    if (texts.has(chunkId)) expect({ text, locator }).toEqual(texts.get(chunkId));
  }
});

it('results in memory do not depend on settling, nor on rows that were removed', async () => {
  const name = 'buc_moves';
  const write = await tables.openForWriting(name);
  const openAt = async (indexes: TableCopies) => {
    const version = await untilCurrent(indexes, tables, write);
    const source = await new LanceIndex(tables, indexes).open([{ name, version }]);
    return source as ChunkReader;
  };
  const search = async (source: ChunkReader) => {
    const found = [];
    for (const query of queries.slice(0, 8)) {
      const options = { limit: LIMIT, documentIds: null };
      found.push(await source.searchKeywords(weighTerms(analyse(query)), options));
      found.push(await source.searchVectors(embedLexical([query]), options));
    }
    return found;
  };
  for (const generation of written.slice(0, 40)) await write.add(toArrowTable([generation]) as never);
  const before = await search(await openAt(resident));
  await write.optimize();
  expect(await search(await openAt(resident))).toEqual(before);
  await write.add(toArrowTable(written.slice(40, 60)) as never);
  const more = await search(await openAt(resident));
  expect(more).not.toEqual(before);
  await write.delete(`generation > 40`);
  expect(await search(await openAt(resident))).toEqual(before);
  // Rows that were removed come back, and rows are removed and merged at once.
  await write.add(toArrowTable(written.slice(40, 60)) as never);
  expect(await search(await openAt(resident))).toEqual(more);
  await write.delete(`generation > 40`);
  await write.optimize();
  expect(await search(await openAt(resident))).toEqual(before);
  const anew = new TableCopies({
    maxBytes: 2 ** 28,
    scratchIn: dataDir,
    threadsMax: 2,
    logger: openLogger('warn'),
  });
  expect(await search(await openAt(anew))).toEqual(before);
  await anew.close();
});

it('a table that was settled several times finds the best rows for common words, as memory does', async () => {
  const name = 'buc_parts';
  const words = Array.from({ length: 16 }, (_, nth) => `common${nth}x`);
  const drawn = (number: number) =>
    generationOf(number, [
      `every ${Array.from({ length: 40 }, () => words[Math.floor(random() * words.length)]).join(' ')}`,
    ]);
  const write = await tables.openForWriting(name);
  let number = 0;
  for (const count of [1_500, 60, 60]) {
    await write.add(toArrowTable(Array.from({ length: count }, () => drawn(++number))) as never);
    await settle(tables, write);
  }
  // Files may be merged once more; then there is nothing to do, and no version is made.
  await settle(tables, write);
  const settled = await write.version();
  await settle(tables, write);
  expect(await write.version()).toBe(settled);
  const index = { name, version: await write.version() };
  const [memory, table] = await Promise.all(
    [resident, null].map((indexes) => new LanceIndex(tables, indexes).open([index]) as Promise<ChunkReader>),
  );
  for (let nth = 1; nth < words.length; nth++) {
    const terms = weighTerms(analyse(`${words[nth - 1]} ${words[nth]} every`));
    const options = { limit: LIMIT, documentIds: null };
    expectEqual(
      (await table?.searchKeywords(terms, options)) ?? [],
      (await memory?.searchKeywords(terms, options)) ?? [],
    );
  }
});
