import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { embedLexical } from '../../src/embedding/providers/local.ts';
import { estimateBytes } from '../../src/index/copies/estimate-size.ts';
import { openTableCopies } from '../../src/index/copies/open-copies.ts';
import { TableCopies } from '../../src/index/copies/table-copies.ts';
import { toArrowTable } from '../../src/index/lance/chunk-table.ts';
import { LanceTables } from '../../src/index/lance/lance.ts';
import { LanceIndex } from '../../src/index/lance/lance-index.ts';
import { openLogger } from '../../src/platform/logger.ts';
import { openMetrics } from '../../src/platform/metrics.ts';
import { makeDataDir } from '../support/appliance.ts';
import { drawText, generationOf, randomFrom } from './draw-rows.ts';

const NAMES = ['buc_one', 'buc_two', 'buc_three'];
const MIB = 1024 * 1024;
const logger = openLogger('warn');
const { dataDir, remove } = makeDataDir();
let tables: LanceTables;
const opened: TableCopies[] = [];

beforeAll(async () => {
  const directory = path.join(dataDir, 'index');
  mkdirSync(directory);
  tables = new LanceTables(directory);
  const random = randomFrom(5);
  for (const [nth, name] of NAMES.entries()) {
    const generations = Array.from({ length: 30 }, (_, at) =>
      generationOf(nth * 100 + at, [drawText(random, 40), drawText(random, 40)]),
    );
    await (await tables.openForWriting(name)).add(toArrowTable(generations) as never);
  }
});
afterAll(async () => {
  for (const indexes of opened) await indexes.close();
  await tables.close();
  remove();
});

function open(maxBytes: number, keptMs?: number): TableCopies {
  const indexes = new TableCopies({
    maxBytes,
    scratchIn: dataDir,
    threadsMax: 1,
    logger,
    ...(keptMs === undefined ? {} : { keptMs }),
  });
  opened.push(indexes);
  return indexes;
}

const find = (indexes: TableCopies, name: string) => indexes.find(name, 1, () => tables.openForReading(name, 1));

it('the least recently searched table makes room, and the bound of the memory holds', async () => {
  const indexes = open(0.8 * MIB, 0);
  const [one = '', two = '', three = ''] = NAMES;
  await find(indexes, one);
  await find(indexes, two);
  expect(indexes.totals.tables).toBe(2);
  await find(indexes, one);
  expect(await find(indexes, three)).not.toBeNull();
  expect(indexes.totals.bytes).toBeLessThanOrEqual(0.8 * MIB);
  expect(indexes.totals.tables).toBe(2);
  // `two` was dropped, and is read again in place of `one`.
  const again = await find(indexes, two);
  expect(again?.size.rows).toBe(60);
});

it('a table that was searched just now does not make room, so the other one is searched in its files', async () => {
  const indexes = open(0.5 * MIB);
  const [one = '', two = ''] = NAMES;
  expect(await find(indexes, one)).not.toBeNull();
  expect(await find(indexes, two)).toBeNull();
  expect(indexes.totals.tables).toBe(1);
  const source = await new LanceIndex(tables, indexes).open([{ name: two, version: 1 }]);
  const found = await source?.searchVectors(embedLexical(['term1x']), { limit: 5, documentIds: null });
  expect(found?.length).toBeGreaterThan(0);
});

it('a table that is larger than all the memory is never read', async () => {
  const indexes = open(100_000);
  expect(await find(indexes, NAMES[0] as string)).toBeNull();
  expect(indexes.totals).toEqual({ tables: 0, rows: 0, bytes: 0 });
});

it('a table that turns out larger than there is room for is read once, and then searched in its files for a while', async () => {
  const random = randomFrom(6);
  const generations = Array.from({ length: 30 }, (_, nth) => generationOf(900 + nth, [drawText(random, 200)]));
  await (await tables.openForWriting('buc_long')).add(toArrowTable(generations) as never);
  const probe = open(64 * MIB);
  const [one = ''] = NAMES;
  await find(probe, one);
  const bytesOfOne = probe.totals.bytes;
  await find(probe, 'buc_long');
  const bytes = probe.totals.bytes - bytesOfOne;
  const estimate = estimateBytes(30, false);
  expect(bytes).toBeGreaterThan(1.2 * estimate);
  const indexes = open(bytesOfOne + (bytes + estimate) / 2);
  await find(indexes, one);
  let readings = 0;
  const openCounted = () => {
    readings++;
    return tables.openForReading('buc_long', 1);
  };
  for (let search = 0; search < 3; search++) {
    expect(await indexes.find('buc_long', 1 + search, openCounted)).toBeNull();
  }
  expect([readings, indexes.totals.tables]).toEqual([1, 1]);
});

it('without memory nothing is held, and metrics show what is held', async () => {
  const metrics = openMetrics();
  const settings = { residentBytes: 64 * MIB, tableCacheBytes: 64 * MIB, resultLinks: 'console' } as const;
  expect(openTableCopies({ search: { ...settings, residentBytes: 0 }, dataDir }, { logger, metrics })).toBeNull();
  const indexes = openTableCopies({ search: settings, dataDir }, { logger, metrics }) as TableCopies;
  opened.push(indexes);
  await find(indexes, NAMES[0] as string);
  const text = await metrics.registry.metrics();
  expect(text).toContain('service_resident_index_tables 1');
  expect(text).toContain('service_resident_index_rows 60');
  expect(text).toMatch(/service_resident_index_bytes \d{6,}/);
});

it('searches that come at once read a table once, and a search after the close uses the files', async () => {
  const indexes = open(64 * MIB);
  const copies = await Promise.all(Array.from({ length: 8 }, () => find(indexes, NAMES[0] as string)));
  expect(new Set(copies).size).toBe(1);
  expect(copies[0]?.size.rows).toBe(60);
  await indexes.close();
});
