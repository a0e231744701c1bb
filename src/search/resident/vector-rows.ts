import { INDEX_DIMENSIONS } from '../../projection/resize.ts';
import { dotProductWith } from '../dot-product.ts';
import { grown } from './grow.ts';
import type { Allowed, RowRange } from './keyword-rows.ts';
import { LargestNumbers } from './largest-numbers.ts';
import type { SlotRange } from './scan-turn.ts';
import type { VectorBlocks } from './vector-blocks.ts';
import { VectorCentre } from './vector-centre.ts';
import { BLOCK_BYTES, BLOCK_ROWS, VECTOR_BYTES } from './vector-layout.ts';

/** Bound of the rounding errors of bounds, which are float32. */
const ROUNDING = 1e-6;

/** Query that is set, and numbers that the rows of its searched tables reach at least. */
export interface SlotQuery {
  readonly slot: number;
  readonly lowerBounds: LargestNumbers;
}

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
   * @returns true if helping threads scan, too
   */
  start(slots: SlotRange): boolean;
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

/** Block whose rows have upper bounds. */
interface ScannedBlock {
  readonly block: number;
  /** Number of its first row in the table. */
  readonly first: number;
  readonly rows: number;
  /** Part of their cosines that the centre adds. */
  readonly shared: number;
}

/** Vectors up to which a table keeps them as they are: to quantise them would take longer than a search of them. */
export const FEW_ROWS = 128;
/** Share of the rows below which each allowed row is compared at once, without estimates of all. */
export const COMPARED_SHARE_MAX = 1 / 16;

/**
 * Vectors of the rows of a table in memory. A search estimates all cosines and then computes those that may be among the
 * best.
 */
export class VectorRows implements TableVectors {
  readonly #vectors: VectorBlocks;
  readonly #centre: VectorCentre;
  readonly #blocks: number[] = [];
  #rows = 0;

  constructor(vectors: VectorBlocks) {
    this.#vectors = vectors;
    this.#centre = new VectorCentre(vectors);
  }

