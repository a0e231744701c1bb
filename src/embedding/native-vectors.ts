import type { Model } from '../models/catalog.ts';
import { tokenBounds } from '../models/count-tokens.ts';
import type { TaskType } from '../models/task-types.ts';
import { AppError } from '../platform/errors.ts';
import { yieldToEventLoop } from '../platform/event-loop.ts';
import { SlotMap } from '../platform/slot-map.ts';
import { leavePlaceFor } from '../platform/work-context.ts';
import { type CachedVector, cacheKeys } from './cache/cache-key.ts';
import type { CacheMetrics } from './cache/cache-metrics.ts';
import { MemoryCache } from './cache/memory-cache.ts';
import { type CallFailure, PendingCalls, type SharedCall, type Subscription } from './cache/pending-calls.ts';
import type { RedisCache } from './cache/redis-cache.ts';
import type { Provider } from './providers/provider.ts';
import { Resolution } from './resolve-texts.ts';

export interface NativeRequest {
  readonly model: Model;
  readonly provider: Provider;
  /** Texts with the prefix of their task type, if the model has one. */
  readonly texts: readonly string[];
  readonly taskType: TaskType | null;
  readonly signal: AbortSignal;
  /** Read the caches, but do not write new vectors to them. */
  readonly isBulk?: boolean;
  /** Use the tokens that the vendor reports, and count the texts only if it reports none. */
  readonly takesVendorTokens?: boolean;
  /** Count the tokens of each text. It is called only before a call to the provider. */
  readonly count: (texts: readonly string[]) => readonly number[] | Promise<readonly number[]>;
}

export interface NativeReply {
  /** Float32Array [n x model.nativeDimension], row-major, in the order of the texts. The caller owns it. */
  readonly vectors: Float32Array;
  /** Token count of each text, cached or not. */
  readonly tokens: readonly number[];
  /** Texts that this request did not send to the provider: cached, in progress for another request, or repeated. */
  readonly hits: number;
  /** Cache keys, one per text, if all vectors came from memory. */
  readonly keys?: readonly string[];
}

export interface NativeVectorsStats {
  readonly memoryEntries: number;
  readonly memoryBytes: number;
  /** Texts in progress, and the calls that carry them. */
  readonly textsInFlight: number;
  readonly callsInFlight: number;
}

/** Native vectors of a vendor's model, from the cheapest source: memory, a call in progress, Redis, a new call. */
export interface NativeVectors {
  /**
   * @throws AppError as the provider does; `shutting_down` (503) once closed; the signal's reason once it is aborted.
   *   Other requests that wait for the same texts aren't affected
   */
  embed(request: NativeRequest): Promise<NativeReply>;
  stats(): NativeVectorsStats;
  /** Reject the calls in progress with `shutting_down`. */
  close(): Promise<void>;
}

/** Maximum numbers in a reply that is looked up and assembled without yielding to the event loop. */
const INLINE_FLOATS_MAX = 10_000;

/**
 * Open the caches in front of the providers.
 *
 * @param options.cacheBytes bound of the memory cache with all overhead; 0 turns it off
 */
export function openNativeVectors(options: {
  cacheBytes: number;
  redis: RedisCache | null;
  metrics?: CacheMetrics;
}): NativeVectors {
  return new CachedNativeVectors(options);
}

class CachedNativeVectors implements NativeVectors {
  readonly #redis: RedisCache | null;
  readonly #metrics: CacheMetrics | undefined;
  readonly #memory: MemoryCache;
  readonly #pending = new PendingCalls();
  readonly #running = new SlotMap<Promise<void>>();
  #isClosed = false;

  constructor(options: { cacheBytes: number; redis: RedisCache | null; metrics?: CacheMetrics }) {
    this.#redis = options.redis;
    this.#metrics = options.metrics;
    this.#memory = new MemoryCache(options.cacheBytes);
    this.#metrics?.watchBytes(() => this.#memory.bytes);
  }

