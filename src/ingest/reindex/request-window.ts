/** Requests at work at first, and at most. */
const WIDTH_FIRST = 8;
const WIDTH_MAX = 24;
/** Time of a request below which one more may be at work, and above which only half as many. */
const FAST_MS = 2_000;
const SLOW_MS = 8_000;

/**
 * Limit of the requests to a model that are at work at the same time. It grows while they are answered fast, so that
 * texts always wait for the next free call of the provider, and shrinks when they take long, so that those of a slow
 * provider end before their deadline.
 */
export class RequestWindow {
  readonly #waiting: (() => void)[] = [];
  readonly #nowMs: () => number;
  #width = WIDTH_FIRST;
  #atWork = 0;

  /** @param nowMs monotonic clock in milliseconds */
  constructor(nowMs = () => performance.now()) {
    this.#nowMs = nowMs;
  }

  /** Send a request once there is room for it. @throws what `send` throws */
  async run<T>(send: () => Promise<T>): Promise<T> {
    if (this.#atWork >= this.#width) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#atWork++;
    const beganMs = this.#nowMs();
    try {
      return await send();
    } finally {
      this.#adapt(this.#nowMs() - beganMs);
      this.#atWork--;
      this.#admit();
    }
  }

  #adapt(ms: number): void {
    if (ms > SLOW_MS) this.#width = Math.max(1, Math.floor(this.#width / 2));
    else if (ms < FAST_MS) this.#width = Math.min(WIDTH_MAX, this.#width + 1);
  }

  #admit(): void {
    while (this.#atWork < this.#width) {
      const next = this.#waiting.shift();
      if (!next) return;
      this.#atWork++;
      next();
    }
  }
}
