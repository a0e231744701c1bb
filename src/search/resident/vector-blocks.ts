import { INDEX_DIMENSIONS } from '../../projection/resize.ts';
import { BlockScanner } from './block-scanner.ts';
import type { ScanBuild } from './kernel/scan-kernel.ts';
import { KernelMemory } from './kernel-memory.ts';
import { RowSketches } from './row-sketches.ts';
import { type SlotRange, scanAlone } from './scan-turn.ts';
import {
  BLOCK_BYTES,
  BLOCK_ROWS,
  boundsOf,
  bytesOf,
  HIGH_ROW_BYTES,
  LIST,
  MARGINS_START,
  MIDDLE_ROW_BYTES,
  OFFSETS_START,
  PARTS,
  partsOf,
  queryOf,
  SKETCH_START,
  SKETCHED_ALIGNMENT,
  SKETCHED_BLOCK_BYTES,
  SKETCHED_MARGINS_START,
  SKETCHED_OFFSETS_START,
  SKETCHED_ROWS,
  SKETCHED_STEPS_START,
  SOME_BOUNDS,
  SOME_MARGINS,
  STEPS_START,
  VECTOR_BYTES,
  WORK,
} from './vector-layout.ts';

/**
 * Blocks of quantised vectors in the memory of one kernel, for all tables of a thread. Blocks that are released are used
 * again, since the memory of a kernel cannot shrink.
 */
export class VectorBlocks {
  readonly sketches: RowSketches;
  readonly #memory: KernelMemory;
  readonly #scanner: BlockScanner;
  readonly #free: number[] = [];
  readonly #freeSketched: number[] = [];
  /** By slot: the query, and the centre of the rows that it was prepared for. */
  readonly #queries: Float32Array[] = [];
  readonly #centres: (Float32Array | null)[] = [];
  /** Whole block in which the rows of sketched blocks are made. */
  #draft: number | null = null;

