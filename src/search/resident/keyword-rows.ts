import type { WeightedTerms } from '../../language/analyser.ts';
import type { BestRows } from './best-rows.ts';
import { grown } from './grow.ts';
import { LargestNumbers } from './largest-numbers.ts';
import { TermDictionary } from './term-dictionary.ts';

/** Parameters of BM25, as LanceDB has them. */
const K1 = 1.2;
const B = 0.75;

/** A posting has the row in its upper bits and the number of occurrences in its lower ones. */
const COUNT_BITS = 10;
const COUNT_MAX = (1 << COUNT_BITS) - 1;
/** Bound of the rows of a table, by the bits of a posting. */
export const ROWS_MAX = 2 ** (32 - COUNT_BITS);

/** Postings of the first and of the largest block of a term; each block is twice as large as the one before. */
const FIRST_BLOCK = 2;
const LARGEST_BLOCK = 256;
const SPACE = 0x20;
const encoder = new TextEncoder();

/** Bound of the rounding errors of sums of scores. */
const ROUNDING = 1e-9;

/** Rows that a search may find: 1 at the index of each row. Null: all. */
export type Allowed = Uint8Array | null;

/** Best rows of several tables; `first` is the number that the first row of a table has among them. */
export interface RowRange {
  readonly best: BestRows;
  readonly first: number;
}

/** Term of a query, and the bound of what it adds to the score of a row. */
interface ScoredTerm {
  readonly term: number;
  readonly factor: number;
}

/**
 * Inverted index of the terms of rows, with BM25 scores. The postings of a term are a list of blocks in one array; the
 * first number of a block is the address of the next one. Statistics count the rows that are not removed.
 */
export class KeywordRows {
  readonly #terms = new TermDictionary();
  #postings = new Uint32Array(1_024);
  #postingsEnd = 1;
  /** By term: address of the first block and of the next posting, number of postings, postings left in the last block. */
  #firstBlock = new Uint32Array(0);
  #nextPosting = new Uint32Array(0);
  #counts = new Uint32Array(0);
  #left = new Uint32Array(0);
  /** Occurrences that do not fit into a posting, by term and row. */
  readonly #largeCounts = new Map<number, number>();
  /** Number of terms of each row. */
  #lengths = new Uint32Array(0);
  #rows = 0;
  #live = 0;
  #liveLength = 0;
  #removed: Uint8Array | null = null;
  #scores = new Float64Array(0);
  #found = new Uint32Array(0);

