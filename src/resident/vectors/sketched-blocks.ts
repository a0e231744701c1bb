import type { RowBuild } from './kernel/row-kernel.ts';
import { KernelMemory } from './kernel-memory.ts';
import {
  ALLOWED_START,
  BLOCK_BYTES,
  BLOCK_ROWS,
  BOUNDS,
  COMPONENTS,
  HIGH_BYTES,
  LIST,
  MARGINS,
  MARGINS_START,
  OFFSETS_START,
  PLANES_START,
  QUERY,
  QUERY_BYTES,
  REST,
  REST_BYTES,
  SCALES,
  SCRATCH,
  SIGNS_COUNTED,
  SKETCH_START,
  STEPS_START,
  WORK,
  WRITTEN_START,
} from './layout.ts';

/** With more blocks than `from`, the threshold of a search is estimated from every eighth block. */
const SAMPLED = { of: 8, from: 64 };

/** Blocks of a table, all full but the last. */
export interface BlockList {
  readonly blocks: readonly number[];
  /** Rows of all blocks together. */
  readonly rows: number;
}

/** A row that was estimated. */
export interface EstimatedRow {
  /** Number of the row in its block. */
  readonly row: number;
  /** Upper bound of its cosine, without what the centre adds. It holds up to five standard deviations of the error. */
  readonly bound: number;
  /** The margin in the bound: five standard deviations of the error. */
  readonly margin: number;
}

/**
 * Blocks of 2,048 quantised rows in the memory of one kernel, for all large tables of a thread. A block holds the signs
 * of the components and the highest 4 bits of each number; the caller stores the rest. Blocks that are released are
 * used again, since the memory of a kernel cannot shrink. One query is set at a time.
 */
export class SketchedBlocks {
  readonly #memory: KernelMemory;
  readonly #free: number[] = [];

  /** @param builds of the kernel in order of preference */
  constructor(builds?: readonly RowBuild[]) {
    this.#memory = new KernelMemory(builds);
  }

  /** Return the address of an unused block. @throws RangeError if the memory is full */
  allocate(): number {
    return this.#free.pop() ?? this.#memory.allocate(BLOCK_BYTES);
  }

  /** Erase blocks and let other tables use them. */
  release(blocks: readonly number[]): void {
    for (const block of blocks) this.#memory.bytes.fill(0, block, block + BLOCK_BYTES);
    this.#free.push(...blocks);
  }

  /** Rotate a vector as all stored ones and all queries are. @param vector Float32Array [1024] @returns another one */
  rotated(vector: Float32Array): Float32Array {
    this.#memory.rotateTo(WORK, vector);
    return this.#memory.vectorAt(WORK).slice();
  }

  /**
   * Store a vector as a row of a block.
   *
   * @param vector Float32Array [1024], of length 1 or zero
   * @param centre subtracted from the rotated vector: Float32Array [1024] after the rotation; null: zero
   * @returns what the block leaves out: Uint8Array [1536], a view that the next call overwrites
   */
  write(block: number, row: number, vector: Float32Array, centre: Float32Array | null): Uint8Array {
    const { kernel, floats, bytes } = this.#memory;
    this.#memory.rotateTo(WORK, vector);
    const work = this.#memory.vectorAt(WORK);
    if (centre !== null) subtract(work, centre, 1);
    const high = block + row * HIGH_BYTES;
    kernel.encode(WORK, high, REST, SCALES);
    floats[(block + STEPS_START) / 4 + row] = floats[SCALES / 4] as number;
    floats[(block + MARGINS_START) / 4 + row] = floats[SCALES / 4 + 1] as number;
    floats[(block + OFFSETS_START) / 4 + row] = centre === null ? 0 : product(work, centre);
    kernel.encodeSketch(high, block + SKETCH_START, row);
    const written = block + WRITTEN_START + (row >> 3);
    bytes[written] = (bytes[written] as number) | (1 << (row & 7));
    return bytes.subarray(REST, REST + REST_BYTES);
  }

  /**
   * Set the query of the calls that follow.
   *
   * Rows that are near the centre differ little along it, and the less so the longer it is. To list the components
   * whose signs are counted, the query loses the part of the centre that its squared length says.
   *
   * @param vector Float32Array [1024], of length 1
   * @param centre of the rows that are searched
   */
  setQuery(vector: Float32Array, centre: Float32Array | null): void {
    const { kernel } = this.#memory;
    this.#memory.rotateTo(QUERY, vector);
    const query = this.#memory.vectorAt(QUERY);
    const work = this.#memory.vectorAt(WORK);
    work.set(query);
    if (centre !== null) subtract(work, centre, product(centre, centre));
    kernel.listComponents(WORK, COMPONENTS);
    work.set(query);
    if (centre !== null) subtract(work, centre, 1);
    kernel.prepareQuery(WORK, QUERY_BYTES, centre === null ? 1 : Math.sqrt(product(work, work)));
  }

