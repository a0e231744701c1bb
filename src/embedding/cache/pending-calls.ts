import { SlotMap } from '../../platform/slot-map.ts';
import type { ProviderReply } from '../providers/provider.ts';
import type { CachedVector } from './cache-key.ts';

/** Failure of a shared call, and the affected requests. */
export interface CallFailure {
  readonly error: unknown;
  /**
   * `everyone`: the provider could not serve the call. `input`: the provider refused a text, which may belong to any of
   * the requests. `initiator`: the failure concerns only the request that made the call.
   */
  readonly concerns: 'everyone' | 'input' | 'initiator';
}

/** Subscription of one request to some texts of a call. */
export interface Subscription {
  /** Resolves once all the texts have vectors; rejects with the call's error, or with the reason given to `cancel`. */
  readonly settled: Promise<void>;
  /** Cancel the subscription; does nothing once it is settled. */
  cancel(reason: unknown): void;
}

interface Subscriber {
  readonly keys: readonly string[];
  resolve(): void;
  reject(error: unknown): void;
}

/** Call on behalf of all requests that wait for one of its texts. It is aborted once none is waiting. */
export class SharedCall {
  /** Keys without duplicates. */
  readonly keys: readonly string[];
  /** True if a text's token count may be its share of the vendor's total instead of its own count. */
  readonly hasVendorTokens: boolean;
  /** Number of texts that weren't cached. */
  sent = 0;
  /** Reply of the provider, if a single reply has all texts in key order. */
  reply: ProviderReply | undefined;
  readonly #abort = new AbortController();
  readonly #vectors = new Map<string, CachedVector>();
  readonly #subscribers = new Set<Subscriber>();
  #subscriptions = 0;
  readonly #onEnd: () => void;
  #failure: CallFailure | undefined;
  #ended = false;

  constructor(keys: readonly string[], hasVendorTokens: boolean, onEnd: () => void) {
    this.keys = keys;
    this.hasVendorTokens = hasVendorTokens;
    this.#onEnd = onEnd;
  }

  /** Signal that is aborted once no request waits for the call. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  get failure(): CallFailure | undefined {
    return this.#failure;
  }

  vectorOf(key: string): CachedVector | undefined {
    return this.#vectors.get(key);
  }

  /** True if more than one request has subscribed to the call. */
  get isShared(): boolean {
    return this.#subscriptions > 1;
  }

  subscribe(keys: readonly string[]): Subscription {
    this.#subscriptions++;
    if (this.#failure) return { settled: Promise.reject(this.#failure.error), cancel() {} };
    if (this.#has(keys)) return { settled: Promise.resolve(), cancel() {} };
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const subscriber = { keys, resolve, reject };
    this.#subscribers.add(subscriber);
    return {
      settled: promise,
      cancel: (reason) => {
        if (!this.#subscribers.delete(subscriber)) return;
        reject(reason);
        this.#endIfAbandoned();
      },
    };
  }

  /** Store vectors of some texts, and resolve subscriptions that are complete. */
  resolveTexts(vectors: ReadonlyMap<string, CachedVector>): void {
    for (const [key, vector] of vectors) this.#vectors.set(key, vector);
    for (const subscriber of this.#subscribers) {
      if (!this.#has(subscriber.keys)) continue;
      this.#subscribers.delete(subscriber);
      subscriber.resolve();
    }
    if (this.#vectors.size === this.keys.length) this.#end();
    else this.#endIfAbandoned();
  }

  fail(failure: CallFailure): void {
    if (this.#ended) return;
    this.#failure = failure;
    this.#end();
    for (const subscriber of this.#subscribers) subscriber.reject(failure.error);
    this.#subscribers.clear();
  }

  /** Reject every subscription and abort the call. */
  cancel(error: unknown): void {
    this.fail({ error, concerns: 'everyone' });
    this.#abort.abort(error);
  }

  #has(keys: readonly string[]): boolean {
    return keys.every((key) => this.#vectors.has(key));
  }

  #endIfAbandoned(): void {
    if (this.#ended || this.#subscribers.size > 0) return;
    // Leave the list first, so that no request joins a call that is being aborted.
    this.#end();
    this.#abort.abort();
  }

  #end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#onEnd();
  }
}

/** All subscriptions of one request, cancelled together. */
export class Subscriptions {
  readonly #subscriptions = new Set<Subscription>();
  #cancelled: { readonly reason: unknown } | undefined;

  get isCancelled(): boolean {
    return this.#cancelled !== undefined;
  }

  async add(subscription: Subscription): Promise<void> {
    this.#subscriptions.add(subscription);
    // The start of the call may have aborted the request.
    if (this.#cancelled) subscription.cancel(this.#cancelled.reason);
    await subscription.settled;
    this.#subscriptions.delete(subscription);
  }

  cancelAll(reason: unknown): void {
    this.#cancelled ??= { reason };
    for (const subscription of this.#subscriptions) subscription.cancel(reason);
  }
}

/** Calls in progress, by the keys of their texts. */
export class PendingCalls {
  readonly #calls = new SlotMap<SharedCall>();
  readonly #byKey = new Map<string, number>();

  get texts(): number {
    return this.#byKey.size;
  }

  get calls(): number {
    return this.#calls.size;
  }

  find(key: string): SharedCall | undefined {
    const id = this.#byKey.get(key);
    return id === undefined ? undefined : this.#calls.get(id);
  }

  open(keys: readonly string[], hasVendorTokens = false): SharedCall {
    const call = new SharedCall(keys, hasVendorTokens, () => {
      this.#calls.delete(id);
      for (const key of keys) if (this.#byKey.get(key) === id) this.#byKey.delete(key);
    });
    const id = this.#calls.add(call);
    // A text that is already in progress stays with the earlier call, which is likely to end first.
    for (const key of keys) if (!this.#byKey.has(key)) this.#byKey.set(key, id);
    return call;
  }

  cancelAll(error: unknown): void {
    for (const call of [...this.#calls]) call.cancel(error);
  }
}