  get memoryBytes(): number {
    const arrays = [this.#postings, this.#firstBlock, this.#nextPosting, this.#counts, this.#left, this.#lengths];
    const scratch = this.#scores.byteLength + this.#found.byteLength;
    return arrays.reduce((sum, array) => sum + array.byteLength, this.#terms.memoryBytes + scratch);
  }

  /** Append a row: terms joined by single spaces, as UTF-8 `source[from .. to)`. */
  add(source: Uint8Array, from: number, to: number): void {
    const row = this.#rows++;
    let length = 0;
    for (let start = from; start < to; ) {
      let end = start;
      while (end < to && source[end] !== SPACE) end++;
      if (end > start) {
        this.#count(this.#terms.add(source, start, end), row);
        length++;
      }
      start = end + 1;
    }
    this.#lengths = grown(this.#lengths, this.#rows);
    this.#lengths[row] = length;
    this.#live++;
    this.#liveLength += length;
  }

  /** Leave rows out of results and of statistics from now on. A row must be given once only. */
  remove(rows: readonly number[]): void {
    this.#removed = grown(this.#removed ?? new Uint8Array(this.#rows), this.#rows);
    for (const row of rows) {
      this.#removed[row] = 1;
      this.#live--;
      this.#liveLength -= this.#lengths[row] as number;
    }
  }

  /**
   * Offer the allowed rows that have terms of the query, with their BM25 scores. The terms that add most come first: as
   * soon as the others together add less than what a row needs to be among the best, only rows that were found are looked
   * at (Turtle and Flood, MaxScore, 1995).
   */
  search(groups: readonly WeightedTerms[], allowed: Allowed, { best, first }: RowRange): void {
    this.#scores = grown(this.#scores, this.#rows);
    this.#found = grown(this.#found, this.#rows);
    if (this.#removed) this.#removed = grown(this.#removed, this.#rows);
    const terms = this.#termsOf(groups).sort((a, b) => b.factor - a.factor);
    let found = 0;
    let rest = terms.reduce((sum, { factor }) => sum + factor, 0);
    let most = 0;
    let needed = best.threshold;
    for (const scored of terms) {
      if (rest < most && found >= best.limit) needed = this.#neededScore(found, allowed, best);
      if (rest < needed - ROUNDING) {
        found = this.#keepFound(found, needed - ROUNDING - rest);
        this.#scoreFound(scored, found);
      } else {
        found = this.#score(scored, found);
      }
      rest -= scored.factor;
      most += scored.factor;
    }
    for (let at = 0; at < found; at++) {
      const row = this.#found[at] as number;
      const score = this.#scores[row] as number;
      this.#scores[row] = 0;
      if (score >= best.threshold && (allowed === null || allowed[row] === 1)) best.offer(first + row, score);
    }
  }

  /** Number of terms, those of removed rows included. */
  get termCount(): number {
    return this.#terms.size;
  }

  /** Count the rows that have a term. */
  countRows(term: string): number {
    const bytes = encoder.encode(term);
    const number = this.#terms.find(bytes, 0, bytes.length);
    if (number < 0) return 0;
    return this.#removed ? this.#countLive(number) : (this.#counts[number] as number);
  }

  /** List the terms that begin with a byte and have a number of bytes in a range. */
  termsLike(first: number, lengthMin: number, lengthMax: number): string[] {
    return this.#terms.termsLike(first, lengthMin, lengthMax);
  }

  #termsOf(groups: readonly WeightedTerms[]): ScoredTerm[] {
    return groups.flatMap(({ terms, weight }) =>
      terms.flatMap((text) => {
        const bytes = encoder.encode(text);
        const term = this.#terms.find(bytes, 0, bytes.length);
        if (term < 0) return [];
        const rows = this.#removed ? this.#countLive(term) : (this.#counts[term] as number);
        const idf = Math.log((this.#live - rows + 0.5) / (rows + 0.5) + 1);
        return rows === 0 ? [] : [{ term, factor: weight * idf * (K1 + 1) }];
      }),
    );
  }

  /** Find the score that the best allowed rows have at least so far. */
  #neededScore(found: number, allowed: Allowed, best: BestRows): number {
    const largest = new LargestNumbers(best.limit);
    for (let at = 0; at < found; at++) {
      const row = this.#found[at] as number;
      const score = this.#scores[row] as number;
      if (score > largest.smallest && (allowed === null || allowed[row] === 1)) largest.add(score);
    }
    return Math.max(largest.smallest, best.threshold);
  }

  /** Leave out the rows that were found with a smaller score. @returns number of the others, in the order of their numbers */
  #keepFound(found: number, least: number): number {
    let kept = 0;
    for (let at = 0; at < found; at++) {
      const row = this.#found[at] as number;
      if ((this.#scores[row] as number) < least) this.#scores[row] = 0;
      else this.#found[kept++] = row;
    }
    this.#found.subarray(0, kept).sort();
    return kept;
  }

  /** Add what a term adds to the rows that were found, which are in order. */
  #scoreFound({ term, factor }: ScoredTerm, count: number): void {
    const found = this.#found;
    let next = 0;
    this.#eachRun(term, (postings, from, to) => {
      const last = (postings[to - 1] as number) >>> COUNT_BITS;
      let start = from;
      for (; next < count && (found[next] as number) <= last; next++) {
        const row = found[next] as number;
        start = findPosting(postings, row, start, to);
        const posting = postings[start] as number;
        if (posting >>> COUNT_BITS === row)
          this.#scores[row] = (this.#scores[row] as number) + this.#scoreOf(term, factor, posting);
      }
    });
  }

  #scoreOf(term: number, factor: number, posting: number): number {
    const row = posting >>> COUNT_BITS;
    let count = posting & COUNT_MAX;
    if (count === COUNT_MAX) count = this.#largeCounts.get(largeKey(term, row)) ?? count;
    const perLength = (K1 * B * this.#live) / Math.max(1, this.#liveLength);
    // Rounded as in `#score`, so that equal rows have equal scores.
    const norm = K1 * (1 - B) + perLength * (this.#lengths[row] as number);
    return (factor * count) / (count + norm);
  }

  /** Add what a term adds to all its rows. @returns number of found rows */
  #score({ term, factor }: ScoredTerm, foundBefore: number): number {
    const perLength = (K1 * B * this.#live) / Math.max(1, this.#liveLength);
    const [scores, found, lengths, removed] = [this.#scores, this.#found, this.#lengths, this.#removed];
    let total = foundBefore;
    this.#eachRun(term, (postings, from, to) => {
      for (let at = from; at < to; at++) {
        const posting = postings[at] as number;
        const row = posting >>> COUNT_BITS;
        if (removed !== null && removed[row] === 1) continue;
        let count = posting & COUNT_MAX;
        if (count === COUNT_MAX) count = this.#largeCounts.get(largeKey(term, row)) ?? count;
        const norm = K1 * (1 - B) + perLength * (lengths[row] as number);
        const before = scores[row] as number;
        if (before === 0) found[total++] = row;
        scores[row] = before + (factor * count) / (count + norm);
      }
    });
    return total;
  }

  #countLive(term: number): number {
    const removed = this.#removed as Uint8Array;
    let live = 0;
    this.#eachRun(term, (postings, from, to) => {
      for (let at = from; at < to; at++) if (removed[(postings[at] as number) >>> COUNT_BITS] !== 1) live++;
    });
    return live;
  }

  #eachRun(term: number, visit: (postings: Uint32Array, from: number, to: number) => void): void {
    let block = this.#firstBlock[term] as number;
    let left = this.#counts[term] as number;
    for (let size = FIRST_BLOCK; left > 0; size = Math.min(size * 2, LARGEST_BLOCK)) {
      const taken = Math.min(size, left);
      visit(this.#postings, block + 1, block + 1 + taken);
      left -= taken;
      block = this.#postings[block] as number;
    }
  }

  /** Count one more occurrence of a term in the last row. */
  #count(term: number, row: number): void {
    this.#reserveTerm(term);
    const next = this.#nextPosting[term] as number;
    const count = this.#counts[term] as number;
    const last = count === 0 ? 0 : (this.#postings[next - 1] as number);
    if (count > 0 && last >>> COUNT_BITS === row) {
      if ((last & COUNT_MAX) < COUNT_MAX) this.#postings[next - 1] = last + 1;
      if ((last & COUNT_MAX) >= COUNT_MAX - 1) {
        const key = largeKey(term, row);
        this.#largeCounts.set(key, (this.#largeCounts.get(key) ?? COUNT_MAX - 1) + 1);
      }
      return;
    }
    const address = (this.#left[term] as number) > 0 ? next : this.#addBlock(term, count);
    this.#postings[address] = ((row << COUNT_BITS) | 1) >>> 0;
    this.#nextPosting[term] = address + 1;
    this.#counts[term] = count + 1;
    this.#left[term] = (this.#left[term] as number) - 1;
  }

  #addBlock(term: number, count: number): number {
    // Blocks of 2, 4, 8 … postings hold 2^k - 2 before the block of 2^k.
    const size = Math.min(count + FIRST_BLOCK, LARGEST_BLOCK);
    const block = this.#postingsEnd;
    this.#postingsEnd += size + 1;
    this.#postings = grown(this.#postings, this.#postingsEnd);
    if (count === 0) {
      this.#firstBlock[term] = block;
    } else {
      const lastSize = Math.min((count + FIRST_BLOCK) / 2, LARGEST_BLOCK);
      this.#postings[(this.#nextPosting[term] as number) - lastSize - 1] = block;
    }
    this.#left[term] = size;
    return block + 1;
  }

  #reserveTerm(term: number): void {
    if (term < this.#counts.length) return;
    this.#firstBlock = grown(this.#firstBlock, term + 1);
    this.#nextPosting = grown(this.#nextPosting, term + 1);
    this.#counts = grown(this.#counts, term + 1);
    this.#left = grown(this.#left, term + 1);
  }
}

function largeKey(term: number, row: number): number {
  return term * ROWS_MAX + row;
}

/** Find the first posting of `[from .. to)` whose row is at least `row`; the last one has such a row. */
function findPosting(postings: Uint32Array, row: number, from: number, to: number): number {
  let [low, high] = [from, to - 1];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((postings[middle] as number) >>> COUNT_BITS < row) low = middle + 1;
    else high = middle;
  }
  return low;
}
