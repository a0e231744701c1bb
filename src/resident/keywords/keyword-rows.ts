import type { WeightedTerms } from '../../language/analyser.ts';
import type { Allowed, BestRows, RowRange } from '../best-rows.ts';
import { grown } from '../grow.ts';
import { LargestNumbers } from '../largest-numbers.ts';
import { FoundWindows } from './found-windows.ts';
import { COUNT_BITS, Postings } from './postings.ts';
import { TermDictionary } from './term-dictionary.ts';
import { type Norms, TermWindows, WINDOW_ROWS } from './term-windows.ts';

/**
 * BM25 parameters, the same as LanceDB's, so that a copy ranks like its table. Keep them constant: the bounds in
 * `TermWindows` would be wrong if `B` changed during the life of a table.
 */
const K1 = 1.2;
const B = 0.75;

/** Number of rows from which a term is frequent and gets an upper bound of its weight per window. */
const BOUNDED_ROWS_MIN = 4_096;
/** Number of windows to search first: those with the largest bounds. */
const FIRST_WINDOWS = 64;
const SPACE = 0x20;
const encoder = new TextEncoder();

/** Tolerance for rounding errors in sums of scores. */
const ROUNDING = 1e-9;

/** Query term. `factor` is also an upper bound of the term's contribution to a score. */
interface ScoredTerm {
  readonly term: number;
  readonly rows: number;
  readonly factor: number;
}

/** Inverted index of row terms, with BM25 scoring. Statistics exclude removed rows. */
export class KeywordRows {
  readonly #terms = new TermDictionary();
  readonly #postings = new Postings();
  /** Windows of the frequent terms used by queries so far, by term. */
  readonly #windows = new Map<number, TermWindows>();
  /** Number of terms per row. */
  #lengths = new Uint32Array(0);
  #rows = 0;
  #live = 0;
  #liveLength = 0;
  #removed: Uint8Array | null = null;
  /** Number of removed rows per frequent term, cached until the next removal. */
  readonly #removedCounts = new Map<number, number>();
  #scores = new Float64Array(0);
  #found = new Uint32Array(0);

  /** Number of rows, including removed ones. */
  get rowCount(): number {
    return this.#rows;
  }

