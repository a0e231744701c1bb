import { AppError } from '../platform/errors.ts';

interface Waiter {
  readonly enter: () => void;
}

/** At most so many at a time, and so many waiting, first come first served. */
export class Slots {
  readonly #waitingMax: number;
  readonly #waiting = new Set<Waiter>();
  #free: number;

  constructor(slots: number, options: { waitingMax: number }) {
    this.#free = slots;
    this.#waitingMax = options.waitingMax;
  }

  /**
   * Runs `work` once there is a slot for it.
   *
   * @throws AppError `images_overloaded` (503) where too many wait; the signal's reason once it is aborted
   */
  async run<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    await this.#enter(signal);
    try {
      return await work();
    } finally {
      this.#leave();
    }
  }

  #enter(signal: AbortSignal): Promise<void> {
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
        enter: () => {
          signal.removeEventListener('abort', onAbort);
          resolve();
        },
      };
      this.#waiting.add(waiter);
      signal.addEventListener('abort', onAbort, { once: true });
    });
  }

  /** A slot goes from hand to hand, so that nobody who comes later gets in between. */
  #leave(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#free++;
      return;
    }
    this.#waiting.delete(next);
    next.enter();
  }
}

function overloaded(): AppError {
  return new AppError({
    code: 'images_overloaded',
    status: 503,
    message: 'too many images are waiting to be read; try again',
    retryable: true,
    retryAfterSeconds: 5,
  });
}
