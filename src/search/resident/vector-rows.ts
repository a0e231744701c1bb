import { INDEX_DIMENSIONS } from '../../projection/resize.ts';
import { dotProductWith } from '../dot-product.ts';
import { CandidateRows, type ListedRows, ROUNDING, type SlotQuery } from './candidate-rows.ts';
import type { Allowed, RowRange } from './keyword-rows.ts';
import { LargestNumbers } from './largest-numbers.ts';
import { offerRows, type Refinement } from './offer-rows.ts';
import type { SlotRange } from './scan-turn.ts';
import type { VectorBlocks } from './vector-blocks.ts';
import { VectorCentre } from './vector-centre.ts';
import {
  BLOCK_BYTES,
  BLOCK_ROWS,
  REFINED_TOGETHER,
  SIGNS_COUNTED,
  SKETCH_BYTES,
  SKETCHED_ROWS,
} from './vector-layout.ts';

/** Vectors of the rows of a table. */
export interface TableVectors {
  readonly memoryBytes: number;
  /** Allowed rows up to which it is faster to compare each than to estimate all; infinite if all are to be compared. */
  readonly comparedMax: number;
  /** Append vectors: Float32Array [n x 1024], each of length 1 or zero. */
  add(vectors: Float32Array): void;
  /** Set the query of a slot for all tables of this thread: Float32Array [1024]. */
  setQuery(slot: number, vector: Float32Array): void;
  /**
   * Begin to scan the rows for the queries of some slots, in which memory is read once for all of them. `finishScan` must
   * follow before anything else is scanned, and `estimate` before the rows change.
   *
   * @param limit of the rows that each query wants
   * @returns true if helping threads scan, too
   */
  start(slots: SlotRange, limit: number): boolean;
  finishScan(): void;
  /**
   * Estimate the cosines of the rows that were scanned, and add numbers that allowed rows reach at least to the lower bounds
   * of each query.
   *
   * @returns rows that may be among the best, for each query
   */
  estimate(queries: readonly SlotQuery[], allowed: Allowed): CandidateRows[];
  /**
   * Offer the rows that may be among the best, with their cosine similarity to a query.
   *
   * @param candidates of this query
   */
  offer(query: SlotQuery, candidates: CandidateRows, range: RowRange): void;
  /** Offer these rows, with their cosine similarity to a query. */
  offerRows(slot: number, rows: Iterable<number>, range: RowRange): void;
  /** Release the memory. The object must not be used afterwards. */
  release(): void;
}

/** Vectors up to which a table keeps them as they are: to quantise them would take longer than a search of them. */
export const FEW_ROWS = 128;
/** Share of the rows below which each allowed row is compared at once, without estimates of all. */
export const COMPARED_SHARE_MAX = 1 / 16;
/** The same share in a table that has sketches, whose signs are counted in less time. */
const COMPARED_SKETCHED_SHARE_MAX = 1 / 64;
/** Rows from which on a table has sketches: fewer are scanned as fast. */
const SKETCHED_MIN = 16_384;
/** Wanted rows up to which signs are counted: the cosine that more rows reach is nearer to that of most. */
const COUNTED_LIMIT_MAX = 64;
/** Rows that are estimated first after signs were counted, for each one that is wanted. */
const ESTIMATED_FIRST = 8;
/** Share of the rows up to which it is faster to estimate some after their signs were counted than to scan all. */
const ESTIMATED_SHARE_MAX = 1 / 3;
/**
 * Standard deviations by which the count of signs of a row that is among the best may be below its mean: fewer where more rows
 * are wanted than are shown, of which the last ones hardly matter.
 */
const COUNT_DEVIATIONS = { few: 2.5, many: 2 };
const FEW_WANTED_MAX = 32;

/**
 * Vectors of the rows of a table in memory. A search estimates all cosines and then computes those that may be among the
 * best. In a table of many rows it counts signs first; that suffices if they tell most rows from those of the best.
 */
export class VectorRows implements TableVectors {
  readonly #vectors: VectorBlocks;
  readonly #centre: VectorCentre;
  readonly #blocks: number[] = [];
  readonly #sketches: number[] = [];
  #rows = 0;
  #sketchedRows = 0;

  constructor(vectors: VectorBlocks) {
    this.#vectors = vectors;
    this.#centre = new VectorCentre(vectors);
  }

