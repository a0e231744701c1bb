import type { ScanKernel } from './kernel/scan-kernel.ts';
import {
  BLOCK_ROWS,
  boundsOf,
  bytesOf,
  componentsOf,
  planesOf,
  SCRATCH_START,
  SKETCHED_ROWS,
} from './vector-layout.ts';

/** Slots of queries: `first` and those that follow, without `end`. */
export interface SlotRange {
  readonly first: number;
  readonly end: number;
}

/** Blocks or sketches that are scanned for some queries. */
export interface ScanTask {
  /** Addresses; each block but the last is full. */
  readonly blocks: readonly number[];
  /** Rows of the last block. */
  readonly lastRows: number;
  /** True: count signs of sketches; false: estimate by the signs of whole blocks. */
  readonly isSketched: boolean;
  readonly slots: SlotRange;
}

/** Blocks that a thread takes at a time. */
const TAKEN_BLOCKS = 4;
/** Blocks of a task at most, more than a memory of 4 GiB has. */
const BLOCKS_MAX = 8_192;
/** Time in which helpers must end their last blocks, each of some tenths of a millisecond. */
const END_MS_MAX = 10_000;

/** Fields of the shared memory: int32 each. The states of the helpers follow, then the blocks. */
const NEXT = 0;
const COUNT = 1;
const DONE = 2;
const LAST_ROWS = 3;
const FIRST_SLOT = 4;
const END_SLOT = 5;
const IS_SKETCHED = 6;
const STATES = 7;

/** States of a helper: it waits for a task, or takes blocks of the present one. At first it has none, while it starts. */
const WAITING = 1;
const WORKING = 2;

/**
 * Task that threads divide among themselves: each takes the next blocks until none is left. One thread gives the tasks,
 * and works on them as well. A task is given to the helpers only when all of them wait, so that none takes blocks of a
 * task whose fields are being written.
 */
export class ScanTurn {
  readonly #fields: Int32Array;
  readonly #helpers: number;
  readonly #blocksStart: number;

  constructor(helpers: number, fields: ArrayBufferLike = new SharedArrayBuffer((STATES + helpers + BLOCKS_MAX) * 4)) {
    this.#fields = new Int32Array(fields);
    this.#helpers = helpers;
    this.#blocksStart = STATES + helpers;
  }

  /** Memory by which a helper joins. */
  get shared(): { readonly helpers: number; readonly fields: ArrayBufferLike } {
    return { helpers: this.#helpers, fields: this.#fields.buffer };
  }

  /** Give a task to the helpers, if all of them wait. `finish` must follow if they have it. @returns true if they have it */
  start({ blocks, lastRows, slots, isSketched }: ScanTask): boolean {
    if (blocks.length > BLOCKS_MAX || !this.#areWaiting()) return false;
    const fields = this.#fields;
    fields.set(blocks, this.#blocksStart);
    Atomics.store(fields, COUNT, blocks.length);
    Atomics.store(fields, LAST_ROWS, lastRows);
    Atomics.store(fields, FIRST_SLOT, slots.first);
    Atomics.store(fields, END_SLOT, slots.end);
    Atomics.store(fields, IS_SKETCHED, isSketched ? 1 : 0);
    Atomics.store(fields, DONE, 0);
    Atomics.store(fields, NEXT, 0);
    for (let nth = 0; nth < this.#helpers; nth++) {
      Atomics.store(fields, STATES + nth, WORKING);
      Atomics.notify(fields, STATES + nth);
    }
    return true;
  }

  /** Scan the blocks of the started task that are left. @throws Error if a helper does not end its part in time */
  finish(kernel: ScanKernel): void {
    this.#takeBlocks(kernel);
    this.#waitForOthers(Atomics.load(this.#fields, COUNT));
  }

  /** Help with all tasks that are given. */
  help(kernel: ScanKernel, nth: number): never {
    const fields = this.#fields;
    Atomics.store(fields, STATES + nth, WAITING);
    for (;;) {
      Atomics.wait(fields, STATES + nth, WAITING);
      this.#takeBlocks(kernel);
      Atomics.store(fields, STATES + nth, WAITING);
    }
  }

  #areWaiting(): boolean {
    for (let nth = 0; nth < this.#helpers; nth++) {
      if (Atomics.load(this.#fields, STATES + nth) !== WAITING) return false;
    }
    return this.#helpers > 0;
  }

  #takeBlocks(kernel: ScanKernel): void {
    const fields = this.#fields;
    const count = Atomics.load(fields, COUNT);
    const lastRows = Atomics.load(fields, LAST_ROWS);
    const isSketched = Atomics.load(fields, IS_SKETCHED) === 1;
    const slots = { first: Atomics.load(fields, FIRST_SLOT), end: Atomics.load(fields, END_SLOT) };
    const full = isSketched ? SKETCHED_ROWS : BLOCK_ROWS;
    for (;;) {
      const first = Atomics.add(fields, NEXT, TAKEN_BLOCKS);
      if (first >= count) return;
      const end = Math.min(count, first + TAKEN_BLOCKS);
      for (let at = first; at < end; at++) {
        const block = (fields[this.#blocksStart + at] as number) >>> 0;
        scanBlock(kernel, block, at === count - 1 ? lastRows : full, { slots, isSketched });
      }
      if (Atomics.add(fields, DONE, end - first) + end - first === count) Atomics.notify(fields, DONE);
    }
  }

  #waitForOthers(count: number): void {
    const untilMs = performance.now() + END_MS_MAX;
    for (let done = Atomics.load(this.#fields, DONE); done < count; done = Atomics.load(this.#fields, DONE)) {
      const leftMs = untilMs - performance.now();
      if (leftMs <= 0) throw new Error('a thread that scans vectors does not answer');
      Atomics.wait(this.#fields, DONE, done, leftMs);
    }
  }
}

/** Scan the blocks of a task without help. */
export function scanAlone(kernel: ScanKernel, task: ScanTask): void {
  const full = task.isSketched ? SKETCHED_ROWS : BLOCK_ROWS;
  const last = task.blocks.length - 1;
  for (const [at, block] of task.blocks.entries()) scanBlock(kernel, block, at === last ? task.lastRows : full, task);
}

function scanBlock(
  kernel: ScanKernel,
  block: number,
  rows: number,
  { slots, isSketched }: Pick<ScanTask, 'slots' | 'isSketched'>,
): void {
  for (let slot = slots.first; slot < slots.end; slot++) {
    if (isSketched) {
      kernel.countSigns(block, rows, componentsOf(slot), block + SCRATCH_START, planesOf(block, slot));
    } else kernel.scan(block, rows, bytesOf(slot), boundsOf(block, slot));
  }
}
