import { mapPostgresError, type Sql, withAdvisoryLock, withSharedAdvisoryLock } from '../postgres.ts';
import type { Objects } from './objects.ts';
import { PROBES_PREFIX } from './probe-objects.ts';

const LOCK = 'deletion of objects';

/**
 * Wrap an object storage so that no process deletes objects while another one runs `withoutDeletions`. A deletion waits
 * up to 15 s and then fails with `postgres_contention` (503, retryable). Its caller retries later, as after an outage.
 * Probes and unreferenced objects aren't guarded.
 */
export function guardDeletions(objects: Objects, sql: Sql): Objects {
  const lock = new DeletionLock(sql);
  const guarded = (key: string, fn: () => Promise<void>): Promise<void> =>
    key.startsWith(PROBES_PREFIX) ? fn() : lock.hold(fn);
  return {
    put: (key, body, options) => objects.put(key, body, options),
    adopt: (file, key) => objects.adopt(file, key),
    get: (key, options) => objects.get(key, options),
    getMany: (keys, options) => objects.getMany(keys, options),
    putMany: (written, options) => objects.putMany(written, options),
    stream: (key, options) => objects.stream(key, options),
    head: (key, options) => objects.head(key, options),
    delete: (key, options) =>
      options?.unreferenced === true ? objects.delete(key, options) : guarded(key, () => objects.delete(key, options)),
    list: (prefix, options) => objects.list(prefix, options),
    deletePrefix: (prefix, options) => guarded(prefix, () => objects.deletePrefix(prefix, options)),
    prepare: () => objects.prepare(),
    close: () => objects.close(),
  };
}

/** Time to keep the lock for further deletions to share. */
const LINGER_MS = 20;
const JOIN_MS_MAX = 1_000;

/** Transaction that holds the lock for several deletions. */
interface Hold {
  readonly acquired: Promise<void>;
  readonly release: () => void;
  readonly openedAtMs: number;
  deletions: number;
  isEnded: boolean;
  timer: NodeJS.Timeout | undefined;
}

/** Shared lock on deletions. Consecutive deletions share a transaction for up to about a second. */
class DeletionLock {
  readonly #sql: Sql;
  #current: Hold | null = null;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  /** @throws AppError `postgres_contention`, `postgres_unavailable` (503); the error of `fn` */
  async hold<T>(fn: () => Promise<T>): Promise<T> {
    const hold = this.#join();
    hold.deletions++;
    clearTimeout(hold.timer);
    try {
      await hold.acquired;
      return await fn();
    } finally {
      hold.deletions--;
      if (hold.deletions === 0) hold.timer = setTimeout(() => this.#release(hold), LINGER_MS);
    }
  }

  #join(): Hold {
    const current = this.#current;
    if (current !== null && !current.isEnded && performance.now() - current.openedAtMs < JOIN_MS_MAX) return current;
    const acquired = Promise.withResolvers<void>();
    const released = Promise.withResolvers<void>();
    const hold: Hold = {
      acquired: acquired.promise,
      release: released.resolve,
      openedAtMs: performance.now(),
      deletions: 0,
      isEnded: false,
      timer: undefined,
    };
    withSharedAdvisoryLock(this.#sql, LOCK, () => {
      acquired.resolve();
      return released.promise;
    })
      .catch((error: unknown) => acquired.reject(mapPostgresError(error)))
      .finally(() => {
        hold.isEnded = true;
      });
    this.#current = hold;
    return hold;
  }

  #release(hold: Hold): void {
    if (hold.deletions > 0) return;
    hold.isEnded = true;
    hold.release();
  }
}

/**
 * Run `fn` while no process of the installation deletes objects.
 * @param direct connection pool for advisory locks; must not go through a transaction pooler
 * @throws the reason of the signal
 */
export function withoutDeletions<T>(
  direct: Sql,
  fn: (lost: AbortSignal) => Promise<T>,
  signal: AbortSignal,
): Promise<T> {
  return withAdvisoryLock(direct, LOCK, (_stillHeld, lost) => fn(lost), { signal });
}
