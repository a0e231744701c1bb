import { answerWithin } from '../answer-within.ts';
import { cancellationOf } from './cancel-query.ts';
import { type Client, type Connection, Connections } from './connections.ts';
import { isConnectionLoss } from './errors.ts';
import { makeFacade, overloaded } from './facade.ts';
import { onReject, onSettled, type PendingQuery, settled } from './pending-query.ts';
import { bothLimits, inShare, limitQuery, type QueryLimit } from './query-limit.ts';
import { SilenceWatch } from './silence.ts';
import type { Database, Sql } from './sql.ts';
import { beginTransaction, newTransaction } from './transaction.ts';

/** Settings of a pool. */
export interface PoolOptions {
  /** Number of connections at most. */
  readonly max: number;
  /** Bound on each query that is not limited otherwise; null (default) for none. */
  readonly defaultLimit?: QueryLimit | null;
  /** Time without an answer after which a new connection is tried, and time that it has. */
  readonly silenceMs?: number | undefined;
}

/**
 * Open a pool that survives the loss of connections. postgres.js 3.4.9 does not: after a connection is lost in a
 * transaction it writes the ROLLBACK to the closed socket, outside of any promise, which ends the process; later
 * statements of the callback run on the connection that replaced the lost one, outside of the transaction; and a
 * connection that is lost at the wrong moment never connects again (its issues 1066, 1133, 1208, 1216).
 * Here a transaction whose connection is lost stays unsettled for postgres.js and refuses every further statement, and
 * the first query that loses its connection moves the pool to new connections. A connection without an answer also counts
 * as lost if a new one gets no answer either.
 *
 * @param connect makes a client of one connection
 */
export function openPool(connect: () => Client, { max, defaultLimit = null, silenceMs }: PoolOptions): Database {
  const silence = new SilenceWatch(connect, silenceMs);
  const pool = new Pool(connect, max);

  const submit = (query: PendingQuery, limit: QueryLimit | null) => {
    if (query.streaming || query.cursorRows !== undefined) {
      return query.reject(new TypeError('COPY and cursors need a transaction: they go on after their query'));
    }
    onSettled(query, pool.count());
    if (limit !== null) limitQuery(query, limit);
    if (limit?.signal?.aborted === true) return;
    const begin = (connection: Connection, of: Connections) => {
      if (query.cancelled === true) return false; // while it waited
      onReject(query, (error) => pool.onError(of, error));
      onSettled(query, silence.track(query.reject));
      onSettled(query, () => {
        // One that was cancelled while its client connected leaves that client waiting for ever.
        const isUsable = query.cancelled !== true;
        const cancellation = cancellationOf(query);
        if (cancellation === undefined) pool.done(connection, of, isUsable);
        else void cancellation.then((isConfirmed) => pool.done(connection, of, isUsable && isConfirmed));
      });
      connection.submit(query);
      return true;
    };
    const send = () => pool.start({ begin, reject: query.reject });
    if (limit?.share === undefined) return send();
    inShare(limit, () => {
      send();
      return settled(query);
    }).catch((error) => query.reject(error));
  };
  const transact = <T>(limit: QueryLimit | null, options: string, fn: (tx: Sql) => Promise<T>): Promise<T> => {
    const uncount = pool.count();
    return new Promise<T>((resolve, reject) => {
      const begin = (connection: Connection, of: Connections) => {
        const transaction = newTransaction(limit, silence);
        beginTransaction(connection.client, options, transaction, fn)
          .catch((error) => {
            pool.onError(of, error);
            throw error;
          })
          .finally(() => pool.done(connection, of, transaction.isOver))
          .then(resolve, reject);
        return true;
      };
      pool.start({ begin, reject });
    }).finally(uncount);
  };
  const executorOf = (limit: QueryLimit | null): Sql =>
    Object.assign(
      makeFacade(pool.client, (query) => submit(query, limit)),
      {
        begin: overloaded((options, fn) => inShare(limit, () => transact(limit, options, fn))),
        limited: (inner: QueryLimit) => executorOf(bothLimits(limit, inner)),
      },
    );
  return Object.assign(executorOf(defaultLimit), {
    pending: () => pool.pending,
    end: (options?: { timeout?: number }) => pool.end(options),
  });
}

