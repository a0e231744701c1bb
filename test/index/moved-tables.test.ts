import { cpSync, mkdirSync } from 'node:fs';
import path from 'node:path';
import type { Table } from '@lancedb/lancedb';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { IndexedGeneration } from '../../src/index/chunk-index.ts';
import { TableCopies } from '../../src/index/copies/table-copies.ts';
import { toArrowTable } from '../../src/index/lance/chunk-table.ts';
import { LanceTables } from '../../src/index/lance/lance.ts';
import { openLogger } from '../../src/platform/logger.ts';
import { INDEX_DIMENSIONS } from '../../src/projection/resize.ts';
import { makeDataDir } from '../support/appliance.ts';
import { generationOf } from './draw-rows.ts';

const NAME = 'bkt_a';
/** Rows of a table that is read by the connection of large tables, in commits of this many. */
const [LARGE_COMMITS, COMMIT_ROWS] = [6, 3_500];

let directory: ReturnType<typeof makeDataDir>;
let uri: string;
let written: Table;
const opened: { close(): Promise<void> }[] = [];

beforeEach(async () => {
  directory = makeDataDir();
  uri = path.join(directory.dataDir, 'index');
  mkdirSync(uri);
  written = await open().openForWriting(NAME);
});
afterEach(async () => {
  for (const each of opened.splice(0)) await each.close();
  directory.remove();
});

function open(at = uri): LanceTables {
  const tables = new LanceTables(at);
  opened.push(tables);
  return tables;
}

/** Generation of short rows, whose vectors need not be embedded. */
function shortRows(number: number, rows: number): IndexedGeneration {
  const [first] = generationOf(number, ['heron']).chunks;
  const vectors = new Float32Array(rows * INDEX_DIMENSIONS);
  for (let row = 0; row < rows; row++) vectors[row * INDEX_DIMENSIONS + (row % INDEX_DIMENSIONS)] = 1;
  const chunks = Array.from({ length: rows }, (_, nth) => ({
    ...(first as IndexedGeneration['chunks'][number]),
    ...{ chunkId: `doc_${number}_${number}_${nth}`, chunkIndex: nth },
  }));
  return { vectors, chunks };
}

async function commit(number: number, rows = 1): Promise<number> {
  await written.add(toArrowTable([shortRows(number, rows)]) as never);
  return written.version();
}

it('a large table that searches share is never moved back by a search of an older version', async () => {
  for (let number = 1; number <= LARGE_COMMITS; number++) await commit(number, COMMIT_ROWS);
  const versions = [await written.version()];
  for (let number = 10; number < 30; number++) versions.push(await commit(number));
  const reader = open();
  await reader.openForReading(NAME, versions[0] as number);
  for (let nth = 1; nth + 1 < versions.length; nth += 2) {
    const [older, newer] = [versions[nth] as number, versions[nth + 1] as number];
    // Both orders, as searches come.
    const wanted = nth % 4 === 1 ? [newer, older] : [older, newer];
    const seen = wanted.map(async (version) => {
      const table = await reader.openForReading(NAME, version);
      return (await table?.version()) as number;
    });
    const found = await Promise.all(seen);
    for (const [at, version] of found.entries()) expect(version).toBeGreaterThanOrEqual(wanted[at] as number);
    expect(await (await reader.openForReading(NAME, newer))?.version()).toBe(newer);
  }
});

it('a table that is behind the version that PostgreSQL names is read again by each search, and its next rows are found', async () => {
  const reader = open();
  const ahead = (await commit(1)) + 5;
  const rows = async () => (await reader.openForReading(NAME, ahead))?.countRows();
  expect(await rows()).toBe(1);
  await commit(2);
  expect(await rows()).toBe(2);
  await commit(3);
  expect(await rows()).toBe(3);
});

it('a copy in memory does not take rows of an older version for those of the version that is asked for', async () => {
  const first = await commit(1);
  const before = path.join(directory.dataDir, 'before');
  cpSync(uri, before, { recursive: true });
  const second = await commit(2);
  const [current, old] = [open(), open(before)];
  const options = { maxBytes: 2 ** 26, scratchIn: directory.dataDir, threadsMax: 1 };
  const indexes = new TableCopies({ ...options, logger: openLogger('silent') });
  const others = new TableCopies({ ...options, logger: openLogger('silent') });
  opened.push(indexes, others);
  const find = async (from: LanceTables, version: number, into = indexes) =>
    (await into.find(NAME, version, () => from.openForReading(NAME, version)))?.size.rows ?? null;
  expect(await find(old, first)).toBe(1);
  expect(await find(old, second)).toBeNull();
  // So it is with the first reading of a copy.
  expect(await find(old, second, others)).toBeNull();
  const third = await commit(3);
  expect(await find(current, third, others)).toBe(3);
});
