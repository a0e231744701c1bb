import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import type { PostgresConnection } from '../../src/platform/postgres.ts';

/** A statement that one client of the tap runs, at the moment it is held up. */
export interface TappedStatement {
  readonly text: string;
  /** Of the client; a number of ours. */
  readonly connection: number;
  /** Rows that it changed, or null before it ran and where it changes none. */
  readonly rows: number | null;
}

/** Before the server gets it; once the server has done it, and the client does not know yet. */
export type TapMoment = 'before' | 'after';

/**
 * Looks at a statement; what it returns holds the connection up until it resolves, which a kill of the client ends too.
 * Null: let it through.
 */
export type TapListener = (statement: TappedStatement, moment: TapMoment) => Promise<void> | null;

export interface PostgresWiretap {
  /** The same database, through the tap. */
  readonly connection: PostgresConnection;
  /** Asked for every statement; only one at a time. */
  listener: TapListener | null;
  /**
   * Whether the process behind the tap owes the server the rest of a statement (it has asked for the types of parameters
   * and not sent any yet). No timeout of PostgreSQL's is running then.
   */
  isMidStatement(): boolean;
  close(): Promise<void>;
}

/** Messages of PostgreSQL's protocol 3.0 (manual, chapter "Message Formats"), as they come out of a stream. */
class Messages {
  #rest: Buffer = Buffer.alloc(0);
  /** The first message of a client has no type. */
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

/** Passes messages on in order, holding them up where it is told to. */
class Relay {
  readonly #to: Socket;
  #tail: Promise<void> = Promise.resolve();

  constructor(to: Socket) {
    this.#to = to;
  }

  pass(message: Buffer, hold: () => Promise<void> | null, onPassed: () => void = () => {}): void {
    const copy = Buffer.from(message);
    this.#tail = this.#tail.then(async () => {
      await hold();
      if (this.#to.destroyed) return;
      this.#to.write(copy);
      onPassed();
    });
  }
}

/**
 * Stands between one process and PostgreSQL and knows which statement runs, prepared ones too, so that a test can stop
 * the world of that process at a chosen statement.
 */
export async function openPostgresWiretap(server: PostgresConnection): Promise<PostgresWiretap> {
  const sockets = new Set<Socket>();
  const tap: { listener: TapListener | null } = { listener: null };
  const owing = new Set<Socket>();
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
        owing.delete(client);
        other.destroy();
      });
    }
    const prepared = new Map<string, string>();
    /** Statements that were sent and are not done, in order; the last Bind says which one an Execute means. */
    const running: string[] = [];
    let bound = '';
    /** Name of the statement that was parsed last and not bound yet. */
    let parsed: string | null = null;
    const toServer = new Relay(upstream);
    const toClient = new Relay(client);
    const fromClient = new Messages(false);
    const fromServer = new Messages(true);

    client.on('data', (data) => {
      for (const message of fromClient.take(data)) {
        const type = String.fromCharCode(message[0] as number);
        let text: string | null = null; // of a statement that begins with this message
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
        // All of it is held up, so that the server waits between two statements, as for a client that hangs.
        const begun = text;
        const hold = () =>
          begun === null ? null : (tap.listener?.({ text: begun, connection, rows: null }, 'before') ?? null);
        toServer.pass(message, hold, () => {
          if (type === 'P') owing.add(client);
          else if (type === 'S') owing.delete(client);
        });
      }
    });
    let done: TappedStatement | null = null;
    upstream.on('data', (data) => {
      for (const message of fromServer.take(data)) {
        const type = String.fromCharCode(message[0] as number);
        let hold: () => Promise<void> | null = () => null;
        if (type === 'C') {
          const rows = /(\d+)$/.exec(textAt(message, 5).text)?.[1];
          done = { text: running.shift() ?? '', connection, rows: rows === undefined ? null : Number(rows) };
        } else if (type === 'E') {
          running.shift();
        } else if (type === 'Z' && done !== null) {
          // Ready for the next: what it did is committed, unless in a transaction.
          const statement = done;
          done = null;
          hold = () => tap.listener?.(statement, 'after') ?? null;
        }
        toClient.pass(message, hold);
      }
    });
  };
  const listener = createServer(onClient);
  await once(listener.listen(0, '127.0.0.1'), 'listening');
  const address = listener.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return Object.assign(tap, {
    connection: { ...server, host: '127.0.0.1', port: address.port },
    isMidStatement: () => owing.size > 0,
    close: async () => {
      tap.listener = null;
      const closed = once(listener, 'close');
      listener.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  });
}
