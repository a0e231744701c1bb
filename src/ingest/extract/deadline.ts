/** Limit on wall-clock time that can be paused. */
export class Deadline {
  readonly #onOver: () => void;
  #timer: NodeJS.Timeout | null = null;
  #leftMs: number;
  #startedAt = 0;
  #pauses = 0;
  #isOver = false;

  constructor(ms: number, onOver: () => void) {
    this.#leftMs = ms;
    this.#onOver = onOver;
    this.#start();
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Pause the clock until `work` has settled. */
  async pause<T>(work: Promise<T>): Promise<T> {
    if (this.#pauses++ === 0 && this.#timer !== null) {
      clearTimeout(this.#timer);
      this.#leftMs -= performance.now() - this.#startedAt;
    }
    try {
      return await work;
    } finally {
      if (--this.#pauses === 0 && this.#timer !== null) this.#start();
    }
  }

  extend(ms: number): void {
    this.#leftMs += ms;
    if (this.#pauses > 0 || this.#timer === null) return;
    clearTimeout(this.#timer);
    this.#leftMs -= performance.now() - this.#startedAt;
    this.#start();
  }

  stop(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }

  #start(): void {
    this.#startedAt = performance.now();
    this.#timer = setTimeout(
      () => {
        this.#isOver = true;
        this.#onOver();
      },
      Math.max(0, this.#leftMs),
    );
  }
}
