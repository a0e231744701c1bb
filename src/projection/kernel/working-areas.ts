/** FIFO pool of numbered working areas. One thread owns the pool, but any thread may use an area. */
export class WorkingAreas {
  readonly #free: number[];
  readonly #waiting = new Set<(area: number) => void>();

  /** Create a pool of the areas `first` to `first + count - 1`. */
  constructor(first: number, count: number) {
    this.#free = Array.from({ length: count }, (_, i) => first + count - 1 - i);
  }

  /** Wait for a free area. @throws the reason of `signal` if it is aborted first */
  async acquire(signal?: AbortSignal): Promise<number> {
    signal?.throwIfAborted();
    const area = this.#free.pop();
    if (area !== undefined) return area;
    return new Promise((resolve, reject) => {
      const grant = (freed: number) => {
        signal?.removeEventListener('abort', onAbort);
        resolve(freed);
      };
      const onAbort = () => {
        this.#waiting.delete(grant);
        reject(signal?.reason);
      };
      this.#waiting.add(grant);
      signal?.addEventListener('abort', onAbort, { once: true });
    });
  }

  release(area: number): void {
    for (const grant of this.#waiting) {
      this.#waiting.delete(grant);
      grant(area);
      return;
    }
    this.#free.push(area);
  }
}
