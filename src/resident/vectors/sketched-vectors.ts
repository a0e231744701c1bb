import { INDEX_DIMENSIONS } from '../../projection/resize.ts';
import type { Allowed, RowRange } from '../best-rows.ts';
import { LargestNumbers } from '../largest-numbers.ts';
import { BLOCK_BYTES, BLOCK_ROWS, REST_BYTES } from './layout.ts';
import { ScratchFile } from './scratch-file.ts';
import type { SketchedBlocks } from './sketched-blocks.ts';
import type { TableVectors } from './table-vectors.ts';

/** Number of rows to estimate: the maximum of `share` of all rows, `least`, and `perWanted` per requested row. */
const ESTIMATED = { share: 1 / 400, least: 2_048, perWanted: 16 };
/**
 * Share of a margin that a search uses. A margin covers five standard deviations of the error; three of them save
 * reading a quarter of the rows from the file, and hardly miss more rows than the counts already do.
 */
const MARGIN_SHARE = 3 / 5;
/** Maximum number of allowed rows to compute directly, without counts and estimates. */
const COMPARED_MAX = 256;
/** Tolerance for rounding errors in the float32 bounds. */
const ROUNDING = 1e-6;
/** Number of first rows that determine the centre. It is unrelated to the dimension. */
const CENTRE_ROWS = 1_024;
/** Minimum squared length of a mean to subtract. A shorter mean gains little. */
const CENTRE_SQUARED_MIN = 0.4;

/**
 * Vectors of a large table. Memory holds the signs of their components and the highest 4 bits of each number; a scratch
 * file holds the rest. A search counts the signs that each row shares with the query, estimates the cosines of the rows
 * with the highest counts, and computes exactly those that may be among the best.
 *
 * In many models, all vectors share a large component, which says nothing about their differences. If the mean of the
 * first rows (the centre) is long, it is subtracted. The quantisation steps then shrink, and the signs distinguish
 * rows.
 */
export class SketchedVectors implements TableVectors {
  readonly #sketched: SketchedBlocks;
  readonly #file: ScratchFile;
  readonly #blocks: number[] = [];
  #rows = 0;
  /** Vectors to be written once the centre is decided; null afterwards. */
  #waiting: Float32Array[] | null = [];
  #waitingRows = 0;
  /** Rotated centre: Float32Array [1024]; null to subtract nothing. */
  #centre: Float32Array | null = null;

  /** @param directory directory for the scratch file */
  constructor(sketched: SketchedBlocks, directory: string) {
    this.#sketched = sketched;
    this.#file = new ScratchFile(directory);
  }

