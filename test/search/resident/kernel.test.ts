import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { embedLexicalPassages } from '../../../src/embedding/providers/local.ts';
import { INDEX_DIMENSIONS } from '../../../src/projection/resize.ts';
import { BUILDS, compileScan } from '../../../src/search/resident/kernel/build.ts';
import { openScanKernel, SCAN_BUILDS } from '../../../src/search/resident/kernel/scan-kernel.ts';
import { VectorBlocks } from '../../../src/search/resident/vector-blocks.ts';
import { BLOCK_ROWS, SIGNS_COUNTED } from '../../../src/search/resident/vector-layout.ts';
import { randomFrom } from './draw-rows.ts';

describe.each(SCAN_BUILDS)('%s', (build) => {
  it('the committed scan module equals the compiled source', async () => {
    const committed = await readFile(new URL(`../../../src/search/resident/kernel/${build}`, import.meta.url));
    expect(Buffer.from(await compileScan(build)).equals(committed)).toBe(true);
  });

  it('the scan module is accepted by this engine', () => {
    expect(() => openScanKernel([build])).not.toThrow();
  });
});

it('only one build of the scan needs relaxed SIMD', () => {
  expect(Object.keys(BUILDS)).toEqual([...SCAN_BUILDS]);
  expect(BUILDS['scan-simd.wasm']).not.toContain('relaxed-simd');
});

it('the error of an engine that runs no build of the scan names the missing feature', () => {
  expect(() => openScanKernel([])).toThrow(/SIMD/);
});

const SLOT = 3;
const ROWS = Array.from({ length: BLOCK_ROWS }, (_, row) => row);
const random = randomFrom(23);

function unit(values: Float32Array): Float32Array {
  const norm = Math.hypot(...values);
  return values.map((value) => value / norm);
}

const drawn = () => unit(Float32Array.from({ length: INDEX_DIMENSIONS }, () => random() + random() + random() - 1.5));
const sparse = (ones: number) => {
  const vector = new Float32Array(INDEX_DIMENSIONS);
  for (let nth = 0; nth < ones; nth++) vector[Math.floor(random() * INDEX_DIMENSIONS)] = random() < 0.5 ? 1 : -1;
  return unit(vector);
};
const passage = () => {
  const words = Array.from({ length: 40 }, () => `word${Math.floor(random() ** 3 * 400)}`);
  return embedLexicalPassages([words.join(' ')]);
};
/** Scan one block for a slot. */
const scan = (blocks: VectorBlocks, block: number, rows: number, slot = SLOT) => {
  blocks.startScan([block], rows, { first: slot, end: slot + 1 });
  blocks.finishScan();
  return blocks.bounds(block, rows, slot);
};
/** Estimate some rows of a block. Bounds of a scan are lost. */
const estimate = (blocks: VectorBlocks, block: number, rows: readonly number[]) => {
  const bounds = blocks.bounds(block, BLOCK_ROWS, SLOT).fill(Number.NaN);
  for (const row of rows) bounds[row] = 1;
  blocks.select([block], BLOCK_ROWS, SLOT, { least: 0, below: 2 });
  blocks.estimateListed([block], rows.length, SLOT);
  return {
    bounds: rows.map((_, nth) => blocks.listedBound(nth)),
    margins: rows.map((_, nth) => blocks.listedMargin(nth)),
  };
};
const dot = (a: Float32Array, b: Float32Array) => a.reduce((sum, value, at) => sum + value * (b[at] as number), 0);

it.each([
  ['dense', drawn],
  ['sparse', () => sparse(2)],
  ['of one axis', () => sparse(1)],
  ['lexical', passage],
])('cosines of %s vectors are exact to 1e-5, and estimates are within their margins', (_, draw) => {
  const blocks = new VectorBlocks();
  const block = blocks.allocate();
  const vectors = Array.from({ length: BLOCK_ROWS }, draw);
  for (const [row, vector] of vectors.entries()) blocks.write(block, row, vector);
  for (const query of [draw(), vectors[0] as Float32Array, sparse(3)]) {
    blocks.setQuery(SLOT, query);
    const coarse = [...scan(blocks, block, BLOCK_ROWS)];
    const { bounds: uppers, margins } = estimate(blocks, block, ROWS);
    const bounds = Array.from(uppers, (upper, row) => {
      const margin = margins[row] as number;
      return [upper - margin, margin + 1e-5];
    });
    for (const [row, vector] of vectors.entries()) {
      const exact = dot(query, vector);
      const [estimate = 0, margin = 0] = bounds[row] ?? [];
      expect(Math.abs((blocks.refine([block], [row], SLOT)[0] as number) - exact)).toBeLessThan(1e-5);
      expect(Math.abs(estimate - exact)).toBeLessThanOrEqual(margin);
      expect(margin).toBeLessThan(0.05);
      expect(coarse[row]).toBeGreaterThan(exact - 1e-5);
      expect(coarse[row]).toBeLessThan(exact + 0.16);
    }
  }
});

