import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Redis } from 'ioredis';
import { freePort } from './free-port.ts';
import { until } from './until.ts';

/** Name of the primary in the Sentinels. */
export const PRIMARY_NAME = 'primary';
const SERVERS = 2;
const SENTINELS = 3;
/** Time without an answer after which a Sentinel counts a server as down. */
const DOWN_AFTER_MS = 2_000;
const FAILOVER_MS_MAX = 60_000;

/** Ports of a node: its own, and that which the others use. */
interface Place {
  readonly name: string;
  readonly port: number;
  readonly announced: number;
}

/** One process of redis-server. */
export interface RedisNode {
  readonly name: string;
  /** Port on which it listens. Clients see `announced` instead. */
  readonly port: number;
  pid(): number | null;
  signal(name: NodeJS.Signals): void;
  /** Kill it and wait for its end. */
  kill(): Promise<void>;
  start(): Promise<void>;
}

export interface SentinelGroup {
  readonly servers: readonly RedisNode[];
  readonly sentinels: readonly RedisNode[];
  /** Addresses of the Sentinels for `redis.sentinels`. */
  readonly addresses: readonly string[];
  /** Return the server that most Sentinels name as the primary. */
  primary(): Promise<RedisNode>;
  drop(): Promise<void>;
}

/**
 * Start a Redis, its replica and three Sentinels on the loopback address. A failover takes some seconds.
 *
 * @param options.announce opens another port for a node, which the others and the clients use in place of its own
 * @param options.onNode called with each node before it starts
 */
export async function startSentinelGroup(
  options: { announce?: (name: string, port: number) => Promise<number>; onNode?: (node: RedisNode) => void } = {},
): Promise<SentinelGroup> {
  const { announce = async (_name, port) => port, onNode = () => undefined } = options;
  const directory = await mkdtemp(path.join(tmpdir(), 'service-test-sentinel-'));
  const reserve = async (name: string) => {
    const port = await freePort();
    return { name, port, announced: await announce(name, port) };
  };
  const serverPlaces: Place[] = [];
  for (let nth = 0; nth < SERVERS; nth++) serverPlaces.push(await reserve(`redis-${nth}`));
  const sentinelPlaces: Place[] = [];
  for (let nth = 0; nth < SENTINELS; nth++) sentinelPlaces.push(await reserve(`sentinel-${nth}`));
  const firstPort = serverPlaces[0]?.announced as number;

  const servers: RedisNode[] = [];
  for (const [nth, place] of serverPlaces.entries()) {
    const file = path.join(directory, `${place.name}.conf`);
    const lines = [
      ...[`port ${place.port}`, 'bind 127.0.0.1', `dir ${directory}`, 'save ""', 'appendonly no'],
      ...[`dbfilename ${place.name}.rdb`, 'replica-announce-ip 127.0.0.1', `replica-announce-port ${place.announced}`],
      ...['repl-diskless-sync-delay 0', 'repl-timeout 10', 'enable-debug-command no'],
      ...(nth === 0 ? [] : [`replicaof 127.0.0.1 ${firstPort}`]),
    ];
    // The Sentinels make the servers rewrite their files, so that a restarted server keeps its assigned role.
    await writeFile(file, `${lines.join('\n')}\n`);
    const node = makeNode(place, [file]);
    onNode(node);
    await node.start();
    servers.push(node);
  }
  const sentinels: RedisNode[] = [];
  for (const place of sentinelPlaces) {
    const file = path.join(directory, `${place.name}.conf`);
    const lines = [
      ...[`port ${place.port}`, 'bind 127.0.0.1', `dir ${directory}`, 'sentinel announce-ip 127.0.0.1'],
      ...[`sentinel announce-port ${place.announced}`, `sentinel monitor ${PRIMARY_NAME} 127.0.0.1 ${firstPort} 2`],
      ...[`sentinel down-after-milliseconds ${PRIMARY_NAME} ${DOWN_AFTER_MS}`],
      ...[`sentinel failover-timeout ${PRIMARY_NAME} 6000`, `sentinel parallel-syncs ${PRIMARY_NAME} 1`],
    ];
    await writeFile(file, `${lines.join('\n')}\n`);
    const node = makeNode(place, [file, '--sentinel']);
    onNode(node);
    await node.start();
    sentinels.push(node);
  }
  const group: SentinelGroup = {
    ...{ servers, sentinels },
    addresses: sentinelPlaces.map(({ announced }) => `127.0.0.1:${announced}`),
    primary: async () => {
      const named = await Promise.all(sentinels.map(({ port }) => askPrimary(port)));
      const index = serverPlaces.findIndex(
        ({ announced }) => named.filter((port) => port === announced).length > SENTINELS / 2,
      );
      if (index === -1) throw new Error(`the Sentinels name no common primary: ${named.join(', ')}`);
      return servers[index] as RedisNode;
    },
    drop: async () => {
      await Promise.all([...sentinels, ...servers].map((node) => node.kill()));
      await rm(directory, { recursive: true, force: true });
    },
  };
  // They can fail over only once they know each other and the replica.
  await until(async () => (await Promise.all(sentinels.map(({ port }) => isReady(port)))).every(Boolean), {
    withinMs: FAILOVER_MS_MAX,
    everyMs: 100,
    what: 'Sentinels that know each other and the replica',
  });
  return group;
}

function makeNode({ name, port }: { name: string; port: number }, args: readonly string[]): RedisNode {
  let child: ChildProcess | null = null;
  const isRunning = () => child !== null && child.exitCode === null && child.signalCode === null;
  return {
    ...{ name, port },
    pid: () => (isRunning() ? (child?.pid ?? null) : null),
    signal: (signal) => {
      if (isRunning()) child?.kill(signal);
    },
    async kill() {
      if (child === null || !isRunning()) return;
      const exit = once(child, 'exit');
      child.kill('SIGKILL');
      await exit;
    },
    async start() {
      const own = spawn('redis-server', [...args], { stdio: 'ignore' });
      child = own;
      await until(
        async () => {
          if (own.exitCode !== null) throw new Error(`${name} ended with ${own.exitCode}`);
          return withClient(port, (client) => client.ping()).catch(() => false);
        },
        { what: name },
      );
    },
  };
}

async function askPrimary(port: number): Promise<number | null> {
  const found = await withClient(port, (client) => client.call('SENTINEL', 'get-master-addr-by-name', PRIMARY_NAME));
  return Array.isArray(found) ? Number(found[1]) : null;
}

async function isReady(port: number): Promise<boolean> {
  const found = (await withClient(port, (client) => client.call('SENTINEL', 'master', PRIMARY_NAME))) as string[];
  const numberOf = (name: string) => Number(found[found.indexOf(name) + 1]);
  return numberOf('num-slaves') === SERVERS - 1 && numberOf('num-other-sentinels') === SENTINELS - 1;
}

async function withClient<T>(port: number, use: (client: Redis) => Promise<T>): Promise<T> {
  const client = new Redis(port, '127.0.0.1', {
    ...{ lazyConnect: true, retryStrategy: () => null, enableReadyCheck: false, maxRetriesPerRequest: 0 },
    ...{ protocol: 2, commandTimeout: 1_000, connectTimeout: 1_000 },
  });
  client.on('error', () => undefined);
  try {
    await client.connect();
    return await use(client);
  } finally {
    client.disconnect();
  }
}