  /**
   * @param options.builds of the kernel in order of preference
   * @param options.helpers threads that help to scan many blocks
   */
  constructor({ builds, helpers = 0 }: { builds?: readonly ScanBuild[]; helpers?: number } = {}) {
    this.#memory = new KernelMemory(builds);
    const { kernel, shared, build } = this.#memory;
    this.#scanner = new BlockScanner(kernel, shared, build, helpers);
    this.sketches = new RowSketches(this.#memory, this.#scanner);
  }

  /** Bytes that the memory has; those of released blocks included. */
  get bytes(): number {
    return this.#memory.shared.buffer.byteLength;
  }

  /** Return the address of an unused block. @throws RangeError if the memory is full */
  allocate(): number {
    return this.#free.pop() ?? this.#memory.allocate(BLOCK_BYTES);
  }

  /** Return the address of an unused sketched block. @throws RangeError if the memory is full */
  allocateSketched(): number {
    return this.#freeSketched.pop() ?? this.#memory.allocate(SKETCHED_BLOCK_BYTES, SKETCHED_ALIGNMENT);
  }

  /** Erase blocks and let other tables use them. */
  release(blocks: readonly number[]): void {
    for (const block of blocks) this.#memory.bytes.fill(0, block, block + BLOCK_BYTES);
    this.#free.push(...blocks);
  }

  /** Erase sketched blocks and let other tables use them. */
  releaseSketched(blocks: readonly number[]): void {
    for (const block of blocks) this.#memory.bytes.fill(0, block, block + SKETCHED_BLOCK_BYTES);
    for (const block of blocks) this.#freeSketched.push(block);
  }

  /**
   * Store a vector: Float32Array [1024], of length 1 or zero.
   *
   * @param centre subtracted from the rotated vector, so that all results lack its product with the query: Float32Array
   *   [1024] after the rotation; null: zero
   */
  write(block: number, row: number, vector: Float32Array, centre: Float32Array | null = null): void {
    const memory = this.#memory;
    memory.rotateTo(WORK, vector);
    if (centre !== null) memory.subtractFromWork(centre, 1);
    memory.kernel.encode(WORK, block, row);
    memory.floats[(block + OFFSETS_START) / 4 + row] = centre === null ? 0 : memory.productAt(WORK, centre);
  }

  /**
   * Store a vector as a row of a sketched block.
   *
   * @param stored.vector Float32Array [1024], of length 1 or zero
   * @param stored.centre as for `write`
   * @param rest gets what the block leaves out: Uint8Array [1536]
   */
  writeSketched(
    block: number,
    row: number,
    stored: { readonly vector: Float32Array; readonly centre: Float32Array | null },
    rest: Uint8Array,
  ): void {
    this.#draft ??= this.allocate();
    const draft = this.#draft;
    this.write(draft, 0, stored.vector, stored.centre);
    const { bytes, floats } = this.#memory;
    const { high, middle, low } = partsOf(draft, 0);
    this.sketches.write(block + SKETCH_START, row, high);
    bytes.copyWithin(block + row * HIGH_ROW_BYTES, high, high + HIGH_ROW_BYTES);
    floats[(block + SKETCHED_STEPS_START) / 4 + row] = floats[(draft + STEPS_START) / 4] as number;
    floats[(block + SKETCHED_MARGINS_START) / 4 + row] = floats[(draft + MARGINS_START) / 4] as number;
    floats[(block + SKETCHED_OFFSETS_START) / 4 + row] = floats[(draft + OFFSETS_START) / 4] as number;
    rest.set(bytes.subarray(middle, middle + MIDDLE_ROW_BYTES));
    rest.set(bytes.subarray(low, low + HIGH_ROW_BYTES), MIDDLE_ROW_BYTES);
  }

  /** Copy vectors to the memory, as they are: Float32Array [n x 1024]. @returns the copy, which `forget` releases */
  keep(vectors: Float32Array): Float32Array {
    return this.#memory.keep(vectors);
  }

  /** Erase a copy that `keep` has made. */
  forget(kept: Float32Array): void {
    this.#memory.release(kept);
  }

  /** Rotate a vector as all stored ones and all queries are. @param vector Float32Array [1024] @returns another one */
  rotated(vector: Float32Array): Float32Array {
    this.#memory.rotateTo(WORK, vector);
    return this.#memory.floats.slice(WORK / 4, WORK / 4 + INDEX_DIMENSIONS);
  }

  /** Return the dot product of a rotated vector with the query of a slot. */
  productOf(slot: number, rotated: Float32Array): number {
    return this.#memory.productAt(queryOf(slot), rotated);
  }

  /**
   * Set a query of the calls of `scan` and `refine` that follow.
   *
   * @param slot number of the query, less than `QUERY_SLOTS`
   * @param vector Float32Array [1024], of length 1
   */
  setQuery(slot: number, vector: Float32Array): void {
    const address = queryOf(slot);
    this.#queries[slot] = vector;
    this.#memory.rotateTo(address, vector);
    this.#memory.kernel.prepareQuery(address, bytesOf(slot), 1);
    this.#centres[slot] = null;
  }

  /** Return the query of a slot as it was set. */
  vectorOf(slot: number): Float32Array {
    return this.#queries[slot] as Float32Array;
  }

  /** Prepare queries for estimates of rows that were stored with this centre. */
  prepareFor(centre: Float32Array | null, slots: SlotRange): void {
    for (let slot = slots.first; slot < slots.end; slot++) {
      if (this.#centres[slot] === centre) continue;
      this.#memory.bytes.copyWithin(WORK, queryOf(slot), queryOf(slot) + VECTOR_BYTES);
      if (centre !== null) this.#memory.subtractFromWork(centre, 1);
      const work = this.#memory.floats.subarray(WORK / 4, WORK / 4 + INDEX_DIMENSIONS);
      const length = centre === null ? 1 : Math.sqrt(this.#memory.productAt(WORK, work));
      this.#memory.kernel.prepareQuery(WORK, bytesOf(slot), length);
      this.#centres[slot] = centre;
    }
  }

  /**
   * Begin to estimate the cosine similarity of rows to the queries of some slots, from two bits of each component. The
   * bounds are upper ones, which hold but for five standard deviations. `finishScan` must follow before anything changes.
   *
   * @param blocks each but the last is full
   * @param rows of all blocks together
   * @returns true if helping threads scan, too
   */
  startScan(blocks: readonly number[], rows: number, slots: SlotRange): boolean {
    return this.#scanner.start({ blocks, lastRows: rows - (blocks.length - 1) * BLOCK_ROWS, isSketched: false, slots });
  }

  /** Estimate as `startScan` does, at once and without help, for one slot. It may be called while a scan is in progress. */
  scan(blocks: readonly number[], rows: number, slot: number): void {
    const lastRows = rows - (blocks.length - 1) * BLOCK_ROWS;
    const slots = { first: slot, end: slot + 1 };
    scanAlone(this.#memory.kernel, { blocks, lastRows, isSketched: false, slots });
  }

  /** Complete what was begun. */
  finishScan(): void {
    this.#scanner.finish();
  }

  /**
   * Estimate the cosine similarity of the listed rows of some blocks to a query that is set, from four bits of each component. The
   * error of an estimate is below its margin but for five standard deviations.
   *
   * @param blocks up to 8, through which the rows of the list are numbered
   * @param count of the rows of the list
   */
  estimateListed(blocks: readonly number[], count: number, slot: number): void {
    const { numbers } = this.#memory;
    for (const [nth, block] of blocks.entries()) {
      numbers[PARTS / 4 + 2 * nth] = block;
      numbers[PARTS / 4 + 2 * nth + 1] = block + STEPS_START;
    }
    this.#estimate({ toMargins: MARGINS_START - STEPS_START, toOffsets: OFFSETS_START - STEPS_START }, count, slot);
  }

  /** Estimate, as `estimateListed` does, the listed rows of a sketched block. */
  estimateSketched(block: number, count: number, slot: number): void {
    const { numbers } = this.#memory;
    for (let nth = 0; nth < SKETCHED_ROWS / BLOCK_ROWS; nth++) {
      numbers[PARTS / 4 + 2 * nth] = block + nth * BLOCK_ROWS * HIGH_ROW_BYTES;
      numbers[PARTS / 4 + 2 * nth + 1] = block + SKETCHED_STEPS_START + nth * BLOCK_ROWS * 4;
    }
    const toMargins = SKETCHED_MARGINS_START - SKETCHED_STEPS_START;
    this.#estimate({ toMargins, toOffsets: SKETCHED_OFFSETS_START - SKETCHED_STEPS_START }, count, slot);
  }

  #estimate(
    { toMargins, toOffsets }: Readonly<Record<'toMargins' | 'toOffsets', number>>,
    count: number,
    slot: number,
  ) {
    const { kernel } = this.#memory;
    if (count > 0) kernel.estimate(PARTS, toMargins, toOffsets, LIST, count, bytesOf(slot), SOME_BOUNDS, SOME_MARGINS);
  }

  /** Address of the highest 4 bits of a row of a block. */
  highOf(block: number, row: number): number {
    return partsOf(block, row).high;
  }

  /** Return the nth row of the list, which the last call of `select` or of `SignCounts.list` has made. */
  listed(nth: number): number {
    return this.#memory.numbers[LIST / 4 + nth] as number;
  }

  /** Return the upper bound of its cosine similarity: that of the last estimate of the list, or the one by which it was selected. */
  listedBound(nth: number): number {
    return this.#memory.floats[SOME_BOUNDS / 4 + nth] as number;
  }

  /** Return the margin in that bound: five standard deviations of the error. */
  listedMargin(nth: number): number {
    return this.#memory.floats[SOME_MARGINS / 4 + nth] as number;
  }

  /**
   * Return the upper bounds of the last scan: a view that stays until the next one, or until the memory grows. A bound
   * that is set to NaN is not selected.
   */
  bounds(block: number, rows: number, slot: number): Float32Array {
    const bounds = boundsOf(block, slot);
    return this.#memory.floats.subarray(bounds / 4, bounds / 4 + rows);
  }

  /**
   * List rows of some blocks by their bounds of the last scan, `least <= bound < below`, which `listed` and `listedBound` return
   * until something else is listed or estimated.
   *
   * @param blocks up to 8, through which the rows of the list are numbered
   * @param rows of all blocks together
   * @returns count
   */
  select(
    blocks: readonly number[],
    rows: number,
    slot: number,
    { least, below }: { readonly least: number; readonly below: number },
  ): number {
    const { kernel } = this.#memory;
    let count = 0;
    for (let nth = 0, first = 0; first < rows; nth++, first += BLOCK_ROWS) {
      const [bounds, more] = [boundsOf(blocks[nth] as number, slot), 4 * count];
      const own = Math.min(BLOCK_ROWS, rows - first);
      count += kernel.select(bounds, own, least, below, first, LIST + more, SOME_BOUNDS + more);
    }
    return count;
  }

  /**
   * Compute the cosine similarity of some rows to a query that is set, to about 1e-6.
   *
   * @param rows numbered through the blocks; their memory is fetched together, for which they should be `REFINED_TOGETHER` at most
   * @returns a view that the next call overwrites
   */
  refine(blocks: readonly number[], rows: readonly number[], slot: number): Float32Array {
    const { kernel, numbers, floats } = this.#memory;
    for (const [nth, row] of rows.entries()) {
      numbers[LIST / 4 + 2 * nth] = blocks[Math.floor(row / BLOCK_ROWS)] as number;
      numbers[LIST / 4 + 2 * nth + 1] = row % BLOCK_ROWS;
    }
    kernel.refine(LIST, rows.length, queryOf(slot), SOME_BOUNDS);
    return floats.subarray(SOME_BOUNDS / 4, SOME_BOUNDS / 4 + rows.length);
  }

  /** Compute as `refine` does, in a sketched block. @param rest as `writeSketched` gave it */
  refineSketched(block: number, row: number, slot: number, rest: Uint8Array): number {
    this.#draft ??= this.allocate();
    const draft = this.#draft;
    const { high, middle, low } = partsOf(draft, 0);
    const from = block + row * HIGH_ROW_BYTES;
    this.#memory.bytes.copyWithin(high, from, from + HIGH_ROW_BYTES);
    this.#memory.bytes.set(rest.subarray(0, MIDDLE_ROW_BYTES), middle);
    this.#memory.bytes.set(rest.subarray(MIDDLE_ROW_BYTES), low);
    this.#memory.floats[(draft + STEPS_START) / 4] = this.#memory.floats[
      (block + SKETCHED_STEPS_START) / 4 + row
    ] as number;
    return this.refine([draft], [0], slot)[0] as number;
  }
}