  get memoryBytes(): number {
    if (this.#areFew) return this.#centre.waitingBytes;
    const blocks = Math.ceil((this.#rows + this.#centre.waitingRows) / BLOCK_ROWS);
    return blocks * BLOCK_BYTES + this.#sketches.length * SKETCH_BYTES;
  }

  /** True if the vectors are kept as they are: only `offerRows` can search them without quantising them. */
  get #areFew(): boolean {
    return this.#rows === 0 && this.#centre.waitingRows <= FEW_ROWS;
  }

  get comparedMax(): number {
    if (this.#areFew) return Number.POSITIVE_INFINITY;
    const share = this.#sketches.length > 0 ? COMPARED_SKETCHED_SHARE_MAX : COMPARED_SHARE_MAX;
    return (this.#rows + this.#centre.waitingRows) * share;
  }

  add(vectors: Float32Array): void {
    this.#centre.take(vectors, (own) => this.#write(own));
  }

  #writeWaiting(): void {
    this.#centre.settle((own) => this.#write(own));
  }

  #write(vectors: Float32Array): void {
    const centre = this.#centre.value;
    for (let from = 0; from < vectors.length; from += INDEX_DIMENSIONS) {
      if (this.#rows === this.#blocks.length * BLOCK_ROWS) this.#blocks.push(this.#vectors.allocate());
      const vector = vectors.subarray(from, from + INDEX_DIMENSIONS);
      this.#vectors.write(this.#blockOf(this.#rows), this.#rows % BLOCK_ROWS, vector, centre);
      this.#rows++;
    }
    // Rows that share a large part are not told apart by their signs as well.
    if (centre === null && this.#rows >= SKETCHED_MIN) this.#sketch();
  }

  #sketch(): void {
    for (; this.#sketchedRows < this.#rows; this.#sketchedRows++) {
      const row = this.#sketchedRows;
      const { sketches } = this.#vectors;
      if (row === this.#sketches.length * SKETCHED_ROWS) this.#sketches.push(sketches.allocate());
      const high = this.#vectors.highOf(this.#blockOf(row), row % BLOCK_ROWS);
      sketches.write(this.#sketches.at(-1) as number, row % SKETCHED_ROWS, high);
    }
  }

  /** Return true if a search for so many rows counts signs first. */
  #isCounted(limit: number): boolean {
    return this.#sketches.length > 0 && limit <= COUNTED_LIMIT_MAX;
  }

  setQuery(slot: number, vector: Float32Array): void {
    this.#vectors.setQuery(slot, vector);
  }

  start(slots: SlotRange, limit: number): boolean {
    this.#writeWaiting();
    this.#vectors.prepareFor(this.#centre.value, slots);
    if (this.#isCounted(limit)) {
      return this.#vectors.sketches.start({ sketches: this.#sketches, rows: this.#rows, centre: null }, slots);
    }
    return this.#vectors.startScan(this.#blocks, this.#rows, slots);
  }

  finishScan(): void {
    this.#vectors.finishScan();
  }

  estimate(queries: readonly SlotQuery[], allowed: Allowed): CandidateRows[] {
    const isCounted = (query: SlotQuery) => this.#isCounted(query.lowerBounds.limit);
    if (allowed !== null && queries.some(isCounted)) this.#vectors.sketches.setAllowed(this.#sketches, allowed);
    return queries.map((query) => {
      if (!isCounted(query)) return this.#scannedCandidates(query, allowed);
      const counted = this.#countedCandidates(query, allowed !== null);
      if (counted !== null) return counted;
      this.#vectors.scan(this.#blocks, this.#rows, query.slot);
      return this.#scannedCandidates(query, allowed);
    });
  }

  /**
   * Find the rows that may be among the best by their counts of signs. Null: they cannot be told from too many others.
   * Estimates of the rows of the largest counts tell which cosine is reached at least, and so which count.
   */
  #countedCandidates({ slot, lowerBounds }: SlotQuery, isFiltered: boolean): CandidateRows | null {
    const table = { sketches: this.#sketches, rows: this.#rows };
    const counts = this.#vectors.sketches.counts(table, slot, isFiltered);
    const { limit } = lowerBounds;
    const reached = counts.reachedBy(ESTIMATED_FIRST * limit);
    const candidates = new CandidateRows();
    const own: SlotQuery = { slot, lowerBounds: lowerBounds.copy() };
    const likely = new LargestNumbers(limit);
    const add = (least: number, below: number) =>
      this.#eachPart((blocks, first, rows) => {
        const count = counts.list(first, rows, { least, below });
        this.#addEstimates(own, { blocks, first, count, shared: 0 }, candidates, likely);
      });
    add(reached, SIGNS_COUNTED + 1);
    const { mean, deviation } = counts.expected(Math.max(likely.smallest, lowerBounds.smallest));
    const deviations = limit <= FEW_WANTED_MAX ? COUNT_DEVIATIONS.few : COUNT_DEVIATIONS.many;
    const least = Math.max(0, Math.floor(mean - deviations * deviation));
    if (least < reached) {
      if (counts.rowsFrom(least) > this.#rows * ESTIMATED_SHARE_MAX) return null;
      add(least, reached);
    }
    lowerBounds.replace(own.lowerBounds);
    return candidates;
  }

  /**
   * Find the rows that may be among the best by the bounds of a scan. Those of the largest bounds come first: they tell what others
   * must reach.
   */
  #scannedCandidates(query: SlotQuery, allowed: Allowed): CandidateRows {
    const { slot, lowerBounds } = query;
    if (allowed !== null) this.#excludeFromBounds(slot, allowed);
    const shared = this.#centre.productWith(slot);
    const largest = new LargestNumbers(lowerBounds.limit);
    this.#eachBlock((block, _, rows) => {
      const range = { least: largest.smallest, below: Number.POSITIVE_INFINITY };
      const count = this.#vectors.select([block], rows, slot, range);
      for (let nth = 0; nth < count; nth++) {
        const bound = this.#vectors.listedBound(nth);
        if (bound > largest.smallest) largest.add(bound);
      }
    });
    const candidates = new CandidateRows();
    const add = (range: () => { readonly least: number; readonly below: number }) =>
      this.#eachPart((blocks, first, rows) => {
        const count = this.#vectors.select(blocks, rows, slot, range());
        this.#addEstimates(query, { blocks, first, count, shared }, candidates);
      });
    const below = largest.smallest;
    add(() => ({ least: below, below: Number.POSITIVE_INFINITY }));
    add(() => ({ least: lowerBounds.smallest - shared - ROUNDING, below }));
    return candidates;
  }

  #excludeFromBounds(slot: number, allowed: Uint8Array): void {
    this.#eachBlock((block, first, rows) => {
      const bounds = this.#vectors.bounds(block, rows, slot);
      for (let at = 0; at < rows; at++) if (allowed[first + at] !== 1) bounds[at] = Number.NaN;
    });
  }

  #eachBlock(use: (block: number, first: number, rows: number) => void): void {
    for (let first = 0; first < this.#rows; first += BLOCK_ROWS) {
      use(this.#blockOf(first), first, Math.min(BLOCK_ROWS, this.#rows - first));
    }
  }

  /** Use the blocks of so many rows at a time as are listed and estimated together. */
  #eachPart(use: (blocks: readonly number[], first: number, rows: number) => void): void {
    for (let first = 0; first < this.#rows; first += SKETCHED_ROWS) {
      const blocks = this.#blocks.slice(first / BLOCK_ROWS, (first + SKETCHED_ROWS) / BLOCK_ROWS);
      use(blocks, first, Math.min(SKETCHED_ROWS, this.#rows - first));
    }
  }

  /** Estimate the listed rows of some blocks better, and keep those that may still be among the best. */
  #addEstimates(
    query: SlotQuery,
    { blocks, ...listed }: Omit<ListedRows, 'share'> & { readonly blocks: readonly number[] },
    candidates: CandidateRows,
    likely: LargestNumbers | null = null,
  ): void {
    if (listed.count === 0) return;
    this.#vectors.estimateListed(blocks, listed.count, query.slot);
    candidates.addListed(this.#vectors, query, { ...listed, share: 1 }, likely);
  }

  offer({ slot, lowerBounds }: SlotQuery, candidates: CandidateRows, range: RowRange): void {
    offerRows(range, candidates.from(lowerBounds.smallest - ROUNDING, range.best), this.#refinement(slot));
  }

  offerRows(slot: number, rows: Iterable<number>, range: RowRange): void {
    if (this.#areFew) {
      const productWith = dotProductWith(this.#vectors.vectorOf(slot));
      const products: number[] = [];
      for (const vectors of this.#centre.waiting) {
        for (let from = 0; from < vectors.length; from += INDEX_DIMENSIONS) products.push(productWith(vectors, from));
      }
      for (const row of rows) range.best.offer(range.first + row, products[row] as number);
      return;
    }
    this.#writeWaiting();
    offerRows(range, rows, this.#refinement(slot));
  }

  release(): void {
    this.#centre.release();
    this.#vectors.release(this.#blocks.splice(0));
    this.#vectors.sketches.release(this.#sketches.splice(0));
    this.#rows = 0;
    this.#sketchedRows = 0;
  }

  #refinement(slot: number): Refinement {
    const shared = this.#centre.productWith(slot);
    const cosinesOf = (rows: readonly number[]) => {
      const products = this.#vectors.refine(this.#blocks, rows, slot);
      return rows.map((_, nth) => (products[nth] as number) + shared);
    };
    return { together: REFINED_TOGETHER, cosinesOf };
  }

  #blockOf(row: number): number {
    return this.#blocks[Math.floor(row / BLOCK_ROWS)] as number;
  }
}
