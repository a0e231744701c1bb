import { performance } from 'node:perf_hooks';
import type { Logger } from '../../platform/logger.ts';
import type { RedisConnection } from '../../platform/redis.ts';
import { getBuffers, setBuffers } from '../../platform/redis-buffers.ts';
import type { CachedVector } from './cache-key.ts';

/** Prefix of our keys. Its number changes with the layout of a value. */
const KEY_PREFIX = 'emb:1:';
const TTL_MS = 7 * 24 * 60 * 60 * 1000;
const TOKENS_BYTES = 4;
/** Maximum bytes of unacknowledged writes. Beyond it, vectors aren't written. */
const UNACKNOWLEDGED_MAX_BYTES = 16 * 1024 * 1024;
const LOOKUP_TIMEOUT_MS = 50;
/** Time without Redis commands after a fault. */
const COOLDOWN_MS = 5000;
/** Tolerance of the squared norm. Other values in Redis are ignored. */
const NORM_TOLERANCE = 1e-3;

/** Vectors shared by all processes. A slow, full or missing Redis counts as empty and delays no request. */
export interface RedisCache {
  /**
   * Look up all keys with one command. Never throw. Find nothing while the cache cools down after a fault, if Redis
   * exceeds the timeout, or if a value does not have `dimensions` numbers.
   *
   * @returns one entry per key, undefined if it was not found
   */
  get(keys: readonly string[], dimensions: number): Promise<(CachedVector | undefined)[]>;
  /** Write vectors in the background. Drop vectors that Redis can't currently accept. */
  set(vectors: ReadonlyMap<string, CachedVector>): void;
  /** Wait until all writes are acknowledged or abandoned. The connection stays open. */
  close(): Promise<void>;
}

/** Open the cache. A value is uint32 LE tokens, then the float32 LE vector, as on little-endian hosts. */
export function openRedisCache(options: {
  redis: Pick<RedisConnection, 'client' | 'isCluster' | 'isReady'>;
  logger: Logger;
  timeoutMs?: number;
  cooldownMs?: number;
  /** Monotonic clock in milliseconds. */
  now?: () => number;
}): RedisCache {
  const {
    redis,
    logger,
    timeoutMs = LOOKUP_TIMEOUT_MS,
    cooldownMs = COOLDOWN_MS,
    now = () => performance.now(),
  } = options;
  const reads = new Circuit('read', logger, cooldownMs, now);
  const writes = new Circuit('write', logger, cooldownMs, now);
  const unacknowledged = new Set<Promise<void>>();
  let unacknowledgedBytes = 0;

  async function write(vectors: ReadonlyMap<string, CachedVector>, bytes: number): Promise<void> {
    unacknowledgedBytes += bytes;
    try {
      const values = [...vectors].map(([key, entry]) => [KEY_PREFIX + key, encode(entry)] as const);
      await setBuffers(redis, values, TTL_MS);
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
        const stored = getBuffers(
          redis,
          keys.map((key) => KEY_PREFIX + key),
        );
        const values = await within(stored, timeoutMs);
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

/** Circuit breaker. It blocks commands for a while after a fault, then lets one caller try. It logs once per outage. */
class Circuit {
  readonly #name: string;
  readonly #logger: Logger;
  readonly #cooldownMs: number;
  readonly #now: () => number;
  /** Time of the next attempt; undefined while Redis works. */
  #retryAt: number | undefined;

  constructor(name: string, logger: Logger, cooldownMs: number, now: () => number) {
    this.#name = name;
    this.#logger = logger;
    this.#cooldownMs = cooldownMs;
    this.#now = now;
  }

  get isOpen(): boolean {
    return this.#retryAt !== undefined;
  }

  mayTry(): boolean {
    if (this.#retryAt === undefined) return true;
    if (this.#now() < this.#retryAt) return false;
    this.#retryAt = this.#now() + this.#cooldownMs;
    return true;
  }

  succeeded(): void {
    if (this.#retryAt === undefined) return;
    this.#retryAt = undefined;
    this.#logger.info({ operation: this.#name }, 'the embedding cache in Redis works again');
  }

  failed(error: unknown): void {
    if (this.#retryAt === undefined) {
      // Do not log the error itself, because ioredis puts the failed command into it.
      const reason = error instanceof Error ? error.message : String(error);
      this.#logger.warn(
        { reason, operation: this.#name },
        'the embedding cache in Redis failed; embeddings are computed without it until it works again',
      );
    }
    this.#retryAt = this.#now() + this.#cooldownMs;
  }
}

/** Wait for a promise for a limited time. @throws Error after `timeoutMs`; the promise's own outcome is then ignored */
function within<T>(promise: Promise<T>, timeoutMs: number): Promise<T> {
  return new Promise((resolve, reject) => {
    // After a busy event loop, the timer fires before an answer that has already arrived is read. Read it first.
    const timer = setTimeout(() => {
      setImmediate(() => reject(new Error(`Redis did not answer within ${timeoutMs} ms`)));
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
  // Copy the value, since it may start at any byte of a larger buffer, and floats must be aligned.
  const vector = new Float32Array(dimensions);
  new Uint8Array(vector.buffer).set(value.subarray(TOKENS_BYTES));
  let squares = 0;
  for (const component of vector) squares += component * component;
  if (!(Math.abs(squares - 1) < NORM_TOLERANCE)) return undefined;
  return { vector, tokens: value.readUInt32LE(0) };
}
