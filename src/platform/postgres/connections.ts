import type postgres from 'postgres';
import { type PendingQuery, submitOf } from './pending-query.ts';

/** A client of postgres.js. */
export type Client = postgres.Sql<Record<never, never>>;

/** A connection of a pool. */
export interface Connection {
  /** A client that has this connection only, and opens it when it is used. */
  readonly client: Client;
  /** Send a query. */
  readonly submit: PendingQuery['handler'];
}

/**
 * The connections of a pool. Each is used by one query or transaction at a time, and that which was used last is taken first,
 * so that a few do nearly all of the work: every connection is a process of PostgreSQL with its own caches, and one that has
 * not run for a while takes longer for the same query. postgres.js takes the one that has been idle for the longest time.
 */
export class Connections {
  readonly #connect: () => Client;
  readonly #max: number;
  readonly #all = new Set<Connection>();
  /** That which was used last is at the end. */
  readonly #idle: Connection[] = [];

  /** @param connect makes a client of one connection */
  constructor(connect: () => Client, max: number) {
    this.#connect = connect;
    this.#max = max;
  }

  /** Number of connections in use. */
  get used(): number {
    return this.#all.size - this.#idle.length;
  }

  /** Take a connection that is not in use; null if all of them are. */
  take(): Connection | null {
    const idle = this.#idle.pop();
    if (idle !== undefined || this.#all.size >= this.#max) return idle ?? null;
    const client = this.#connect();
    const connection = { client, submit: submitOf(client) };
    this.#all.add(connection);
    return connection;
  }

  /** Give back a connection whose work is done. */
  give(connection: Connection): void {
    this.#idle.push(connection);
  }

  /** Close a connection that is in use and cannot be used again. */
  discard(connection: Connection): void {
    this.#all.delete(connection);
    void connection.client.end({ timeout: 0 });
  }

  /** Close all of them; their work is cut off after `timeout` seconds. */
  async end(options?: { timeout?: number }): Promise<void> {
    await Promise.all([...this.#all].map(({ client }) => client.end(options)));
  }
}
