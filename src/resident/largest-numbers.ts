/** Largest of many numbers, in a min-heap of bounded size. */
export class LargestNumbers {
  readonly #heap: Float64Array;
  #size = 0;

  /** @param limit maximum number of numbers to keep */
  constructor(limit: number) {
    this.#heap = new Float64Array(limit);
  }

  /** Number that the next one must exceed to be added. */
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
