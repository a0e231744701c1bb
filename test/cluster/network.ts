import { once } from 'node:events';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';

/** Address of a server: a port of the loopback address, or the path of a unix socket. */
export type ServerAddress = { readonly port: number } | { readonly path: string };

interface Connection {
  readonly client: Socket;
  /** Name of the node whose process opened it; null: none of the nodes. */
  readonly from: string | null;
  upstream: Socket | null;
  /** Time at which the partition began to hold bytes back; null: none are held. */
  heldMs: number | null;
  /** Timer of the retransmission by which the connection goes on after a partition. */
  resume: NodeJS.Timeout | null;
}

interface Exposed {
  readonly name: string;
  readonly address: ServerAddress;
  readonly listener: Server;
  readonly connections: Set<Connection>;
}

/** First interval of the retransmission of TCP in Linux, which doubles each time, and its maximum. */
const RETRANSMIT_MS = 200;
const RETRANSMIT_MS_MAX = 120_000;

/**
 * Network of the processes of a cluster on one host. Each server is reached through a proxy, which finds out by
 * `/proc` which process has opened a connection, so that any pair of nodes can be cut off from each other. As in a network that drops packets, a connection on which
 * bytes were sent meanwhile goes on only at the next retransmission after the end of the partition, which is up to as long
 * afterwards as the bytes have waited.
 */
export class Network {
  /** Process ids by node; null while it does not run. */
  readonly #nodes = new Map<string, () => number | null>();
  readonly #exposed: Exposed[] = [];
  /** Pairs of nodes that do not reach each other. */
  readonly #partitions = new Set<string>();

  /** Add a node whose connections to servers are to be recognised. */
  join(name: string, pid: () => number | null): void {
    this.#nodes.set(name, pid);
  }

  /** Open a proxy in front of a server of a node. @returns its port */
  async expose(name: string, address: ServerAddress): Promise<number> {
    const connections = new Set<Connection>();
    const listener = createServer({ allowHalfOpen: true, pauseOnConnect: true }, (client) => {
      const from = this.#ownerOf(client);
      const connection: Connection = { client, from, upstream: null, heldMs: null, resume: null };
      connections.add(connection);
      watch(client, connection, connections);
      this.#apply(exposed, connection);
    });
    const exposed: Exposed = { name, address, listener, connections };
    await once(listener.listen(0, '127.0.0.1'), 'listening');
    this.#exposed.push(exposed);
    return portOf(listener);
  }

  /** Let nothing pass between two nodes, in both directions; their connections stay open. */
  partition(a: string, b: string): void {
    this.#partitions.add(pairOf(a, b));
    this.#applyAll();
  }

  /** End all partitions. */
  heal(): void {
    this.#partitions.clear();
    this.#applyAll();
  }

  async close(): Promise<void> {
    this.heal();
    for (const { listener, connections } of this.#exposed.splice(0)) {
      const closed = once(listener, 'close');
      listener.close();
      for (const connection of [...connections]) destroy(connection);
      await closed;
    }
  }

  #applyAll(): void {
    for (const exposed of this.#exposed) {
      for (const connection of [...exposed.connections]) this.#apply(exposed, connection);
    }
  }

  #apply(exposed: Exposed, connection: Connection): void {
    const { client, from, upstream, heldMs } = connection;
    clearTimeout(connection.resume ?? undefined);
    if (from !== null && this.#partitions.has(pairOf(from, exposed.name))) {
      hold(connection);
      return;
    }
    if (heldMs !== null) {
      connection.heldMs = null;
      connection.resume = setTimeout(() => this.#apply(exposed, connection), untilRetransmission(heldMs));
      return;
    }
    const server = upstream ?? connectTo(exposed.address);
    if (upstream === null) {
      connection.upstream = server;
      watch(server, connection, exposed.connections);
    }
    for (const [a, b] of [
      [client, server],
      [server, client],
    ] as const) {
      a.removeAllListeners('readable');
      a.unpipe(b).pipe(b);
    }
  }

  /** Find the node whose process holds the other end of a connection to this host. */
  #ownerOf({ remotePort, localPort }: Socket): string | null {
    if (remotePort === undefined || localPort === undefined) return null;
    const inode = inodeOf(remotePort, localPort);
    if (inode === null) return null;
    for (const [name, pid] of this.#nodes) if (holdsSocket(pid(), inode)) return name;
    return null;
  }
}

function pairOf(a: string, b: string): string {
  return [a, b].sort().join('\n');
}

function portOf(listener: Server): number {
  const address = listener.address();
  if (address === null || typeof address === 'string') throw new Error('the proxy has no port');
  return address.port;
}

function connectTo(address: ServerAddress): Socket {
  return 'path' in address
    ? connect({ path: address.path, allowHalfOpen: true })
    : connect({ port: address.port, host: '127.0.0.1', allowHalfOpen: true });
}

function watch(socket: Socket, connection: Connection, connections: Set<Connection>): void {
  socket.on('error', () => destroy(connection));
  socket.on('close', () => {
    connections.delete(connection);
    destroy(connection);
  });
}

/** Let nothing pass on a connection, and note when one of its ends has sent bytes in vain. */
function hold(connection: Connection): void {
  const { client, upstream } = connection;
  for (const [a, b] of [
    [client, upstream],
    [upstream, client],
  ] as const) {
    a?.unpipe(b ?? undefined);
    a?.removeAllListeners('readable');
    a?.on('readable', () => {
      connection.heldMs ??= performance.now();
    });
  }
}

/** Return the time until the next retransmission of bytes that were first sent at `sentMs`. */
function untilRetransmission(sentMs: number): number {
  const waitedMs = performance.now() - sentMs;
  let atMs = 0;
  for (let intervalMs = RETRANSMIT_MS; atMs < waitedMs; intervalMs *= 2)
    atMs += Math.min(intervalMs, RETRANSMIT_MS_MAX);
  return atMs - waitedMs;
}

function destroy({ client, upstream, resume }: Connection): void {
  clearTimeout(resume ?? undefined);
  client.destroy();
  upstream?.destroy();
}

/** Find the inode of a socket by its own port and that of its peer, both of 127.0.0.1; see proc(5). */
function inodeOf(ownPort: number, peerPort: number): string | null {
  const hex = (port: number) => `0100007F:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  for (const line of readFileSync('/proc/net/tcp', 'utf8').split('\n')) {
    const [, own, peer, , , , , , , inode] = line.trim().split(/\s+/);
    if (own === hex(ownPort) && peer === hex(peerPort)) return inode ?? null;
  }
  return null;
}

function holdsSocket(pid: number | null, inode: string): boolean {
  if (pid === null) return false;
  const wanted = `socket:[${inode}]`;
  try {
    return readdirSync(`/proc/${pid}/fd`).some((fd) => {
      try {
        return readlinkSync(`/proc/${pid}/fd/${fd}`) === wanted;
      } catch {
        return false;
      }
    });
  } catch {
    return false;
  }
}
