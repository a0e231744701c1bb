import { grown } from '../grow.ts';

/** Number of low bits of a posting for the occurrence count. The high bits hold the row. */
export const COUNT_BITS = 10;
export const COUNT_MAX = (1 << COUNT_BITS) - 1;
/** Maximum number of rows of a table, limited by the bits of a posting. */
export const ROWS_MAX = 2 ** (32 - COUNT_BITS);

/** Number of postings in a term's first and largest block. Each block is twice as large as the previous one. */
const FIRST_BLOCK = 2;
const LARGEST_BLOCK_BITS = 12;
const LARGEST_BLOCK = 1 << LARGEST_BLOCK_BITS;

/**
 * Rows of each term in order, with occurrence counts. One array holds each term's postings as a linked list of blocks.
 * The first number of a block is the address of the next block.
 */
export class Postings {
  #numbers = new Uint32Array(1_024);
  #end = 1;
  /**
   * By term: address of the first block, address of the next posting, number of postings, and postings left in the last
   * block.
   */
  #firstBlock = new Uint32Array(0);
  #nextPosting = new Uint32Array(0);
  #counts = new Uint32Array(0);
  #left = new Uint32Array(0);
  /** Occurrence counts too large for a posting, by term and row. */
  readonly #largeCounts = new Map<number, number>();

  get memoryBytes(): number {
    const arrays = [this.#numbers, this.#firstBlock, this.#nextPosting, this.#counts, this.#left];
    return arrays.reduce((sum, array) => sum + array.byteLength, 0);
  }

  /** Return a view of the array of all blocks, valid until the next posting is added. */
  get numbers(): Uint32Array {
    return this.#numbers;
  }

  /** Count the rows of a term. */
  countOf(term: number): number {
    return this.#counts[term] as number;
  }

  /** Count another occurrence of a term in the last row. */
  add(term: number, row: number): void {
    this.#reserveTerm(term);
    const next = this.#nextPosting[term] as number;
    const count = this.#counts[term] as number;
    const last = count === 0 ? 0 : (this.#numbers[next - 1] as number);
    if (count > 0 && last >>> COUNT_BITS === row) {
      if ((last & COUNT_MAX) < COUNT_MAX) this.#numbers[next - 1] = last + 1;
      if ((last & COUNT_MAX) >= COUNT_MAX - 1) {
        const key = largeKey(term, row);
        this.#largeCounts.set(key, (this.#largeCounts.get(key) ?? COUNT_MAX - 1) + 1);
      }
      return;
    }
    const address = (this.#left[term] as number) > 0 ? next : this.#addBlock(term, count);
    this.#numbers[address] = ((row << COUNT_BITS) | 1) >>> 0;
    this.#nextPosting[term] = address + 1;
    this.#counts[term] = count + 1;
    this.#left[term] = (this.#left[term] as number) - 1;
  }

  /** Return the occurrence count of a posting, resolving `COUNT_MAX` ("that many or more"). */
  occurrences(term: number, posting: number): number {
    const count = posting & COUNT_MAX;
    return count < COUNT_MAX ? count : (this.#largeCounts.get(largeKey(term, posting >>> COUNT_BITS)) ?? COUNT_MAX);
  }

  /** Return a cursor before the first posting of a term. */
  cursor(term: number): PostingCursor {
    return new PostingCursor(this.#numbers, this.#firstBlock[term] as number, this.#counts[term] as number);
  }

  /** List the addresses of the blocks of a term. */
  blocksOf(term: number): Uint32Array {
    const blocks = new Uint32Array(blockOf((this.#counts[term] as number) - 1) + 1);
    let block = this.#firstBlock[term] as number;
    for (let nth = 0; nth < blocks.length; nth++) {
      blocks[nth] = block;
      block = this.#numbers[block] as number;
    }
    return blocks;
  }

  /** Return a predicate for the rows that contain a term. */
  finder(term: number): (row: number) => boolean {
    const blocks = this.blocksOf(term);
    const rowAt = (nth: number) => (this.#numbers[placeOf(nth, blocks)] as number) >>> COUNT_BITS;
    return (row) => {
      let [from, to] = [0, this.#counts[term] as number];
      while (from < to) {
        const middle = (from + to) >>> 1;
        if (rowAt(middle) < row) from = middle + 1;
        else to = middle;
      }
      return from < (this.#counts[term] as number) && rowAt(from) === row;
    };
  }

  #addBlock(term: number, count: number): number {
    // Blocks of 2, 4, 8 … postings: those before the block of 2^k hold 2^k - 2.
    const size = Math.min(count + FIRST_BLOCK, LARGEST_BLOCK);
    const block = this.#end;
    this.#end += size + 1;
    this.#numbers = grown(this.#numbers, this.#end);
    if (count === 0) {
      this.#firstBlock[term] = block;
    } else {
      const lastSize = Math.min((count + FIRST_BLOCK) / 2, LARGEST_BLOCK);
      this.#numbers[(this.#nextPosting[term] as number) - lastSize - 1] = block;
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

/** Forward cursor over a term's postings. `[at .. end)` is the range of the current block's numbers. */
export class PostingCursor {
  at = 0;
  end = 0;
  readonly #numbers: Uint32Array;
  #block: number;
  #left: number;
  #size = FIRST_BLOCK;

  constructor(numbers: Uint32Array, firstBlock: number, count: number) {
    this.#numbers = numbers;
    this.#block = firstBlock;
    this.#left = count;
    this.nextRun();
  }

  /** Move to the next block. @returns false if there is none */
  nextRun(): boolean {
    if (this.#left === 0) {
      this.at = this.end;
      return false;
    }
    const taken = Math.min(this.#size, this.#left);
    this.at = this.#block + 1;
    this.end = this.at + taken;
    this.#left -= taken;
    this.#block = this.#numbers[this.#block] as number;
    this.#size = Math.min(this.#size * 2, LARGEST_BLOCK);
    return true;
  }
}

/** Return the address of a term's nth posting. @param blocks from `blocksOf` */
export function placeOf(nth: number, blocks: Uint32Array): number {
  // The blocks before the block of 2^k postings hold 2^k - 2.
  const at = nth + FIRST_BLOCK;
  const start = at >= LARGEST_BLOCK ? at & (LARGEST_BLOCK - 1) : at - (1 << (31 - Math.clz32(at)));
  return (blocks[blockOf(nth)] as number) + 1 + start;
}

/** Count the postings from a term's nth posting to the end of its block. */
export function postingsLeft(nth: number): number {
  const at = nth + FIRST_BLOCK;
  if (at >= LARGEST_BLOCK) return LARGEST_BLOCK - (at & (LARGEST_BLOCK - 1));
  return (2 << (31 - Math.clz32(at))) - at;
}

/** Return the number of the block that holds a term's nth posting. */
function blockOf(nth: number): number {
  const at = nth + FIRST_BLOCK;
  return at >= LARGEST_BLOCK ? LARGEST_BLOCK_BITS - 2 + (at >>> LARGEST_BLOCK_BITS) : 30 - Math.clz32(at);
}

function largeKey(term: number, row: number): number {
  return term * ROWS_MAX + row;
}
