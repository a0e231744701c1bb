import { INDEX_DIMENSIONS } from '../../projection/resize.ts';
import type { BlockScanner } from './block-scanner.ts';
import type { KernelMemory } from './kernel-memory.ts';
import { type SlotRange, scanAlone } from './scan-turn.ts';
import {
  ALLOWED_START,
  componentsOf,
  LIST,
  planesOf,
  QUERY_SLOTS,
  queryOf,
  SIGNS_COUNTED,
  SKETCH_BYTES,
  SKETCHED_ALIGNMENT,
  SKETCHED_ROWS,
  VECTOR_BYTES,
  WORK,
  WRITTEN_START,
} from './vector-layout.ts';

/** Sketches of large tables that tell how large the largest counts are: the first of each sixteen. */
const SAMPLED = { of: 16, from: 64 };
/**
 * Bounds by which rows that lie together and are all near a query distort a sample less: a sketch of it counts as no more than so
 * many times the mean, unless so many times as many rows as are wanted would be marked.
 */
const SAMPLE_BOUNDS = { perSketch: 3, total: 4 };

/** Rows that have sketches. */
export interface SketchedTable {
  /** Addresses, each but the last of 2,048 rows. */
  readonly sketches: readonly number[];
  readonly rows: number;
}

/**
 * Sketches of rows, 2,048 each, in the memory of one kernel, for all tables of a thread: the signs of the components of their
 * vectors (docs/decisions/0049-copies-of-large-tables.md). Those that are released are used again.
 */
export class RowSketches {
  readonly #memory: KernelMemory;
  readonly #scanner: BlockScanner;
  readonly #free: number[] = [];

  constructor(memory: KernelMemory, scanner: BlockScanner) {
    this.#memory = memory;
    this.#scanner = scanner;
  }

  /** Return the address of an unused sketch. @throws RangeError if the memory is full */
  allocate(): number {
    return this.#free.pop() ?? this.#memory.allocate(SKETCH_BYTES, SKETCHED_ALIGNMENT);
  }

  /** Erase sketches and let other tables use them. */
  release(sketches: readonly number[]): void {
    for (const sketch of sketches) this.#memory.bytes.fill(0, sketch, sketch + SKETCH_BYTES);
    this.#free.push(...sketches);
  }

  /** Sketch a row. @param high address of the highest 4 bits of its numbers */
  write(sketch: number, row: number, high: number): void {
    this.#memory.kernel.encodeSketch(high, sketch, row);
    const written = sketch + WRITTEN_START + (row >> 3);
    this.#memory.bytes[written] = (this.#memory.bytes[written] as number) | (1 << (row & 7));
  }

  /**
   * Begin to count, for each row of a table, the components whose sign is that of the query, among 224 that are large in it. A
   * larger count means a larger cosine. `VectorBlocks.finishScan` must follow before anything changes.
   *
   * Rows that are near the centre differ little along it, and the less so the longer it is. The query loses that part of the
   * centre which its squared length tells (docs/decisions/0049-copies-of-large-tables.md).
   *
   * @param table.centre as for `VectorBlocks.write`
   * @param marked about how many rows `listMarked` is to list; null: counts are kept, for `counts`
   * @returns true if helping threads count, too
   */
  start(
    { sketches, rows, centre }: SketchedTable & { readonly centre: Float32Array | null },
    slots: SlotRange,
    marked: number | null,
  ): boolean {
    const { kernel, bytes } = this.#memory;
    const part = centre?.reduce((sum, component) => sum + component * component, 0) ?? 0;
    for (let slot = slots.first; slot < slots.end; slot++) {
      bytes.copyWithin(WORK, queryOf(slot), queryOf(slot) + VECTOR_BYTES);
      if (centre !== null) this.#memory.subtractFromWork(centre, part);
      kernel.listComponents(WORK, componentsOf(slot));
    }
    if (marked !== null) return this.#startMarking(sketches, slots, marked);
    const lastRows = rows - (sketches.length - 1) * SKETCHED_ROWS;
    return this.#scanner.start({ blocks: sketches, lastRows, work: 'count', slots });
  }

  /** Return true if the rows of a table with the largest counts can be marked while others are counted. */
  canMark({ sketches }: SketchedTable): boolean {
    return sketches.length >= SAMPLED.from;
  }

  /** Count the signs of a sample, and begin to mark the other rows by what its largest counts are. */
  #startMarking(sketches: readonly number[], slots: SlotRange, wanted: number): boolean {
    const { kernel } = this.#memory;
    const sampled = sketches.filter((_, nth) => nth % SAMPLED.of === 0);
    const blocks = sketches.filter((_, nth) => nth % SAMPLED.of !== 0);
    // Rows that are not written are never marked.
    const lastRows = SKETCHED_ROWS;
    scanAlone(kernel, { blocks: sampled, lastRows, work: 'count', slots });
    const leastCounts: number[] = Array(QUERY_SLOTS).fill(0);
    for (let slot = slots.first; slot < slots.end; slot++) {
      const sample = new SignCounts(this.#memory, { sketches: sampled, rows: sampled.length * SKETCHED_ROWS }, slot);
      const least = sample.reachedByMany((wanted * sampled.length) / sketches.length);
      leastCounts[slot] = least;
      for (const sketch of sampled) {
        const planes = planesOf(sketch, slot);
        kernel.markCounted(planes, SKETCHED_ROWS, least, sketch + WRITTEN_START, planes);
      }
    }
    return this.#scanner.start({ blocks, lastRows, work: 'mark', slots, leastCounts });
  }

