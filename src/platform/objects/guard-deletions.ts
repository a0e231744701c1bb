import { mapPostgresError, type Sql, withAdvisoryLock, withSharedAdvisoryLock } from '../postgres.ts';
import type { Objects } from './objects.ts';
import { PROBES_PREFIX } from './probe-objects.ts';

const LOCK = 'deletion of objects';

/**
 * Wrap a storage so that no process deletes objects while another one runs `withoutDeletions`. A deletion waits up to
 * 15 s, and is then refused by `postgres_contention` (503, retryable); its caller tries again later, as after an outage.
 * Probes and unreferenced objects are not guarded.
 */
export function guardDeletions(objects: Objects, sql: Sql): Objects {
  const guarded = async (key: string, fn: () => Promise<void>): Promise<void> => {
    if (key.startsWith(PROBES_PREFIX)) return fn();
    try {
      await withSharedAdvisoryLock(sql, LOCK, fn);
    } catch (error) {
      throw mapPostgresError(error);
    }
  };
  return {
    put: (key, body, options) => objects.put(key, body, options),
    adopt: (file, key) => objects.adopt(file, key),
    get: (key, options) => objects.get(key, options),
    stream: (key, options) => objects.stream(key, options),
    head: (key, options) => objects.head(key, options),
    delete: (key, options) =>
      options?.unreferenced === true ? objects.delete(key, options) : guarded(key, () => objects.delete(key, options)),
    list: (prefix, options) => objects.list(prefix, options),
    deletePrefix: (prefix, options) => guarded(prefix, () => objects.deletePrefix(prefix, options)),
    close: () => objects.close(),
  };
}

/**
 * Run `fn` while no process of the installation deletes objects.
 *
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
