import { AppError } from './errors.ts';

/** Bounds of a gate. */
export interface FairGateLimits {
  /** Pieces of work that run at once. */
  readonly runningMax: number;
  /** Pieces of work of one owner that run at once. */
  readonly runningOfOneMax: number;
  /** Pieces of work of one owner that wait; more are refused. */
  readonly waitingOfOneMax: number;
}

interface Owner {
  running: number;
  readonly waiting: (() => void)[];
}

/**
 * Bound on the work in progress of all owners and of each. Work beyond it waits; free places go to the waiting owners
 * in turn, so that an owner with much work does not delay one with little.
 */
export class FairGate {
  readonly #limits: FairGateLimits;
  /** Owners with work, in the order in which they get the next free place. */
  readonly #owners = new Map<string, Owner>();
  #running = 0;

  constructor(limits: FairGateLimits) {
    this.#limits = limits;
  }

  /**
   * Run a piece of work once it has a place.
   *
   * @throws AppError `server_busy` (503) if too much work of the owner waits already; the signal's reason
   */
  async run<T>(ownerId: string, work: () => Promise<T>, signal: () => AbortSignal): Promise<T> {
    const owner = this.#ownerOf(ownerId);
    if (!this.#hasPlace(owner)) await this.#wait(ownerId, owner, signal());
    else this.#begin(owner);
    try {
      return await work();
    } finally {
      owner.running--;
      this.#running--;
      this.#forgetIdle(ownerId, owner);
      this.#admit();
    }
  }

  #ownerOf(ownerId: string): Owner {
    const known = this.#owners.get(ownerId);
    if (known !== undefined) return known;
    const owner: Owner = { running: 0, waiting: [] };
    this.#owners.set(ownerId, owner);
    return owner;
  }

  #hasPlace(owner: Owner): boolean {
    return this.#running < this.#limits.runningMax && owner.running < this.#limits.runningOfOneMax;
  }

  #begin(owner: Owner): void {
    owner.running++;
    this.#running++;
  }

  async #wait(ownerId: string, owner: Owner, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (owner.waiting.length >= this.#limits.waitingOfOneMax) {
      throw new AppError({
        code: 'server_busy',
        status: 503,
        message: 'too many requests of your organization are waiting; send fewer at once',
        retryable: true,
        retryAfterSeconds: 5,
      });
    }
    await new Promise<void>((resolve, reject) => {
      const enter = () => {
        signal.removeEventListener('abort', leave);
        resolve();
      };
      const leave = () => {
        owner.waiting.splice(owner.waiting.indexOf(enter), 1);
        this.#forgetIdle(ownerId, owner);
        reject(signal.reason);
      };
      signal.addEventListener('abort', leave, { once: true });
      owner.waiting.push(enter);
    });
  }

  /** Give free places to waiting owners, and let each owner that got one wait behind the others. */
  #admit(): void {
    for (const [ownerId, owner] of [...this.#owners]) {
      if (this.#running >= this.#limits.runningMax) return;
      if (owner.waiting.length === 0 || !this.#hasPlace(owner)) continue;
      this.#owners.delete(ownerId);
      this.#owners.set(ownerId, owner);
      this.#begin(owner);
      owner.waiting.shift()?.();
    }
  }

  #forgetIdle(ownerId: string, owner: Owner): void {
    if (owner.running === 0 && owner.waiting.length === 0) this.#owners.delete(ownerId);
  }
}