  get memoryBytes(): number {
    return Math.ceil((this.#rows + this.#waitingRows) / BLOCK_ROWS) * BLOCK_BYTES;
  }

  add(vectors: Float32Array): void {
    if (this.#waiting === null) {
      this.#write(vectors);
      return;
    }
    this.#waiting.push(vectors.slice());
    this.#waitingRows += vectors.length / INDEX_DIMENSIONS;
    if (this.#waitingRows >= CENTRE_ROWS) this.#setCentre();
  }

  search(vector: Float32Array, allowed: Allowed, range: RowRange): void {
    this.#setCentre();
    const few = allowed && listOnes(allowed, COMPARED_MAX);
    if (few) {
      this.offerRows(vector, few, range);
      return;
    }
    this.#sketched.setQuery(vector, this.#centre);
    const { best } = range;
    const shared = this.#shared();
    const counts = this.#sketched.countSigns({ blocks: this.#blocks, rows: this.#rows }, allowed);
    const { share, least, perWanted } = ESTIMATED;
    const reached = counts.reachedBy(Math.max(least, this.#rows * share, best.limit * perWanted));
    const candidates: { readonly row: number; readonly upper: number }[] = [];
    /** Largest lower bounds of cosines so far. */
    const lowers = new LargestNumbers(best.limit);
    const needed = () => Math.max(lowers.smallest, best.threshold) - ROUNDING;
    for (const [nth, block] of this.#blocks.entries()) {
      for (const { row, bound, margin } of this.#sketched.estimate(block, counts.list(nth, reached))) {
        const upper = bound + shared - (1 - MARGIN_SHARE) * margin;
        if (upper < needed()) continue;
        candidates.push({ row: nth * BLOCK_ROWS + row, upper });
        const lower = bound + shared - (1 + MARGIN_SHARE) * margin;
        if (lower > lowers.smallest) lowers.add(lower);
      }
    }
    candidates.sort((a, b) => b.upper - a.upper);
    for (const { row, upper } of candidates) {
      if (upper < needed()) return;
      best.offer(range.first + row, this.#refine(row) + shared);
    }
  }

  offerRows(vector: Float32Array, rows: Iterable<number>, { best, first }: RowRange): void {
    this.#setCentre();
    this.#sketched.setQuery(vector, this.#centre);
    const shared = this.#shared();
    for (const row of rows) best.offer(first + row, this.#refine(row) + shared);
  }

  release(): void {
    this.#sketched.release(this.#blocks.splice(0));
    this.#file.close();
    this.#rows = 0;
  }

  /** Decide on the centre, and write the waiting vectors. Too few rows have no centre. */
  #setCentre(): void {
    if (this.#waiting === null) return;
    const waiting = this.#waiting;
    if (this.#waitingRows >= CENTRE_ROWS) {
      const mean = meanOf(waiting, this.#waitingRows);
      const squared = mean.reduce((sum, component) => sum + component * component, 0);
      if (squared >= CENTRE_SQUARED_MIN) this.#centre = this.#sketched.rotated(mean);
    }
    this.#waiting = null;
    this.#waitingRows = 0;
    for (const vectors of waiting) this.#write(vectors);
  }

  #write(vectors: Float32Array): void {
    const count = vectors.length / INDEX_DIMENSIONS;
    const rests = new Uint8Array(count * REST_BYTES);
    const first = this.#rows;
    for (let nth = 0; nth < count; nth++) {
      if (this.#rows === this.#blocks.length * BLOCK_ROWS) this.#blocks.push(this.#sketched.allocate());
      const vector = vectors.subarray(nth * INDEX_DIMENSIONS, (nth + 1) * INDEX_DIMENSIONS);
      const block = this.#blocks.at(-1) as number;
      rests.set(this.#sketched.write(block, this.#rows % BLOCK_ROWS, vector, this.#centre), nth * REST_BYTES);
      this.#rows++;
    }
    this.#file.write(rests, first * REST_BYTES);
  }

  /** Return the dot product of query and centre, to be added to every estimate and result. */
  #shared(): number {
    return this.#centre === null ? 0 : this.#sketched.productWith(this.#centre);
  }

  #refine(row: number): number {
    const rest = new Uint8Array(REST_BYTES);
    this.#file.read(rest, row * REST_BYTES);
    return this.#sketched.refine(this.#blocks[Math.floor(row / BLOCK_ROWS)] as number, row % BLOCK_ROWS, rest);
  }
}

function meanOf(parts: readonly Float32Array[], rows: number): Float32Array {
  const sums = new Float64Array(INDEX_DIMENSIONS);
  for (const vectors of parts) {
    for (let at = 0; at < vectors.length; at++) {
      sums[at % INDEX_DIMENSIONS] = (sums[at % INDEX_DIMENSIONS] as number) + (vectors[at] as number);
    }
  }
  return Float32Array.from(sums, (sum) => sum / rows);
}

/** Return the positions of the ones, or null if there are more than `limit`. */
function listOnes(flags: Uint8Array, limit: number): number[] | null {
  const ones: number[] = [];
  for (let at = 0; at < flags.length; at++) {
    if (flags[at] !== 1) continue;
    if (ones.length >= limit) return null;
    ones.push(at);
  }
  return ones;
}
