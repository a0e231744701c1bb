import { setTimeout as delay } from 'node:timers/promises';

/** Turns of requests to one host: a minimum time between two of them, and pauses that the host asks for. */
export class Pacer {
  #intervalMs: number;
  /** Time of the next turn, on the clock of `performance.now()`. */
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
    // An abort rejects with another error than its reason.
    await delay(at - now, undefined, { signal }).catch(() => undefined);
    signal.throwIfAborted();
  }

  /** Have no turn before `ms` from now. */
  pause(ms: number): void {
    this.#nextAt = Math.max(this.#nextAt, performance.now() + ms);
  }

  slowDown(intervalMs: number): void {
    this.#intervalMs = Math.max(this.#intervalMs, intervalMs);
  }
}
