import { grown } from '../grow.ts';
import { COUNT_BITS, COUNT_MAX, type Postings, placeOf, postingsLeft } from './postings.ts';

/** Binary logarithm of the rows per window. */
const WINDOW_BITS = 9;
export const WINDOW_ROWS = 1 << WINDOW_BITS;
/** Number of steps per unit in stored bounds. */
const PARTS = 255;
/** Factor by which bounds may be too large before they are recomputed. */
const DRIFT_MAX = 1.05;

/** Parameters for the weight of a term in a row: `count / (count + (base + perLength * length of the row))`. */
export interface Norms {
  readonly base: number;
  readonly perLength: number;
  /** Number of terms of each row. */
  readonly lengths: Uint32Array;
}

/** Consecutive postings of a term. */
interface Run {
  readonly numbers: Uint32Array;
  readonly from: number;
  readonly end: number;
}

/** Scores of the rows of a window, Float64Array [512]. Scores below `most` don't matter. */
interface WindowScores {
  readonly scores: Float64Array;
  readonly most: number;
}

/**
 * Postings of a term, grouped by windows of the table. Each window has an upper bound of the term's weight in its rows.
 * Rows may be added, and their mean length may change.
 */
export class TermWindows {
  readonly #postings: Postings;
  readonly #term: number;
  /** By window: upper bound of the weight in steps, and number of the first posting. */
  #parts = new Uint8Array(0);
  #starts = new Uint32Array(1);
  /** Addresses of the blocks of postings. */
  #blocks: Uint32Array = new Uint32Array(0);
  /** Number of rows whose postings have been read. */
  #rows = 0;
  /** Value of `perLength` when the bounds were computed. */
  #perLength = 0;
  #drift = 1;
  /** True if a row contains the term more often than a posting can count. */
  #hasLargeCounts = false;

  constructor(postings: Postings, term: number) {
    this.#postings = postings;
    this.#term = term;
  }

  get memoryBytes(): number {
    return this.#parts.byteLength + this.#starts.byteLength + this.#blocks.byteLength;
  }

  /** Read the postings of added rows. */
  update(norms: Norms, rows: number): void {
    // If the mean length grows, each weight grows at most by this factor.
    this.#drift = Math.max(1, this.#perLength / norms.perLength);
    if (this.#rows === 0 || this.#drift > DRIFT_MAX) {
      this.#parts.fill(0);
      this.#rows = 0;
      this.#perLength = norms.perLength;
      this.#drift = 1;
    }
    if (this.#rows < rows) this.#read({ ...norms, perLength: this.#perLength }, rows);
  }

  /** Return the upper bound of the weight in a window's rows. */
  boundOf(window: number): number {
    return (this.#drift / PARTS) * (this.#parts[window] as number);
  }

  /** Add the bounds of the term's scores to those of all windows. @param factor factor of the weight */
  addBounds(factor: number, bounds: Float64Array): void {
    const [parts, part] = [this.#parts, factor * (this.#drift / PARTS)];
    for (let window = 0; window < bounds.length; window++) {
      bounds[window] = (bounds[window] as number) + part * (parts[window] as number);
    }
  }

  /**
   * Add the term's scores to the scores of the rows of a window.
   *
   * @param factor factor of the weight
   * @param into.scores Float64Array [512]
   * @param into.most scores below this need not be distinguished
   * @returns largest score of a row with the term, or `most`
   */
  addScores(window: number, factor: number, norms: Norms, { scores, most }: WindowScores): number {
    const [blocks, { numbers }] = [this.#blocks, this.#postings];
    const end = this.#starts[window + 1] as number;
    let largest = most;
    for (let nth = this.#starts[window] as number; nth < end; ) {
      const place = placeOf(nth, blocks);
      const placeEnd = place + Math.min(end - nth, postingsLeft(nth));
      nth += placeEnd - place;
      const run = { numbers, from: place, end: placeEnd };
      const into = { scores, most: largest };
      // A loop that checks for large counts takes a quarter longer.
      largest = this.#hasLargeCounts ? this.#addExactly(run, factor, norms, into) : addRun(run, factor, norms, into);
    }
    return largest;
  }

  /** Add scores like `addRun`, for postings that may have large counts. */
  #addExactly(
    { numbers, from, end }: Run,
    factor: number,
    { base, perLength, lengths }: Norms,
    { scores, most }: WindowScores,
  ): number {
    let largest = most;
    for (let at = from; at < end; at++) {
      const posting = numbers[at] as number;
      const row = posting >>> COUNT_BITS;
      const count = this.#postings.occurrences(this.#term, posting);
      const norm = base + perLength * (lengths[row] as number);
      const score = (scores[row & (WINDOW_ROWS - 1)] as number) + (factor * count) / (count + norm);
      scores[row & (WINDOW_ROWS - 1)] = score;
      if (score > largest) largest = score;
    }
    return largest;
  }

  #read({ base, perLength, lengths }: Norms, rows: number): void {
    const windows = Math.ceil(rows / WINDOW_ROWS);
    this.#parts = grown(this.#parts, windows);
    this.#starts = grown(this.#starts, windows + 1);
    this.#blocks = this.#postings.blocksOf(this.#term);
    const [parts, starts, { numbers }] = [this.#parts, this.#starts, this.#postings];
    const count = this.#postings.countOf(this.#term);
    let window = this.#rows >>> WINDOW_BITS;
    for (let nth = starts[window] as number; nth < count; nth++) {
      const posting = numbers[placeOf(nth, this.#blocks)] as number;
      const row = posting >>> COUNT_BITS;
      while (window < row >>> WINDOW_BITS) starts[++window] = nth;
      const occurrences = this.#postings.occurrences(this.#term, posting);
      if (occurrences >= COUNT_MAX) this.#hasLargeCounts = true;
      const weight = occurrences / (occurrences + base + perLength * (lengths[row] as number));
      const part = Math.ceil(PARTS * weight);
      if (part > (parts[window] as number)) parts[window] = part;
    }
    while (window < windows) starts[++window] = count;
    this.#rows = rows;
  }
}

/** Add the scores of postings without large counts. @returns the largest resulting score, or `most` */
function addRun(
  { numbers, from, end }: Run,
  factor: number,
  { base, perLength, lengths }: Norms,
  { scores, most }: WindowScores,
): number {
  let largest = most;
  for (let at = from; at < end; at++) {
    const posting = numbers[at] as number;
    const row = posting >>> COUNT_BITS;
    const count = posting & COUNT_MAX;
    const norm = base + perLength * (lengths[row] as number);
    const score = (scores[row & (WINDOW_ROWS - 1)] as number) + (factor * count) / (count + norm);
    scores[row & (WINDOW_ROWS - 1)] = score;
    if (score > largest) largest = score;
  }
  return largest;
}

/** Return the window number of a row. */
export function windowOf(row: number): number {
  return row >>> WINDOW_BITS;
}
