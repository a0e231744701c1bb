import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { embedLexicalPassages } from '../../src/embedding/providers/local.ts';
import { INDEX_DIMENSIONS } from '../../src/projection/resize.ts';
import { BUILDS, compileRows } from '../../src/resident/vectors/kernel/build.ts';
import { openRowKernel, ROW_BUILDS } from '../../src/resident/vectors/kernel/row-kernel.ts';
import { SketchedBlocks } from '../../src/resident/vectors/sketched-blocks.ts';
import { randomFrom } from '../index/draw-rows.ts';

describe.each(ROW_BUILDS)('%s', (build) => {
  it('the committed module of the row kernel equals the compiled source', async () => {
    const committed = await readFile(new URL(`../../src/resident/vectors/kernel/${build}`, import.meta.url));
    expect(Buffer.from(await compileRows(build)).equals(committed)).toBe(true);
  });

  it('the module of the row kernel is accepted by this engine', () => {
    expect(() => openRowKernel([build])).not.toThrow();
  });
});

it('only one build of the row kernel needs relaxed SIMD', () => {
  expect(Object.keys(BUILDS)).toEqual([...ROW_BUILDS]);
  expect(BUILDS['rows-simd.wasm']).not.toContain('relaxed-simd');
});

it('the error of an engine that runs no build of the row kernel names the missing feature', () => {
  expect(() => openRowKernel([])).toThrow(/SIMD/);
});

const ROWS = 300;
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
const dot = (a: Float32Array, b: Float32Array) => a.reduce((sum, value, at) => sum + value * (b[at] as number), 0);

/** Write vectors into a new block. @returns the block, and the rest of each row */
function write(blocks: SketchedBlocks, vectors: readonly Float32Array[], centre: Float32Array | null = null) {
  const block = blocks.allocate();
  const rests = vectors.map((vector, row) => blocks.write(block, row, vector, centre).slice());
  return { block, rests };
}

/** Estimate all rows of a block. */
function estimateAll(blocks: SketchedBlocks, block: number) {
  const count = blocks.countSigns({ blocks: [block], rows: ROWS }, null).list(0, 0);
  return [...blocks.estimate(block, count)];
}

it.each([
  ['dense', drawn],
  ['sparse', () => sparse(2)],
  ['of one axis', () => sparse(1)],
  ['lexical', passage],
])('cosines of %s vectors are exact to 1e-5, and estimates are within their margins', (_, draw) => {
  const blocks = new SketchedBlocks();
  const vectors = Array.from({ length: ROWS }, draw);
  const { block, rests } = write(blocks, vectors);
  for (const query of [draw(), vectors[0] as Float32Array]) {
    blocks.setQuery(query, null);
    const estimates = estimateAll(blocks, block);
    expect(estimates.map(({ row }) => row)).toEqual([...vectors.keys()]);
    for (const { row, bound, margin } of estimates) {
      const exact = dot(query, vectors[row] as Float32Array);
      expect(Math.abs(blocks.refine(block, row, rests[row] as Uint8Array) - exact)).toBeLessThan(1e-5);
      expect(Math.abs(bound - margin - exact)).toBeLessThanOrEqual(margin + 1e-5);
    }
  }
});

it('cosines are exact to 1e-5, and estimates within smaller margins, if the centre of the rows is subtracted', () => {
  const blocks = new SketchedBlocks();
  const mean = drawn().map((component) => component * 3);
  const near = () => unit(drawn().map((component, at) => component + (mean[at] as number)));
  const vectors = Array.from({ length: ROWS }, near);
  const centre = blocks.rotated(unit(mean).map((component) => component * 0.95));
  const { block, rests } = write(blocks, vectors, centre);
  for (const query of [near(), vectors[0] as Float32Array, drawn()]) {
    blocks.setQuery(query, centre);
    const shared = blocks.productWith(centre);
    const left = Math.sqrt(1 - 2 * shared + dot(centre, centre));
    for (const { row, bound, margin } of estimateAll(blocks, block)) {
      const exact = dot(query, vectors[row] as Float32Array) - shared;
      expect(Math.abs(blocks.refine(block, row, rests[row] as Uint8Array) - exact)).toBeLessThan(1e-5);
      expect(Math.abs(bound - margin - exact)).toBeLessThanOrEqual(margin + 1e-5);
      if (left < 0.5) expect(margin).toBeLessThan(0.01);
    }
  }
});

it('both builds of the row kernel give equal bits', () => {
  const vectors = Array.from({ length: ROWS }, drawn);
  const query = drawn();
  const [first, second] = ROW_BUILDS.map((build) => {
    const blocks = new SketchedBlocks([build]);
    const { block, rests } = write(blocks, vectors);
    blocks.setQuery(query, null);
    const estimates = estimateAll(blocks, block);
    return { rests, estimates, refined: rests.map((rest, row) => blocks.refine(block, row, rest)) };
  });
  expect(first).toEqual(second);
});

it('a zero vector has the cosine zero, and a released block is used again', () => {
  const blocks = new SketchedBlocks();
  const { block, rests } = write(blocks, [new Float32Array(INDEX_DIMENSIONS)]);
  blocks.setQuery(drawn(), null);
  expect(blocks.refine(block, 0, rests[0] as Uint8Array)).toBe(0);
  blocks.release([block]);
  expect(blocks.allocate()).toBe(block);
});
