import { describe, expect, it } from 'vitest';
import { INDEX_DIMENSIONS } from '../../src/projection/resize.ts';
import { openRowKernel, PAGE_BYTES, ROW_BUILDS } from '../../src/resident/vectors/kernel/row-kernel.ts';
import { BLOCK_BYTES, BLOCK_ROWS, SIGNS_COUNTED } from '../../src/resident/vectors/layout.ts';
import { randomFrom } from '../index/draw-rows.ts';

const random = randomFrom(31);
const drawn = () => Float32Array.from({ length: INDEX_DIMENSIONS }, () => random() + random() + random() - 1.5);
/** Components of which most are equal. */
const coarse = () => drawn().map((value) => Math.round(value) / 2);

/** Addresses of the parts of the memory of a test. */
const QUERY = 0;
const ROW = 4_096;
const LIST = 8_192;
const SCRATCH = LIST + 4 * SIGNS_COUNTED;
const PLANES = SCRATCH + 128;
const BITS = PLANES + BLOCK_ROWS;
const FLAGS = BITS + BLOCK_ROWS / 8;
const FOUND = FLAGS + BLOCK_ROWS + 128;
const SIGNS = FOUND + 4 * BLOCK_ROWS;
const BLOCK = SIGNS + (BLOCK_ROWS * INDEX_DIMENSIONS) / 8;
const REST = BLOCK + BLOCK_BYTES;
const SCALES = REST + 2_048;
const END = SCALES + 64;

function openMemory(build: (typeof ROW_BUILDS)[number]) {
  const { kernel, memory } = openRowKernel([build]);
  memory.grow(Math.ceil(END / PAGE_BYTES));
  const floats = new Float32Array(memory.buffer);
  const bytes = new Uint8Array(memory.buffer);
  const numbers = new Uint32Array(memory.buffer);
  const offsets = () => [...numbers.subarray(LIST / 4, LIST / 4 + SIGNS_COUNTED)];
  return { kernel, floats, bytes, numbers, offsets };
}

describe.each(ROW_BUILDS)('%s', (build) => {
  it.each([
    ['drawn', drawn],
    ['equal', coarse],
    ['zero', () => new Float32Array(INDEX_DIMENSIONS)],
  ])('the largest and the smallest components of a query are listed: %s', (_, draw) => {
    const { kernel, floats, offsets } = openMemory(build);
    const query = draw();
    floats.set(query, QUERY / 4);
    kernel.listComponents(QUERY, LIST);
    const half = SIGNS_COUNTED / 2;
    const components = offsets().map((offset) => offset / (BLOCK_ROWS / 8));
    const valuesOf = (from: number) => components.slice(from, from + half).map((at) => query[at] as number);
    const sorted = query.toSorted();
    expect(valuesOf(0).toSorted((a, b) => a - b)).toEqual([...sorted.subarray(-half)]);
    expect(valuesOf(half).toSorted((a, b) => a - b)).toEqual([...sorted.subarray(0, half)]);
    for (const from of [0, half]) expect(new Set(components.slice(from, from + half)).size).toBe(half);
  });

  it('signs are counted, and rows found by their counts, as one row after the other', () => {
    const { kernel, floats, bytes, numbers, offsets } = openMemory(build);
    const query = drawn();
    floats.set(query, QUERY / 4);
    kernel.listComponents(QUERY, LIST);
    const components = offsets().map((offset) => offset / (BLOCK_ROWS / 8));
    const ROWS = 700;
    const counts: number[] = [];
    for (let row = 0; row < ROWS; row++) {
      // Rows like the query and like its opposite have the largest and the smallest counts; some are written twice.
      const likeness = ((row % 41) - 20) / 10;
      for (const vector of row % 5 === 0 ? [drawn(), drawn()] : [drawn()]) {
        const values = vector.map((value, at) => value + likeness * (query[at] as number));
        floats.set(values, ROW / 4);
        kernel.encode(ROW, BLOCK, REST, SCALES);
        kernel.encodeSketch(BLOCK, SIGNS, row);
        counts[row] = components.filter((at, nth) => (values[at] as number) >= 0 === nth < SIGNS_COUNTED / 2).length;
      }
    }
    kernel.countSigns(SIGNS, ROWS, LIST, SCRATCH, PLANES);
    const flags = Uint8Array.from({ length: ROWS }, () => (random() < 0.7 ? 1 : 0));
    bytes.set(flags, FLAGS);
    bytes.fill(1, FLAGS + ROWS, FLAGS + ROWS + 128);
    kernel.packFlags(FLAGS, ROWS, BITS);
    expect(Math.max(...counts)).toBeGreaterThan(SIGNS_COUNTED - 9);
    expect(Math.min(...counts)).toBeLessThan(10);
    for (let least = 0; least <= SIGNS_COUNTED + 1; least += least < 75 || least > 115 ? 5 : 1) {
      const wanted = [...counts.keys()].filter((row) => (counts[row] as number) >= least && flags[row] === 1);
      expect(kernel.countReaching(PLANES, ROWS, least, BITS)).toBe(wanted.length);
      for (const below of [SIGNS_COUNTED + 1, least + 20, least]) {
        const listed = wanted.filter((row) => (counts[row] as number) < below);
        expect(kernel.listReaching(PLANES, ROWS, least, below, BITS, FOUND)).toBe(listed.length);
        expect([...numbers.subarray(FOUND / 4, FOUND / 4 + listed.length)]).toEqual(listed);
      }
    }
  });
});
