/** Initial and maximum number of concurrent requests. */
const WIDTH_FIRST = 8;
const WIDTH_MAX = 24;
/** Response time below which the limit grows by one, and above which it is halved. */
const FAST_MS = 2_000;
const SLOW_MS = 8_000;

/**
 * Limiter of concurrent requests to a model. It grows while responses are fast, so that texts always wait for the
 * provider's next free call, and shrinks when they are slow, so that requests end before their deadline.
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

  /** Send a request once there is room. @throws the error of `send` */
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
