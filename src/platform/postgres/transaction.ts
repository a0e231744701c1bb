import type postgres from 'postgres';
import { dependencyDown } from '../errors.ts';
import { cancellationOf } from './cancel-query.ts';
import type { Client } from './connections.ts';
import { isConnectionLoss } from './errors.ts';
import { makeFacade, overloaded } from './facade.ts';
import { type AnyClient, onReject, onSettled, type PendingQuery, submitOf } from './pending-query.ts';
import { isCanceled, limitStatement, type QueryLimit } from './query-limit.ts';
import type { SilenceWatch } from './silence.ts';
import type { Sql } from './sql.ts';
import { readsAllColumns, unprepared } from './unprepared.ts';

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

/**
 * Run `fn` in a transaction on a connection that nothing else uses meanwhile. It ends when no cancellation of its statements
 * can arrive any more: one that PostgreSQL gets while it reads COMMIT would leave the transaction open, which postgres.js
 * 3.4.9 does not roll back.
 *
 * @param options options of SQL's BEGIN, or nothing
 * @throws what `fn` throws, once the transaction is rolled back; the error of a lost connection
 */
export async function beginTransaction<T>(
  client: Client,
  options: string,
  transaction: Transaction,
  fn: (tx: Sql) => Promise<T>,
): Promise<T> {
  const { limit, silence } = transaction;
  let untrack = silence.track(transaction.lose); // BEGIN
  let ownError: unknown;
  const run = async (raw: postgres.TransactionSql, callback: (tx: AnyClient) => Promise<T>) => {
    untrack();
    raw.unsafe(guardOf(limit)).catch(() => undefined); // sent together with the first statement
    try {
      return await callback(raw);
    } catch (error) {
      ownError = error;
      throw error;
    } finally {
      const areConfirmed = await Promise.all(transaction.cancellations);
      if (areConfirmed.includes(false)) transaction.isOver = false;
      untrack = silence.track(transaction.lose); // COMMIT or ROLLBACK
    }
  };
  try {
    return await runTransaction((callback) => client.begin(options, (raw) => run(raw, callback)), fn, transaction);
  } catch (error) {
    // That of COMMIT or ROLLBACK.
    if (isCanceled(error) && error !== ownError) transaction.isOver = false;
    throw error;
  } finally {
    untrack();
  }
}

export interface Transaction {
  /** Limit of each statement; PostgreSQL itself knows its time. */
  readonly limit: QueryLimit | null;
  readonly silence: SilenceWatch;
  /** False if it may still be open at its end, or a cancellation may still arrive: its connection cannot be used again. */
  isOver: boolean;
  /** Reason why the transaction accepts no more statements; null while it accepts them. */
  refusal: Error | null;
  /** Cancellations of its statements that were sent. */
  readonly cancellations: Promise<boolean>[];
  readonly lost: Promise<never>;
  lose(error: unknown): void;
}

export function newTransaction(limit: QueryLimit | null, silence: SilenceWatch): Transaction {
  const { promise, reject } = Promise.withResolvers<never>();
  promise.catch(() => undefined);
  const transaction: Transaction = {
    ...{ limit, silence, isOver: true },
    refusal: null,
    cancellations: [],
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
  const facade = makeFacade(raw, (query) => {
    const refusal = transaction.refusal ?? scopeRefusal();
    if (refusal !== null) return query.reject(refusal);
    submit ??= submitOf(raw);
    onReject(query, (error) => {
      if (isConnectionLoss(error)) transaction.lose(error);
    });
    if (transaction.limit !== null) limitStatement(query, transaction.limit);
    if (readsAllColumns(query)) unprepared(query);
    if (transaction.limit?.signal?.aborted === true) return;
    onSettled(query, transaction.silence.track(query.reject));
    onSettled(query, () => {
      const cancellation = cancellationOf(query);
      if (cancellation !== undefined) transaction.cancellations.push(cancellation);
    });
    submit(query);
  });
  const tx: Sql = Object.assign(facade, {
    limited: () => tx,
    begin: overloaded(<T>(_options: string, fn: (tx: Sql) => Promise<T>) =>
      runTransaction((callback) => raw.savepoint(callback), fn, transaction),
    ),
  });
  return tx;
}