  /** Return the dot product of the query with a rotated vector. */
  productWith(rotated: Float32Array): number {
    return product(this.#memory.vectorAt(QUERY), rotated);
  }

  /**
   * Count, for each row, the components whose sign is that of the query, among 192 that are large in it. A larger count
   * means a larger cosine.
   *
   * @param allowed 1 for each row that may be counted: Uint8Array [rows]; null: all rows
   */
  countSigns({ blocks, rows }: BlockList, allowed: Uint8Array | null): SignCounts {
    const { kernel, bytes } = this.#memory;
    for (const [nth, block] of blocks.entries()) {
      kernel.countSigns(block + SKETCH_START, rowsOf(rows, nth), COMPONENTS, SCRATCH, block + PLANES_START);
      if (allowed === null) continue;
      const own = allowed.subarray(nth * BLOCK_ROWS, (nth + 1) * BLOCK_ROWS);
      bytes.set(own, LIST);
      kernel.packFlags(LIST, own.length, block + ALLOWED_START);
    }
    return new SignCounts(this.#memory, { blocks, rows }, allowed === null ? WRITTEN_START : ALLOWED_START);
  }

  /** Estimate the cosines of the first `count` listed rows of a block to the query. */
  *estimate(block: number, count: number): Generator<EstimatedRow> {
    const { kernel, floats, numbers } = this.#memory;
    if (count === 0) return;
    kernel.estimate(block, block + STEPS_START, LIST, count, QUERY_BYTES, BOUNDS, MARGINS);
    for (let nth = 0; nth < count; nth++) {
      yield {
        row: numbers[LIST / 4 + nth] as number,
        bound: floats[BOUNDS / 4 + nth] as number,
        margin: floats[MARGINS / 4 + nth] as number,
      };
    }
  }

  /**
   * Compute the cosine of a row to the query, without what the centre adds, to about 1e-6. @param rest as `write` gave
   * it
   */
  refine(block: number, row: number, rest: Uint8Array): number {
    const { kernel, floats, bytes } = this.#memory;
    bytes.set(rest, REST);
    return kernel.refine(block + row * HIGH_BYTES, REST, floats[(block + STEPS_START) / 4 + row] as number, QUERY);
  }
}

/** Counts of the signs that rows have in common with the query. They hold until the next count of the same blocks. */
export class SignCounts {
  readonly #memory: KernelMemory;
  readonly #list: BlockList;
  /** Place in a block of the bits of the rows that are counted. */
  readonly #bitsStart: number;

  constructor(memory: KernelMemory, list: BlockList, bitsStart: number) {
    this.#memory = memory;
    this.#list = list;
    this.#bitsStart = bitsStart;
  }

  /** Find the largest count that about `wanted` rows reach; 0: there are fewer rows. */
  reachedBy(wanted: number): number {
    const { blocks } = this.#list;
    const isSampled = blocks.length > SAMPLED.from && this.#bitsStart === WRITTEN_START;
    const sampled = [...blocks.keys()].filter((nth) => !isSampled || nth % SAMPLED.of === 0);
    const least = (wanted * sampled.length) / blocks.length;
    let reached = 0;
    for (let step = 128; step > 0; step >>= 1) {
      if (sampled.reduce((sum, nth) => sum + this.#rowsFrom(nth, reached + step), 0) >= least) reached += step;
    }
    return reached;
  }

  #rowsFrom(nth: number, least: number): number {
    const block = this.#list.blocks[nth] as number;
    const rows = rowsOf(this.#list.rows, nth);
    return this.#memory.kernel.countReaching(block + PLANES_START, rows, least, block + this.#bitsStart);
  }

  /** List the rows of the nth block whose count is at least `least`, for `estimate`. @returns their number */
  list(nth: number, least: number): number {
    const block = this.#list.blocks[nth] as number;
    const rows = rowsOf(this.#list.rows, nth);
    const bits = block + this.#bitsStart;
    return this.#memory.kernel.listReaching(block + PLANES_START, rows, least, SIGNS_COUNTED + 1, bits, LIST);
  }
}

/** Return the rows of the nth block. */
function rowsOf(rows: number, nth: number): number {
  return Math.min(BLOCK_ROWS, rows - nth * BLOCK_ROWS);
}

function product(a: Float32Array, b: Float32Array): number {
  let sum = 0;
  for (let at = 0; at < a.length; at++) sum += (a[at] as number) * (b[at] as number);
  return sum;
}

/** Subtract a multiple of a vector from another one. */
function subtract(from: Float32Array, vector: Float32Array, times: number): void {
  for (let at = 0; at < from.length; at++) from[at] = (from[at] as number) - times * (vector[at] as number);
}
