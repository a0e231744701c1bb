import { INDEX_DIMENSIONS } from '../../projection/resize.ts';
import type { BlockScanner } from './block-scanner.ts';
import type { KernelMemory } from './kernel-memory.ts';
import type { SlotRange } from './scan-turn.ts';
import {
  ALLOWED_START,
  componentsOf,
  LIST,
  planesOf,
  queryOf,
  SIGNS_COUNTED,
  SKETCH_BYTES,
  SKETCHED_ALIGNMENT,
  SKETCHED_ROWS,
  VECTOR_BYTES,
  WORK,
  WRITTEN_START,
} from './vector-layout.ts';

/** Sketches of which the first of each eight are looked at, for how large the largest counts are; of fewer all are. */
const SAMPLED = { of: 8, from: 64 };

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
   * Begin to count, for each row of a table, the components whose sign is that of the query, among 192 that are large in it. A
   * larger count means a larger cosine. `VectorBlocks.finishScan` must follow before anything changes.
   *
   * Rows that are near the centre differ little along it, and the less so the longer it is. The query loses that part of the
   * centre which its squared length tells (docs/decisions/0049-copies-of-large-tables.md).
   *
   * @param table.sketches addresses, each but the last of 2,048 rows
   * @param table.centre as for `VectorBlocks.write`
   * @returns true if helping threads count, too
   */
  start(
    {
      sketches,
      rows,
      centre,
    }: { readonly sketches: readonly number[]; readonly rows: number; readonly centre: Float32Array | null },
    slots: SlotRange,
  ): boolean {
    const { kernel, bytes } = this.#memory;
    const part = centre?.reduce((sum, component) => sum + component * component, 0) ?? 0;
    for (let slot = slots.first; slot < slots.end; slot++) {
      bytes.copyWithin(WORK, queryOf(slot), queryOf(slot) + VECTOR_BYTES);
      if (centre !== null) this.#memory.subtractFromWork(centre, part);
      kernel.listComponents(WORK, componentsOf(slot));
    }
    const lastRows = rows - (sketches.length - 1) * SKETCHED_ROWS;
    return this.#scanner.start({ blocks: sketches, lastRows, isSketched: true, slots });
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
  counts(
    table: { readonly sketches: readonly number[]; readonly rows: number },
    slot: number,
    isFiltered: boolean,
  ): SignCounts {
    return new SignCounts(this.#memory, table, { slot, bitsStart: isFiltered ? ALLOWED_START : WRITTEN_START });
  }
}

/** Counts of the signs that rows of a table have in common with a query. */
export class SignCounts {
  readonly #memory: KernelMemory;
  readonly #sketches: readonly number[];
  readonly #rows: number;
  readonly #slot: number;
  readonly #bitsStart: number;

  constructor(
    memory: KernelMemory,
    { sketches, rows }: { readonly sketches: readonly number[]; readonly rows: number },
    { slot, bitsStart }: { readonly slot: number; readonly bitsStart: number },
  ) {
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

  /** Find the largest count that about `wanted` rows reach; 0: there are fewer rows. */
  reachedBy(wanted: number): number {
    const isSampled = this.#sketches.length > SAMPLED.from && this.#bitsStart === WRITTEN_START;
    const sampled = [...this.#sketches.keys()].filter((nth) => !isSampled || nth % SAMPLED.of === 0);
    const least = (wanted * sampled.length) / this.#sketches.length;
    let reached = 0;
    for (let step = 128; step > 0; step >>= 1) {
      if (sampled.reduce((sum, nth) => sum + this.#rowsFrom(nth, reached + step), 0) >= least) reached += step;
    }
    return reached;
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
