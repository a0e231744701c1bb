import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import type { PostgresConnection } from '../../src/platform/postgres.ts';

export interface PostgresProxy {
  /** Connection to the same database through the proxy. */
  readonly connection: PostgresConnection;
  /** Close every connection and refuse new ones until `open`. */
  cut(): Promise<void>;
  /** Refuse new connections until `open`; those that are open stay. */
  refuse(): void;
  open(): Promise<void>;
  /** Block all traffic, on open and new connections, until `thaw`. */
  freeze(): void;
  /** Let new connections pass. Connections that were open or opened while frozen stay silent. */
  thaw(): void;
  /** Delay traffic on connections opened from now on. */
  delayNewConnections(ms: number): void;
  /** Close the connection on which the server confirms the next COMMIT, instead of forwarding the confirmation. */
  loseNextCommit(): void;
  close(): Promise<void>;
}

/**
 * Open a proxy between a pool and PostgreSQL that simulates network failures at chosen moments.
 *
 * @param options.rewrite changes what the server sends
 */
export async function openPostgresProxy(
  server: PostgresConnection,
  options: { rewrite?: (data: Buffer) => Buffer } = {},
): Promise<PostgresProxy> {
  const { rewrite = (data) => data } = options;
  const sockets = new Set<Socket>();
  /** Clients whose connections are silent. */
  const frozen = new WeakSet<Socket>();
  const clients = new Set<Socket>();
  let isFrozen = false;
  let losesCommit = false;
  let delayMs = 0;

  const listener = createServer((client) => {
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
        other.destroy();
      });
    }
    if (isFrozen) frozen.add(client);
    clients.add(client);
    client.on('close', () => clients.delete(client));
    const ownDelayMs = delayMs;
    client.on('data', (data) => {
      if (frozen.has(client)) return;
      if (ownDelayMs > 0) setTimeout(() => upstream.write(data), ownDelayMs);
      else upstream.write(data);
    });
    upstream.on('data', (data) => {
      if (frozen.has(client)) return;
      const isLost = losesCommit && data.includes('COMMIT\0');
      if (!isLost) return client.write(rewrite(data));
      losesCommit = false;
      upstream.destroy();
    });
  });
  const listen = async (port: number) => {
    await once(listener.listen(port, '127.0.0.1'), 'listening');
  };
  const cut = async () => {
    const closed = listener.listening ? once(listener, 'close') : null;
    listener.close();
    for (const socket of sockets) socket.destroy();
    await closed;
  };
  await listen(0);
  const address = listener.address();
  if (address === null || typeof address === 'string') throw new Error('the proxy has no port');
  const { port } = address;

  return {
    connection: { ...server, host: '127.0.0.1', port },
    cut,
    refuse() {
      listener.close();
    },
    open: async () => {
      if (!listener.listening) await listen(port);
    },
    freeze() {
      isFrozen = true;
      for (const client of clients) frozen.add(client);
    },
    thaw() {
      isFrozen = false;
    },
    delayNewConnections(ms) {
      delayMs = ms;
    },
    loseNextCommit() {
      losesCommit = true;
    },
    close: cut,
  };
}
