import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { postgresUrl } from '../../src/platform/postgres.ts';
import { makeDataDir, openTestAppliance, type TestAppliance } from '../support/appliance.ts';
import { startPgBouncer, type TestPgBouncer } from '../support/pgbouncer.ts';
import { createTestDatabase } from '../support/postgres.ts';
import { S3_KEYS, startS3 } from '../support/s3.ts';
import { PRIMARY_NAME, type SentinelGroup, startSentinelGroup } from '../support/sentinel.ts';
import { type ServiceProcess, startServiceProcess } from '../support/service-process.ts';
import { Network } from './network.ts';

/** Shortest lease that the settings allow. */
export const LEASE_SECONDS = 5;

/** Generous, since seven processes start at once on a machine that may be busy. */
const START_MS_MAX = 180_000;

/** Processes of the service, each with a data directory of its own as on a host of its own. */
const PROCESSES = {
  'api-0': ['serve', '--port', '0', '--no-workers'],
  'api-1': ['serve', '--port', '0', '--no-workers'],
  'ingest-0': ['worker', 'ingest'],
  'ingest-1': ['worker', 'ingest'],
  'embed-0': ['worker', 'embed'],
  'embed-1': ['worker', 'embed'],
  reaper: ['reaper', '--every', '2s'],
} as const satisfies Record<string, readonly string[]>;
export type ProcessName = keyof typeof PROCESSES;
export const PROCESS_NAMES = Object.keys(PROCESSES) as ProcessName[];
export const API_NAMES = ['api-0', 'api-1'] as const satisfies ProcessName[];
export const WORKER_NAMES = ['ingest-0', 'ingest-1', 'embed-0', 'embed-1'] as const satisfies ProcessName[];

/** Servers that every process of the service connects to. A partition from Redis is one from both of its servers. */
export const STORES = ['pgbouncer', 'postgres', 'redis', 's3'] as const;
export type Store = (typeof STORES)[number];

export interface Cluster {
  readonly network: Network;
  readonly sentinels: SentinelGroup;
  readonly bouncer: TestPgBouncer;
  /** Installation on the same stores, not through the network, by which the test looks at them. */
  readonly observer: TestAppliance;
  process(name: ProcessName): ServiceProcess;
  /** Return the present address of an API. */
  urlOf(name: (typeof API_NAMES)[number]): string;
  /** Start a process again that was killed. */
  restart(name: ProcessName): Promise<void>;
  /** Cut a process off from a store. */
  partition(name: ProcessName, store: Store): void;
  /** Return the exit and stderr of each process that ended without a signal of the test. */
  unexpectedExits(): string[];
  close(): Promise<void>;
}

/**
 * Start two API processes, two ingest and two embed workers and a reaper over PostgreSQL behind PgBouncer in transaction
 * mode, Redis with a replica and three Sentinels, and an S3 store that honours conditional writes. Every connection goes
 * through `network`.
 */
export async function startCluster(): Promise<Cluster> {
  const closers: Closer[] = [];
  const close = async () => {
    for (const closer of closers.splice(0).reverse()) await closer();
  };
  try {
    const { settings, ...stores } = await startStores(closers);
    return { ...stores, ...(await startProcesses(stores, settings, closers)), close };
  } catch (error) {
    await close();
    throw error;
  }
}

type Closer = () => Promise<unknown> | undefined;
type Stores = Pick<Cluster, 'network' | 'sentinels' | 'bouncer' | 'observer'>;

