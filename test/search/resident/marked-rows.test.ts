import { afterAll, beforeAll, expect, it } from 'vitest';
import { INDEX_DIMENSIONS } from '../../../src/projection/resize.ts';
import { BestRows } from '../../../src/search/resident/best-rows.ts';
import { LargestNumbers } from '../../../src/search/resident/largest-numbers.ts';
import { SketchedRows } from '../../../src/search/resident/sketched-rows.ts';
import { VectorBlocks } from '../../../src/search/resident/vector-blocks.ts';
import { SKETCHED_ROWS } from '../../../src/search/resident/vector-layout.ts';
import { makeDataDir } from '../../support/appliance.ts';
import { randomFrom } from './draw-rows.ts';

/** Sketches from which on rows are marked while signs are counted, and some rows of one more. */
const SKETCHES = 64;
const ROWS = SKETCHES * SKETCHED_ROWS + 100;
const BATCH_ROWS = 1_024;
const WANTED = 10;
const QUERIES = 8;
/** Rows near the first query that lie together in a sketch of the sample, and near the second in another sketch. */
const CLUSTERS = [
  { query: 0, first: 16 * SKETCHED_ROWS + 5, rows: 900 },
  { query: 1, first: 21 * SKETCHED_ROWS, rows: 1_500 },
];

const { dataDir, remove } = makeDataDir();
const random = randomFrom(90);
const drawn = () => unit(Float32Array.from({ length: INDEX_DIMENSIONS }, () => random() + random() - 1));
const queries = Array.from({ length: QUERIES }, drawn);
const others = Array.from({ length: 300 }, drawn);
const rows = new SketchedRows(new VectorBlocks(), dataDir);
/** Cosine of each row to each query. */
const cosines = queries.map(() => new Float64Array(ROWS));

function unit(vector: Float32Array): Float32Array {
  const length = Math.hypot(...vector);
  return vector.map((value) => value / length);
}

/** Mix a query and two other directions: the parts of the query are small, but in clusters. */
function drawRow(row: number, target: Float32Array): void {
  const cluster = CLUSTERS.find(({ first, rows: size }) => row >= first && row < first + size);
  const query = queries[cluster?.query ?? row % QUERIES] as Float32Array;
  const part = cluster ? 0.7 + 0.3 * random() : 0.6 * random() ** 3;
  const [a, b] = [others[row % 300], others[(row * 7 + Math.floor(row / 300)) % 300]] as [Float32Array, Float32Array];
  let squares = 0;
  for (let at = 0; at < INDEX_DIMENSIONS; at++) {
    const value = part * (query[at] as number) + (a[at] as number) + 0.5 * (b[at] as number);
    target[at] = value;
    squares += value * value;
  }
  const length = Math.sqrt(squares);
  for (let at = 0; at < INDEX_DIMENSIONS; at++) target[at] = (target[at] as number) / length;
}

beforeAll(() => {
  for (let first = 0; first < ROWS; first += BATCH_ROWS) {
    const count = Math.min(BATCH_ROWS, ROWS - first);
    const batch = new Float32Array(count * INDEX_DIMENSIONS);
    for (let nth = 0; nth < count; nth++) {
      const own = batch.subarray(nth * INDEX_DIMENSIONS, (nth + 1) * INDEX_DIMENSIONS);
      drawRow(first + nth, own);
      for (const [number, query] of queries.entries()) {
        let sum = 0;
        for (let at = 0; at < INDEX_DIMENSIONS; at++) sum += (query[at] as number) * (own[at] as number);
        (cosines[number] as Float64Array)[first + nth] = sum;
      }
    }
    rows.add(batch);
  }
}, 120_000);
afterAll(() => {
  rows.release();
  remove();
});

function search(first: number, count: number, allowed: Uint8Array | null) {
  const slots = { first, end: first + count };
  const asked = queries.slice(first, first + count).map((vector, nth) => {
    const slot = first + nth;
    rows.setQuery(slot, vector);
    return { slot, lowerBounds: new LargestNumbers(WANTED), best: new BestRows(WANTED, String) };
  });
  rows.start(slots, { limit: WANTED, isFiltered: allowed !== null });
  rows.finishScan();
  for (const [nth, candidates] of rows.estimate(asked, allowed).entries()) {
    const query = asked[nth] as (typeof asked)[number];
    rows.offer(query, candidates, { best: query.best, first: 0 });
  }
  return asked.map(({ best }) => best.toSorted());
}

it('rows that are marked while signs are counted lead to the nearest ones, wherever those lie', () => {
  const found = [...search(0, 4, null), ...search(4, 4, null)];
  const all = [...search(0, 4, new Uint8Array(ROWS).fill(1)), ...search(4, 4, new Uint8Array(ROWS).fill(1))];
  let right = 0;
  for (const [number, own] of found.entries()) {
    const exact = cosines[number] as Float64Array;
    const sorted = exact.toSorted();
    for (const { row, score } of own) expect(Math.abs(score - (exact[row] as number))).toBeLessThan(1e-5);
    expect(own).toHaveLength(WANTED);
    right += own.filter(({ score }) => score >= (sorted.at(-WANTED) as number) - 1e-5).length;
    // Each query is searched beside others, and by itself finds the same.
    expect(search(number, 1, null)).toEqual([own]);
    expect(own.slice(0, 3)).toEqual((all[number] as typeof own).slice(0, 3));
  }
  expect(right / (QUERIES * WANTED)).toBeGreaterThanOrEqual(0.98);
});
