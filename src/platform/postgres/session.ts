import type { Sql as Client, Options } from 'postgres';
import type { Sql } from './sql.ts';

export interface ClientOptions extends Options<Record<never, never>> {
  /** Callback for every notification; postgres.js supports it, but its types do not declare it. */
  onnotify?: (channel: string, payload: string) => void;
}

/** Function that opens another postgres.js client for the same database, with some options changed. */
export type Connect = (changes: ClientOptions) => Client<Record<never, never>>;

const factories = new WeakMap<Sql, Connect>();

export function rememberFactory(sql: Sql, connect: Connect): void {
  factories.set(sql, connect);
}

/**
 * Open a separate connection to the database of `sql` for session state: a lock, LISTEN. It stays open as long as the
 * server allows, is never shared, and does not belong to the pool, so that the holder of a lock can still use the
 * pool while any number of sessions wait for the lock.
 */
export function openSession(sql: Sql, changes: Pick<ClientOptions, 'onclose' | 'onnotify'>): ReturnType<Connect> {
  const connect = factories.get(sql);
  if (connect === undefined) throw new TypeError('this needs the database, not a transaction');
  return connect({
    ...changes,
    max: 1,
    idle_timeout: undefined,
    max_lifetime: null,
  });
}