  /** List the marked rows of a sketch in the list of `VectorBlocks.listed`. @returns number of rows */
  listMarked(sketch: number, slot: number): number {
    return this.#memory.kernel.listMarked(planesOf(sketch, slot), SKETCHED_ROWS, LIST);
  }

  /** Set the rows of a table that a search may find. @param flags by row, 1: yes */
  setAllowed(sketches: readonly number[], flags: Uint8Array): void {
    for (const [nth, sketch] of sketches.entries()) {
      const own = flags.subarray(nth * SKETCHED_ROWS, (nth + 1) * SKETCHED_ROWS);
      this.#memory.bytes.set(own, LIST);
      this.#memory.kernel.packFlags(LIST, own.length, sketch + ALLOWED_START);
    }
  }

  /**
   * Return the counts of a query. They stay until the next ones of its slot.
   *
   * @param isFiltered true: of the rows that `setAllowed` has named
   */
  counts(table: SketchedTable, slot: number, isFiltered: boolean): SignCounts {
    return new SignCounts(this.#memory, table, slot, isFiltered ? ALLOWED_START : WRITTEN_START);
  }
}

/** Counts of the signs that rows of a table have in common with a query. */
export class SignCounts {
  readonly #memory: KernelMemory;
  readonly #sketches: readonly number[];
  readonly #rows: number;
  readonly #slot: number;
  readonly #bitsStart: number;

  constructor(memory: KernelMemory, { sketches, rows }: SketchedTable, slot: number, bitsStart = WRITTEN_START) {
    this.#memory = memory;
    this.#sketches = sketches;
    this.#rows = rows;
    this.#slot = slot;
    this.#bitsStart = bitsStart;
  }

  /** Count the rows that have at least `least` signs in common with the query. */
  rowsFrom(least: number): number {
    let count = 0;
    for (let nth = 0; nth < this.#sketches.length; nth++) count += this.#rowsFrom(nth, least);
    return count;
  }

  #rowsFrom(nth: number, least: number): number {
    const sketch = this.#sketches[nth] as number;
    const rows = Math.min(SKETCHED_ROWS, this.#rows - nth * SKETCHED_ROWS);
    return this.#memory.kernel.countReaching(planesOf(sketch, this.#slot), rows, least, sketch + this.#bitsStart);
  }

  /** Find the largest count that at least `wanted` rows reach; 0: there are fewer rows. */
  reachedBy(wanted: number): number {
    return largestCount((count) => this.rowsFrom(count) >= wanted);
  }

  /** Find, as `reachedBy` does, the largest count that rows of many sketches reach, within `SAMPLE_BOUNDS`. */
  reachedByMany(wanted: number): number {
    const perSketch = Math.ceil((SAMPLE_BOUNDS.perSketch * wanted) / this.#sketches.length);
    return largestCount((count) => {
      const found = this.#sketches.map((_, nth) => this.#rowsFrom(nth, count));
      const bounded = found.reduce((sum, rows) => sum + Math.min(rows, perSketch), 0);
      return bounded >= wanted || found.reduce((sum, rows) => sum + rows, 0) >= SAMPLE_BOUNDS.total * wanted;
    });
  }

  /**
   * List rows of a part of a sketch by their counts: `least <= count < below`. Their numbers in the part are in the list of
   * `VectorBlocks.listed`.
   *
   * @param first row of the table, a multiple of 128
   * @returns number of rows
   */
  list(first: number, rows: number, { least, below }: { readonly least: number; readonly below: number }): number {
    const sketch = this.#sketches[Math.floor(first / SKETCHED_ROWS)] as number;
    const inSketch = first % SKETCHED_ROWS;
    // Counts of 128 rows have 128 bytes.
    const planes = planesOf(sketch, this.#slot) + inSketch;
    const bits = sketch + this.#bitsStart + inSketch / 8;
    return this.#memory.kernel.listReaching(planes, rows, least, below, bits, LIST);
  }

  /**
   * Compute the mean and the standard deviation of the counts of rows with this cosine, if rows and query have length 1 and no
   * centre. The rotation makes each component of a row normal, with the mean of the query's times the cosine, so that a count
   * is a sum of independent signs.
   */
  expected(cosine: number): { readonly mean: number; readonly deviation: number } {
    const { floats, numbers } = this.#memory;
    const components = componentsOf(this.#slot) / 4;
    const query = queryOf(this.#slot) / 4;
    const scale = (cosine * Math.sqrt(INDEX_DIMENSIONS)) / Math.sqrt(Math.max(1e-9, 1 - cosine * cosine));
    let [mean, variance] = [0, 0];
    for (let nth = 0; nth < SIGNS_COUNTED; nth++) {
      const component = (numbers[components + nth] as number) / (SKETCHED_ROWS / 8);
      const value = floats[query + component] as number;
      const chance = normalDistribution(scale * (nth < SIGNS_COUNTED / 2 ? value : -value));
      mean += chance;
      variance += chance * (1 - chance);
    }
    return { mean, deviation: Math.sqrt(variance) };
  }
}

/** Find the largest count of signs for which a condition holds that holds for all smaller ones; 0: it holds for none. */
function largestCount(holds: (count: number) => boolean): number {
  let largest = 0;
  for (let step = 128; step > 0; step >>= 1) if (holds(largest + step)) largest += step;
  return largest;
}

/**
 * Distribution function of the standard normal distribution, to 7.5e-8 (Abramowitz and Stegun, Handbook of Mathematical
 * Functions, 26.2.17).
 */
function normalDistribution(x: number): number {
  const t = 1 / (1 + 0.2316419 * Math.abs(x));
  const series = t * (0.31938153 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))));
  const above = (Math.exp((-x * x) / 2) / Math.sqrt(2 * Math.PI)) * series;
  return x >= 0 ? 1 - above : above;
}