  get memoryBytes(): number {
    if (this.#areFew) return this.#centre.waitingRows * VECTOR_BYTES;
    return Math.ceil((this.#rows + this.#centre.waitingRows) / BLOCK_ROWS) * BLOCK_BYTES;
  }

  /** True if the vectors are kept as they are: only `offerRows` can search them without quantising them. */
  get #areFew(): boolean {
    return this.#rows === 0 && this.#centre.waitingRows <= FEW_ROWS;
  }

  get comparedMax(): number {
    if (this.#areFew) return Number.POSITIVE_INFINITY;
    return (this.#rows + this.#centre.waitingRows) * COMPARED_SHARE_MAX;
  }

  add(vectors: Float32Array): void {
    for (const own of this.#centre.take(vectors)) this.#write(own);
  }

  #writeWaiting(): void {
    for (const own of this.#centre.settle()) this.#write(own);
  }

  #write(vectors: Float32Array): void {
    const centre = this.#centre.value;
    for (let from = 0; from < vectors.length; from += INDEX_DIMENSIONS) {
      if (this.#rows === this.#blocks.length * BLOCK_ROWS) this.#blocks.push(this.#vectors.allocate());
      const vector = vectors.subarray(from, from + INDEX_DIMENSIONS);
      this.#vectors.write(this.#blockOf(this.#rows), this.#rows % BLOCK_ROWS, vector, centre);
      this.#rows++;
    }
  }

  setQuery(slot: number, vector: Float32Array): void {
    this.#vectors.setQuery(slot, vector);
  }

  start(slots: SlotRange): boolean {
    this.#writeWaiting();
    this.#vectors.prepareFor(this.#centre.value, slots);
    return this.#vectors.startScan(this.#blocks, this.#rows, slots);
  }

  finishScan(): void {
    this.#vectors.finishScan();
  }

  estimate(queries: readonly SlotQuery[], allowed: Allowed): CandidateRows[] {
    if (allowed !== null) {
      this.#eachBlock((block, first, rows) => {
        for (const { slot } of queries) {
          const bounds = this.#vectors.bounds(block, rows, slot);
          for (let at = 0; at < rows; at++) if (allowed[first + at] !== 1) bounds[at] = Number.NaN;
        }
      });
    }
    return queries.map((query) => this.#candidates(query));
  }

  /** Find the rows that may be among the best. Those of the largest bounds come first: they tell what others must reach. */
  #candidates(query: SlotQuery): CandidateRows {
    const { slot, lowerBounds } = query;
    const shared = this.#centre.productWith(slot);
    const largest = new LargestNumbers(lowerBounds.limit);
    this.#eachBlock((block, _, rows) => {
      const range = { least: largest.smallest, below: Number.POSITIVE_INFINITY };
      const bounds = this.#vectors.bounds(block, rows, slot);
      largest.addAll(bounds, this.#vectors.select(block, rows, slot, range));
    });
    const candidates = new CandidateRows();
    this.#eachBlock((block, first, rows) => {
      const range = { least: largest.smallest, below: Number.POSITIVE_INFINITY };
      this.#addEstimates(query, { block, first, rows, shared }, range, candidates);
    });
    this.#eachBlock((block, first, rows) => {
      const range = { least: lowerBounds.smallest - shared - ROUNDING, below: largest.smallest };
      this.#addEstimates(query, { block, first, rows, shared }, range, candidates);
    });
    return candidates;
  }

  #eachBlock(use: (block: number, first: number, rows: number) => void): void {
    for (let first = 0; first < this.#rows; first += BLOCK_ROWS) {
      use(this.#blockOf(first), first, Math.min(BLOCK_ROWS, this.#rows - first));
    }
  }

  /** Estimate rows of one block better whose bounds are in a range, and keep those that may still be among the best. */
  #addEstimates(
    { slot, lowerBounds }: SlotQuery,
    { block, first, rows, shared }: ScannedBlock,
    range: { readonly least: number; readonly below: number },
    candidates: CandidateRows,
  ): void {
    const selected = this.#vectors.select(block, rows, slot, range);
    if (selected.length === 0) return;
    const { bounds, margins } = this.#vectors.estimate(block, selected, slot);
    const { perRow, query } = this.#vectors.marginsOf(slot);
    for (let nth = 0; nth < selected.length; nth++) {
      const at = selected[nth] as number;
      const upper = (bounds[nth] as number) + shared;
      if (upper < lowerBounds.smallest - ROUNDING) continue;
      candidates.add(first + at, upper);
      const lower = upper - 2 * ((margins[at] as number) * perRow + query);
      if (lower > lowerBounds.smallest) lowerBounds.add(lower);
    }
  }

  offer({ slot, lowerBounds }: SlotQuery, candidates: CandidateRows, { best, first }: RowRange): void {
    const shared = this.#centre.productWith(slot);
    for (const { row, bound } of candidates.from(lowerBounds.smallest - ROUNDING)) {
      // Those that follow have smaller bounds.
      if (bound < best.threshold - ROUNDING) return;
      best.offer(first + row, this.#refine(row, slot) + shared);
    }
  }

  offerRows(slot: number, rows: Iterable<number>, { best, first }: RowRange): void {
    if (this.#areFew) {
      const productWith = dotProductWith(this.#vectors.vectorOf(slot));
      const products: number[] = [];
      for (const vectors of this.#centre.waiting) {
        for (let from = 0; from < vectors.length; from += INDEX_DIMENSIONS) products.push(productWith(vectors, from));
      }
      for (const row of rows) best.offer(first + row, products[row] as number);
      return;
    }
    this.#writeWaiting();
    const shared = this.#centre.productWith(slot);
    for (const row of rows) best.offer(first + row, this.#refine(row, slot) + shared);
  }

  release(): void {
    this.#vectors.release(this.#blocks.splice(0));
    this.#rows = 0;
  }

  #refine(row: number, slot: number): number {
    return this.#vectors.refine(this.#blockOf(row), row % BLOCK_ROWS, slot);
  }

  #blockOf(row: number): number {
    return this.#blocks[Math.floor(row / BLOCK_ROWS)] as number;
  }
}

/** Rows with upper bounds of their cosines. */
export class CandidateRows {
  #rows = new Uint32Array(0);
  #bounds = new Float32Array(0);
  #size = 0;

  add(row: number, bound: number): void {
    this.#rows = grown(this.#rows, this.#size + 1);
    this.#bounds = grown(this.#bounds, this.#size + 1);
    this.#rows[this.#size] = row;
    this.#bounds[this.#size++] = bound;
  }

  /** List the rows whose bound is at least `lowest`, by falling bound. */
  from(lowest: number): { readonly row: number; readonly bound: number }[] {
    const listed: { row: number; bound: number }[] = [];
    for (let at = 0; at < this.#size; at++) {
      const bound = this.#bounds[at] as number;
      if (bound >= lowest) listed.push({ row: this.#rows[at] as number, bound });
    }
    return listed.sort((a, b) => b.bound - a.bound);
  }
}
