import { INDEX_DIMENSIONS } from '../../projection/resize.ts';
import { grown } from './grow.ts';
import type { Allowed, RowRange } from './keyword-rows.ts';
import { BLOCK_BYTES, BLOCK_ROWS, type VectorBlocks } from './vector-blocks.ts';

/** Bound of the rounding errors of bounds, which are float32. */
const ROUNDING = 1e-6;

/** Vectors of the rows of a table. A search estimates all cosines and then computes those that may be among the best. */
export class VectorRows {
  readonly #vectors: VectorBlocks;
  readonly #blocks: number[] = [];
  #rows = 0;
  /** Rows that the last estimate found, in order, and upper bounds of their cosines. */
  #candidateRows = new Uint32Array(0);
  #candidateBounds = new Float32Array(0);
  #candidates = 0;

  constructor(vectors: VectorBlocks) {
    this.#vectors = vectors;
  }

  get memoryBytes(): number {
    return this.#blocks.length * BLOCK_BYTES + this.#candidateRows.byteLength * 2;
  }

  /** Append vectors: Float32Array [n x 1024], each of length 1 or zero. */
  add(vectors: Float32Array): void {
    for (let from = 0; from < vectors.length; from += INDEX_DIMENSIONS) {
      if (this.#rows === this.#blocks.length * BLOCK_ROWS) this.#blocks.push(this.#vectors.allocate());
      const vector = vectors.subarray(from, from + INDEX_DIMENSIONS);
      this.#vectors.write(this.#blockOf(this.#rows), this.#rows % BLOCK_ROWS, vector);
      this.#rows++;
    }
  }

  /** Estimate the cosines of all rows, and add numbers that allowed rows reach at least to `lowerBounds`. */
  estimate(query: Float32Array, allowed: Allowed, lowerBounds: LargestNumbers): void {
    const queryMargin = this.#vectors.setQuery(query);
    this.#candidates = 0;
    for (let first = 0; first < this.#rows; first += BLOCK_ROWS) {
      const found = this.#vectors.scan(
        this.#blockOf(first),
        Math.min(BLOCK_ROWS, this.#rows - first),
        lowerBounds.smallest - ROUNDING,
      );
      this.#reserve(found.rows.length);
      for (const at of found.rows) {
        if (allowed !== null && allowed[first + at] !== 1) continue;
        const upper = found.bounds[at] as number;
        this.#candidateRows[this.#candidates] = first + at;
        this.#candidateBounds[this.#candidates++] = upper;
        const lower = upper - 2 * ((found.margins[at] as number) + queryMargin);
        if (lower > lowerBounds.smallest) lowerBounds.add(lower);
      }
    }
  }

  /**
   * Offer the allowed rows that may be among the best, with their cosine similarity to the query of the last `estimate`.
   *
   * @param lowest cosine that the best rows reach
   */
  offerFrom(lowest: number, { best, first }: RowRange): void {
    for (let at = 0; at < this.#candidates; at++) {
      if ((this.#candidateBounds[at] as number) < lowest - ROUNDING) continue;
      const row = this.#candidateRows[at] as number;
      best.offer(first + row, this.#refine(row));
    }
  }

  /** Offer these rows, with their cosine similarity to the query. */
  offerRows(query: Float32Array, rows: Iterable<number>, { best, first }: RowRange): void {
    this.#vectors.setQuery(query);
    for (const row of rows) best.offer(first + row, this.#refine(row));
  }

  /** Release the memory. The object must not be used afterwards. */
  release(): void {
    this.#vectors.release(this.#blocks.splice(0));
    this.#rows = 0;
  }

  #reserve(candidates: number): void {
    this.#candidateRows = grown(this.#candidateRows, this.#candidates + candidates);
    this.#candidateBounds = grown(this.#candidateBounds, this.#candidates + candidates);
  }

  #refine(row: number): number {
    return this.#vectors.refine(this.#blockOf(row), row % BLOCK_ROWS);
  }

  #blockOf(row: number): number {
    return this.#blocks[Math.floor(row / BLOCK_ROWS)] as number;
  }
}

/** The largest of many numbers: a heap whose root is the smallest of them. */
export class LargestNumbers {
  readonly #heap: Float64Array;
  #size = 0;

  constructor(limit: number) {
    this.#heap = new Float64Array(limit);
  }

  /** Number below which none is taken any more. */
  get smallest(): number {
    return this.#size < this.#heap.length ? Number.NEGATIVE_INFINITY : (this.#heap[0] as number);
  }

  /** @param value larger than `smallest` */
  add(value: number): void {
    const heap = this.#heap;
    if (this.#size < heap.length) {
      let at = this.#size++;
      for (let parent = (at - 1) >> 1; at > 0 && (heap[parent] as number) > value; parent = (at - 1) >> 1) {
        heap[at] = heap[parent] as number;
        at = parent;
      }
      heap[at] = value;
      return;
    }
    let at = 0;
    for (let child = 1; child < heap.length; child = 2 * at + 1) {
      if (child + 1 < heap.length && (heap[child + 1] as number) < (heap[child] as number)) child++;
      if ((heap[child] as number) >= value) break;
      heap[at] = heap[child] as number;
      at = child;
    }
    heap[at] = value;
  }
}
