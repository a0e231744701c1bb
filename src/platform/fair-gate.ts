import { tryLater } from './errors.ts';

export interface FairGateLimits {
  /** Maximum concurrent tasks. */
  readonly runningMax: number;
  /** Maximum concurrent tasks of one owner. */
  readonly runningOfOneMax: number;
  /** Maximum waiting tasks of one owner. Further ones are refused. */
  readonly waitingOfOneMax: number;
  /** Places shared among active owners. Without it, an owner's limit doesn't depend on other owners. */
  readonly shared?: SharedPlaces;
}

/** Places that active owners share equally if there are several. Each gets at least one. */
export interface SharedPlaces {
  readonly places: number;
  /** Time for which an owner counts as active after one of its tasks started or ended. */
  readonly activeMs: number;
  /** Clock in milliseconds. */
  readonly now?: () => number;
}

/** Place of a task in a gate. */
export interface Place {
  /** Give up the place while this task waits for something outside of the process. */
  leaveFor<T>(wait: () => Promise<T>): Promise<T>;
}

interface Owner {
  /** Tasks in progress. */
  inside: number;
  /** Tasks that currently hold a place. */
  running: number;
  /** Tasks that return to their place. They precede tasks that haven't started. */
  readonly returning: (() => void)[];
  readonly waiting: (() => void)[];
}

/**
 * Limit on concurrent tasks, in total and per owner. Tasks beyond it wait. Waiting owners get free places in turn, so
 * that an owner with many tasks doesn't delay one with few.
 */
export class FairGate {
  readonly #limits: FairGateLimits;
  /** Owners with tasks, in the order in which they get the next free place. */
  readonly #owners = new Map<string, Owner>();
  readonly #activity: Activity | null;
  #inside = 0;

  constructor(limits: FairGateLimits) {
    this.#limits = limits;
    this.#activity = limits.shared === undefined ? null : new Activity(limits.shared);
  }

  /**
   * Run a task once it has a place.
   * @throws AppError `server_busy` (503) if too many tasks of the owner are waiting; the signal's reason
   */
  async run<T>(ownerId: string, work: (place: Place) => Promise<T>, signal: () => AbortSignal): Promise<T> {
    this.#activity?.note(ownerId);
    const owner = this.#ownerOf(ownerId);
    if (this.#mayBegin(owner)) this.#begin(owner);
    else await this.#waitToBegin(ownerId, owner, signal());
    const place = new HeldPlace(
      () => {
        owner.running--;
        this.#admit();
      },
      () => this.#comeBack(ownerId, owner, signal),
    );
    try {
      return await work(place);
    } finally {
      if (place.end()) owner.running--;
      owner.inside--;
      this.#inside--;
      this.#activity?.note(ownerId);
      this.#forgetIdle(ownerId, owner);
      this.#admit();
    }
  }

  #ownerOf(ownerId: string): Owner {
    const known = this.#owners.get(ownerId);
    if (known !== undefined) return known;
    const owner: Owner = { inside: 0, running: 0, returning: [], waiting: [] };
    this.#owners.set(ownerId, owner);
    return owner;
  }