it('vectors that are stored without a centre have exact cosines, and estimates within margins as small as what is left', () => {
  const blocks = new VectorBlocks();
  const block = blocks.allocate();
  const mean = drawn().map((component) => component * 3);
  const near = () => unit(drawn().map((component, at) => component + (mean[at] as number)));
  const vectors = Array.from({ length: BLOCK_ROWS }, near);
  const centre = blocks.rotated(unit(mean).map((component) => component * 0.95));
  for (const [row, vector] of vectors.entries()) blocks.write(block, row, vector, centre);
  for (const query of [near(), vectors[0] as Float32Array, drawn()]) {
    blocks.setQuery(SLOT, query);
    blocks.prepareFor(centre, { first: SLOT, end: SLOT + 1 });
    const shared = blocks.productOf(SLOT, centre);
    const coarse = [...scan(blocks, block, BLOCK_ROWS)];
    const { bounds, margins } = estimate(blocks, block, ROWS);
    const left = Math.sqrt(1 - 2 * shared + dot(centre, centre));
    for (const [row, vector] of vectors.entries()) {
      const exact = dot(query, vector) - shared;
      const margin = margins[row] as number;
      expect(Math.abs((blocks.refine([block], [row], SLOT)[0] as number) - exact)).toBeLessThan(1e-5);
      expect(Math.abs((bounds[row] as number) - margin - exact)).toBeLessThanOrEqual(margin + 1e-5);
      expect(coarse[row]).toBeGreaterThan(exact - 1e-5);
      if (left < 0.5) expect(margin).toBeLessThan(0.01);
    }
  }
});

it('both builds of the scan give equal bits', () => {
  const [first, second] = SCAN_BUILDS.map((build) => new VectorBlocks({ builds: [build] })) as [
    VectorBlocks,
    VectorBlocks,
  ];
  const [a, b] = [first.allocate(), second.allocate()];
  for (let row = 0; row < BLOCK_ROWS; row++) {
    const vector = drawn();
    first.write(a, row, vector);
    second.write(b, row, vector);
  }
  const query = drawn();
  for (const blocks of [first, second]) blocks.setQuery(SLOT, query);
  expect(scan(first, a, BLOCK_ROWS)).toEqual(scan(second, b, BLOCK_ROWS));
  expect(estimate(first, a, ROWS)).toEqual(estimate(second, b, ROWS));
  for (let row = 0; row < BLOCK_ROWS; row++)
    expect(first.refine([a], [row], SLOT)[0]).toBe(second.refine([b], [row], SLOT)[0]);
});

it('estimates of some rows of a block equal those of all', () => {
  const blocks = new VectorBlocks();
  const block = blocks.allocate();
  for (let row = 0; row < BLOCK_ROWS; row++) blocks.write(block, row, drawn());
  blocks.setQuery(SLOT, drawn());
  const all = estimate(blocks, block, ROWS).bounds;
  for (const rows of [[], [7], [0, 1, 2, 3, 255], ROWS.filter((row) => row % 3 === 0)]) {
    expect(estimate(blocks, block, rows).bounds).toEqual(rows.map((row) => all[row]));
  }
});

