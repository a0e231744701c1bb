import { setTimeout as delay } from 'node:timers/promises';

/** Rate limiter for one host: a minimum time between requests, and pauses that the host asks for. */
export class Pacer {
  #intervalMs: number;
  /** Time of the next turn by `performance.now()`. */
  #nextAt = 0;

  constructor(intervalMs: number) {
    this.#intervalMs = intervalMs;
  }

  get intervalMs(): number {
    return this.#intervalMs;
  }

  /** Wait for a turn. @throws the reason of the signal */
  async turn(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const now = performance.now();
    const at = Math.max(now, this.#nextAt);
    this.#nextAt = at + this.#intervalMs;
    if (at - now < 1) return;
    // On abort, `delay` rejects with its own error, not with the reason.
    await delay(at - now, undefined, { signal }).catch(() => undefined);
    signal.throwIfAborted();
  }

  /** Allow no turn for the next `ms`. */
  pause(ms: number): void {
    this.#nextAt = Math.max(this.#nextAt, performance.now() + ms);
  }

  slowDown(intervalMs: number): void {
    this.#intervalMs = Math.max(this.#intervalMs, intervalMs);
  }
}
