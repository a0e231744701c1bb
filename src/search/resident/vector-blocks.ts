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
import { randomSigns } from './random-signs.ts';
import type { SlotRange } from './scan-turn.ts';
import {
  ALLOWED_START,
  BLOCK_BYTES,
  BLOCK_ROWS,
  BLOCKS_START,
  boundsOf,
  bytesOf,
  componentsOf,
  HIGH_ROW_BYTES,
  LIST,
  MARGINS_START,
  MIDDLE_ROW_BYTES,
  OFFSETS_START,
  partsOf,
  planesOf,
  queryOf,
  SIGNS,
  SKETCHED_ALIGNMENT,
  SKETCHED_BLOCK_BYTES,
  SKETCHED_MARGINS_START,
  SKETCHED_OFFSETS_START,
  SKETCHED_ROWS,
  SKETCHED_STEPS_START,
  SKETCHES_START,
  SOME_BOUNDS,
  STEPS_START,
  VECTOR_BYTES,
  WORK,
  WRITTEN_START,
} from './vector-layout.ts';

/** Pages by which the memory grows: 16 MiB. */
const GROWTH_PAGES = 256;
const NO_ROWS = new Uint32Array(0);

/** Rows of a sketched block whose signs were counted for a query. */
export interface CountedBlock {
  readonly block: number;
  readonly first: number;
  readonly rows: number;
  readonly slot: number;
  /** True: only the rows of `setAllowed`. */
  readonly isFiltered: boolean;
}