  async embed(request: NativeRequest): Promise<NativeReply> {
    const { model, texts, signal } = request;
    if (this.#isClosed) throw shuttingDown();
    signal.throwIfAborted();
    const { nativeDimension } = model;
    const isLarge = texts.length * nativeDimension > INLINE_FLOATS_MAX;
    if (isLarge) await yieldToEventLoop();
    const keys = cacheKeys(model, request.taskType, texts);
    const wanted = new Map<string, string>();
    const missing: number[] = [];
    const tokens = new Array<number>(keys.length).fill(0);
    let vectors: Float32Array | null = null;
    for (const [index, key] of keys.entries()) {
      if (this.#memory.has(key)) {
        vectors ??= new Float32Array(keys.length * nativeDimension);
        tokens[index] = this.#memory.read(key, vectors, index * nativeDimension) as number;
      } else {
        missing.push(index);
        wanted.set(key, texts[index] as string);
      }
    }
    this.#metrics?.count('memory', keys.length - missing.length, missing.length);
    if (vectors && missing.length === 0) return { vectors, tokens, hits: keys.length, keys };
    this.#metrics?.count('in_flight', missing.length - wanted.size, 0);
    const resolved = await leavePlaceFor(() => this.#resolve(wanted, request));
    // One unshared reply has all texts, so return it directly.
    if (resolved.wholeReply && wanted.size === keys.length) return { ...resolved.wholeReply, hits: 0 };
    if (isLarge) await yieldToEventLoop();
    vectors ??= new Float32Array(keys.length * nativeDimension);
    for (const index of missing) {
      const row = resolved.vectors.get(keys[index] as string) as CachedVector;
      vectors.set(row.vector, index * nativeDimension);
      tokens[index] = row.tokens;
    }
    return { vectors, tokens, hits: keys.length - resolved.sent };
  }

  stats(): NativeVectorsStats {
    return {
      memoryEntries: this.#memory.size,
      memoryBytes: this.#memory.bytes,
      textsInFlight: this.#pending.texts,
      callsInFlight: this.#pending.calls,
    };
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#pending.cancelAll(shuttingDown());
    this.#memory.clear();
    await Promise.all(this.#running);
    await this.#redis?.close();
  }

  /** Get the vectors of texts that are not in memory. Each text occurs once. */
  async #resolve(texts: ReadonlyMap<string, string>, request: NativeRequest): Promise<Resolution> {
    const resolution = new Resolution(texts, {
      find: (key) => this.#find(key, request),
      start: (own) => this.#start(own, request),
      onJoin: (joined, own) => this.#metrics?.count('in_flight', joined, own),
    });
    await resolution.run(request.signal);
    return resolution;
  }

  /** Find the call in progress that carries a text with the required kind of tokens. */
  #find(key: string, { takesVendorTokens = false }: NativeRequest): SharedCall | undefined {
    const call = this.#pending.find(key);
    return call?.hasVendorTokens && !takesVendorTokens ? undefined : call;
  }

  #start(texts: ReadonlyMap<string, string>, request: NativeRequest): { call: SharedCall; subscription: Subscription } {
    const call = this.#pending.open([...texts.keys()], request.takesVendorTokens ?? false);
    const subscription = call.subscribe(call.keys);
    const done = this.#run(call, texts, request).finally(() => this.#running.delete(id));
    const id = this.#running.add(done);
    return { call, subscription };
  }

  /** Resolve every text of the call, or fail the call. Never reject. */
  async #run(call: SharedCall, texts: ReadonlyMap<string, string>, request: NativeRequest): Promise<void> {
    const { model, provider, taskType } = request;
    let concerns: CallFailure['concerns'] = 'initiator';
    try {
      let keys = call.keys;
      if (this.#redis) {
        const found = await this.#redis.get(keys, model.nativeDimension);
        const missing = keys.filter((_, index) => found[index] === undefined);
        this.#metrics?.count('redis', keys.length - missing.length, missing.length);
        this.#store(call, present(keys, found), request.isBulk);
        keys = missing;
        if (keys.length === 0 || call.signal.aborted) return;
      }
      call.sent = keys.length;
      const sent = keys.map((key) => texts.get(key) as string);
      const bounds = request.takesVendorTokens ? tokenBounds(model, sent) : null;
      const counts = bounds ?? (await request.count(sent));
      if (call.signal.aborted) return;
      concerns = 'everyone';
      const { isBulk = false, count } = request;
      const countExactly = bounds === null ? undefined : count;
      const own = { model, texts: sent, counts, countExactly, taskType, isBulk };
      const reply = await provider.embed({ ...own, signal: call.signal });
      const vectors = rowsOf(keys, reply, model, provider);
      if (keys === call.keys) call.reply = reply;
      if (!request.isBulk) this.#redis?.set(vectors);
      this.#store(call, vectors, request.isBulk);
    } catch (error) {
      if (error instanceof AppError && error.code === 'upstream_rejected') concerns = 'input';
      call.fail({ error, concerns });
    }
  }

  #store(call: SharedCall, vectors: ReadonlyMap<string, CachedVector>, isBulk = false): void {
    if (vectors.size === 0) return;
    if (!this.#isClosed && !isBulk) for (const [key, vector] of vectors) this.#memory.set(key, vector);
    call.resolveTexts(vectors);
  }
}

function present(keys: readonly string[], found: readonly (CachedVector | undefined)[]): Map<string, CachedVector> {
  const vectors = new Map<string, CachedVector>();
  for (const [index, key] of keys.entries()) {
    const vector = found[index];
    if (vector) vectors.set(key, vector);
  }
  return vectors;
}

/**
 * Return views of the reply, one per key.
 *
 * @throws AppError `provider_unavailable` (502) for a reply of another shape
 */
function rowsOf(
  keys: readonly string[],
  reply: { vectors: Float32Array; tokens: readonly number[] },
  model: Model,
  provider: Provider,
): Map<string, CachedVector> {
  const d = model.nativeDimension;
  if (reply.vectors.length !== keys.length * d || reply.tokens.length !== keys.length) {
    throw new AppError({
      code: 'provider_unavailable',
      status: 502,
      message: `${provider.name} answered with ${reply.vectors.length} numbers for ${keys.length} texts of ${d} dimensions; check the dimensions of ${model.id} in the settings`,
      retryable: true,
    });
  }
  const rows = new Map<string, CachedVector>();
  for (const [i, key] of keys.entries()) {
    rows.set(key, { vector: reply.vectors.subarray(i * d, (i + 1) * d), tokens: reply.tokens[i] as number });
  }
  return rows;
}

function shuttingDown(): AppError {
  return new AppError({
    code: 'shutting_down',
    status: 503,
    message: 'the service is shutting down; try again',
    retryable: true,
    retryAfterSeconds: 1,
  });
}
