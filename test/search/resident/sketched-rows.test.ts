import { afterAll, expect, it } from 'vitest';
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

function fill(blocks: VectorBlocks, times: number) {
  const [sketched, all] = [new SketchedRows(blocks, dataDir), new VectorRows(blocks)];
  for (const vectors of batches) {
    const shifted = shift(vectors, times);
    sketched.add(shifted);
    all.add(shifted);
  }
  return { sketched, all };
}

/** Find the nearest rows. */
function search(
  blocks: VectorBlocks,
  rows: SketchedRows | VectorRows,
  query: { readonly vector: Float32Array; readonly allowed: Uint8Array | null },
) {
  const best = new BestRows(WANTED, String);
  const slotQuery = {
    slot: 0,
    margin: blocks.setQuery(0, query.vector),
    lowerBounds: new LargestNumbers(WANTED),
  };
  rows.start(1);
  const [candidates] = rows.estimate([slotQuery], query.allowed);
  if (candidates) rows.offer(slotQuery, candidates, { best, first: 0 });
  return best.toSorted();
}

const filters = {
  'without a filter': () => null,
  'with a wide filter': () => Uint8Array.from({ length: ROWS }, () => Number(random() < 0.9)),
  'with a narrow filter': () => Uint8Array.from({ length: ROWS }, () => Number(random() < 0.1)),
};

it.each([
  ['that differ in all directions', 0],
  ['that share half of their length', 1],
  ['that share most of their length', 2],
])('sketches lead to the nearest of many rows %s', (_, times) => {
  const blocks = new VectorBlocks();
  const { sketched, all } = fill(blocks, times);
  for (const [name, draw] of Object.entries(filters)) {
    const allowed = draw();
    let equal = 0;
    for (const query of queries) {
      const vector = shift(query, times);
      const ours = search(blocks, sketched, { vector, allowed });
      const last = search(blocks, all, { vector, allowed }).at(-1)?.score as number;
      for (const { row } of ours) expect(allowed?.[row] ?? 1).toBe(1);
      equal += ours.filter(({ score }) => score >= last).length / WANTED;
    }
    expect(equal / queries.length, name).toBeGreaterThanOrEqual(0.98);
  }
  sketched.release();
  const again = new SketchedRows(blocks, dataDir);
  again.add(new Float32Array(INDEX_DIMENSIONS));
  expect(search(blocks, again, { vector: queries[0] as Float32Array, allowed: null })).toHaveLength(1);
  expect(again.memoryBytes).toBeLessThan(1_500_000);
  again.release();
});

it('a table of a few rows, and one of none, are searched before there are rows for a centre', () => {
  const blocks = new VectorBlocks();
  const rows = new SketchedRows(blocks, dataDir);
  const vector = queries[0] as Float32Array;
  expect(search(blocks, rows, { vector, allowed: null })).toEqual([]);
  rows.release();
  const few = new SketchedRows(blocks, dataDir);
  few.add((batches[0] as Float32Array).slice(0, 30 * INDEX_DIMENSIONS));
  const best = new BestRows(WANTED, String);
  few.offerRows(0, [3, 5], { best, first: 0 });
  expect(best.toSorted()).toHaveLength(2);
  few.add((batches[1] as Float32Array).slice(0, 30 * INDEX_DIMENSIONS));
  expect(search(blocks, few, { vector, allowed: null })).toHaveLength(WANTED);
  few.release();
});
