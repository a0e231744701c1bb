import { dependencyDown } from '../errors.ts';
import type { Connection } from './connection.ts';
import type { Send } from './query.ts';
import type { Stop } from './query-limit.ts';
import { makeSql, type Sql } from './sql.ts';

/**
 * Limits of a transaction. The server ends a transaction whose client is idle for too long, and a statement that waits
 * too long for a row. Otherwise a process that hangs or was stopped in a transaction would block all others. They
 * aren't connection parameters, because transaction-pooling proxies refuse unknown parameters.
 */
const GUARD = "set local idle_in_transaction_session_timeout = '10s'; set local lock_timeout = '15s'";

/** SQLSTATE in_failed_sql_transaction (PostgreSQL manual, appendix A). */
const IN_FAILED_TRANSACTION = '25P02';

export interface TransactionSettings {
  /** Options of SQL's BEGIN; may be empty. */
  readonly options: string;
  /** Time limit of each statement, enforced by PostgreSQL; null for none. */
  readonly statementMs: number | null;
  readonly stop: Stop;
  /** Cancel the statement of a server process. Resolves with true once the request has arrived. */
  readonly cancel: (pid: number) => Promise<boolean>;
}

/**
 * Run `fn` in a transaction on a connection that nothing else uses meanwhile. Close a connection in an unknown state:
 * after a failed COMMIT or ROLLBACK, or an unconfirmed cancellation.
 * @throws the error of `fn`, once the transaction is rolled back; the error of a lost connection
 */
export function runTransaction<T>(
  connection: Connection,
  settings: TransactionSettings,
  fn: (tx: Sql, send: Send) => PromiseLike<T>,
): Promise<T> {
  return new Transaction(connection, settings).run(fn);
}

class Transaction {
  readonly #connection: Connection;
  readonly #settings: TransactionSettings;
  /** Process id of the server. Behind a pooler it may differ for each transaction. */
  #pid = 0;
  /** Previous statement, which the next one waits for. */
  #previous: Promise<unknown> = Promise.resolve();
  #isActive = false;
  /** Cancellations that were sent but not yet confirmed. */
  readonly #cancellations: Promise<boolean>[] = [];
  #savepoints = 0;

  constructor(connection: Connection, settings: TransactionSettings) {
    this.#connection = connection;
    this.#settings = settings;
  }

  async run<T>(fn: (tx: Sql, send: Send) => PromiseLike<T>): Promise<T> {
    const { options, statementMs, stop } = this.#settings;
    const connection = this.#connection;
    const limit = statementMs === null ? '' : `set local statement_timeout = ${Math.ceil(statementMs)};`;
    const begin = `begin ${options}; ${GUARD}; ${limit} select pg_backend_pid() as pid`;
    const begun = await connection.run(begin).catch((error) => {
      this.#giveUp(error);
      throw error;
    });
    this.#pid = pidIn(begun);
    stop.onStop = () => {
      if (this.#isActive) this.#cancellations.push(this.#settings.cancel(this.#pid));
    };
    const loss = Promise.withResolvers<never>();
    connection.onLost = (error) => loss.reject(transactionLost(error));
    try {
      return await Promise.race([loss.promise, this.#scope(fn, { onEnd: 'commit', onFailure: 'rollback' })]);
    } finally {
      connection.onLost = () => undefined;
      stop.onStop = () => undefined;
      loss.promise.catch(() => undefined);
    }
  }

  /** Run `fn`, then a statement for its success or its failure. */
  async #scope<T>(
    fn: (tx: Sql, send: Send) => PromiseLike<T>,
    { onEnd, onFailure }: { readonly onEnd: string; readonly onFailure: string },
  ): Promise<T> {
    const scope: Scope = { isOver: false, failure: null };
    let result: T;
    try {
      const send = this.#sendIn(scope);
      result = await fn(this.#sqlOf(scope, send), send);
      if (scope.failure !== null) throw scope.failure.error;
    } catch (error) {
      scope.isOver = true;
      // The first failure causes the later ones.
      const cause = codeOf(error) === IN_FAILED_TRANSACTION ? (scope.failure ?? { error }) : { error };
      await this.#end(onFailure).catch((fault) => this.#giveUp(fault));
      throw this.#settings.stop.explain(cause.error);
    }
    scope.isOver = true;
    try {
      if (onEnd !== '') await this.#end(onEnd);
    } catch (error) {
      this.#giveUp(error);
      throw error;
    }
    return result;
  }

  #sendIn(scope: Scope): Send {
    return (query, receive) =>
      this.#inTurn(async () => {
        this.#refuse(scope);
        this.#isActive = true;
        try {
          return await this.#connection.send(query, receive);
        } catch (error) {
          scope.failure ??= { error };
          throw this.#settings.stop.explain(this.#connection.isLost ? transactionLost(error) : error);
        } finally {
          this.#isActive = false;
        }
      });
  }

  #sqlOf(scope: Scope, send: Send): Sql {
    const sql: Sql = makeSql({
      send,
      isTransaction: true,
      begin: async (_options, fn) => {
        this.#refuse(scope);
        const name = `s${this.#savepoints++}`;
        await this.#inTurn(() => this.#connection.run(`savepoint ${name}`));
        return this.#scope(fn, { onEnd: '', onFailure: `rollback to ${name}` });
      },
      limited: () => sql,
    });
    return sql;
  }

  /** Refuse a statement if the transaction or the scope has ended. @throws the reason */
  #refuse(scope: Scope): void {
    const { cause } = this.#settings.stop;
    if (this.#connection.isLost) throw transactionLost(null);
    if (cause !== null) throw cause.error;
    if (scope.isOver)
      throw new Error('this transaction is over: a statement was sent to it after its callback had settled');
  }

  /** End the transaction or a savepoint, once no cancellation of its statements can still arrive. */
  #end(statement: string): Promise<unknown> {
    return this.#inTurn(async () => {
      const areConfirmed = await Promise.all(this.#cancellations);
      const ended = await this.#connection.run(statement);
      if (areConfirmed.includes(false)) this.#giveUp(new Error('a cancellation may still arrive'));
      return ended;
    });
  }

  /** Close the connection once the transaction's outcome is known. */
  #giveUp(error: unknown): void {
    this.#connection.onLost = () => undefined;
    this.#connection.lose(error);
  }

  /** Run work after all earlier statements have ended. */
  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const mine = this.#previous.then(work);
    this.#previous = mine.catch(() => undefined);
    return mine;
  }
}

/** State of the callback of a transaction or savepoint. */
interface Scope {
  isOver: boolean;
  /** Error of the first statement that failed. */
  failure: { readonly error: unknown } | null;
}

function pidIn(results: unknown): number {
  const last = (results as unknown[][]).at(-1) as [{ pid: number }];
  return last[0].pid;
}

function transactionLost(cause: unknown): Error {
  return dependencyDown('postgres', 'the connection to the database was lost during a transaction; try again', cause);
}

function codeOf(error: unknown): unknown {
  return (error as { code?: unknown } | null)?.code;
}
