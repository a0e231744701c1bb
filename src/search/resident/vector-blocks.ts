import { INDEX_DIMENSIONS } from '../../projection/resize.ts';
import { BlockScanner } from './block-scanner.ts';
import {
  openScanKernel,
  PAGE_BYTES,
  PAGES_MAX,
  type ScanBuild,
  type ScanKernel,
  type ScanMemory,
} from './kernel/scan-kernel.ts';
import {
  BLOCK_BYTES,
  BLOCK_ROWS,
  BLOCKS_START,
  boundsOf,
  bytesOf,
  LIST,
  MARGINS_START,
  queryOf,
  SIGNS,
  SOME_BOUNDS,
  VECTOR_BYTES,
  WORK,
} from './vector-layout.ts';

/** Pages by which the memory grows: 16 MiB. */
const GROWTH_PAGES = 256;
/** Seed of the random signs. Equal on every machine, so that equal vectors have equal scores everywhere. */
const SIGNS_SEED = 0x9e3779b9;

/** Estimates of the cosine similarity of rows to a query. */
export interface Estimates {
  /** Estimates and margins added: Float32Array [rows]. */
  readonly bounds: Float32Array;
  /** Margins of the rows of the block, by row; to each the margin of the query must be added. */
  readonly margins: Float32Array;
}

/**
 * Blocks of quantised vectors in the memory of one kernel, for all tables of a thread. Blocks that are released are used
 * again, since the memory of a kernel cannot shrink.
 */
export class VectorBlocks {
  readonly #kernel: ScanKernel;
  readonly #memory: ScanMemory;
  readonly #scanner: BlockScanner;
  readonly #free: number[] = [];
  #end = BLOCKS_START;
  #floats: Float32Array;
  #numbers: Uint32Array;

  /**
   * @param options.builds of the kernel in order of preference
   * @param options.helpers threads that help to scan many blocks
   */
  constructor({ builds, helpers = 0 }: { builds?: readonly ScanBuild[]; helpers?: number } = {}) {
    const { kernel, memory, build } = openScanKernel(builds);
    this.#kernel = kernel;
    this.#scanner = new BlockScanner(kernel, memory, build, helpers);
    this.#memory = memory;
    this.#floats = new Float32Array(memory.buffer);
    this.#numbers = new Uint32Array(memory.buffer);
    this.#floats.set(randomSigns(), SIGNS / 4);
  }

  /** Bytes that the memory has; those of released blocks included. */
  get bytes(): number {
    return this.#memory.buffer.byteLength;
  }

  /** Return the address of an unused block. @throws RangeError if the memory is full */
  allocate(): number {
    const freed = this.#free.pop();
    if (freed !== undefined) return freed;
    const address = this.#end;
    this.#end += BLOCK_BYTES;
    if (this.#end > this.#memory.buffer.byteLength) {
      const pages = this.#memory.buffer.byteLength / PAGE_BYTES;
      if (pages + GROWTH_PAGES > PAGES_MAX) throw new RangeError('the memory of the vectors is full');
      this.#memory.grow(GROWTH_PAGES);
      this.#floats = new Float32Array(this.#memory.buffer);
      this.#numbers = new Uint32Array(this.#memory.buffer);
    }
    return address;
  }

  /** Erase blocks and let other tables use them. */
  release(blocks: readonly number[]): void {
    for (const block of blocks) new Uint8Array(this.#memory.buffer, block, BLOCK_BYTES).fill(0);
    this.#free.push(...blocks);
  }

  /** Store a vector: Float32Array [1024], of length 1 or zero. */
  write(block: number, row: number, vector: Float32Array): void {
    this.#rotateTo(WORK, vector);
    this.#kernel.encode(WORK, block, row);
  }

  /**
   * Set a query of the calls of `scan` and `refine` that follow.
   *
   * @param slot number of the query, less than `QUERY_SLOTS`
   * @param vector Float32Array [1024], of length 1
   * @returns bound of the error that the query adds to each estimate
   */
  setQuery(slot: number, vector: Float32Array): number {
    const address = queryOf(slot);
    this.#rotateTo(address, vector);
    this.#kernel.prepareQuery(address, address + VECTOR_BYTES);
    return this.#floats[(address + VECTOR_BYTES + INDEX_DIMENSIONS + 8) / 4] as number;
  }

  /**
   * Estimate the cosine similarity of rows to the queries of the first slots, from two bits of each component. The bounds
   * are upper ones, which hold but for five standard deviations.
   *
   * @param blocks each but the last is full
   * @param rows of all blocks together
   * @param slots number of slots
   */
  scan(blocks: readonly number[], rows: number, slots: number): void {
    this.#scanner.scan({ blocks, lastRows: rows - (blocks.length - 1) * BLOCK_ROWS, slots });
  }

  /**
   * Return the upper bounds of the last scan: a view that stays until the next one, or until the memory grows. A bound
   * that is set to NaN is not selected.
   */
  bounds(block: number, rows: number, slot: number): Float32Array {
    const bounds = boundsOf(block, slot);
    return this.#floats.subarray(bounds / 4, bounds / 4 + rows);
  }

  /**
   * List rows of a block by their bounds of the last scan: `least <= bound < below`.
   *
   * @returns a view that the next call overwrites
   */
  select(
    block: number,
    rows: number,
    slot: number,
    { least, below }: { readonly least: number; readonly below: number },
  ): Uint32Array {
    const count = this.#kernel.select(boundsOf(block, slot), rows, least, below, LIST);
    return this.#numbers.subarray(LIST / 4, LIST / 4 + count);
  }

  /**
   * Estimate the cosine similarity of some rows of a block to a query that is set, from four bits of each component. The
   * error of an estimate is below its margin but for five standard deviations.
   *
   * @param rows at most `BLOCK_ROWS` numbers
   * @returns views that the next call overwrites
   */
  estimate(block: number, rows: Uint32Array, slot: number): Estimates {
    this.#numbers.set(rows, LIST / 4);
    this.#kernel.estimate(block, LIST, rows.length, bytesOf(slot), SOME_BOUNDS);
    const margins = (block + MARGINS_START) / 4;
    return {
      bounds: this.#floats.subarray(SOME_BOUNDS / 4, SOME_BOUNDS / 4 + rows.length),
      margins: this.#floats.subarray(margins, margins + BLOCK_ROWS),
    };
  }

  /** Compute the cosine similarity of one row to a query that is set, to about 1e-6. */
  refine(block: number, row: number, slot: number): number {
    return this.#kernel.refine(block, row, queryOf(slot));
  }

  #rotateTo(address: number, vector: Float32Array): void {
    this.#floats.set(vector, address / 4);
    this.#kernel.rotate(address, SIGNS);
  }
}

/** Draw signs by xorshift32 (Marsaglia, 2003): Float32Array [2 x 1024] of 1 and -1. */
function randomSigns(): Float32Array {
  let state = SIGNS_SEED;
  return Float32Array.from({ length: 2 * INDEX_DIMENSIONS }, () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return state < 0 ? -1 : 1;
  });
}
