import { answerWithin } from '../answer-within.ts';
import type { Client, Connect } from './client.ts';
import { Connection } from './connection.ts';
import type { Send } from './query.ts';
import { bothLimits, doWithin, type QueryLimit, type Stop } from './query-limit.ts';
import { SilenceWatch } from './silence.ts';
import { type Database, makeSql, type Sql } from './sql.ts';
import { runTransaction } from './transaction.ts';

/** Time after which an idle connection is closed. */
const IDLE_MS = 300_000;
/** Time within which a reachable PostgreSQL confirms a cancellation. */
const CONFIRMED_MS_MAX = 5_000;
/** Time for which the cancelling connection stays open after the last cancellation. */
const CANCELLER_IDLE_SECONDS = 2;

export interface PoolOptions {
  /** Maximum number of connections. */
  readonly max: number;
  /** Limit on each query that sets none itself; null (default) for none. */
  readonly defaultLimit?: QueryLimit | null;
  /** Time without an answer after which to try a new connection, and the time limit for its answer. */
  readonly silenceMs?: number | undefined;
  /** True behind a pooler that may assign each transaction to another server process. */
  readonly isPooled?: boolean;
}

/**
 * Open a pool that survives the loss of connections, and cancels statements
 * (docs/decisions/0006-own-pool-around-postgres-js.md). A silent connection counts as lost if a new one gets no answer
 * either.
 * @param connect creates a client with one connection
 */
export function openPool(
  connect: Connect,
  { max, defaultLimit = null, silenceMs, isPooled = false }: PoolOptions,
): Database {
  const pool = new Pool(connect, max, new SilenceWatch(connect, silenceMs));

  const transact = <T>(
    limit: QueryLimit | null,
    options: string,
    fn: (tx: Sql, send: Send) => PromiseLike<T>,
  ): Promise<T> => {
    const cancel = (pid: number) => pool.cancel(pid);
    return pool.run(limit, null, (connection, stop) =>
      runTransaction(connection, { options, statementMs: limit?.ms ?? null, stop, cancel }, fn),
    );
  };
  const sendTo = (limit: QueryLimit | null): Send => {
    // Behind a pooler, only a transaction reveals the server process, whose id is needed to cancel a statement.
    if (isPooled && limit !== null) return (query, receive) => transact(limit, '', (_tx, send) => send(query, receive));
    return (query, receive) =>
      pool.run(limit, limit?.ms ?? null, async (connection, stop) => {
        stop.onStop = () => pool.cancelOn(connection);
        return connection.send(query, receive);
      });
  };
  const executorOf = (limit: QueryLimit | null): Sql =>
    makeSql({
      send: sendTo(limit),
      isTransaction: false,
      begin: (options, fn) => transact(limit, options, fn),
      limited: (inner) => executorOf(bothLimits(limit, inner)),
    });
  return Object.assign(executorOf(defaultLimit), {
    pending: () => pool.pending,
    end: (options?: { timeout?: number }) => pool.end(options),
  });
}

/** Work that waits for a connection. */
interface Waiting {
  readonly begin: (connection: Connection) => void;
  readonly reject: (error: unknown) => void;
  /** True if the work was stopped while it waited. */
  isGone: boolean;
}

/**
 * Connections, each used by one query or transaction at a time. The most recently used one is taken first, so that a
 * few connections do nearly all work: every connection is a PostgreSQL process with its own caches.
 */
class Pool {
  readonly #connect: Connect;
  readonly #max: number;
  readonly #silence: SilenceWatch;
  readonly #all = new Set<Connection>();
  /** Most recently used last. */
  readonly #idle: Connection[] = [];
  #opening = 0;
  /** Work without a connection, in arrival order. */
  #waiting: Waiting[] = [];
  /** Confirmations that a connection waits for before it is reused. */
  readonly #cancellations = new WeakMap<Connection, Promise<void>>();
  #canceller: Client | null = null;
  #pending = 0;
  #ended: Promise<void> | null = null;
  readonly #drained = Promise.withResolvers<void>();

  constructor(connect: Connect, max: number, silence: SilenceWatch) {
    this.#connect = connect;
    this.#max = max;
    this.#silence = silence;
  }

  /** Number of queries and transactions in progress, including waiting ones. */
  get pending(): number {
    return this.#pending;
  }

