import { existsSync, mkdirSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Table } from '@lancedb/lancedb';
import type { RecordBatch } from 'apache-arrow';
import { afterAll, afterEach, beforeEach, expect, it } from 'vitest';
import { analyse, weighTerms } from '../../../src/language/analyser.ts';
import { openLogger } from '../../../src/platform/logger.ts';
import type { ChunkSource } from '../../../src/search/chunk-source.ts';
import { toArrowTable } from '../../../src/search/chunk-table.ts';
import { buildTokenIndex, LanceTables } from '../../../src/search/lance.ts';
import { openSource } from '../../../src/search/open-source.ts';
import { toRowBatch } from '../../../src/search/resident/read-rows.ts';
import { ResidentIndexes } from '../../../src/search/resident/resident-indexes.ts';
import { makeDataDir } from '../../support/appliance.ts';
import { drawText, generationOf, randomFrom } from './draw-rows.ts';

const { dataDir, remove } = makeDataDir();
const directory = path.join(dataDir, 'index');
mkdirSync(directory);
const random = randomFrom(50);
let tables: LanceTables;
let name = '';
let nth = 0;
let table: Table;
let indexes: ResidentIndexes;
/** Times that the table was opened to be read. */
let readings = 0;

beforeEach(async () => {
  name = `bkt_snapshot${++nth}`;
  tables = new LanceTables(directory);
  table = await tables.openForWriting(name);
  indexes = openIndexes();
  readings = 0;
});
afterEach(async () => {
  await indexes.close();
  await tables.close();
});
afterAll(remove);

function openIndexes(maxBytes = 64 * 1024 * 1024, keptMs = 30_000): ResidentIndexes {
  return new ResidentIndexes({ maxBytes, keptMs, scratchIn: dataDir, threadsMax: 1, logger: openLogger('silent') });
}

const fileOf = (of: string) => path.join(directory, `${of}.lance`, 'rows.safetensors');
const textsOf = (rows: number) => Array.from({ length: rows }, () => drawText(random, 20, 200));

/** Commit rows of a generation, and save a snapshot. */
async function write(rows: number, generation = 1, into = table): Promise<void> {
  await into.add(toArrowTable([generationOf(generation, textsOf(rows))]) as never);
  await tables.saveSnapshot(into);
}

async function find(version?: number) {
  const wanted = version ?? (await table.version());
  const open = () => {
    readings++;
    return tables.openForReading(name, wanted);
  };
  return indexes.find(name, wanted, open, tables.filesOf(name));
}

it('a table of few rows is read from its snapshot, and not from its files', async () => {
  await write(100);
  const copy = await find();
  expect([copy?.size.rows, copy?.version, readings]).toEqual([100, await table.version(), 0]);
  expect(statSync(fileOf(name)).mode & 0o777).toBe(0o600);
});

it('a snapshot of long texts is read, too', async () => {
  const texts = Array.from({ length: 100 }, () => drawText(random, 900, 5_000));
  await table.add(toArrowTable([generationOf(1, texts)]) as never);
  await tables.saveSnapshot(table);
  expect(statSync(fileOf(name)).size).toBeGreaterThan(2 ** 20);
  expect([(await find())?.size.rows, readings]).toEqual([100, 0]);
});

it('a snapshot gives the results that the files of the table give', async () => {
  await table.add(toArrowTable([generationOf(1, textsOf(40)), generationOf(2, textsOf(40))]) as never);
  await table.add(toArrowTable([generationOf(3, textsOf(40))]) as never);
  await table.delete('chunk_index = 7');
  await buildTokenIndex(table);
  await tables.saveSnapshot(table);
  const version = await table.version();
  const read = openIndexes();
  const sources = await Promise.all(
    [indexes, read].map((resident) => {
      if (resident === read) return readFrom(read, version);
      return openSource({ tables, resident }, [{ name, version, origin: null, weights: null }]);
    }),
  );
  const [fromSnapshot, fromTable] = sources as [ChunkSource, ChunkSource];
  expect([indexes.totals.tables, indexes.totals.rows]).toEqual([1, read.totals.rows]);
  for (let query = 0; query < 8; query++) {
    const terms = weighTerms(analyse(drawText(random, 3, 200)));
    const vector = generationOf(9, [drawText(random, 5, 200)]).vectors;
    const options = { limit: 30, documentIds: null };
    expect(await fromSnapshot.searchKeywords(terms, options)).toEqual(await fromTable.searchKeywords(terms, options));
    const found = await fromSnapshot.searchVectors(vector, options);
    expect(found).toEqual(await fromTable.searchVectors(vector, options));
    expect(await fromSnapshot.readPassages(found)).toEqual(await fromTable.readPassages(found));
  }
  await read.close();
});

/** Open the table in memory without its snapshot. */
async function readFrom(resident: ResidentIndexes, version: number) {
  await resident.find(name, version, () => tables.openForReading(name, version));
  return openSource({ tables, resident }, [{ name, version, origin: null, weights: null }]);
}

it('a commit of this process is added to a copy that was read from a snapshot', async () => {
  await write(10);
  await find();
  const rows = toArrowTable([generationOf(2, textsOf(5))]);
  const before = await table.version();
  await table.add(rows as never);
  const versions = { before, after: await table.version() };
  indexes.apply(name, { ...versions, batch: toRowBatch(rows.batches[0] as RecordBatch) });
  expect([(await find())?.size.rows, readings]).toEqual([15, 0]);
});

