import type postgres from 'postgres';
import { arrayParameter, jsonParameter, type Parameter } from './arrays.ts';
import { type Argument, Helper, Query, type Send } from './query.ts';
import type { QueryLimit } from './query-limit.ts';

type Rows = readonly (object | undefined)[];

/** Executor of SQL: either the pool or a transaction on it. A function that takes a `Sql` works with both. */
export interface Sql {
  /** True for a transaction. A pool with a query limit is still a pool. */
  readonly isTransaction: boolean;

  /** Create a query, or a fragment of one: `sql`select …``. It is sent when awaited. */
  <T extends Rows = postgres.Row[]>(text: TemplateStringsArray, ...args: readonly Argument[]): Query<T>;

  /** Create a quoted name, a list of names, a list of values after IN, or the rows of an INSERT or SET. */
  (first: string | readonly unknown[] | object): Helper;

  /** Create a query from text, with values for `$1`, `$2`, …. As a fragment it has no values. */
  unsafe<T extends Rows = postgres.Row[]>(text: string, values?: readonly Argument[]): Query<T>;

  /** Create an array parameter. `element` is the OID of the element type, by default that of the first element. */
  array(values: readonly unknown[], element?: number): Parameter;

  /** Create a `json` or `jsonb` parameter from the value itself. JSON.stringify would store a string. */
  json(value: unknown): Parameter;

  /** Send a notification to the listeners of a channel. */
  notify(channel: string, payload: string): Query<postgres.Row[]>;

  /**
   * Run `fn` in a transaction, which is committed when it resolves and rolled back when it rejects. Within a
   * transaction this creates a savepoint. `options` are those of SQL's BEGIN, for example `isolation level repeatable
   * read read only`.
   *
   * A query that fails also fails the transaction, even if its error is caught; wrap a query that may fail in a
   * `begin`.
   */
  begin<T>(fn: (tx: Sql) => PromiseLike<T>): Promise<T>;
  begin<T>(options: string, fn: (tx: Sql) => PromiseLike<T>): Promise<T>;

  /**
   * Return an executor whose queries are cancelled on timeout (AppError `query_timeout`) or when the signal aborts (its
   * reason). A transaction keeps its first limit.
   */
  limited(limit: QueryLimit): Sql;
}

export interface Database extends Sql {
  /** Return the number of queries and transactions in progress or waiting for a connection. */
  pending(): number;
  /** Close the pool once its queries are done. After `timeout` seconds, cut them off. */
  end(options?: { timeout?: number }): Promise<void>;
}

interface Executor {
  readonly send: Send;
  /** True for a transaction, the only place where COPY may continue after its query. */
  readonly isTransaction: boolean;
  readonly begin: <T>(options: string, fn: (tx: Sql) => PromiseLike<T>) => Promise<T>;
  readonly limited: (limit: QueryLimit) => Sql;
}

export function makeSql({ send, isTransaction, begin, limited }: Executor): Sql {
  const allowsCopy = isTransaction;
  function make<T extends Rows>(text: TemplateStringsArray, ...args: readonly Argument[]): Query<T>;
  function make(first: string | readonly unknown[] | object): Helper;
  function make(first: unknown, ...args: readonly unknown[]) {
    if (Array.isArray(first) && 'raw' in first) return new Query(first, args, { isPrepared: true, send, allowsCopy });
    return new Helper(first);
  }
  return Object.assign(make, {
    isTransaction,
    unsafe: <T extends Rows>(text: string, values: readonly Argument[] = []) =>
      new Query<T>([text], values, { isPrepared: false, send, allowsCopy }),
    array: arrayParameter,
    json: jsonParameter,
    notify: (channel: string, payload: string) =>
      new Query<postgres.Row[]>(['select pg_notify(', ', ', ')'], [channel, payload], {
        isPrepared: true,
        send,
        allowsCopy,
      }),
    begin: <T>(first: string | ((tx: Sql) => PromiseLike<T>), second?: (tx: Sql) => PromiseLike<T>) =>
      typeof first === 'string' ? begin(first, second as (tx: Sql) => PromiseLike<T>) : begin('', first),
    limited,
  });
}
