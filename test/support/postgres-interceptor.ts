import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import type { PostgresConnection } from '../../src/platform/postgres.ts';

/** Statement of a client of the interceptor, at the moment it is delayed. */
export interface InterceptedStatement {
  readonly text: string;
  /** Number of the client connection, from 0. */
  readonly connection: number;
  /** Number of changed rows, or null before the statement ran and for one that changes no rows. */
  readonly rows: number | null;
}

/** Before the server gets a statement, or after the server has done it and before the client knows. */
export type InterceptMoment = 'before' | 'after';

/**
 * Callback for a statement. It returns null to forward the statement at once, or a promise that delays the connection
 * until it resolves or the client is killed.
 */
export type InterceptListener = (statement: InterceptedStatement, moment: InterceptMoment) => Promise<void> | null;

export interface PostgresInterceptor {
  /** Connection to the same database through the interceptor. */
  readonly connection: PostgresConnection;
  /** Callback for every statement. There is only one at a time. */
  listener: InterceptListener | null;
  /**
   * Return true while the client has sent only a part of a statement (it has asked for the types of parameters and not
   * sent any yet). No timeout of PostgreSQL is running then.
   */
  isMidStatement(): boolean;
  /** Close the connections that are open; new ones are accepted. */
  cut(): void;
  close(): Promise<void>;
}

/** Reader of messages of PostgreSQL's protocol 3.0 (manual, chapter "Message Formats") from a stream. */
class MessageReader {
  #rest: Buffer = Buffer.alloc(0);
  /** False for the first message of a client, which has no type. */
  #hasTypes: boolean;

  constructor(hasTypes: boolean) {
    this.#hasTypes = hasTypes;
  }

  *take(data: Buffer): Generator<Buffer> {
    this.#rest = this.#rest.length === 0 ? data : Buffer.concat([this.#rest, data]);
    for (;;) {
      const typeBytes = this.#hasTypes ? 1 : 0;
      if (this.#rest.length < typeBytes + 4) return;
      const size = typeBytes + this.#rest.readUInt32BE(typeBytes);
      if (this.#rest.length < size) return;
      yield this.#rest.subarray(0, size);
      this.#rest = this.#rest.subarray(size);
      this.#hasTypes = true;
    }
  }
}

function textAt(message: Buffer, start: number): { text: string; end: number } {
  const end = message.indexOf(0, start);
  return { text: message.toString('utf8', start, end), end: end + 1 };
}

/** Relay that forwards messages in order and delays them on request. */
class Relay {
  readonly #to: Socket;
  #tail: Promise<void> = Promise.resolve();

  constructor(to: Socket) {
    this.#to = to;
  }

  forward(message: Buffer, delay: () => Promise<void> | null, onForwarded: () => void = () => {}): void {
    const copy = Buffer.from(message);
    this.#tail = this.#tail.then(async () => {
      await delay();
      if (this.#to.destroyed) return;
      this.#to.write(copy);
      onForwarded();
    });
  }
}

/**
 * Open a proxy between one process and PostgreSQL that recognises every statement, including prepared ones, so that a
 * test can stop the process at a chosen statement.
 */
export async function openPostgresInterceptor(server: PostgresConnection): Promise<PostgresInterceptor> {
  const sockets = new Set<Socket>();
  const interceptor: { listener: InterceptListener | null } = { listener: null };
  const midStatement = new Set<Socket>();
  let connections = 0;

  const onClient = (client: Socket) => {
    const connection = connections++;
    const upstream = server.host.startsWith('/')
      ? connect(`${server.host}/.s.PGSQL.${server.port}`)
      : connect(server.port, server.host);
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(socket);
      socket.on('error', () => socket.destroy());
      socket.on('close', () => {
        sockets.delete(socket);
        midStatement.delete(client);
        other.destroy();
      });
    }
    relayConnection({ client, upstream }, connection, interceptor, midStatement);
  };
  const listener = createServer(onClient);
  await once(listener.listen(0, '127.0.0.1'), 'listening');
  const address = listener.address();
  if (address === null || typeof address === 'string') throw new Error('the proxy has no port');
  return Object.assign(interceptor, {
    connection: { ...server, host: '127.0.0.1', port: address.port },
    isMidStatement: () => midStatement.size > 0,
    cut: () => {
      for (const socket of sockets) socket.destroy();
    },
    close: async () => {
      interceptor.listener = null;
      const closed = once(listener, 'close');
      listener.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  });
}

/** Relay one connection and call the listener at each statement. */
function relayConnection(
  { client, upstream }: { readonly client: Socket; readonly upstream: Socket },
  connection: number,
  interceptor: { readonly listener: InterceptListener | null },
  midStatement: Set<Socket>,
): void {
  const prepared = new Map<string, string>();
  /** Statements that were sent and are not done, in order. The last Bind names the statement of an Execute. */
  const running: string[] = [];
  let bound = '';
  /** Name of the statement that was parsed last and not bound yet. */
  let parsed: string | null = null;
  const toServer = new Relay(upstream);
  const toClient = new Relay(client);
  const fromClient = new MessageReader(false);
  const fromServer = new MessageReader(true);

  client.on('data', (data) => {
    for (const message of fromClient.take(data)) {
      const type = String.fromCharCode(message[0] as number);
      let text: string | null = null; // Text of a statement that begins with this message.
      if (type === 'P') {
        const name = textAt(message, 5);
        text = textAt(message, name.end).text;
        prepared.set(name.text, text);
        parsed = name.text;
      } else if (type === 'B') {
        const name = textAt(message, textAt(message, 5).end).text;
        bound = prepared.get(name) ?? '';
        if (parsed !== name) text = bound;
        parsed = null;
      } else if (type === 'Q') {
        text = textAt(message, 5).text;
        running.push(text);
      } else if (type === 'E') {
        running.push(bound);
      }
      // The whole statement is delayed, so that the server waits between two statements as for a client that hangs.
      const begun = text;
      const delay = () =>
        begun === null ? null : (interceptor.listener?.({ text: begun, connection, rows: null }, 'before') ?? null);
      toServer.forward(message, delay, () => {
        if (type === 'P') midStatement.add(client);
        else if (type === 'S') midStatement.delete(client);
      });
    }
  });
  let done: InterceptedStatement | null = null;
  upstream.on('data', (data) => {
    for (const message of fromServer.take(data)) {
      const type = String.fromCharCode(message[0] as number);
      let delay: () => Promise<void> | null = () => null;
      if (type === 'C') {
        const rows = /(\d+)$/.exec(textAt(message, 5).text)?.[1];
        done = { text: running.shift() ?? '', connection, rows: rows === undefined ? null : Number(rows) };
      } else if (type === 'E') {
        running.shift();
      } else if (type === 'Z' && done !== null) {
        // The server is ready for the next statement: this one is committed, unless it is in a transaction.
        const statement = done;
        done = null;
        delay = () => interceptor.listener?.(statement, 'after') ?? null;
      }
      toClient.forward(message, delay);
    }
  });
}