/** Estimates of the cosine similarity of rows to a query. */
export interface Estimates {
  /** Estimates and margins added: Float32Array [rows]. */
  readonly bounds: Float32Array;
  /** Margins of the rows of the block, by row, as for `marginsOf`. */
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
  readonly #freeSketched: number[] = [];
  #end = BLOCKS_START;
  #floats: Float32Array;
  #numbers: Uint32Array;
  #bytes: Uint8Array;
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
    const { kernel, memory, build } = openScanKernel(builds);
    this.#kernel = kernel;
    this.#scanner = new BlockScanner(kernel, memory, build, helpers);
    this.#memory = memory;
    this.#floats = new Float32Array(memory.buffer);
    this.#numbers = new Uint32Array(memory.buffer);
    this.#bytes = new Uint8Array(memory.buffer);
    this.#extend(0);
    this.#floats.set(randomSigns(), SIGNS / 4);
  }

  /** Bytes that the memory has; those of released blocks included. */
  get bytes(): number {
    return this.#memory.buffer.byteLength;
  }

  /** Return the address of an unused block. @throws RangeError if the memory is full */
  allocate(): number {
    return this.#free.pop() ?? this.#extend(BLOCK_BYTES);
  }

  /** Return the address of an unused sketched block. @throws RangeError if the memory is full */
  allocateSketched(): number {
    const freed = this.#freeSketched.pop();
    if (freed !== undefined) return freed;
    this.#end = Math.ceil(this.#end / SKETCHED_ALIGNMENT) * SKETCHED_ALIGNMENT;
    return this.#extend(SKETCHED_BLOCK_BYTES);
  }

  /** Erase blocks and let other tables use them. */
  release(blocks: readonly number[]): void {
    for (const block of blocks) this.#bytes.fill(0, block, block + BLOCK_BYTES);
    this.#free.push(...blocks);
  }

  /** Erase sketched blocks and let other tables use them. */
  releaseSketched(blocks: readonly number[]): void {
    for (const block of blocks) this.#bytes.fill(0, block, block + SKETCHED_BLOCK_BYTES);
    for (const block of blocks) this.#freeSketched.push(block);
  }

  #extend(bytes: number): number {
    const address = this.#end;
    if (address + bytes > this.#memory.buffer.byteLength) {
      const pages = this.#memory.buffer.byteLength / PAGE_BYTES;
      if (pages + GROWTH_PAGES > PAGES_MAX) throw new RangeError('the memory of the vectors is full');
      this.#memory.grow(GROWTH_PAGES);
      this.#floats = new Float32Array(this.#memory.buffer);
      this.#numbers = new Uint32Array(this.#memory.buffer);
      this.#bytes = new Uint8Array(this.#memory.buffer);
    }
    this.#end = address + bytes;
    return address;
  }

  /**
   * Store a vector: Float32Array [1024], of length 1 or zero.
   *
   * @param centre subtracted from the rotated vector, so that all results lack its product with the query: Float32Array
   *   [1024] after the rotation; null: zero
   */
  write(block: number, row: number, vector: Float32Array, centre: Float32Array | null = null): void {
    this.#rotateTo(WORK, vector);
    if (centre !== null) this.#subtractFromWork(centre, 1);
    this.#kernel.encode(WORK, block, row);
    this.#floats[(block + OFFSETS_START) / 4 + row] = centre === null ? 0 : this.#productAt(WORK, centre);
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
    this.#kernel.encodeSketch(WORK, block + SKETCHES_START, row);
    const written = block + WRITTEN_START + (row >> 3);
    this.#bytes[written] = (this.#bytes[written] as number) | (1 << (row & 7));
    const { high, middle, low } = partsOf(draft, 0);
    this.#bytes.copyWithin(block + row * HIGH_ROW_BYTES, high, high + HIGH_ROW_BYTES);
    this.#floats[(block + SKETCHED_STEPS_START) / 4 + row] = this.#floats[(draft + STEPS_START) / 4] as number;
    this.#floats[(block + SKETCHED_MARGINS_START) / 4 + row] = this.#floats[(draft + MARGINS_START) / 4] as number;
    this.#floats[(block + SKETCHED_OFFSETS_START) / 4 + row] = this.#floats[(draft + OFFSETS_START) / 4] as number;
    rest.set(this.#bytes.subarray(middle, middle + MIDDLE_ROW_BYTES));
    rest.set(this.#bytes.subarray(low, low + HIGH_ROW_BYTES), MIDDLE_ROW_BYTES);
  }

  /** Rotate a vector as all stored ones and all queries are. @param vector Float32Array [1024] @returns another one */
  rotated(vector: Float32Array): Float32Array {
    this.#rotateTo(WORK, vector);
    return this.#floats.slice(WORK / 4, WORK / 4 + INDEX_DIMENSIONS);
  }

  /** Return the dot product of a rotated vector with the query of a slot. */
  productOf(slot: number, rotated: Float32Array): number {
    return this.#productAt(queryOf(slot), rotated);
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
    this.#rotateTo(address, vector);
    this.#kernel.prepareQuery(address, bytesOf(slot), 1);
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
      this.#bytes.copyWithin(WORK, queryOf(slot), queryOf(slot) + VECTOR_BYTES);
      if (centre !== null) this.#subtractFromWork(centre, 1);
      const work = this.#floats.subarray(WORK / 4, WORK / 4 + INDEX_DIMENSIONS);
      const length = centre === null ? 1 : Math.sqrt(this.#productAt(WORK, work));
      this.#kernel.prepareQuery(WORK, bytesOf(slot), length);
      this.#centres[slot] = centre;
    }
  }

  /** Return the error of an estimate by four bits: the margin of its row times `perRow`, and `query`. */
  marginsOf(slot: number): { readonly perRow: number; readonly query: number } {
    const numbers = (bytesOf(slot) + INDEX_DIMENSIONS) / 4;
    return { perRow: this.#floats[numbers + 6] as number, query: this.#floats[numbers + 2] as number };
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

  /**
   * Begin to count, for each row of sketched blocks, the components whose sign is that of the query, among 224 that are
   * large in it. A larger count means a larger cosine. Otherwise as `startScan`.
   *
   * Rows that are near the centre differ little along it, and the less so the longer it is. The query loses that part of the
   * centre which its squared length tells (docs/decisions/0049-copies-of-large-tables.md).
   *
   * @param table.centre as for `write`
   */
  startCounting(
    table: { readonly blocks: readonly number[]; readonly rows: number; readonly centre: Float32Array | null },
    slots: SlotRange,
  ): boolean {
    const { blocks, rows, centre } = table;
    const part = centre?.reduce((sum, component) => sum + component * component, 0) ?? 0;
    for (let slot = slots.first; slot < slots.end; slot++) {
      this.#bytes.copyWithin(WORK, queryOf(slot), queryOf(slot) + VECTOR_BYTES);
      if (centre !== null) this.#subtractFromWork(centre, part);
      this.#kernel.listComponents(WORK, componentsOf(slot));
    }
    const lastRows = rows - (blocks.length - 1) * SKETCHED_ROWS;
    return this.#scanner.start({ blocks, lastRows, isSketched: true, slots });
  }

  /** Complete what was begun. */
  finishScan(): void {
    this.#scanner.finish();
  }

  /** Set the rows of a sketched block that the next calls may find. @param flags by row, 1: yes */
  setAllowed(block: number, flags: Uint8Array): void {
    this.#bytes.set(flags, LIST);
    this.#kernel.packFlags(LIST, flags.length, block + ALLOWED_START);
  }

  /** Count the rows of a sketched block by their counts of signs. */
  countReaching({ block, rows, slot, isFiltered }: CountedBlock, least: number): number {
    const bits = block + (isFiltered ? ALLOWED_START : WRITTEN_START);
    return this.#kernel.countReaching(planesOf(block, slot), rows, least, bits);
  }

  /**
   * Estimate, as `estimate` does, the rows of a sketched block that reach a count of signs.
   *
   * @returns number of rows; `reachedRow` and `reachedBound` have them until the next call
   */
  estimateReaching({ block, rows, slot, isFiltered }: CountedBlock, least: number): number {
    const bits = block + (isFiltered ? ALLOWED_START : WRITTEN_START);
    const count = this.#kernel.listReaching(planesOf(block, slot), rows, least, bits, LIST);
    const [steps, margins] = [block + SKETCHED_STEPS_START, block + SKETCHED_MARGINS_START];
    const offsets = block + SKETCHED_OFFSETS_START;
    if (count > 0) this.#kernel.estimate(block, steps, margins, offsets, LIST, count, bytesOf(slot), SOME_BOUNDS);
    return count;
  }

  /** Return the nth row that the last call of `estimateReaching` has found. */
  reachedRow(nth: number): number {
    return this.#numbers[LIST / 4 + nth] as number;
  }

  /** Return the upper bound of its cosine similarity. */
  reachedBound(nth: number): number {
    return this.#floats[SOME_BOUNDS / 4 + nth] as number;
  }

  /** Return the margin of a row of a sketched block. */
  marginOf(block: number, row: number): number {
    return this.#floats[(block + SKETCHED_MARGINS_START) / 4 + row] as number;
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
    // Most blocks have none, and to make a view takes longer than to look for them.
    return count === 0 ? NO_ROWS : this.#numbers.subarray(LIST / 4, LIST / 4 + count);
  }

  /**
   * Estimate the cosine similarity of some rows of a block to a query that is set, from four bits of each component. The
   * error of an estimate is below its margin but for five standard deviations.
   *
   * @param rows numbers in the block
   * @returns views that the next call overwrites
   */
  estimate(block: number, rows: Uint32Array, slot: number): Estimates {
    const [steps, margins, offsets] = [block + STEPS_START, block + MARGINS_START, block + OFFSETS_START];
    this.#numbers.set(rows, LIST / 4);
    this.#kernel.estimate(block, steps, margins, offsets, LIST, rows.length, bytesOf(slot), SOME_BOUNDS);
    return {
      bounds: this.#floats.subarray(SOME_BOUNDS / 4, SOME_BOUNDS / 4 + rows.length),
      margins: this.#floats.subarray(margins / 4),
    };
  }

  /** Compute the cosine similarity of one row to a query that is set, to about 1e-6. */
  refine(block: number, row: number, slot: number): number {
    return this.#kernel.refine(block, row, queryOf(slot));
  }

  /** Compute as `refine` does, in a sketched block. @param rest as `writeSketched` gave it */
  refineSketched(block: number, row: number, slot: number, rest: Uint8Array): number {
    this.#draft ??= this.allocate();
    const draft = this.#draft;
    const { high, middle, low } = partsOf(draft, 0);
    const from = block + row * HIGH_ROW_BYTES;
    this.#bytes.copyWithin(high, from, from + HIGH_ROW_BYTES);
    this.#bytes.set(rest.subarray(0, MIDDLE_ROW_BYTES), middle);
    this.#bytes.set(rest.subarray(MIDDLE_ROW_BYTES), low);
    this.#floats[(draft + STEPS_START) / 4] = this.#floats[(block + SKETCHED_STEPS_START) / 4 + row] as number;
    return this.#kernel.refine(draft, 0, queryOf(slot));
  }

  #productAt(address: number, vector: Float32Array): number {
    const floats = this.#floats;
    let sum = 0;
    for (let at = 0; at < INDEX_DIMENSIONS; at++) sum += (floats[address / 4 + at] as number) * (vector[at] as number);
    return sum;
  }

  #subtractFromWork(vector: Float32Array, times: number): void {
    const floats = this.#floats;
    for (let at = 0; at < INDEX_DIMENSIONS; at++) {
      floats[WORK / 4 + at] = (floats[WORK / 4 + at] as number) - times * (vector[at] as number);
    }
  }

  #rotateTo(address: number, vector: Float32Array): void {
    this.#floats.set(vector, address / 4);
    this.#kernel.rotate(address, SIGNS);
  }
}
