import { type AppError, tryLater } from '../platform/errors.ts';

interface Waiter {
  readonly grant: () => void;
}

/** Semaphore with a bounded first-in, first-out queue. */
export class Slots {
  readonly #waitingMax: number;
  readonly #waiting = new Set<Waiter>();
  #free: number;

  constructor(slots: number, options: { waitingMax: number }) {
    this.#free = slots;
    this.#waitingMax = options.waitingMax;
  }

  /**
   * Run `work` once a slot is free.
   *
   * @throws AppError `images_overloaded` (503) if too many callers wait; the signal's reason once it is aborted
   */
  async run<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    await this.#acquire(signal);
    try {
      return await work();
    } finally {
      this.#release();
    }
  }

  #acquire(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.#free > 0) {
      this.#free--;
      return Promise.resolve();
    }
    if (this.#waiting.size >= this.#waitingMax) throw overloaded();
    return new Promise((resolve, reject) => {
      const onAbort = () => {
        this.#waiting.delete(waiter);
        reject(signal.reason);
      };
      const waiter = {
        grant: () => {
          signal.removeEventListener('abort', onAbort);
          resolve();
        },
      };
      this.#waiting.add(waiter);
      signal.addEventListener('abort', onAbort, { once: true });
    });
  }

  /** Release a slot. Pass it directly to the next waiter, so that no later caller can take it first. */
  #release(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#free++;
      return;
    }
    this.#waiting.delete(next);
    next.grant();
  }
}

function overloaded(): AppError {
  return tryLater('too many images are waiting to be read; try again', 'images_overloaded', { retryAfterSeconds: 5 });
}