/** A query or transaction that needs a connection. */
interface Work {
  /** Begin it on a connection, which `done` gives back. @returns false if it does not need one any more */
  readonly begin: (connection: Connection, of: Connections) => boolean;
  readonly reject: (error: unknown) => void;
}

/** Work on connections, which is begun in its order. */
class Pool {
  /** Makes queries, and never connects. */
  readonly client: Client;
  readonly #open: () => Connections;
  #current: Connections;
  /** Connections before one of them was lost, until their work is done. */
  readonly #retired = new Set<Connections>();
  readonly #waiting: Work[] = [];
  #pending = 0;
  #ended: Promise<void> | null = null;
  readonly #drained = Promise.withResolvers<void>();

  constructor(connect: () => Client, max: number) {
    this.client = connect();
    this.#open = () => new Connections(connect, max);
    this.#current = this.#open();
  }

  /** Number of queries and transactions in progress, those that wait included. */
  get pending(): number {
    return this.#pending;
  }

  /** Count a query or transaction as pending. @returns function that ends this */
  count(): () => void {
    this.#pending++;
    return () => {
      this.#pending--;
      if (this.#pending === 0 && this.#ended !== null) this.#drained.resolve();
    };
  }

  /** Begin work once there is a connection for it. */
  start(work: Work): void {
    if (this.#ended !== null) {
      work.reject(connectionEnded());
      return;
    }
    this.#waiting.push(work);
    this.#startWaiting();
  }

  /** Give back the connection of work that has ended. */
  done(connection: Connection, of: Connections, isUsable = true): void {
    if (isUsable) of.give(connection);
    else of.discard(connection);
    if (of === this.#current) this.#startWaiting();
    else this.#closeUnused(of);
  }

  /** Replace all connections if the error of one tells that it was lost. */
  onError(of: Connections, error: unknown): void {
    if (!isConnectionLoss(error) || of !== this.#current || this.#ended !== null) return;
    this.#current = this.#open();
    this.#retired.add(of);
    this.#closeUnused(of);
    this.#startWaiting();
  }

  /** Close all connections once no work is pending, or after `timeout` seconds. */
  end(options: { timeout?: number } = {}): Promise<void> {
    this.#ended ??= this.#end(options);
    return this.#ended;
  }

  #startWaiting(): void {
    while (this.#waiting.length > 0) {
      const connection = this.#current.take();
      if (connection === null) return;
      const work = this.#waiting.shift() as Work;
      if (!work.begin(connection, this.#current)) this.#current.give(connection);
    }
  }

  #closeUnused(of: Connections): void {
    if (of.used === 0 && this.#retired.delete(of)) void of.end({ timeout: 1 });
  }

  async #end({ timeout }: { timeout?: number }): Promise<void> {
    if (this.#pending === 0) this.#drained.resolve();
    const beganMs = performance.now();
    const { promise } = this.#drained;
    await (timeout === undefined ? promise : answerWithin(timeout * 1000, promise).catch(() => undefined));
    for (const { reject } of this.#waiting.splice(0)) reject(connectionEnded());
    const left = timeout === undefined ? {} : { timeout: Math.max(0, timeout - (performance.now() - beganMs) / 1000) };
    await Promise.all([this.#current, ...this.#retired].map((connections) => connections.end(left)));
  }
}

/** Make the error that postgres.js has for a query after the end of its client. */
function connectionEnded(): Error {
  return Object.assign(new Error('the connections to the database are closed'), { code: 'CONNECTION_ENDED' });
}
