import type { Client, Connect } from './client.ts';
import type { Sql } from './sql.ts';

const factories = new WeakMap<Sql, Connect>();

export function rememberFactory(sql: Sql, connect: Connect): void {
  factories.set(sql, connect);
}

/**
 * Open a separate connection to the database of `sql` for session state: a lock or LISTEN. It stays open as long as the
 * server allows, and is never shared. It isn't part of the pool, so that the holder of a lock can still use the pool
 * while any number of sessions wait for the lock.
 * @param onclose called when the connection is closed
 */
export function openSession(sql: Sql, onclose: () => void = () => undefined): Client {
  const connect = factories.get(sql);
  if (connect === undefined) throw new TypeError('this needs the database, not a transaction');
  return connect({ onclose });
}
