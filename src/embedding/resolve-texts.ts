import type { CachedVector } from './cache/cache-key.ts';
import { type SharedCall, type Subscription, Subscriptions } from './cache/pending-calls.ts';
import type { ProviderReply } from './providers/provider.ts';

/** Calls that a resolution may join or start. */
export interface CallSource {
  /** Find the call in progress that carries a text. */
  readonly find: (key: string) => SharedCall | undefined;
  readonly start: (texts: ReadonlyMap<string, string>) => { call: SharedCall; subscription: Subscription };
  /** Called once with the number of texts that join other calls and the number that don't. */
  readonly onJoin: (joined: number, own: number) => void;
}

/** Resolution of the texts of one request. It joins calls of other requests, and starts one for the rest. */
export class Resolution {
  readonly #texts: ReadonlyMap<string, string>;
  readonly #calls: CallSource;
  readonly #subscriptions = new Subscriptions();
  readonly #vectors = new Map<string, CachedVector>();
  #sent = 0;
  #wholeReply: ProviderReply | null = null;

  /** @param texts by their cache keys */
  constructor(texts: ReadonlyMap<string, string>, calls: CallSource) {
    this.#texts = texts;
    this.#calls = calls;
  }

  get vectors(): ReadonlyMap<string, CachedVector> {
    return this.#vectors;
  }

  get sent(): number {
    return this.#sent;
  }

  /** Unshared reply with all texts in order, or null. */
  get wholeReply(): ProviderReply | null {
    return this.#wholeReply;
  }

  /** @throws what the calls throw; the signal's reason, which does not affect other requests */
  async run(signal: AbortSignal): Promise<void> {
    const onAbort = () => this.#subscriptions.cancelAll(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      await this.#collect(this.#texts, 0);
    } catch (error) {
      this.#subscriptions.cancelAll(error);
      throw error;
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
  }

  /** Collect vectors. Attempt 0 joins any call, attempt 1 only calls without other requests' texts, attempt 2 none. */
  async #collect(wanted: ReadonlyMap<string, string>, attempt: number): Promise<void> {
    const own = new Map<string, string>();
    const joined = new Map<SharedCall, Map<string, string>>();
    for (const [key, text] of wanted) {
      const call = attempt < 2 ? this.#calls.find(key) : undefined;
      if (call && (attempt === 0 || isWithin(call, this.#texts))) {
        const part = joined.get(call) ?? new Map<string, string>();
        joined.set(call, part.set(key, text));
      } else {
        own.set(key, text);
      }
    }
    if (attempt === 0) this.#calls.onJoin(wanted.size - own.size, own.size);
    const parts: Promise<void>[] = [];
    for (const [call, part] of joined) parts.push(this.#join(call, part, attempt));
    if (own.size > 0) parts.push(this.#send(own));
    await Promise.all(parts);
  }

  async #join(call: SharedCall, part: ReadonlyMap<string, string>, attempt: number): Promise<void> {
    const keys = [...part.keys()];
    try {
      await this.#receive(call, call.subscribe(keys), keys);
    } catch (error) {
      if (this.#subscriptions.isCancelled || !concernsOthers(call, this.#texts)) throw error;
      await this.#collect(part, attempt + 1);
    }
  }

  async #send(own: ReadonlyMap<string, string>): Promise<void> {
    const { call, subscription } = this.#calls.start(own);
    await this.#receive(call, subscription, call.keys);
    this.#sent += call.sent;
    if (own.size === this.#texts.size && call.reply && !call.isShared) this.#wholeReply = call.reply;
  }

  async #receive(call: SharedCall, subscription: Subscription, keys: readonly string[]): Promise<void> {
    await this.#subscriptions.add(subscription);
    for (const key of keys) this.#vectors.set(key, call.vectorOf(key) as CachedVector);
  }
}

/** Return true if the call carries only these texts, so that a refused text must be one of them. */
function isWithin(call: SharedCall, texts: ReadonlyMap<string, string>): boolean {
  return call.keys.every((key) => texts.has(key));
}

/** Return true if another request may have caused the failure of the call. */
function concernsOthers(call: SharedCall, texts: ReadonlyMap<string, string>): boolean {
  const concerns = call.failure?.concerns;
  if (concerns === 'input') return !isWithin(call, texts);
  return concerns === 'initiator';
}
