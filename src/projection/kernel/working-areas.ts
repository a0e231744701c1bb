/** Lends out numbered working areas, first come first served. For one thread; what it lends may be used by others. */
export class WorkingAreas {
  readonly #free: number[];
  readonly #waiting = new Set<(area: number) => void>();

  /** Areas `first` to `first + count - 1`. */
  constructor(first: number, count: number) {
    this.#free = Array.from({ length: count }, (_, i) => first + count - 1 - i);
  }

  /** @throws the reason of `signal` when it is aborted before an area is free */
  async acquire(signal?: AbortSignal): Promise<number> {
    signal?.throwIfAborted();
    const area = this.#free.pop();
    if (area !== undefined) return area;
    return new Promise((resolve, reject) => {
      const grant = (freed: number) => {
        signal?.removeEventListener('abort', giveUp);
        resolve(freed);
      };
      const giveUp = () => {
        this.#waiting.delete(grant);
        reject(signal?.reason);
      };
      this.#waiting.add(grant);
      signal?.addEventListener('abort', giveUp, { once: true });
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
