import type { ProviderReply } from '../providers/provider.ts';
import type { CachedVector } from './cache-key.ts';

/** Why a shared call failed, which decides whom the error concerns. */
export interface CallFailure {
  readonly error: unknown;
  /**
   * `everyone`: the provider could not do it. `input`: one of the texts was refused, perhaps not yours.
   * `initiator`: it went wrong on the side of the request that made the call.
   */
  readonly concerns: 'everyone' | 'input' | 'initiator';
}

/** One request's interest in some texts of a call. */
export interface Subscription {
  /** Resolves once all the texts are there; rejects with the call's error, or with the reason of `leave`. */
  readonly settled: Promise<void>;
  /** Gives up; does nothing once settled. */
  leave(reason: unknown): void;
}

interface Waiter {
  readonly keys: readonly string[];
  resolve(): void;
  reject(error: unknown): void;
}

/** One call on behalf of every request that waits for any of its texts; cut off once none does. */
export class SharedCall {
  /** Each text once. */
  readonly keys: readonly string[];
  /** How many of them no cache had. */
  sent = 0;
  /** What the provider answered, where one answer has all the texts, in the order of the keys. */
  reply: ProviderReply | undefined;
  readonly #abort = new AbortController();
  readonly #landed = new Map<string, CachedVector>();
  readonly #waiters = new Set<Waiter>();
  #waits = 0;
  readonly #onEnd: (call: SharedCall) => void;
  #failure: CallFailure | undefined;
  #ended = false;

  constructor(keys: readonly string[], onEnd: (call: SharedCall) => void) {
    this.keys = keys;
    this.#onEnd = onEnd;
  }

  /** Aborted once nobody waits any more. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  get failure(): CallFailure | undefined {
    return this.#failure;
  }

  landed(key: string): CachedVector | undefined {
    return this.#landed.get(key);
  }

  /** Whether more than one request ever waited for it. */
  get isShared(): boolean {
    return this.#waits > 1;
  }

  wait(keys: readonly string[]): Subscription {
    this.#waits++;
    if (this.#failure) return { settled: Promise.reject(this.#failure.error), leave() {} };
    if (this.#has(keys)) return { settled: Promise.resolve(), leave() {} };
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiter = { keys, resolve, reject };
    this.#waiters.add(waiter);
    return {
      settled: promise,
      leave: (reason) => {
        if (!this.#waiters.delete(waiter)) return;
        reject(reason);
        this.#endIfAbandoned();
      },
    };
  }

  /** Some of the texts are there. */
  land(vectors: ReadonlyMap<string, CachedVector>): void {
    for (const [key, vector] of vectors) this.#landed.set(key, vector);
    for (const waiter of this.#waiters) {
      if (!this.#has(waiter.keys)) continue;
      this.#waiters.delete(waiter);
      waiter.resolve();
    }
    if (this.#landed.size === this.keys.length) this.#end();
    else this.#endIfAbandoned();
  }

  fail(failure: CallFailure): void {
    if (this.#ended) return;
    this.#failure = failure;
    this.#end();
    for (const waiter of this.#waiters) waiter.reject(failure.error);
    this.#waiters.clear();
  }

  /** Fails everyone and cuts the call off. */
  cancel(error: unknown): void {
    this.fail({ error, concerns: 'everyone' });
    this.#abort.abort(error);
  }

  #has(keys: readonly string[]): boolean {
    return keys.every((key) => this.#landed.has(key));
  }

  #endIfAbandoned(): void {
    if (this.#ended || this.#waiters.size > 0) return;
    // First out of the list, so that nobody joins a call that is being cut off.
    this.#end();
    this.#abort.abort();
  }

  #end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#onEnd(this);
  }
}

/** Everything that one request waits for, left all at once. */
export class Subscriptions {
  readonly #waits = new Set<Subscription>();
  #over: { readonly reason: unknown } | undefined;

  get areOver(): boolean {
    return this.#over !== undefined;
  }

  async add(wait: Subscription): Promise<void> {
    this.#waits.add(wait);
    // The request may have been aborted by what the call did at its start.
    if (this.#over) wait.leave(this.#over.reason);
    await wait.settled;
    this.#waits.delete(wait);
  }

  leave(reason: unknown): void {
    this.#over ??= { reason };
    for (const wait of this.#waits) wait.leave(reason);
  }
}

/** Which texts are under way, and in which call. */
export class PendingCalls {
  readonly #byKey = new Map<string, SharedCall>();
  readonly #calls = new Set<SharedCall>();

  /** Texts under way. */
  get texts(): number {
    return this.#byKey.size;
  }

  get calls(): number {
    return this.#calls.size;
  }

  find(key: string): SharedCall | undefined {
    return this.#byKey.get(key);
  }

  open(keys: readonly string[]): SharedCall {
    const call = new SharedCall(keys, (ended) => {
      this.#calls.delete(ended);
      for (const key of keys) if (this.#byKey.get(key) === ended) this.#byKey.delete(key);
    });
    this.#calls.add(call);
    // A text that is under way already stays with the call that has it: later requests wait the shorter time.
    for (const key of keys) if (!this.#byKey.has(key)) this.#byKey.set(key, call);
    return call;
  }

  cancelAll(error: unknown): void {
    for (const call of [...this.#calls]) call.cancel(error);
  }
}
