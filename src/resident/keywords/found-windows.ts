import { WINDOW_ROWS, windowOf } from './term-windows.ts';

/** Rows found and scored so far, grouped by windows of the table. */
export class FoundWindows {
  /** Maximum score of the found rows per window: Float64Array [windows]; 0 if there are none. */
  readonly largest: Float64Array;
  readonly #found: Uint32Array;
  readonly #scores: Float64Array;
  /**
   * Linked lists of the found rows per window. By window: position of its first row among the found rows, counted from
   * 1. By position: position of the next row of the same window.
   */
  readonly #first: Uint32Array;
  readonly #next: Uint32Array;

  /**
   * @param found row numbers
   * @param scores by row: Float64Array [rows of the table or more]
   * @param rows number of rows of the table
   */
  constructor(found: Uint32Array, scores: Float64Array, rows: number) {
    const windows = Math.ceil(rows / WINDOW_ROWS);
    const largest = new Float64Array(windows);
    const first = new Uint32Array(windows);
    const next = new Uint32Array(found.length);
    for (let at = 0; at < found.length; at++) {
      const row = found[at] as number;
      const window = windowOf(row);
      const score = scores[row] as number;
      if (score > (largest[window] as number)) largest[window] = score;
      next[at] = first[window] as number;
      first[window] = at + 1;
    }
    [this.largest, this.#first, this.#next] = [largest, first, next];
    [this.#found, this.#scores] = [found, scores];
  }

  /**
   * Move the scores of a window's found rows to `target`, and clear them.
   *
   * @param target receives the scores by position in the window, Float64Array [512]
   */
  move(window: number, target: Float64Array): void {
    const [found, scores, next] = [this.#found, this.#scores, this.#next];
    for (let place = this.#first[window] as number; place > 0; place = next[place - 1] as number) {
      const row = found[place - 1] as number;
      target[row & (WINDOW_ROWS - 1)] = scores[row] as number;
      scores[row] = 0;
    }
  }
}
