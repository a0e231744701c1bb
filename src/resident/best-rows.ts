/** Row of a resident table with its score. */
export interface ScoredRow {
  readonly row: number;
  readonly score: number;
}

/** Filter on rows, by row number: 1 for each row that a search may return. Null: all rows. */
export type Allowed = Uint8Array | null;

/** Best rows of several tables. `first` is the table's offset in the common row numbers. */
export interface RowRange {
  readonly best: BestRows;
  readonly first: number;
}

/** Top rows by score, in a min-heap of bounded size. */
export class BestRows {
  /** Maximum number of rows to keep. */
  readonly limit: number;
  readonly #idOf: (row: number) => string;
  readonly #heap: ScoredRow[] = [];

  /** @param idOf breaks ties: of two rows with equal score, the one with the smaller id is better */
  constructor(limit: number, idOf: (row: number) => string) {
    this.limit = limit;
    this.#idOf = idOf;
  }

  /** Minimum score for a row to be added. */
  get threshold(): number {
    return this.#heap.length < this.limit ? Number.NEGATIVE_INFINITY : (this.#heap[0] as ScoredRow).score;
  }

  offer(row: number, score: number): void {
    const heap = this.#heap;
    const offered = { row, score };
    if (heap.length < this.limit) {
      heap.push(offered);
      this.#rise(heap.length - 1);
      return;
    }
    const root = heap[0];
    if (root === undefined || !this.#isWorse(root, offered)) return;
    heap[0] = offered;
    this.#sink();
  }

  /** Return the rows, best first. */
  toSorted(): ScoredRow[] {
    return this.#heap.toSorted((a, b) => (this.#isWorse(a, b) ? 1 : -1));
  }

  #isWorse(a: ScoredRow, b: ScoredRow): boolean {
    return a.score === b.score ? this.#idOf(a.row) > this.#idOf(b.row) : a.score < b.score;
  }

  #rise(from: number): void {
    const heap = this.#heap;
    for (let at = from; at > 0; ) {
      const parent = (at - 1) >> 1;
      if (!this.#isWorse(heap[at] as ScoredRow, heap[parent] as ScoredRow)) return;
      swap(heap, at, parent);
      at = parent;
    }
  }

  #sink(): void {
    const heap = this.#heap;
    for (let at = 0; ; ) {
      let worst = at;
      for (const child of [2 * at + 1, 2 * at + 2]) {
        if (child < heap.length && this.#isWorse(heap[child] as ScoredRow, heap[worst] as ScoredRow)) worst = child;
      }
      if (worst === at) return;
      swap(heap, at, worst);
      at = worst;
    }
  }
}

function swap(heap: ScoredRow[], a: number, b: number): void {
  const held = heap[a] as ScoredRow;
  heap[a] = heap[b] as ScoredRow;
  heap[b] = held;
}