  /** Run work on a connection within a limit, once a connection is free. */
  async run<T>(
    limit: QueryLimit | null,
    ms: number | null,
    work: (connection: Connection, stop: Stop) => Promise<T>,
  ): Promise<T> {
    if (this.#ended !== null) throw connectionEnded();
    this.#pending++;
    try {
      return await doWithin(limit, ms, (stop) => this.#onConnection(stop, (connection) => work(connection, stop)));
    } finally {
      this.#pending--;
      if (this.#pending === 0 && this.#ended !== null) this.#drained.resolve();
    }
  }

  /** Cancel the query of a connection. Don't reuse the connection until PostgreSQL has confirmed the cancellation. */
  cancelOn(connection: Connection): void {
    const confirmed = this.cancel(connection.pid).then((isConfirmed) => {
      if (!isConfirmed) connection.lose(notCancelled());
    });
    this.#cancellations.set(connection, confirmed);
  }

  /**
   * Cancel the current statement of a server process.
   * @returns true once the request has arrived; false if unknown
   */
  async cancel(pid: number): Promise<boolean> {
    this.#canceller ??= this.#connect({ idle_timeout: CANCELLER_IDLE_SECONDS });
    const canceller = this.#canceller;
    try {
      await answerWithin(CONFIRMED_MS_MAX, canceller`select pg_cancel_backend(${pid})`);
      return true;
    } catch {
      if (this.#canceller === canceller) this.#canceller = null;
      void canceller.end({ timeout: 0 });
      return false;
    }
  }

  /** Close all connections once no work is pending, or after `timeout` seconds. */
  end(options: { timeout?: number } = {}): Promise<void> {
    this.#ended ??= this.#end(options);
    return this.#ended;
  }

  #onConnection<T>(stop: Stop, work: (connection: Connection) => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const waiting: Waiting = {
        begin: (connection) => {
          stop.onStop = () => undefined;
          const running = work(connection);
          running.then(resolve, reject);
          const ended = () => this.#cancellations.get(connection);
          void running.then(ended, ended).then(() => this.#give(connection));
        },
        reject,
        isGone: false,
      };
      stop.onStop = (error) => {
        waiting.isGone = true;
        reject(error);
      };
      this.#waiting.push(waiting);
      this.#serve();
    });
  }

  /** Start waiting work, and open connections for the rest. */
  #serve(): void {
    this.#waiting = this.#waiting.filter(({ isGone }) => !isGone);
    for (let connection = this.#takeIdle(); connection !== null; connection = this.#takeIdle()) {
      this.#waiting.shift()?.begin(connection);
    }
    while (this.#opening < this.#waiting.length && this.#all.size < this.#max) void this.#open();
  }

  /** Assign an idle connection to waiting work. Return null if either is missing. */
  #takeIdle(): Connection | null {
    while (this.#waiting.length > 0) {
      const connection = this.#idle.pop();
      if (connection === undefined) return null;
      clearTimeout(connection.idleTimer);
      if (!connection.isLost) return connection;
      this.#all.delete(connection);
    }
    return null;
  }

  /** Open a connection for the first waiting work. */
  async #open(): Promise<void> {
    let connection: Connection;
    try {
      connection = new Connection(this.#connect, this.#silence);
    } catch (error) {
      // postgres.js refuses the address, for example because of its port.
      this.#waiting.shift()?.reject(error);
      return;
    }
    this.#all.add(connection);
    this.#opening++;
    const error = await connection.open().then(
      () => null,
      (fault: unknown) => ({ fault }),
    );
    this.#opening--;
    if (error !== null) {
      connection.lose(error.fault);
      this.#waiting = this.#waiting.filter(({ isGone }) => !isGone);
      this.#waiting.shift()?.reject(error.fault);
    }
    this.#give(connection);
  }

  /** Return a connection whose work has ended. */
  #give(connection: Connection): void {
    this.#cancellations.delete(connection);
    if (connection.isLost) {
      this.#all.delete(connection);
      // The idle connections may also be lost unnoticed.
      for (const idle of this.#idle.splice(0)) this.#close(idle);
    } else {
      const onIdle = () => this.#close(connection);
      connection.idleTimer = setTimeout(onIdle, IDLE_MS).unref();
      this.#idle.push(connection);
    }
    this.#serve();
  }

  #close(connection: Connection): void {
    clearTimeout(connection.idleTimer);
    this.#all.delete(connection);
    const at = this.#idle.indexOf(connection);
    if (at >= 0) this.#idle.splice(at, 1);
    connection.lose(connectionEnded());
  }

  async #end({ timeout }: { timeout?: number }): Promise<void> {
    if (this.#pending === 0) this.#drained.resolve();
    const { promise } = this.#drained;
    await (timeout === undefined ? promise : answerWithin(timeout * 1000, promise).catch(() => undefined));
    for (const { reject } of this.#waiting.splice(0)) reject(connectionEnded());
    for (const connection of this.#all) connection.lose(connectionEnded());
    await this.#canceller?.end({ timeout: 0 });
  }
}

/** Create the error that postgres.js throws for a query after its client has ended. */
function connectionEnded(): Error {
  return Object.assign(new Error('the connections to the database are closed'), { code: 'CONNECTION_ENDED' });
}

function notCancelled(): Error {
  return Object.assign(new Error('the database did not confirm a cancellation'), { code: 'ETIMEDOUT' });
}
