import type { Client, Connect } from './client.ts';
import { isConnectionLoss } from './errors.ts';
import { type Statement, sendTo } from './query.ts';
import type { SilenceWatch } from './silence.ts';

/**
 * Connection of a pool: one PostgreSQL session. Once lost, it stays lost, even though its client could reconnect. It
 * runs one statement at a time, because postgres.js would send waiting statements on a replacement connection.
 */
export class Connection {
  pid = 0;
  /** Timer that runs while the connection is idle. */
  idleTimer: NodeJS.Timeout | undefined;
  /** Called once when the connection is lost or closed. */
  onLost: (error: unknown) => void = () => undefined;
  readonly #client: Client;
  readonly #silence: SilenceWatch;
  #loss: { readonly error: unknown } | null = null;
  #reject: (error: unknown) => void = () => undefined;
  /**
   * True after a failed query. If the query had sent rows, postgres.js 3.4.9 puts as many empty entries before the rows
   * of the next query (github.com/porsager/postgres/issues/1181).
   */
  #hasFailed = false;

  constructor(connect: Connect, silence: SilenceWatch) {
    this.#silence = silence;
    // The query in progress must fail first, with the actual error.
    const onclose = () => void setImmediate(() => this.lose(connectionClosed()));
    this.#client = connect({ onclose });
  }

  get isLost(): boolean {
    return this.#loss !== null;
  }

  /** Connect to the server. */
  async open(): Promise<void> {
    const [row] = await this.#answer((client) => client<{ pid: number }[]>`select pg_backend_pid() as pid`);
    this.pid = row?.pid ?? 0;
  }

  /** Send a query, pass the answer to `receive` and return its result. */
  async send<R>(query: Statement, receive: (sent: ReturnType<typeof sendTo>) => PromiseLike<R>): Promise<R> {
    // After a completed statement, postgres.js counts rows from zero again.
    if (this.#hasFailed) await this.run('select where false');
    return this.#answer((client) => receive(sendTo(client, query)));
  }

  /** Run statements that have no parameters. */
  async run(statements: string): Promise<unknown> {
    const results = await this.#answer((client) => client.unsafe(statements).simple());
    this.#hasFailed = false;
    return results;
  }

  /** Give up the connection. Fail its statement with the error. */
  lose(error: unknown): void {
    if (this.#loss !== null) return;
    this.#loss = { error };
    this.#reject(error);
    void this.#client.end({ timeout: 0 });
    this.onLost(error);
  }

  async #answer<R>(ask: (client: Client) => PromiseLike<R>): Promise<R> {
    if (this.#loss !== null) throw this.#loss.error;
    const untrack = this.#silence.track((error) => this.lose(error));
    try {
      return await new Promise<R>((resolve, reject) => {
        this.#reject = reject;
        ask(this.#client).then(resolve, reject);
      });
    } catch (error) {
      this.#hasFailed = true;
      if (isConnectionLoss(error)) this.lose(error);
      throw error;
    } finally {
      this.#reject = () => undefined;
      untrack();
    }
  }
}

function connectionClosed(): Error {
  return Object.assign(new Error('the connection to the database was closed'), { code: 'CONNECTION_CLOSED' });
}
