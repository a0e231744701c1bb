import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { embedLexical, embedLexicalPassages } from '../../src/embedding/providers/local.ts';
import { INDEX_DIMENSIONS } from '../../src/projection/resize.ts';
import { BestRows } from '../../src/resident/best-rows.ts';
import { ExactVectors } from '../../src/resident/vectors/exact-vectors.ts';
import { SketchedBlocks } from '../../src/resident/vectors/sketched-blocks.ts';
import { SketchedVectors } from '../../src/resident/vectors/sketched-vectors.ts';
import type { TableVectors } from '../../src/resident/vectors/table-vectors.ts';
import { drawText, randomFrom } from '../index/draw-rows.ts';
import { makeDataDir } from '../support/appliance.ts';

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
  rows: TableVectors,
  { vector, allowed }: { readonly vector: Float32Array; readonly allowed: Uint8Array | null },
) {
  const best = new BestRows(WANTED, String);
  rows.search(vector, allowed, { best, first: 0 });
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
  const kinds = { sketched: new SketchedVectors(new SketchedBlocks(), dataDir), exact: new ExactVectors() };
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
    ['sketched', 0.98],
    ['exact', 1],
  ] as const)('%s vectors lead to the nearest rows', (kind, least) => {
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
  const blocks = new SketchedBlocks();
  const rows = new SketchedVectors(blocks, dataDir);
  const vector = queries[0] as Float32Array;
  expect(search(rows, { vector, allowed: null })).toEqual([]);
  rows.release();
  for (const few of [new SketchedVectors(blocks, dataDir), new ExactVectors()]) {
    few.add((batches[0] as Float32Array).slice(0, 30 * INDEX_DIMENSIONS));
    const best = new BestRows(WANTED, String);
    few.offerRows(vector, [3, 5], { best, first: 0 });
    expect(best.toSorted()).toHaveLength(2);
    few.add((batches[1] as Float32Array).slice(0, 30 * INDEX_DIMENSIONS));
    expect(search(few, { vector, allowed: null })).toHaveLength(WANTED);
    few.release();
  }
  const again = new SketchedVectors(blocks, dataDir);
  again.add(new Float32Array(INDEX_DIMENSIONS));
  expect(search(again, { vector, allowed: null })).toHaveLength(1);
  expect(again.memoryBytes).toBeLessThan(1_500_000);
  again.release();
});

it('two large tables of one thread do not disturb each other', () => {
  const blocks = new SketchedBlocks();
  const [one, other] = [new SketchedVectors(blocks, dataDir), new SketchedVectors(blocks, dataDir)];
  for (const [nth, batch] of batches.entries()) (nth % 2 === 0 ? one : other).add(shift(batch, nth % 2));
  const vector = queries[1] as Float32Array;
  const before = [one, other].map((rows) => search(rows, { vector, allowed: null }));
  expect([one, other].map((rows) => search(rows, { vector, allowed: null }))).toEqual(before);
  one.release();
  expect(search(other, { vector, allowed: null })).toEqual(before[1]);
  other.release();
});
