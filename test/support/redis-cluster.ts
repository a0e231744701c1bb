import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Redis } from 'ioredis';
import { freePort } from './free-port.ts';
import { until } from './until.ts';

const PRIMARIES = 3;
const SLOTS = 16_384;
/** Time without an answer after which the others count a server as down. */
const NODE_TIMEOUT_MS = 2_000;
const READY_MS_MAX = 60_000;

export interface RedisCluster {
  /** Addresses of all servers for `redis.cluster`. */
  readonly addresses: readonly { readonly host: string; readonly port: number }[];
  /** Kill the primary of a key. @returns its port */
  killOwner(key: string): Promise<number>;
  /** Return the port of a key's primary, as reported by a live server. */
  ownerOf(key: string): Promise<number>;
  drop(): Promise<void>;
}

/**
 * Start a Redis Cluster of three primaries, each with a replica, on the loopback address. A failover takes some
 * seconds.
 */
export async function startRedisCluster(options: { password?: string } = {}): Promise<RedisCluster> {
  const { password } = options;
  const directory = await mkdtemp(path.join(tmpdir(), 'service-test-redis-cluster-'));
  const servers = new Map<number, ChildProcess>();
  const busOf = new Map<number, number>();
  for (let nth = 0; nth < 2 * PRIMARIES; nth++) {
    const [port, bus] = [await freePort(), await freePort()];
    const folder = path.join(directory, String(port));
    await mkdir(folder);
    const args = [
      ...['--port', String(port), '--cluster-port', String(bus), '--bind', '127.0.0.1', '--dir', folder],
      ...['--save', '', '--appendonly', 'no', '--cluster-enabled', 'yes', '--repl-diskless-sync-delay', '0'],
      ...['--cluster-node-timeout', String(NODE_TIMEOUT_MS), '--cluster-announce-ip', '127.0.0.1'],
      ...(password === undefined ? [] : ['--requirepass', password, '--masterauth', password]),
    ];
    const child = spawn('redis-server', args, { stdio: 'ignore' });
    servers.set(port, child);
    await until(async () => ask(port, (client) => client.ping()).catch(() => false), { what: `redis-server ${port}` });
    const [first] = servers.keys();
    if (nth > 0) {
      const firstBus = busOf.get(first as number) as number;
      await ask(port, (client) => client.call('CLUSTER', 'MEET', '127.0.0.1', String(first), String(firstBus)));
    }
    busOf.set(port, bus);
  }
  const ports = [...servers.keys()];
  const knows = (port: number) => async () => {
    const nodes = (await ask(port, (client) => client.cluster('NODES'))) as string;
    return nodes.trim().split('\n').length === ports.length && !nodes.includes('handshake');
  };
  for (const port of ports) await until(knows(port), { what: 'servers that know each other', withinMs: READY_MS_MAX });
  for (const [nth, port] of ports.slice(0, PRIMARIES).entries()) {
    const range = [Math.floor((nth * SLOTS) / PRIMARIES), Math.floor(((nth + 1) * SLOTS) / PRIMARIES) - 1];
    await ask(port, (client) => client.call('CLUSTER', 'ADDSLOTSRANGE', ...range.map(String)));
    const id = (await ask(port, (client) => client.cluster('MYID'))) as string;
    await until(
      async () =>
        ask(ports[PRIMARIES + nth] as number, (client) => client.call('CLUSTER', 'REPLICATE', id)).catch(() => false),
      { what: 'a replica', withinMs: READY_MS_MAX },
    );
  }
  const isOk = (port: number) => async () =>
    ((await ask(port, (client) => client.cluster('INFO'))) as string).includes('cluster_state:ok');
  for (const port of ports) await until(isOk(port), { what: 'a cluster that is ok', withinMs: READY_MS_MAX });
  const hasReplicas = async () => {
    const slots = (await ask(ports[0] as number, (client) => client.cluster('SLOTS'))) as unknown[][];
    return slots.length === PRIMARIES && slots.every((range) => range.length === 4);
  };
  await until(hasReplicas, { what: 'replicas of all primaries', withinMs: READY_MS_MAX });

  function ask<T>(port: number, use: (client: Redis) => Promise<T>): Promise<T> {
    return withClient(port, password, use);
  }
  const alive = () =>
    ports.filter((port) => servers.get(port)?.exitCode === null && servers.get(port)?.signalCode === null);
  const ownerOf = async (key: string) => {
    const [port] = alive();
    const slot = Number(await ask(port as number, (client) => client.cluster('KEYSLOT', key)));
    for (const [from, to, primary] of await ask(port as number, (client) => client.cluster('SLOTS'))) {
      if (primary !== undefined && from <= slot && slot <= to) return primary[1];
    }
    throw new Error(`no server holds slot ${slot}`);
  };
  const kill = async (port: number) => {
    const child = servers.get(port);
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const exit = once(child, 'exit');
    child.kill('SIGKILL');
    await exit;
  };
  return {
    addresses: ports.map((port) => ({ host: '127.0.0.1', port })),
    ownerOf,
    async killOwner(key) {
      const port = await ownerOf(key);
      await kill(port);
      return port;
    },
    async drop() {
      await Promise.all(ports.map(kill));
      await rm(directory, { recursive: true, force: true });
    },
  };
}

async function withClient<T>(
  port: number,
  password: string | undefined,
  use: (client: Redis) => Promise<T>,
): Promise<T> {
  const client = new Redis(port, '127.0.0.1', {
    ...{ lazyConnect: true, retryStrategy: () => null, enableReadyCheck: false, maxRetriesPerRequest: 0 },
    ...{ protocol: 2, commandTimeout: 2_000, connectTimeout: 2_000 },
    ...(password === undefined ? {} : { password }),
  });
  client.on('error', () => undefined);
  try {
    await client.connect();
    return await use(client);
  } finally {
    client.disconnect();
  }
}
