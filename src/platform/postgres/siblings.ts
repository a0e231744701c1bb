import type { Sql as Client, Options } from 'postgres';
import type { Sql } from './pool.ts';

export interface ClientOptions extends Options<Record<never, never>> {
  /** Called for every notification; postgres.js has it, its types do not. */
  onnotify?: (channel: string, payload: string) => void;
}

/** Makes a postgres.js client of its own for the same database, with some options changed. */
export type Connect = (changes: ClientOptions) => Client<Record<never, never>>;

const factories = new WeakMap<Sql, Connect>();

export function rememberFactory(sql: Sql, connect: Connect): void {
  factories.set(sql, connect);
}

/**
 * One connection of its own to the database of `sql`, for what belongs to a session: a lock, LISTEN. It stays open
 * for as long as the server lets it, is never shared, and takes nothing from the pool, so that however many
 * wait for a lock, the one who holds it still gets connections for its work.
 */
export function openSession(sql: Sql, changes: Pick<ClientOptions, 'onclose' | 'onnotify'>): ReturnType<Connect> {
  const connect = factories.get(sql);
  if (connect === undefined) throw new TypeError('give the database here, not a transaction');
  return connect({
    ...changes,
    max: 1,
    idle_timeout: undefined,
    max_lifetime: null,
  });
}