  #mayBegin(owner: Owner): boolean {
    const { runningMax, runningOfOneMax } = this.#limits;
    return this.#inside < runningMax && owner.inside < runningOfOneMax && this.#mayRun(owner);
  }

  /** Return true if the owner has a free place among the shared ones. */
  #mayRun(owner: Owner): boolean {
    return this.#activity === null || owner.running < this.#activity.placesOfOne();
  }

  #begin(owner: Owner): void {
    owner.inside++;
    this.#inside++;
    owner.running++;
  }

  async #waitToBegin(ownerId: string, owner: Owner, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (owner.waiting.length >= this.#limits.waitingOfOneMax) {
      throw tryLater('too many requests of your organization are waiting; send fewer at once', 'server_busy', {
        retryAfterSeconds: 5,
      });
    }
    await this.#waitIn(owner.waiting, signal, () => this.#forgetIdle(ownerId, owner));
  }

  async #comeBack(ownerId: string, owner: Owner, signal: () => AbortSignal): Promise<void> {
    if (owner.returning.length === 0 && this.#mayRun(owner)) {
      owner.running++;
      return;
    }
    await this.#waitIn(owner.returning, signal(), () => this.#forgetIdle(ownerId, owner));
  }

  /** Wait in a queue until `#admit` takes the entry. @throws the signal's reason */
  #waitIn(queue: (() => void)[], signal: AbortSignal, onLeave: () => void): Promise<void> {
    signal.throwIfAborted();
    return new Promise<void>((resolve, reject) => {
      const enter = () => {
        signal.removeEventListener('abort', leave);
        resolve();
      };
      const leave = () => {
        queue.splice(queue.indexOf(enter), 1);
        onLeave();
        reject(signal.reason);
      };
      signal.addEventListener('abort', leave, { once: true });
      queue.push(enter);
    });
  }

  /** Give free places to waiting owners in turn, until no owner may have another one. */
  #admit(): void {
    for (let hasAdmitted = true; hasAdmitted; ) {
      hasAdmitted = false;
      for (const [ownerId, owner] of [...this.#owners]) {
        if (!this.#admitNext(owner)) continue;
        hasAdmitted = true;
        // The owner now queues behind the others.
        this.#owners.delete(ownerId);
        this.#owners.set(ownerId, owner);
      }
    }
  }

  #admitNext(owner: Owner): boolean {
    if (owner.returning.length > 0) {
      if (!this.#mayRun(owner)) return false;
      owner.running++;
      owner.returning.shift()?.();
      return true;
    }
    if (owner.waiting.length === 0 || !this.#mayBegin(owner)) return false;
    this.#begin(owner);
    owner.waiting.shift()?.();
    return true;
  }

  #forgetIdle(ownerId: string, owner: Owner): void {
    const { inside, waiting, returning } = owner;
    if (inside === 0 && waiting.length === 0 && returning.length === 0) this.#owners.delete(ownerId);
  }
}

/** Record of recently active owners. */
class Activity {
  readonly #places: number;
  readonly #activeMs: number;
  readonly #now: () => number;
  /** Times until which owners count as active, earliest first. */
  readonly #untilMs = new Map<string, number>();

  constructor({ places, activeMs, now = () => performance.now() }: SharedPlaces) {
    this.#places = places;
    this.#activeMs = activeMs;
    this.#now = now;
  }

  note(ownerId: string): void {
    this.#untilMs.delete(ownerId);
    this.#untilMs.set(ownerId, this.#now() + this.#activeMs);
  }

  /** Compute the number of places per active owner. A single active owner has no such limit. */
  placesOfOne(): number {
    const nowMs = this.#now();
    for (const [ownerId, untilMs] of this.#untilMs) {
      if (untilMs > nowMs) break;
      this.#untilMs.delete(ownerId);
    }
    const active = this.#untilMs.size;
    return active <= 1 ? Number.POSITIVE_INFINITY : Math.max(1, Math.floor(this.#places / active));
  }
}

/** Place of one task, which may wait for several things concurrently. */
class HeldPlace implements Place {
  readonly #leave: () => void;
  readonly #comeBack: () => Promise<void>;
  #waits = 0;
  #isHeld = true;
  #hasEnded = false;
  #returning: Promise<void> | null = null;

  constructor(leave: () => void, comeBack: () => Promise<void>) {
    this.#leave = leave;
    this.#comeBack = comeBack;
  }

  async leaveFor<T>(wait: () => Promise<T>): Promise<T> {
    this.#waits++;
    if (this.#isHeld && !this.#hasEnded) {
      this.#isHeld = false;
      this.#leave();
    }
    try {
      return await wait();
    } finally {
      this.#waits--;
      if (this.#waits === 0 && !this.#isHeld && !this.#hasEnded) {
        this.#returning ??= this.#return();
        await this.#returning;
      }
    }
  }

  /** End the task. Return true if it currently holds its place. */
  end(): boolean {
    this.#hasEnded = true;
    return this.#isHeld;
  }

  async #return(): Promise<void> {
    try {
      await this.#comeBack();
      if (this.#hasEnded) this.#leave();
      else this.#isHeld = true;
    } finally {
      this.#returning = null;
    }
  }
}
