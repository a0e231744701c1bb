import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { embedLexical, embedLexicalPassages } from '../../../src/embedding/providers/local.ts';
import { INDEX_DIMENSIONS } from '../../../src/projection/resize.ts';
import { BestRows } from '../../../src/search/resident/best-rows.ts';
import { LargestNumbers } from '../../../src/search/resident/largest-numbers.ts';
import { SketchedRows } from '../../../src/search/resident/sketched-rows.ts';
import { VectorBlocks } from '../../../src/search/resident/vector-blocks.ts';
import { VectorRows } from '../../../src/search/resident/vector-rows.ts';
import { makeDataDir } from '../../support/appliance.ts';
import { drawText, randomFrom } from './draw-rows.ts';

const ROWS = 24_000;
const WANTED = 10;
const { dataDir, remove } = makeDataDir();
afterAll(remove);
const random = randomFrom(77);
const queries = Array.from({ length: 10 }, () => embedLexical([drawText(random, 1 + Math.floor(random() * 8))]));
const texts = Array.from({ length: ROWS / 1_000 }, () => Array.from({ length: 1_000 }, () => drawText(random, 30)));
const batches = texts.map((own) => embedLexicalPassages(own));
/** Direction that all vectors of a model may share. */
const shared = Float32Array.from({ length: INDEX_DIMENSIONS }, () => random() + random() + random() - 1.5);
const sharedLength = Math.hypot(...shared);

/** Add a multiple of the shared direction to vectors of length 1. @returns vectors of length 1 */
function shift(vectors: Float32Array, times: number): Float32Array {
  const shifted = vectors.map(
    (value, at) => value + (times * (shared[at % INDEX_DIMENSIONS] as number)) / sharedLength,
  );
  for (let from = 0; from < shifted.length; from += INDEX_DIMENSIONS) {
    const own = shifted.subarray(from, from + INDEX_DIMENSIONS);
    const length = Math.hypot(...own);
    for (const [at, value] of own.entries()) own[at] = value / length;
  }
  return shifted;
}

/** Find the nearest rows. */
function search(
  rows: SketchedRows | VectorRows,
  query: { readonly vector: Float32Array; readonly allowed: Uint8Array | null },
) {
  const best = new BestRows(WANTED, String);
  const slotQuery = { slot: 0, lowerBounds: new LargestNumbers(WANTED) };
  rows.setQuery(0, query.vector);
  rows.start({ first: 0, end: 1 }, WANTED);
  rows.finishScan();
  const [candidates] = rows.estimate([slotQuery], query.allowed);
  if (candidates) rows.offer(slotQuery, candidates, { best, first: 0 });
  return best.toSorted();
}

const filters = {
  'without a filter': () => null,
  'with a wide filter': () => Uint8Array.from({ length: ROWS }, () => Number(random() < 0.9)),
  'with a narrow filter': () => Uint8Array.from({ length: ROWS }, () => Number(random() < 0.1)),
};

/** Compute the dot product of a query with each of some vectors: Float64Array [n]. */
function productsOf(query: Float32Array, vectors: readonly Float32Array[]): Float64Array {
  return Float64Array.from({ length: ROWS }, (_, row) => {
    const from = (row % 1_000) * INDEX_DIMENSIONS;
    const batch = vectors[Math.floor(row / 1_000)] as Float32Array;
    let sum = 0;
    for (let at = 0; at < INDEX_DIMENSIONS; at++) sum += (query[at] as number) * (batch[from + at] as number);
    return sum;
  });
}