  get memoryBytes(): number {
    const windows = [...this.#windows.values()].reduce((sum, { memoryBytes }) => sum + memoryBytes, 0);
    const scratch = this.#scores.byteLength + this.#found.byteLength;
    return this.#terms.memoryBytes + this.#postings.memoryBytes + this.#lengths.byteLength + windows + scratch;
  }

  /**
   * Append the rows `[from .. to)` of a term column. `offsets` holds the start of each row, then the end of the last
   * one; `bytes` is UTF-8.
   */
  addAll(
    { offsets, bytes }: { readonly offsets: Int32Array; readonly bytes: Uint8Array },
    from: number,
    to: number,
  ): void {
    for (let at = from; at < to; at++) this.add(bytes, offsets[at] as number, offsets[at + 1] as number);
  }

  /** Append a row: terms separated by single spaces, as UTF-8 `source[from .. to)`. */
  add(source: Uint8Array, from: number, to: number): void {
    const row = this.#rows++;
    let length = 0;
    for (let start = from; start < to; ) {
      let end = start;
      while (end < to && source[end] !== SPACE) end++;
      if (end > start) {
        this.#postings.add(this.#terms.add(source, start, end), row);
        length++;
      }
      start = end + 1;
    }
    this.#lengths = grown(this.#lengths, this.#rows);
    this.#lengths[row] = length;
    this.#live++;
    this.#liveLength += length;
  }

  /** Exclude rows from results and statistics. Passing a row twice would corrupt the statistics. */
  remove(rows: readonly number[]): void {
    this.#removed = grown(this.#removed ?? new Uint8Array(this.#rows), this.#rows);
    this.#removedCounts.clear();
    for (const row of rows) {
      this.#removed[row] = 1;
      this.#live--;
      this.#liveLength -= this.#lengths[row] as number;
    }
  }

  /**
   * Offer the allowed rows that contain query terms, with their BM25 scores. First score all rows of rare terms. Then
   * score frequent terms, but only in windows whose bound is high enough for a row to be among the best (block-max
   * indexes: Ding and Suel, SIGIR 2011).
   */
  search(groups: readonly WeightedTerms[], allowed: Allowed, { best, first }: RowRange): void {
    this.#scores = grown(this.#scores, this.#rows);
    this.#found = grown(this.#found, this.#rows);
    if (this.#removed) this.#removed = grown(this.#removed, this.#rows);
    const terms = this.#termsOf(groups).sort((a, b) => b.factor - a.factor);
    let found = 0;
    for (const scored of terms) if (scored.rows < BOUNDED_ROWS_MIN) found = this.#score(scored, found);
    const bounded = terms.filter(({ rows }) => rows >= BOUNDED_ROWS_MIN);
    if (bounded.length > 0) this.#searchWindows(bounded, found, allowed, { best, first });
    for (let at = 0; at < found; at++) {
      const row = this.#found[at] as number;
      const score = this.#scores[row] as number;
      if (score === 0) continue;
      this.#scores[row] = 0;
      if (score >= best.threshold && (allowed === null || allowed[row] === 1)) best.offer(first + row, score);
    }
  }

  /**
   * Score the frequent terms window by window, and offer the rows of each searched window, including rows found
   * earlier, whose scores it clears. Found rows in skipped windows keep their scores; `search` offers them.
   */
  #searchWindows(terms: readonly ScoredTerm[], found: number, allowed: Allowed, range: RowRange): void {
    const { best } = range;
    const norms = this.#norms();
    const windowed = terms.map(({ term, factor }) => ({ factor, windows: this.#windowsOf(term, norms) }));
    const rare = new FoundWindows(this.#found.subarray(0, found), this.#scores, this.#rows);
    const bounds = rare.largest.slice();
    for (const { factor, windows } of windowed) windows.addBounds(factor, bounds);
    const firstFrom = smallestOf(bounds, FIRST_WINDOWS);
    let needed = found < best.limit ? best.threshold : this.#neededScore(found, allowed, best);
    const scores = new Float64Array(WINDOW_ROWS);
    for (const isFirst of [true, false]) {
      for (let window = 0; window < bounds.length; window++) {
        let bound = bounds[window] as number;
        if (bound === 0 || bound < needed - ROUNDING || bound >= firstFrom !== isFirst) continue;
        const from = window * WINDOW_ROWS;
        const end = Math.min(from + WINDOW_ROWS, this.#rows);
        if (allowed !== null && !allowed.subarray(from, end).includes(1)) continue;
        let most = rare.largest[window] as number;
        let rest = bound - most;
        rare.move(window, scores);
        for (const { factor, windows } of windowed) {
          if (bound < needed - ROUNDING) break;
          const own = windows.boundOf(window);
          if (own === 0) continue;
          rest -= factor * own;
          // If no row of the window can be among the best any more, `bound` falls below `needed` and the loop stops.
          most = windows.addScores(window, factor, norms, {
            scores,
            most: Math.max(most, needed - rest - 2 * ROUNDING),
          });
          bound = most + rest;
        }
        if (bound >= needed - ROUNDING) this.#offerWindow(from, scores.subarray(0, end - from), allowed, range);
        needed = Math.max(needed, best.threshold);
        scores.fill(0);
      }
    }
  }

  #offerWindow(from: number, scores: Float64Array, allowed: Allowed, { best, first }: RowRange): void {
    // Skip rows without any of the terms, whose score is 0.
    let least = Math.max(best.threshold, Number.MIN_VALUE);
    for (let at = 0; at < scores.length; at++) {
      const score = scores[at] as number;
      if (score < least) continue;
      const row = from + at;
      if ((allowed !== null && allowed[row] !== 1) || this.#removed?.[row] === 1) continue;
      best.offer(first + row, score);
      least = Math.max(best.threshold, Number.MIN_VALUE);
    }
  }

  #norms(): Norms {
    const perLength = (K1 * B * this.#live) / Math.max(1, this.#liveLength);
    return { base: K1 * (1 - B), perLength, lengths: this.#lengths };
  }

  #windowsOf(term: number, norms: Norms): TermWindows {
    const windows = this.#windows.get(term) ?? new TermWindows(this.#postings, term);
    this.#windows.set(term, windows);
    windows.update(norms, this.#rows);
    return windows;
  }

  /** Number of terms, including those of removed rows only. */
  get termCount(): number {
    return this.#terms.size;
  }

  /** Count the rows that contain a term. */
  countRows(term: string): number {
    const bytes = encoder.encode(term);
    const number = this.#terms.find(bytes, 0, bytes.length);
    if (number < 0) return 0;
    return this.#countLive(number);
  }

  /** Match terms with rows. @returns 1 for each match: Uint8Array [rows x terms], row-major */
  matchTerms(terms: readonly string[], rows: readonly number[]): Uint8Array {
    const matches = new Uint8Array(rows.length * terms.length);
    for (const [nth, term] of terms.entries()) {
      const bytes = encoder.encode(term);
      const number = this.#terms.find(bytes, 0, bytes.length);
      if (number < 0) continue;
      const has = this.#postings.finder(number);
      for (const [at, row] of rows.entries()) if (has(row)) matches[at * terms.length + nth] = 1;
    }
    return matches;
  }

  /** List the terms that start with the byte `first` and are `lengthMin` to `lengthMax` bytes long. */
  termsLike(first: number, lengthMin: number, lengthMax: number): string[] {
    return this.#terms.termsLike(first, lengthMin, lengthMax);
  }

  #termsOf(groups: readonly WeightedTerms[]): ScoredTerm[] {
    return groups.flatMap(({ terms, weight }) =>
      terms.flatMap((text) => {
        const bytes = encoder.encode(text);
        const term = this.#terms.find(bytes, 0, bytes.length);
        if (term < 0) return [];
        const rows = this.#countLive(term);
        const idf = Math.log((this.#live - rows + 0.5) / (rows + 0.5) + 1);
        return rows === 0 ? [] : [{ term, rows, factor: weight * idf * (K1 + 1) }];
      }),
    );
  }

  /** Return the minimum score for a row to be among the best so far. */
  #neededScore(found: number, allowed: Allowed, best: BestRows): number {
    const largest = new LargestNumbers(best.limit);
    for (let at = 0; at < found; at++) {
      const row = this.#found[at] as number;
      const score = this.#scores[row] as number;
      if (score > largest.smallest && (allowed === null || allowed[row] === 1)) largest.add(score);
    }
    return Math.max(largest.smallest, best.threshold);
  }

  /** Add a term's scores to all its rows. Append newly found rows to `#found`. @returns length of `#found` */
  #score({ term, factor }: ScoredTerm, foundBefore: number): number {
    const { base, perLength, lengths } = this.#norms();
    const [scores, found, removed] = [this.#scores, this.#found, this.#removed];
    const { numbers } = this.#postings;
    const cursor = this.#postings.cursor(term);
    let total = foundBefore;
    do {
      for (let { at } = cursor; at < cursor.end; at++) {
        const posting = numbers[at] as number;
        const row = posting >>> COUNT_BITS;
        if (removed !== null && removed[row] === 1) continue;
        const count = this.#postings.occurrences(term, posting);
        const before = scores[row] as number;
        if (before === 0) found[total++] = row;
        scores[row] = before + (factor * count) / (count + (base + perLength * (lengths[row] as number)));
      }
    } while (cursor.nextRun());
    return total;
  }

  /** Count a term's rows, excluding removed ones. */
  #countLive(term: number): number {
    const rows = this.#postings.countOf(term);
    const removed = this.#removed;
    if (removed === null) return rows;
    const known = this.#removedCounts.get(term);
    if (known !== undefined) return rows - known;
    const { numbers } = this.#postings;
    const cursor = this.#postings.cursor(term);
    let gone = 0;
    do {
      for (let { at } = cursor; at < cursor.end; at++) gone += removed[(numbers[at] as number) >>> COUNT_BITS] ?? 0;
    } while (cursor.nextRun());
    if (rows >= BOUNDED_ROWS_MIN) this.#removedCounts.set(term, gone);
    return rows - gone;
  }
}

/** Return the smallest of the `count` largest numbers; -Infinity if there are fewer. */
function smallestOf(numbers: Float64Array, count: number): number {
  const largest = new LargestNumbers(count);
  for (const number of numbers) if (number > largest.smallest) largest.add(number);
  return largest.smallest;
}
