import { performance } from 'node:perf_hooks';
import type { Logger } from '../../platform/logger.ts';
import type { CachedVector } from './cache-key.ts';

/** Changes with the layout of a value. */
const KEY_PREFIX = 'emb:1:';
const TTL_MS = 7 * 24 * 60 * 60 * 1000;
const TOKENS_BYTES = 4;
/** Writes that Redis has not acknowledged; beyond it vectors are not written. */
const UNACKNOWLEDGED_MAX_BYTES = 16 * 1024 * 1024;
const LOOKUP_TIMEOUT_MS = 50;
/** How long Redis is left alone after a fault. */
const REST_MS = 5000;
/** Vectors are unit vectors; anything else in Redis is not ours. */
const NORM_TOLERANCE = 1e-3;

/** What is needed of a connection to Redis. */
export interface CacheConnection {
  /** Whether a command would be sent now. The connection itself says when it is lost. */
  readonly isReady: boolean;
  readonly client: {
    mgetBuffer(keys: string[]): Promise<(Buffer | null)[]>;
    pipeline(): RedisPipeline;
  };
}

interface RedisPipeline {
  set(key: string, value: Buffer, unit: 'PX', ttlMs: number): unknown;
  exec(): Promise<[error: Error | null, result: unknown][] | null>;
}

/** Vectors shared by every process. Redis may be slow, full or gone: then it has nothing, and nobody waits for it. */
export interface RedisCache {
  /**
   * One command for all keys; never throws. Nothing is found where Redis is resting after a fault or takes longer than
   * the timeout, and where a value has another length than `dimensions`.
   * @returns one for each key
   */
  get(keys: readonly string[], dimensions: number): Promise<(CachedVector | undefined)[]>;
  /** Returns at once; what Redis cannot take now is not kept. */
  set(vectors: ReadonlyMap<string, CachedVector>): void;
  /** Resolves when what was written is acknowledged or given up. The connection stays its owner's. */
  close(): Promise<void>;
}

/** Value: uint32 LE tokens, then the vector as float32 LE. Hosts are little-endian, so arrays are copied as they are. */
export function openRedisCache(options: {
  redis: CacheConnection;
  logger: Logger;
  timeoutMs?: number;
  restMs?: number;
  /** Milliseconds of a clock that never goes back. */
  now?: () => number;
}): RedisCache {
  const { redis, logger, timeoutMs = LOOKUP_TIMEOUT_MS, restMs = REST_MS, now = () => performance.now() } = options;
  const reads = new Circuit('read', logger, restMs, now);
  const writes = new Circuit('write', logger, restMs, now);
  const unacknowledged = new Set<Promise<void>>();
  let unacknowledgedBytes = 0;

  async function write(vectors: ReadonlyMap<string, CachedVector>, bytes: number): Promise<void> {
    unacknowledgedBytes += bytes;
    try {
      const pipeline = redis.client.pipeline();
      for (const [key, entry] of vectors) pipeline.set(KEY_PREFIX + key, encode(entry), 'PX', TTL_MS);
      const answers = await pipeline.exec();
      const refused = answers?.find(([error]) => error !== null)?.[0];
      if (refused) throw refused;
      writes.succeeded();
    } catch (error) {
      if (redis.isReady) writes.failed(error);
    } finally {
      unacknowledgedBytes -= bytes;
    }
  }

  return {
    async get(keys, dimensions) {
      if (!redis.isReady || !reads.mayTry()) return keys.map(() => undefined);
      try {
        const values = await within(redis.client.mgetBuffer(keys.map((key) => KEY_PREFIX + key)), timeoutMs);
        reads.succeeded();
        return keys.map((_, index) => decode(values[index], dimensions));
      } catch (error) {
        if (redis.isReady) reads.failed(error);
        return keys.map(() => undefined);
      }
    },
    set(vectors) {
      if (!redis.isReady || reads.isOpen) return;
      let bytes = 0;
      for (const { vector } of vectors.values()) bytes += TOKENS_BYTES + vector.byteLength;
      if (unacknowledgedBytes + bytes > UNACKNOWLEDGED_MAX_BYTES || !writes.mayTry()) return;
      const written = write(vectors, bytes).finally(() => unacknowledged.delete(written));
      unacknowledged.add(written);
    },
    async close() {
      await within(Promise.all(unacknowledged), 10 * timeoutMs).catch(() => {});
    },
  };
}

/** Leaves Redis alone for a while after a fault, then lets one caller try; says so once an outage. */
class Circuit {
  readonly #name: string;
  readonly #logger: Logger;
  readonly #restMs: number;
  readonly #now: () => number;
  /** When to try again; undefined while all is well. */
  #retryAt: number | undefined;

  constructor(name: string, logger: Logger, restMs: number, now: () => number) {
    this.#name = name;
    this.#logger = logger;
    this.#restMs = restMs;
    this.#now = now;
  }

  get isOpen(): boolean {
    return this.#retryAt !== undefined;
  }

  mayTry(): boolean {
    if (this.#retryAt === undefined) return true;
    if (this.#now() < this.#retryAt) return false;
    this.#retryAt = this.#now() + this.#restMs;
    return true;
  }

  succeeded(): void {
    if (this.#retryAt === undefined) return;
    this.#retryAt = undefined;
    this.#logger.info({ operation: this.#name }, 'the embedding cache in redis works again');
  }

  failed(error: unknown): void {
    if (this.#retryAt === undefined) {
      // Not the error itself: ioredis puts the failed command into it.
      const reason = error instanceof Error ? error.message : String(error);
      this.#logger.warn({ reason, operation: this.#name }, 'going on without the embedding cache in redis');
    }
    this.#retryAt = this.#now() + this.#restMs;
  }
}

/** @throws Error after `timeoutMs`; the promise's own outcome is then ignored */
function within<T>(promise: Promise<T>, timeoutMs: number): Promise<T> {
  return new Promise((resolve, reject) => {
    // After a busy event loop the timer is handled before an answer that has long arrived: let it be read first.
    const timer = setTimeout(() => {
      setImmediate(() => reject(new Error(`redis did not answer within ${timeoutMs} ms`)));
    }, timeoutMs);
    promise.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

function encode({ vector, tokens }: CachedVector): Buffer {
  const value = Buffer.allocUnsafe(TOKENS_BYTES + vector.byteLength);
  value.writeUInt32LE(tokens, 0);
  value.set(new Uint8Array(vector.buffer, vector.byteOffset, vector.byteLength), TOKENS_BYTES);
  return value;
}

function decode(value: Buffer | null | undefined, dimensions: number): CachedVector | undefined {
  if (!value || value.length !== TOKENS_BYTES + dimensions * 4) return undefined;
  // A reply may start at any byte of a larger buffer; floats must not.
  const vector = new Float32Array(dimensions);
  new Uint8Array(vector.buffer).set(value.subarray(TOKENS_BYTES));
  let squares = 0;
  for (const component of vector) squares += component * component;
  if (!(Math.abs(squares - 1) < NORM_TOLERANCE)) return undefined;
  return { vector, tokens: value.readUInt32LE(0) };
}
