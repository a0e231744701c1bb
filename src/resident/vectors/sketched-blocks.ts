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

/** Sampling of blocks to find the threshold: every eighth block, for unfiltered searches of more than `from` blocks. */
const SAMPLED = { of: 8, from: 64 };

/** Blocks of one table. All but the last are full. */
export interface BlockList {
  readonly blocks: readonly number[];
  /** Total number of rows in the blocks. */
  readonly rows: number;
}

/** Row with its estimated cosine. */
export interface EstimatedRow {
  /** Number of the row within its block. */
  readonly row: number;
  /** Upper bound of the cosine, without the centre's contribution: the estimate plus `margin`. */
  readonly bound: number;
  /** Five standard deviations of the estimation error. */
  readonly margin: number;
}

/**
 * Blocks of 2,048 quantised rows in one kernel's memory, for all large tables of a thread. A block holds the signs of
 * the components and the highest 4 bits of each number; the caller stores the rest. The memory can't shrink, so
 * released blocks are reused. All tables share one query: call `setQuery` before each search.
 */
export class SketchedBlocks {
  readonly #memory: KernelMemory;
  readonly #free: number[] = [];

  /** @param builds builds of the kernel, in order of preference */
  constructor(builds?: readonly RowBuild[]) {
    this.#memory = new KernelMemory(builds);
  }

  /** Return the address of a free block. @throws RangeError if the memory is full */
  allocate(): number {
    return this.#free.pop() ?? this.#memory.allocate(BLOCK_BYTES);
  }

  /** Erase blocks and make them available to other tables. */
  release(blocks: readonly number[]): void {
    for (const block of blocks) this.#memory.bytes.fill(0, block, block + BLOCK_BYTES);
    this.#free.push(...blocks);
  }

  /** Rotate a vector like stored vectors and queries. @param vector Float32Array [1024] @returns a copy */
  rotated(vector: Float32Array): Float32Array {
    this.#memory.rotateTo(WORK, vector);
    return this.#memory.vectorAt(WORK).slice();
  }

  /**
   * Store a vector as a row of a block.
   *
   * @param vector Float32Array [1024], of length 1 or all zeros
   * @param centre rotated vector to subtract: Float32Array [1024]; null for none
   * @returns the lower 12 bits, for the caller to store: Uint8Array [1536]. The next call overwrites this view.
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
   * Set the query for all later calls.
   *
   * Rows near a long centre differ little along it, so signs of components along the centre tell little. To choose the
   * components to count, use `query - |centre|² · centre`.
   *
   * @param vector Float32Array [1024], of length 1
   * @param centre centre of the rows to search
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
   * Count per row how many of 192 components have the query's sign: the query's 96 largest and 96 smallest components.
   * A higher count suggests a higher cosine.
   *
   * @param allowed 1 for each row to count: Uint8Array [rows]; null for all
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

  /**
   * Estimate the cosines of the rows that the last `SignCounts.list` listed. Read all results before listing another
   * block: they share a buffer. @param count number of listed rows
   */
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
   * Compute the cosine of a row, without the centre's contribution, with an error of about 1e-6. @param rest the bytes
   * that `write` returned
   */
  refine(block: number, row: number, rest: Uint8Array): number {
    const { kernel, floats, bytes } = this.#memory;
    bytes.set(rest, REST);
    return kernel.refine(block + row * HIGH_BYTES, REST, floats[(block + STEPS_START) / 4 + row] as number, QUERY);
  }
}

/** Number of signs that each row shares with the query. The next `countSigns` of the same blocks overwrites them. */
export class SignCounts {
  readonly #memory: KernelMemory;
  readonly #list: BlockList;
  /** Offset in a block of the bits of the rows that count: all written or all allowed ones. */
  readonly #bitsStart: number;

  constructor(memory: KernelMemory, list: BlockList, bitsStart: number) {
    this.#memory = memory;
    this.#list = list;
    this.#bitsStart = bitsStart;
  }

  /**
   * Return the highest count that at least `wanted` rows reach, approximated if blocks are sampled. Return 0, which
   * lists all rows, if there are fewer.
   */
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

  /** List the rows of a block whose count is at least `least`, for `estimate`. @returns number of listed rows */
  list(nth: number, least: number): number {
    const block = this.#list.blocks[nth] as number;
    const rows = rowsOf(this.#list.rows, nth);
    const bits = block + this.#bitsStart;
    return this.#memory.kernel.listReaching(block + PLANES_START, rows, least, SIGNS_COUNTED + 1, bits, LIST);
  }
}

/** Return the number of rows in the nth block. */
function rowsOf(rows: number, nth: number): number {
  return Math.min(BLOCK_ROWS, rows - nth * BLOCK_ROWS);
}

function product(a: Float32Array, b: Float32Array): number {
  let sum = 0;
  for (let at = 0; at < a.length; at++) sum += (a[at] as number) * (b[at] as number);
  return sum;
}

/** Subtract `times · vector` from `from`, in place. */
function subtract(from: Float32Array, vector: Float32Array, times: number): void {
  for (let at = 0; at < from.length; at++) from[at] = (from[at] as number) - times * (vector[at] as number);
}
