import path from 'node:path';
import type { Table } from '@lancedb/lancedb';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { toArrowTable } from '../../src/index/lance/chunk-table.ts';
import { LanceTables } from '../../src/index/lance/lance.ts';
import { searchVectors } from '../../src/index/lance/legs.ts';
import { mergeFiles } from '../../src/index/lance/merge-files.ts';
import { endInTime } from '../../src/index/lance/open-reader.ts';
import { indexVectors, settle } from '../../src/index/lance/settle.ts';
import { VECTOR_INDEX_NAME } from '../../src/index/lance/vector-index.ts';
import { INDEX_DIMENSIONS } from '../../src/projection/resize.ts';
import { makeDataDir } from '../support/appliance.ts';
import { randomFrom } from './draw-rows.ts';

const NAME = 'bkt_many';
const ROWS = 24_000;
const random = randomFrom(4);
const directions = Array.from({ length: 64 }, () => {
  const vector = Float32Array.from({ length: INDEX_DIMENSIONS }, () => random() - 0.5);
  const length = Math.hypot(...vector);
  return vector.map((value) => value / length);
});

let directory: { dataDir: string; remove: () => void };
let tables: LanceTables;
let table: Table;

/** Row `nth` lies in its own mixture of two directions. */
function vectorOf(nth: number): Float32Array {
  const [a, b] = [directions[nth % 64], directions[(nth * 5 + 1 + (nth >> 6)) % 64]] as [Float32Array, Float32Array];
  const part = 0.3 + (nth % 97) / 300;
  const mixed = a.map((value, at) => value + part * (b[at] as number));
  const length = Math.hypot(...mixed);
  return mixed.map((value) => value / length);
}

async function add(from: number, to: number, target = table): Promise<void> {
  const vectors = new Float32Array((to - from) * INDEX_DIMENSIONS);
  const chunks = Array.from({ length: to - from }, (_, at) => {
    const nth = from + at;
    vectors.set(vectorOf(nth), at * INDEX_DIMENSIONS);
    return {
      ...{ chunkId: `chunk_${nth}`, documentId: `doc_${nth % 100}`, generation: 1, collectionId: null },
      ...{ chunkIndex: nth, text: `heron ${nth}`, tokens: `heron word${nth}` },
      locator: { page: null, heading_path: [], start: 0, end: 5 },
      ...{ modality: 'text' as const, privacyLevel: 1, eventTimeMs: null },
    };
  });
  await target.add(toArrowTable([{ vectors, chunks }]) as never);
}

const indexOf = async () => (await table.listIndices()).find(({ name }) => name === VECTOR_INDEX_NAME);
const unindexed = async () => (await table.indexStats(VECTOR_INDEX_NAME))?.numUnindexedRows;
const nearest = async (nth: number) =>
  (await searchVectors(table, vectorOf(nth), { limit: 5, documentIds: null }))[0]?.chunkId;

beforeAll(async () => {
  directory = makeDataDir();
  tables = new LanceTables(path.join(directory.dataDir, 'index'));
  table = await tables.openForWriting(NAME);
  for (let from = 0; from < ROWS; from += 3_000) await add(from, from + 3_000);
  await settle(tables, table);
}, 120_000);
afterAll(async () => {
  await tables.close();
  directory.remove();
});

it('removing the old versions of a large table does not build its vector index anew', async () => {
  const before = await indexOf();
  expect(before?.indexUuid).toBeDefined();
  const versions = (await table.listVersions()).length;
  expect(versions).toBeGreaterThan(10);
  await mergeFiles(table, Date.now());
  expect((await indexOf())?.indexUuid).toBe(before?.indexUuid);
  expect((await table.listVersions()).length).toBeLessThan(5);
  expect(await table.countRows()).toBe(ROWS);
  for (const nth of [0, 17, ROWS - 1]) expect(await nearest(nth)).toBe(`chunk_${nth}`);
});

it('a reader finds the vector index at the version that was published, while later versions lack it', async () => {
  const published = await table.version();
  await add(ROWS, ROWS + 5);
  await mergeFiles(table, Date.now() - 600_000, ROWS);
  expect(await indexOf()).toBeUndefined();
  const readers = new LanceTables(path.join(directory.dataDir, 'index'));
  const reader = await readers.openForReading(NAME, published);
  expect((await reader?.listIndices())?.map(({ name }) => name)).toContain(VECTOR_INDEX_NAME);
  expect(await reader?.countRows()).toBe(ROWS);
  await indexVectors(tables, table);
  const later = await readers.openForReading(NAME, await table.version());
  expect(await later?.countRows()).toBe(ROWS + 5);
  await readers.close();
  expect(await unindexed()).toBe(0);
  expect(await nearest(ROWS + 3)).toBe(`chunk_${ROWS + 3}`);
}, 60_000);

it.each([
  ['before it is known whether files were merged', 'optimize', 1],
  ['right before the table goes back', 'restore', 2],
] as const)(
  'rows that a writer without its lock adds %s are kept',
  async (_, step, nth) => {
    const others = new LanceTables(path.join(directory.dataDir, 'index'));
    const from = (await table.countRows()) + 10;
    let calls = 0;
    const racing = new Proxy(table, {
      get(target, key) {
        const value = Reflect.get(target, key);
        if (typeof value !== 'function') return value;
        if (key !== step) return value.bind(target);
        return async (...args: unknown[]) => {
          if (++calls === nth) await add(from, from + 3, await others.openForWriting(NAME));
          return value.apply(target, args);
        };
      },
    });
    const before = await table.countRows();
    await mergeFiles(racing, Date.now() - 600_000);
    expect(calls).toBeGreaterThanOrEqual(nth);
    await others.close();
    await table.checkoutLatest();
    expect(await table.countRows()).toBe(before + 3);
    await settle(tables, table);
    expect(await unindexed()).toBe(0);
    expect(await nearest(from + 1)).toBe(`chunk_${from + 1}`);
  },
  60_000,
);

it('a vector index without the rows that were deleted is built where files were merged', async () => {
  const before = await indexOf();
  await table.delete('chunk_index < 2700');
  await settle(tables, table);
  const after = await indexOf();
  expect(after?.indexUuid).not.toBe(before?.indexUuid);
  expect(after).toMatchObject({ numIndexedRows: await table.countRows() });
}, 60_000);

it('a query that never ends is a retryable error', async () => {
  await expect(endInTime(new Promise(() => {}), 20)).rejects.toMatchObject({
    ...{ code: 'index_unavailable', status: 503, retryable: true },
    message: 'the search index has not answered for 0.02 s',
  });
  await expect(endInTime(Promise.resolve(7), 20)).resolves.toBe(7);
});