/** @returns the stores, and the settings by which a process reaches them through the network */
async function startStores(closers: Closer[]): Promise<Stores & { settings: object }> {
  const network = new Network();
  const database = await createTestDatabase();
  closers.push(() => database.drop());
  const { connection } = database;
  const socket = connection.host.startsWith('/')
    ? { path: `${connection.host}/.s.PGSQL.${connection.port}` }
    : { port: connection.port };
  const postgresPort = await network.expose('postgres', socket);
  const login = { username: connection.username, password: connection.password.reveal() };
  const bouncer = await startPgBouncer({ port: postgresPort, ...login });
  closers.push(() => bouncer.drop());
  network.join('pgbouncer', () => bouncer.pid());
  const bouncerPort = await network.expose('pgbouncer', { port: bouncer.port });
  const sentinels = await startSentinelGroup({
    announce: (name, port) => network.expose(name, { port }),
    onNode: ({ name, pid }) => network.join(name, pid),
  });
  closers.push(() => sentinels.drop());
  const s3 = await startS3();
  closers.push(() => s3.drop());
  const s3Port = await network.expose('s3', { port: Number(new URL(s3.endpoint).port) });
  const bucket = await s3.createBucket();

  const common = {
    secret_key: 'the same on every host of the cluster',
    workers: { lease_seconds: LEASE_SECONDS, ingest_concurrency: 4, embed_concurrency: 2, retries_max: 100 },
  };
  const objectsAt = (endpoint: string) => ({ bucket, endpoint, ...S3_KEYS });
  const { dataDir, remove } = makeDataDir();
  closers.push(async () => remove());
  const place = { dataDir, databaseUrl: database.url, connection } as TestAppliance;
  const observer = await openTestAppliance({ ...common, objects: objectsAt(s3.endpoint) }, { beside: place });
  closers.push(() => observer.close());
  closers.push(() => network.close());
  const direct = { ...connection, host: '127.0.0.1' };
  const settings = {
    ...common,
    objects: objectsAt(`http://127.0.0.1:${s3Port}`),
    database_url: postgresUrl({ ...direct, port: bouncerPort }),
    database_direct_url: postgresUrl({ ...direct, port: postgresPort }),
    redis_url: 'redis://sentinel',
    redis: { sentinels: sentinels.addresses, primary: PRIMARY_NAME },
    // What a process says is shown if it ends unexpectedly.
    log_level: 'info',
    ballast_bytes: 0,
  };
  return { network, sentinels, bouncer, observer, settings };
}

async function startProcesses(
  { network, sentinels }: Stores,
  settings: object,
  closers: Closer[],
): Promise<Pick<Cluster, 'process' | 'urlOf' | 'restart' | 'partition' | 'unexpectedExits'>> {
  const running = new Map<ProcessName, ServiceProcess>();
  const all: ServiceProcess[] = [];
  const ended = new Set<ServiceProcess>();
  const directories = new Map<ProcessName, string>();
  const launch = async (name: ProcessName) => {
    const dataDir = directories.get(name) as string;
    const child = await startServiceProcess([...PROCESSES[name], '--data-dir', dataDir], {}, START_MS_MAX);
    running.set(name, child);
    all.push(child);
  };
  closers.push(async () => {
    for (const child of all) child.signal('SIGCONT');
    await Promise.all(all.map((child) => child.end('SIGKILL')));
  });
  for (const name of PROCESS_NAMES) {
    const { dataDir, remove } = makeDataDir();
    closers.unshift(async () => remove());
    directories.set(name, dataDir);
    writeFileSync(path.join(dataDir, 'service.yaml'), JSON.stringify(settings), { mode: 0o600 });
    network.join(name, () => running.get(name)?.pid ?? null);
  }
  const [first, ...others] = PROCESS_NAMES;
  // The first one makes the installation.
  await launch(first as ProcessName);
  await Promise.all(others.map(launch));
  const find = (name: ProcessName) => running.get(name) as ServiceProcess;
  return {
    process: (name) => {
      const child = find(name);
      const end = (signal: NodeJS.Signals) => {
        ended.add(child);
        return child.end(signal);
      };
      return { ...child, end };
    },
    urlOf: (name) => find(name).ready['url'] as string,
    restart: launch,
    partition: (name, store) => {
      const nodes = store === 'redis' ? sentinels.servers.map((server) => server.name) : [store];
      for (const node of nodes) network.partition(name, node);
    },
    unexpectedExits: () =>
      all
        .filter((child) => !ended.has(child) && child.ended() !== null)
        .map((child) => `${JSON.stringify(child.ended())} ${child.stderr()}`),
  };
}
