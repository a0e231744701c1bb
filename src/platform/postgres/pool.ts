import type postgres from 'postgres';
import { dependencyDown } from '../errors.ts';
import type { CancellableQuery } from './cancel-query.ts';
import { isConnectionLoss } from './errors.ts';
import { bothLimits, inShare, inTransaction, limitQuery, type QueryLimit } from './query-limit.ts';
import { SilenceWatch } from './silence.ts';
import { readsAllColumns, unprepared } from './unprepared.ts';

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

/**
 * Limits of a transaction. The server ends a transaction whose client is idle for too long, and a statement that waits
 * for a row for too long, so that a process that hangs or was stopped in a transaction does not block all others.
 * They are not parameters of the connection, since transaction-pooling proxies refuse parameters that they do not know.
 */
const GUARD = "set local idle_in_transaction_session_timeout = '10s'; set local lock_timeout = '15s'";

/** Return the statements that begin a transaction: its limits, which PostgreSQL itself keeps. */
function guardOf(limit: QueryLimit | null): string {
  return limit === null ? GUARD : `${GUARD}; set local statement_timeout = ${Math.ceil(limit.ms)}`;
}

type Client = postgres.Sql<Record<never, never>>;
type AnyClient = postgres.ISql<Record<never, never>>;

/** Members of postgres.js's Query (src/query.js) that this file relies on; the tests pin them. */
interface PendingQuery extends CancellableQuery {
  cancelled: unknown;
  handler: (query: PendingQuery) => void;
  reject: (error: unknown) => void;
}

/** One postgres.js client and the number of its pending queries and transactions. */
interface Generation {
  readonly client: Client;
  readonly submit: (query: PendingQuery) => void;
  pending: number;
  isRetired: boolean;
}

/**
 * Open a pool that survives the loss of connections. postgres.js 3.4.9 does not: after a connection is lost in a
 * transaction it writes the ROLLBACK to the closed socket, outside of any promise, which ends the process; later
 * statements of the callback run on the connection that replaced the lost one, outside of the transaction; and a
 * connection that is lost at the wrong moment never connects again (its issues 1066, 1133, 1208, 1216).
 * Here a transaction whose connection is lost stays unsettled for postgres.js and refuses every further statement, and
 * the first query that loses its connection moves the pool to a new client. A connection without an answer also counts
 * as lost if a new one gets no answer either.
 *
 * @param defaultLimit bound on each query that is not limited otherwise; null for none
 * @param silenceMs time without an answer after which a new connection is tried, and time that it has
 */
export function openPool(connect: () => Client, defaultLimit: QueryLimit | null = null, silenceMs?: number): Database {
  const silence = new SilenceWatch(connect, silenceMs);
  let current = newGeneration(connect());
  let ended: Promise<void> | undefined;
  const retiring = new Set<Generation>();

  const retire = (generation: Generation): void => {
    if (generation !== current || ended !== undefined) return;
    current = newGeneration(connect());
    generation.isRetired = true;
    retiring.add(generation);
    settle(generation, 0);
  };
  const settle = (generation: Generation, change: number): void => {
    generation.pending += change;
    if (!generation.isRetired || generation.pending > 0) return;
    generation.isRetired = false;
    void generation.client.end({ timeout: 1 }).finally(() => retiring.delete(generation));
  };

  const submit = (query: PendingQuery, limit: QueryLimit | null) => {
    const generation = current;
    generation.pending++;
    onSettled(query, () => settle(generation, -1));
    onReject(query, (error) => {
      if (isConnectionLoss(error)) retire(generation);
    });
    if (limit !== null) limitQuery(query, limit);
    if (limit?.signal?.aborted === true) return;
    const send = () => {
      onSettled(query, silence.track(query.reject));
      generation.submit(query);
    };
    if (limit?.share === undefined) return send();
    const run = () => {
      // It may have been cancelled while it waited.
      if (query.cancelled !== true) send();
      return settled(query);
    };
    inShare(limit, run).catch((error) => query.reject(error));
  };
  const begin = async <T>(limit: QueryLimit | null, options: string, fn: (tx: Sql) => Promise<T>): Promise<T> => {
    const generation = current;
    generation.pending++;
    const transaction = newTransaction(limit, silence);
    let untrack = silence.track(transaction.lose); // BEGIN
    try {
      return await runTransaction(
        (callback) =>
          generation.client.begin(options, async (raw) => {
            untrack();
            raw.unsafe(guardOf(limit)).catch(() => undefined); // sent together with the first statement
            try {
              return await callback(raw);
            } finally {
              untrack = silence.track(transaction.lose); // COMMIT or ROLLBACK
            }
          }),
        fn,
        transaction,
      );
    } catch (error) {
      if (isConnectionLoss(error)) retire(generation);
      throw error;
    } finally {
      untrack();
      settle(generation, -1);
    }
  };
  const executorOf = (limit: QueryLimit | null): Sql =>
    Object.assign(
      makeFacade(
        () => current.client,
        (query) => submit(query, limit),
      ),
      {
        begin: overloaded((options, fn) => inShare(limit, () => begin(limit, options, fn))),
        limited: (inner: QueryLimit) => executorOf(bothLimits(limit, inner)),
      },
    );
  return Object.assign(executorOf(defaultLimit), {
    pending: () => [current, ...retiring].reduce((sum, { pending }) => sum + pending, 0),
    end: (options?: { timeout?: number }): Promise<void> => {
      ended ??= Promise.all([current, ...retiring].map(({ client }) => client.end(options))).then(() => undefined);
      return ended;
    },
  });
}