describe.each([
  ['are those of the built-in model', 0],
  ['share more', 1],
  ['share most of their length', 2],
])('vectors that %s', (_, times) => {
  const blocks = new VectorBlocks();
  const kinds = { sketches: new SketchedRows(blocks, dataDir), estimates: new VectorRows(blocks) };
  const shifted = queries.map((query) => shift(query, times));
  let exact: Float64Array[] = [];
  beforeAll(() => {
    const vectors = batches.map((batch) => shift(batch, times));
    for (const batch of vectors) for (const rows of Object.values(kinds)) rows.add(batch);
    exact = shifted.map((query) => productsOf(query, vectors));
  });
  afterAll(() => {
    for (const rows of Object.values(kinds)) rows.release();
  });

  it.each([
    ['sketches', 0.98],
    ['estimates', 1],
  ] as const)('%s lead to the nearest rows', (kind, least) => {
    for (const [name, draw] of Object.entries(filters)) {
      const allowed = draw();
      let found = 0;
      for (const [nth, vector] of shifted.entries()) {
        const products = exact[nth] as Float64Array;
        const ours = search(kinds[kind], { vector, allowed });
        for (const { row, score } of ours) {
          expect(allowed?.[row] ?? 1).toBe(1);
          expect(Math.abs(score - (products[row] as number))).toBeLessThan(1e-5);
        }
        const sorted = products.filter((_, row) => allowed === null || allowed[row] === 1).sort();
        const tenth = sorted.at(-WANTED) as number;
        found += ours.filter(({ score }) => score >= tenth - 1e-5).length / WANTED;
      }
      expect(found / queries.length, name).toBeGreaterThanOrEqual(least);
    }
  });
});

it('a table of a few rows, and one of none, are searched before there are rows for a centre', () => {
  const blocks = new VectorBlocks();
  const rows = new SketchedRows(blocks, dataDir);
  const vector = queries[0] as Float32Array;
  expect(search(rows, { vector, allowed: null })).toEqual([]);
  rows.release();
  for (const few of [new SketchedRows(blocks, dataDir), new VectorRows(blocks)]) {
    few.add((batches[0] as Float32Array).slice(0, 30 * INDEX_DIMENSIONS));
    const best = new BestRows(WANTED, String);
    few.offerRows(0, [3, 5], { best, first: 0 });
    expect(best.toSorted()).toHaveLength(2);
    few.add((batches[1] as Float32Array).slice(0, 30 * INDEX_DIMENSIONS));
    expect(search(few, { vector, allowed: null })).toHaveLength(WANTED);
    few.release();
  }
  const again = new SketchedRows(blocks, dataDir);
  again.add(new Float32Array(INDEX_DIMENSIONS));
  expect(search(again, { vector, allowed: null })).toHaveLength(1);
  expect(again.memoryBytes).toBeLessThan(1_500_000);
  again.release();
});

it('the nearest rows are found where counts of signs tell next to nothing, and where a table has just become large', () => {
  const blocks = new VectorBlocks();
  const rows = new VectorRows(blocks);
  const drawn = () => {
    const vector = Float32Array.from({ length: INDEX_DIMENSIONS }, () => random() - 0.5);
    const length = Math.hypot(...vector);
    return vector.map((value) => value / length);
  };
  const some = Array.from({ length: 200 }, drawn);
  const vectors: Float32Array[] = [];
  const query = drawn();
  for (const count of [16_000, 1_000, 3_000]) {
    const batch = new Float32Array(count * INDEX_DIMENSIONS);
    for (let row = 0; row < count; row++) {
      // Each differs from all others, and no row is near the query.
      const [a, b] = [some[row % 200], some[(row * 7 + Math.floor(row / 200) + 1) % 200]] as [
        Float32Array,
        Float32Array,
      ];
      const part = 0.2 + (0.6 * row) / count;
      const own = a.map((value, at) => value * part + (b[at] as number) * (1 - part));
      const length = Math.hypot(...own);
      batch.set(
        own.map((value) => value / length),
        row * INDEX_DIMENSIONS,
      );
    }
    rows.add(batch);
    for (let from = 0; from < batch.length; from += INDEX_DIMENSIONS)
      vectors.push(batch.subarray(from, from + INDEX_DIMENSIONS));
    const products = vectors.map((own) => own.reduce((sum, value, at) => sum + value * (query[at] as number), 0));
    for (const allowed of [null, Uint8Array.from(vectors, () => Number(random() < 0.5))]) {
      const sorted = products.filter((_, row) => allowed === null || allowed[row] === 1).sort((a, b) => b - a);
      const found = search(rows, { vector: query, allowed });
      for (const [nth, { score }] of found.entries())
        expect(Math.abs(score - (sorted[nth] as number))).toBeLessThan(1e-5);
      expect(found).toHaveLength(WANTED);
    }
  }
  rows.release();
});

