import type postgres from 'postgres';
import type { QueryLimit } from './query-limit.ts';

/**
 * Executor of SQL: `sql`select …``, and the helpers of postgres.js. It is either the pool or a transaction on it, so
 * that a function that takes a `Sql` works with both.
 */
export interface Sql extends postgres.ISql<Record<never, never>> {
  /**
   * Run `fn` in a transaction: committed when it resolves, rolled back when it rejects. Within a transaction it creates
   * a savepoint. `options` are those of SQL's BEGIN, for example `isolation level repeatable read read only`.
   *
   * A query that fails also fails the transaction, even if its error is caught; wrap a query that may fail in a
   * `begin`.
   */
  begin<T>(fn: (tx: Sql) => Promise<T>): Promise<T>;
  begin<T>(options: string, fn: (tx: Sql) => Promise<T>): Promise<T>;

  /**
   * Make a `json` or `jsonb` parameter from the value itself: a string of JSON.stringify would be stored as a string.
   */
  json(value: unknown): postgres.Parameter;

  /**
   * Make an executor whose queries are cancelled at the end of their time or when the signal aborts (AppError
   * `query_timeout`, the signal's reason). A transaction keeps the limit with which it began.
   */
  limited(limit: QueryLimit): Sql;
}

export interface Database extends Sql {
  /** Return the number of queries and transactions that are in progress or wait for a connection. */
  pending(): number;
  /** Close the pool once its queries are done; after `timeout` seconds they are cut off. */
  end(options?: { timeout?: number }): Promise<void>;
}