function newGeneration(client: Client): Generation {
  const { handler } = client.unsafe('') as unknown as PendingQuery; // never run: queries are lazy
  return { client, submit: handler, pending: 0, isRetired: false };
}

interface Transaction {
  /** Limit of each statement; PostgreSQL itself knows its time. */
  readonly limit: QueryLimit | null;
  readonly silence: SilenceWatch;
  /** Reason why the transaction accepts no more statements; null while it accepts them. */
  refusal: Error | null;
  readonly lost: Promise<never>;
  lose(error: unknown): void;
}

function newTransaction(limit: QueryLimit | null, silence: SilenceWatch): Transaction {
  const { promise, reject } = Promise.withResolvers<never>();
  promise.catch(() => undefined);
  const transaction: Transaction = {
    ...{ limit, silence },
    refusal: null,
    lost: promise,
    lose: (error) => {
      transaction.refusal ??= dependencyDown(
        'postgres',
        'the connection to the database was lost during a transaction; try again',
        error,
      );
      reject(error);
    },
  };
  return transaction;
}

/** @param start `begin` or `savepoint` of postgres.js */
async function runTransaction<T>(
  start: (callback: (tx: AnyClient) => Promise<T>) => Promise<unknown>,
  fn: (tx: Sql) => Promise<T>,
  transaction: Transaction,
): Promise<T> {
  if (transaction.refusal !== null) throw transaction.refusal;
  let scopeRefusal: Error | null = null;
  const running = start(
    (raw) =>
      new Promise<T>((resolve, reject) => {
        const tx = toTransactionSql(raw as postgres.TransactionSql, transaction, () => scopeRefusal);
        // Once the connection is lost, postgres.js would write to it if this promise settled.
        const unlessLost =
          <V>(settle: (value: V) => void) =>
          (value: V) => {
            if (transaction.refusal === null) settle(value);
          };
        // The answer to BEGIN may come after all.
        if (transaction.refusal === null) (async () => fn(tx))().then(unlessLost(resolve), unlessLost(reject));
      }),
  );
  try {
    return (await Promise.race([running, transaction.lost])) as T;
  } catch (error) {
    if (isConnectionLoss(error)) transaction.lose(error);
    throw error;
  } finally {
    scopeRefusal = new Error('this transaction is over: a statement was sent to it after its callback had settled');
  }
}

function toTransactionSql(
  raw: postgres.TransactionSql,
  transaction: Transaction,
  scopeRefusal: () => Error | null,
): Sql {
  let submit: PendingQuery['handler'] | undefined;
  const facade = makeFacade(
    () => raw,
    (query) => {
      const refusal = transaction.refusal ?? scopeRefusal();
      if (refusal !== null) return query.reject(refusal);
      submit ??= (raw.unsafe('') as unknown as PendingQuery).handler;
      onReject(query, (error) => {
        if (isConnectionLoss(error)) transaction.lose(error);
      });
      if (transaction.limit !== null) limitQuery(query, inTransaction(transaction.limit));
      if (readsAllColumns(query)) unprepared(query);
      if (transaction.limit?.signal?.aborted === true) return;
      onSettled(query, transaction.silence.track(query.reject));
      submit(query);
    },
  );
  const tx: Sql = Object.assign(facade, {
    limited: () => tx,
    begin: overloaded(<T>(_options: string, fn: (tx: Sql) => Promise<T>) =>
      runTransaction((callback) => raw.savepoint(callback), fn, transaction),
    ),
  });
  return tx;
}

/** Implement `ISql` so that each query is passed to `submit` when it is to run. */
function makeFacade(client: () => AnyClient, submit: (query: PendingQuery) => void): AnyClient {
  const intercept = <Q>(query: Q): Q => {
    // Builders and identifiers are not promises; a fragment is one, but its handler is never called.
    if (query instanceof Promise && 'handler' in query) (query as unknown as PendingQuery).handler = submit;
    return query;
  };
  type Call = (...args: unknown[]) => unknown;
  const through =
    (name: 'unsafe' | 'file'): Call =>
    (...args) =>
      intercept((client()[name] as Call)(...args));
  const tag: Call = (...args) => intercept((client() as unknown as Call)(...args));
  const { array, json, typed, types } = client(); // these only wrap values
  return Object.assign(tag, {
    unsafe: through('unsafe'),
    file: through('file'),
    notify: (channel: string, payload: string) =>
      (tag as unknown as AnyClient)`select pg_notify(${channel}, ${payload})`,
    array,
    json,
    typed,
    types,
  }) as unknown as AnyClient;
}

function onReject(query: PendingQuery, callback: (error: unknown) => void): void {
  const { reject } = query;
  query.reject = (error) => {
    callback(error); // before the caller of the query can act on the error
    reject(error);
  };
}

function onSettled(query: PendingQuery, done: () => void): void {
  Promise.prototype.then.call(query as unknown as Promise<unknown>, done, done);
}

/** Wait until a query has succeeded or failed. */
function settled(query: PendingQuery): Promise<void> {
  return new Promise((resolve) => onSettled(query, resolve));
}

function overloaded(begin: <T>(options: string, fn: (tx: Sql) => Promise<T>) => Promise<T>): Sql['begin'] {
  return <T>(first: string | ((tx: Sql) => Promise<T>), second?: (tx: Sql) => Promise<T>): Promise<T> =>
    typeof first === 'string' ? begin(first, second as (tx: Sql) => Promise<T>) : begin('', first);
}