it('the nearest rows are found where all are opposite to the query', () => {
  const rows = new VectorRows(new VectorBlocks());
  const query = shared.map((value) => value / sharedLength);
  const batch = new Float32Array(16_500 * INDEX_DIMENSIONS);
  for (let row = 0; row < 16_500; row++) {
    // The mean of the first rows is short, so that it is no centre.
    const own = batch.subarray(row * INDEX_DIMENSIONS, (row + 1) * INDEX_DIMENSIONS);
    const axis = row % INDEX_DIMENSIONS;
    const part = row < 1_024 ? 0.3 : 0.85 - (0.13 * row) / 16_500;
    for (let at = 0; at < INDEX_DIMENSIONS; at++) own[at] = -part * (query[at] as number);
    own[axis] = (own[axis] as number) + Math.sqrt(1 - part * part);
    const length = Math.hypot(...own);
    for (let at = 0; at < INDEX_DIMENSIONS; at++) own[at] = (own[at] as number) / length;
  }
  rows.add(batch.slice(0, 1_024 * INDEX_DIMENSIONS));
  rows.add(batch.slice(1_024 * INDEX_DIMENSIONS));
  const products = Array.from({ length: 16_500 }, (_, row) => {
    const own = batch.subarray(row * INDEX_DIMENSIONS, (row + 1) * INDEX_DIMENSIONS);
    return own.reduce((sum, value, at) => sum + value * (query[at] as number), 0);
  });
  const allowed = Uint8Array.from(products, (_, row) => Number(row >= 10_000));
  const sorted = products.slice(10_000).sort((a, b) => b - a);
  const found = search(rows, { vector: query, allowed });
  expect(found).toHaveLength(WANTED);
  for (const [nth, { score }] of found.entries()) expect(Math.abs(score - (sorted[nth] as number))).toBeLessThan(1e-5);
  rows.release();
});

/** Texts of words that are all as frequent, so that the mean of their vectors is short and is no centre. */
function drawEvenly(count: number): Float32Array {
  const word = () => `term${Math.floor(random() * 5_000)}x`;
  return embedLexicalPassages(Array.from({ length: count }, () => Array.from({ length: 30 }, word).join(' ')));
}

it('a table without a centre is searched by counts, also right after one whose centre is the best row', () => {
  const blocks = new VectorBlocks();
  const [centred, counted] = [new VectorRows(blocks), new VectorRows(blocks)];
  const evenly = Array.from({ length: 24 }, () => drawEvenly(1_000));
  for (const batch of evenly) counted.add(batch);
  const asked = Array.from({ length: 10 }, (_, nth) => {
    const [a, b] = [0, 1].map((at) =>
      evenly[nth * 2 + at]?.subarray(nth * INDEX_DIMENSIONS, (nth + 1) * INDEX_DIMENSIONS),
    );
    const sum = (a as Float32Array).map((value, at) => value + 0.5 * (b?.[at] as number));
    const length = Math.hypot(...sum);
    return sum.map((value) => value / length);
  });
  for (const [nth, vector] of asked.entries()) {
    const products = productsOf(vector, evenly);
    const exact = products.toSorted();
    if (nth === 0) {
      const from = (products.indexOf(exact.at(-1) as number) % 1_000) * INDEX_DIMENSIONS;
      const nearest = (evenly[0] as Float32Array).slice(from, from + INDEX_DIMENSIONS);
      centred.add(
        Float32Array.from({ length: 300 * INDEX_DIMENSIONS }, (_, at) => nearest[at % INDEX_DIMENSIONS] as number),
      );
    }
    const best = new BestRows(WANTED, String);
    blocks.setQuery(0, vector);
    for (const rows of [centred, counted]) {
      const slotQuery = { slot: 0, lowerBounds: new LargestNumbers(WANTED) };
      rows.start({ first: 0, end: 1 }, WANTED);
      rows.finishScan();
      const [candidates] = rows.estimate([slotQuery], null);
      if (candidates && rows === counted) rows.offer(slotQuery, candidates, { best, first: 0 });
    }
    const scores = best.toSorted().map(({ score }) => score);
    expect(scores).toHaveLength(WANTED);
    for (const [place, score] of scores.entries()) {
      expect(Math.abs(score - (exact.at(-1 - place) as number))).toBeLessThan(1e-5);
    }
  }
  for (const rows of [centred, counted]) rows.release();
});