it('commits of another process after a snapshot are read from the table', async () => {
  await write(10);
  await find();
  await table.add(toArrowTable([generationOf(2, textsOf(5))]) as never);
  await table.delete('generation = 1 AND chunk_index < 3');
  const { rows, removedRows } = (await find())?.size ?? { rows: 0, removedRows: 0 };
  expect([rows - removedRows, readings]).toEqual([12, 1]);
});

it('a snapshot of an older version is not used', async () => {
  await write(10);
  await table.add(toArrowTable([generationOf(2, textsOf(5))]) as never);
  expect([(await find())?.size.rows, readings]).toEqual([15, 1]);
});

it.each([
  ['is cut', (file: string) => truncateSync(file, Math.floor(statSync(file).size / 2))],
  ['is empty', (file: string) => truncateSync(file)],
  ['is something else', (file: string) => writeFileSync(file, Buffer.alloc(5_000, 1))],
])('a snapshot that %s is not used', async (_, damage) => {
  await write(10);
  damage(fileOf(name));
  expect([(await find())?.size.rows, readings]).toEqual([10, 1]);
});

it('a table without a snapshot is read from its files', async () => {
  await table.add(toArrowTable([generationOf(1, textsOf(6))]) as never);
  expect([(await find())?.size.rows, readings]).toEqual([6, 1]);
});

it('searches at the same time read a snapshot, or the table in its place, once', async () => {
  await write(10);
  const copies = await Promise.all(Array.from({ length: 5 }, () => find()));
  expect([new Set(copies).size, copies[0]?.size.rows, readings]).toEqual([1, 10, 0]);
  await table.add(toArrowTable([generationOf(2, textsOf(5))]) as never);
  await indexes.close();
  indexes = openIndexes();
  const later = await Promise.all(Array.from({ length: 5 }, () => find()));
  expect(later.map((copy) => copy?.size.rows)).toEqual([15, 15, 15, 15, 15]);
  expect(new Set(later).size).toBe(1);
});

it('copies that displace each other while they are read stay within the bound of the memory', async () => {
  const others = await Promise.all(
    Array.from({ length: 6 }, async (_, at) => {
      const other = await tables.openForWriting(`${name}_${at}`);
      await write(100, 1, other);
      return other;
    }),
  );
  await indexes.close();
  indexes = openIndexes(1_000_000, 0);
  for (let round = 0; round < 3; round++) {
    await Promise.all(
      others.map(async (other) => {
        const version = await other.version();
        return indexes.find(
          other.name,
          version,
          () => tables.openForReading(other.name, version),
          tables.filesOf(other.name),
        );
      }),
    );
    expect(indexes.totals.bytes).toBeLessThanOrEqual(1_000_000);
    expect(indexes.totals.tables).toBeGreaterThan(0);
  }
});

it('opening a table for writing removes its snapshot and what a killed writer has left', async () => {
  await write(10);
  writeFileSync(`${fileOf(name)}.tmp`, 'unfinished');
  await tables.openForWriting(name);
  expect([existsSync(fileOf(name)), existsSync(`${fileOf(name)}.tmp`)]).toEqual([false, false]);
});

it('a table with many rows, or on an object store, has no snapshot', async () => {
  await write(129);
  expect(existsSync(fileOf(name))).toBe(false);
  const remote = new LanceTables('s3://bucket/index');
  expect(remote.snapshots).toBeNull();
  await remote.close();
});

it('LanceDB keeps a snapshot when it removes old versions, and removes it with the table', async () => {
  await write(10);
  const content = readFileSync(fileOf(name));
  await table.optimize({ cleanupOlderThan: new Date(Date.now() + 60_000), deleteUnverified: true });
  expect(readFileSync(fileOf(name))).toEqual(content);
  await tables.drop(name);
  expect(existsSync(path.join(directory, `${name}.lance`))).toBe(false);
});

it('a writer that lost the lock while it wrote a snapshot does not leave it', async () => {
  await table.add(toArrowTable([generationOf(1, textsOf(10))]) as never);
  const other = new LanceTables(directory);
  const theirs = await other.openForWriting(name);
  const before = await table.version();
  // Stopped before it looks whether its version is the latest.
  const stopped = new Proxy(table, {
    get(target, key) {
      if (key === 'name') return name;
      const own = Reflect.get(target, key) as (...given: unknown[]) => Promise<unknown>;
      if (key !== 'checkoutLatest') return own.bind(target);
      return async () => {
        await theirs.add(toArrowTable([generationOf(2, textsOf(5))]) as never);
        await own.call(target);
      };
    },
  });
  await tables.saveSnapshot(stopped);
  expect([existsSync(fileOf(name)), existsSync(`${fileOf(name)}.tmp`)]).toEqual([false, false]);
  expect(await table.version()).toBeGreaterThan(before);
  await other.close();
});

it('a search after the indexes in memory were closed reads no table into memory', async () => {
  await write(20);
  await indexes.close();
  expect(await find()).toBeNull();
  expect(indexes.totals).toEqual({ tables: 0, rows: 0, bytes: 0 });
});