it('estimates of rows of several blocks equal those of each block', () => {
  const blocks = new VectorBlocks();
  const several = Array.from({ length: 3 }, () => blocks.allocate());
  for (const block of several) for (let row = 0; row < BLOCK_ROWS; row++) blocks.write(block, row, drawn());
  blocks.setQuery(SLOT, drawn());
  const bounds = several.flatMap((block) => estimate(blocks, block, ROWS).bounds);
  const sketch = blocks.sketches.allocate();
  for (const [nth, block] of several.entries()) {
    for (const row of ROWS) blocks.sketches.write(sketch, nth * BLOCK_ROWS + row, blocks.highOf(block, row));
  }
  const table = { sketches: [sketch], rows: several.length * BLOCK_ROWS };
  blocks.sketches.start({ ...table, centre: null }, { first: SLOT, end: SLOT + 1 });
  blocks.finishScan();
  const counts = blocks.sketches.counts(table, SLOT, false);
  const count = counts.list(0, table.rows, { least: counts.reachedBy(100), below: SIGNS_COUNTED + 1 });
  expect(count).toBeGreaterThanOrEqual(100);
  blocks.estimateListed(several, count, SLOT);
  for (let nth = 0; nth < count; nth++) expect(blocks.listedBound(nth)).toBe(bounds[blocks.listed(nth)]);
});

it('rows of several blocks are selected and refined as those of each block are', () => {
  const blocks = new VectorBlocks();
  const several = Array.from({ length: 3 }, () => blocks.allocate());
  for (const block of several) for (let row = 0; row < BLOCK_ROWS; row++) blocks.write(block, row, drawn());
  blocks.setQuery(SLOT, drawn());
  const rows = 2 * BLOCK_ROWS + 100;
  blocks.startScan(several, rows, { first: SLOT, end: SLOT + 1 });
  blocks.finishScan();
  const bounds = several.flatMap((block) => [...blocks.bounds(block, BLOCK_ROWS, SLOT)]).slice(0, rows);
  const least = bounds.toSorted((a, b) => b - a)[40] as number;
  const wanted = [...bounds.keys()].filter((row) => (bounds[row] as number) >= least);
  const count = blocks.select(several, rows, SLOT, { least, below: Number.POSITIVE_INFINITY });
  const listed = Array.from({ length: count }, (_, nth) => blocks.listed(nth));
  expect(listed).toEqual(wanted);
  expect(listed.map((_, nth) => blocks.listedBound(nth))).toEqual(wanted.map((row) => bounds[row]));
  const each = wanted.map((row) => {
    const block = several[Math.floor(row / BLOCK_ROWS)] as number;
    return blocks.refine([block], [row % BLOCK_ROWS], SLOT)[0];
  });
  expect([...blocks.refine(several, wanted, SLOT)]).toEqual(each);
});

it('rows are selected by their bounds, also in a block that is not full', () => {
  const blocks = new VectorBlocks();
  const block = blocks.allocate();
  for (let row = 0; row < BLOCK_ROWS; row++) blocks.write(block, row, drawn());
  for (const slot of [0, SLOT]) {
    blocks.setQuery(slot, drawn());
    for (const rows of [1, 5, 31, 62, BLOCK_ROWS]) {
      const bounds = scan(blocks, block, rows, slot);
      bounds[rows >> 1] = Number.NaN;
      const sorted = [...bounds].filter((bound) => !Number.isNaN(bound)).sort((a, b) => a - b);
      const [least = 0, below = 0] = [sorted[0], sorted.at(-1)];
      for (const range of [
        { least: Number.NEGATIVE_INFINITY, below: Number.POSITIVE_INFINITY },
        { least, below },
        { least: (least + below) / 2, below: Number.POSITIVE_INFINITY },
      ]) {
        const { least, below } = range;
        const wanted = [...bounds.keys()].filter(
          (row) => (bounds[row] as number) >= Math.fround(least) && (bounds[row] as number) < Math.fround(below),
        );
        const count = blocks.select([block], rows, slot, range);
        expect(Array.from({ length: count }, (_, nth) => blocks.listed(nth))).toEqual(wanted);
        for (const [nth, row] of wanted.entries()) expect(blocks.listedBound(nth)).toBe(bounds[row]);
        expect([...blocks.bounds(block, rows, slot)]).toEqual([...bounds]);
      }
    }
  }
});

it('a zero vector has the cosine zero, and a released block is used again', () => {
  const blocks = new VectorBlocks();
  const block = blocks.allocate();
  blocks.write(block, 0, new Float32Array(INDEX_DIMENSIONS));
  blocks.setQuery(SLOT, drawn());
  expect(blocks.refine([block], [0], SLOT)[0]).toBe(0);
  expect(scan(blocks, block, 1)[0]).toBe(0);
  const { bounds, margins } = estimate(blocks, block, [0]);
  expect(bounds).toEqual(margins);
  blocks.release([block]);
  expect(blocks.allocate()).toBe(block);
});
