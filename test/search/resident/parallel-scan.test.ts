import { Worker } from 'node:worker_threads';
import { afterAll, expect, it } from 'vitest';
import { INDEX_DIMENSIONS } from '../../../src/projection/resize.ts';
import { openScanKernel, PAGE_BYTES } from '../../../src/search/resident/kernel/scan-kernel.ts';
import { ScanTurn } from '../../../src/search/resident/scan-turn.ts';
import { VectorBlocks } from '../../../src/search/resident/vector-blocks.ts';
import { BLOCK_BYTES, BLOCK_ROWS, BLOCKS_START, boundsOf } from '../../../src/search/resident/vector-layout.ts';
import { until } from '../../support/until.ts';
import { randomFrom } from './draw-rows.ts';

const random = randomFrom(5);
const drawn = () => {
  const vector = Float32Array.from({ length: INDEX_DIMENSIONS }, () => random() - 0.5);
  const length = Math.sqrt(vector.reduce((sum, x) => sum + x * x, 0));
  return vector.map((x) => x / length);
};
const HELPERS = 2;
const workers: Worker[] = [];
afterAll(() => Promise.all(workers.map((worker) => worker.terminate())));

it('bounds that several threads compute are those of one', () => {
  const [alone, together] = [new VectorBlocks(), new VectorBlocks({ helpers: HELPERS })];
  const blocks = Array.from({ length: 70 }, () => [alone.allocate(), together.allocate()] as const);
  const samples = Array.from({ length: 50 }, drawn);
  for (const [nth, [own, other]] of blocks.entries()) {
    for (let row = 0; row < BLOCK_ROWS; row += 16) {
      const vector = samples[(nth + row) % samples.length] as Float32Array;
      alone.write(own, row, vector);
      together.write(other, row, vector);
    }
  }
  const rows = 69 * BLOCK_ROWS + 17;
  for (let round = 0; round < 60; round++) {
    const slots = (round % 3) + 1;
    for (let slot = 0; slot < slots; slot++) {
      const query = drawn();
      alone.setQuery(slot, query);
      together.setQuery(slot, query);
    }
    for (const [vectors, own] of [
      [alone, blocks.map(([block]) => block)],
      [together, blocks.map(([, block]) => block)],
    ] as const) {
      vectors.startScan(own, rows, { first: 0, end: slots });
      vectors.finishScan();
    }
    for (const [own, other] of blocks.slice(round % 7, 70)) {
      for (let slot = 0; slot < slots; slot++) {
        expect(together.bounds(other, 17, slot)).toEqual(alone.bounds(own, 17, slot));
      }
    }
  }
});

it('helpers take a part of the blocks, and every block is scanned once', async () => {
  const { kernel, memory, build } = openScanKernel();
  const blocks = Array.from({ length: 100 }, (_, nth) => BLOCKS_START + nth * BLOCK_BYTES);
  memory.grow(Math.ceil((BLOCKS_START + blocks.length * BLOCK_BYTES) / PAGE_BYTES));
  const turn = new ScanTurn(HELPERS);
  for (let nth = 0; nth < HELPERS; nth++) {
    const workerData = { memory, build, turn: turn.shared, nth };
    workers.push(new Worker(new URL('../../../src/search/resident/scan-helper.ts', import.meta.url), { workerData }));
  }
  const floats = new Float32Array(memory.buffer);
  let own = 0;
  const counting = {
    ...kernel,
    scan: (...args: Parameters<typeof kernel.scan>) => {
      own++;
      kernel.scan(...args);
    },
  };
  const isShared = async () => {
    own = 0;
    for (const block of blocks) floats[boundsOf(block, 0) / 4] = Number.NaN;
    if (!turn.start({ blocks, lastRows: BLOCK_ROWS, isSketched: false, slots: { first: 0, end: 1 } })) return false;
    turn.finish(counting);
    // Blocks of zeros have bounds of zero.
    for (const block of blocks) expect(floats[boundsOf(block, 0) / 4]).toBe(0);
    return own < blocks.length;
  };
  await until(isShared, { withinMs: 30_000, what: 'a helper that takes blocks' });
});
