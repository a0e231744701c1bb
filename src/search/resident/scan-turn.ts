import type { ScanKernel } from './kernel/scan-kernel.ts';
import {
  BLOCK_ROWS,
  boundsOf,
  bytesOf,
  componentsOf,
  planesOf,
  QUERY_SLOTS,
  SCRATCH_START,
  SKETCHED_ROWS,
  WRITTEN_START,
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
  /** Work on each: estimate by the signs of whole blocks, count the signs of sketches, or mark rows by their counts. */
  readonly work: ScanWork;
  readonly slots: SlotRange;
  /** By slot: count of signs from which on rows are marked. */
  readonly leastCounts?: readonly number[];
}

export type ScanWork = (typeof WORKS)[number];
const WORKS = ['estimate', 'count', 'mark'] as const;

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
const WORK = 6;
const LEAST_COUNTS = 7;
const STATES = LEAST_COUNTS + QUERY_SLOTS;

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
  start({ blocks, lastRows, slots, work, leastCounts = [] }: ScanTask): boolean {
    if (blocks.length > BLOCKS_MAX || !this.#areWaiting()) return false;
    const fields = this.#fields;
    fields.set(blocks, this.#blocksStart);
    Atomics.store(fields, COUNT, blocks.length);
    Atomics.store(fields, LAST_ROWS, lastRows);
    Atomics.store(fields, FIRST_SLOT, slots.first);
    Atomics.store(fields, END_SLOT, slots.end);
    Atomics.store(fields, WORK, WORKS.indexOf(work));
    fields.set(leastCounts, LEAST_COUNTS);
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
    const work = WORKS[Atomics.load(fields, WORK)] as ScanWork;
    const leastCounts = fields.slice(LEAST_COUNTS, LEAST_COUNTS + QUERY_SLOTS);
    const slots = { first: Atomics.load(fields, FIRST_SLOT), end: Atomics.load(fields, END_SLOT) };
    const full = fullRows(work);
    for (;;) {
      const first = Atomics.add(fields, NEXT, TAKEN_BLOCKS);
      if (first >= count) return;
      const end = Math.min(count, first + TAKEN_BLOCKS);
      for (let at = first; at < end; at++) {
        const block = (fields[this.#blocksStart + at] as number) >>> 0;
        scanBlock(kernel, block, at === count - 1 ? lastRows : full, { slots, work, leastCounts });
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
  const full = fullRows(task.work);
  const last = task.blocks.length - 1;
  for (const [at, block] of task.blocks.entries()) scanBlock(kernel, block, at === last ? task.lastRows : full, task);
}

function fullRows(work: ScanWork): number {
  return work === 'estimate' ? BLOCK_ROWS : SKETCHED_ROWS;
}

function scanBlock(
  kernel: ScanKernel,
  block: number,
  rows: number,
  { slots, work, leastCounts }: Pick<ScanTask, 'slots' | 'work'> & { readonly leastCounts?: ArrayLike<number> },
): void {
  for (let slot = slots.first; slot < slots.end; slot++) {
    if (work === 'estimate') {
      kernel.scan(block, rows, bytesOf(slot), boundsOf(block, slot));
      continue;
    }
    const [components, scratch, result] = [componentsOf(slot), block + SCRATCH_START, planesOf(block, slot)];
    if (work === 'count') kernel.countSigns(block, rows, components, scratch, result);
    else {
      const least = leastCounts?.[slot] ?? 0;
      kernel.markReaching(block, rows, components, scratch, least, block + WRITTEN_START, result);
    }
  }
}
