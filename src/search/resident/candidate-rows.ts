import type { BestRows } from './best-rows.ts';
import { grown } from './grow.ts';
import type { LargestNumbers } from './largest-numbers.ts';
import { ROWS_MAX } from './postings.ts';
import type { VectorBlocks } from './vector-blocks.ts';

/** Bound of the rounding errors of bounds, which are float32. */
export const ROUNDING = 1e-6;

/** Rows that there is room for at first. */
const ROOM = 1_024;

/** Margins, of five standard deviations each, between the upper bound of a row and what it reaches but for two deviations. */
const LIKELY_MARGINS = 1 + 2 / 5;

/** Query that is set, and numbers that the rows of its searched tables reach at least. */
export interface SlotQuery {
  readonly slot: number;
  readonly lowerBounds: LargestNumbers;
}

/** Rows that were listed and estimated. */
export interface ListedRows {
  readonly count: number;
  /** Row of the table from which on the listed ones are numbered. */
  readonly first: number;
  /** Share of the margins that is kept: 1, or less where a few rows may be missed. */
  readonly share: number;
  /** Part of their cosines that the centre adds. */
  readonly shared: number;
}

/** Rows that may be among the best, with upper bounds of their cosines. */
export class CandidateRows {
  #rows = new Uint32Array(ROOM);
  #bounds = new Float32Array(ROOM);
  #size = 0;

  add(row: number, bound: number): void {
    this.#rows = grown(this.#rows, this.#size + 1);
    this.#bounds = grown(this.#bounds, this.#size + 1);
    this.#rows[this.#size] = row;
    this.#bounds[this.#size++] = bound;
  }

  /**
   * Add those of listed rows that may be among the best, and what they reach at least to the lower bounds.
   *
   * @param likely gets what they reach but for two standard deviations of the error of an estimate
   */
  addListed(
    vectors: VectorBlocks,
    { lowerBounds }: SlotQuery,
    { count, first, share, shared }: ListedRows,
    likely: LargestNumbers | null = null,
  ): void {
    for (let nth = 0; nth < count; nth++) {
      const bound = vectors.listedBound(nth) + shared;
      if (bound < lowerBounds.smallest - ROUNDING) continue;
      const margin = vectors.listedMargin(nth);
      const upper = bound - (1 - share) * margin;
      if (upper < lowerBounds.smallest - ROUNDING) continue;
      this.add(first + vectors.listed(nth), upper);
      const lower = bound - (1 + share) * margin;
      if (lower > lowerBounds.smallest) lowerBounds.add(lower);
      const reached = bound - LIKELY_MARGINS * margin;
      if (likely !== null && reached > likely.smallest) likely.add(reached);
    }
  }

  /** List the rows whose bound is at least `lowest`, by falling bound, until none that follows can be among the best. */
  *from(lowest: number, best: BestRows): Generator<number> {
    const sorted = new Float64Array(this.#size);
    const words = new Uint32Array(sorted.buffer);
    let count = 0;
    for (let at = 0; at < this.#size; at++) {
      const bound = this.#bounds[at] as number;
      if (bound >= lowest) {
        sorted[count] = bound;
        // The lowest 29 bits of a float64 that was a float32 are zero: the number of the row fits there.
        words[2 * count] = (words[2 * count] as number) | (this.#rows[at] as number);
        count++;
      }
    }
    sorted.subarray(0, count).sort();
    for (let nth = count - 1; nth >= 0; nth--) {
      if ((sorted[nth] as number) < best.threshold - ROUNDING) return;
      yield (words[2 * nth] as number) % ROWS_MAX;
    }
  }
}
