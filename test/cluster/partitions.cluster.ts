import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { reportFigures } from '../faults/report-figures.ts';
import { pgBouncerAvailable } from '../support/pgbouncer.ts';
import { redisAvailable } from '../support/redis.ts';
import { s3Available } from '../support/s3.ts';
import { chosenFaults, faultSeconds } from './chosen-faults.ts';
import { type Cluster, LEASE_SECONDS, PROCESS_NAMES, STORES, startCluster } from './cluster.ts';
import { Workload } from './workload.ts';

/** Time after the end of a fault in which everything must work again. */
const RECOVERY_MS_MAX = 30_000;
/** Time for which it is awaited, so that a run on a slow machine has figures, too. */
const AWAITED_MS_MAX = 180_000;
/** Time in which the last jobs must end. */
const END_MS_MAX = 60_000 + LEASE_SECONDS * 1_000;

/** Fault of one kind: `begin` causes it, `end` takes it back. */
interface Fault {
  readonly name: string;
  begin(cluster: Cluster): Promise<void> | void;
  end(cluster: Cluster): Promise<void> | void;
}

const heal = ({ network }: Cluster) => network.heal();

/** Every pair of a process and a store. */
const partitions: Fault[] = PROCESS_NAMES.flatMap((name) =>
  STORES.map((store) => ({
    name: `${name} and ${store} do not reach each other`,
    begin: (cluster: Cluster) => cluster.partition(name, store),
    end: heal,
  })),
);

/** Pairs of stores, and the primary of Redis without anybody. */
const betweenStores: Fault[] = [
  {
    name: 'pgbouncer and postgres do not reach each other',
    begin: ({ network }) => network.partition('pgbouncer', 'postgres'),
    end: heal,
  },
  {
    name: 'redis-0 and redis-1 do not reach each other',
    begin: ({ network }) => network.partition('redis-0', 'redis-1'),
    end: heal,
  },
  ...[0, 1, 2].map((nth) => ({
    name: `sentinel-${nth} and the primary do not reach each other`,
    begin: async ({ network, sentinels }: Cluster) =>
      network.partition(`sentinel-${nth}`, (await sentinels.primary()).name),
    end: heal,
  })),
  {
    name: 'the primary of Redis is reached by nobody',
    begin: async ({ network, sentinels }) => {
      const { name } = await sentinels.primary();
      const others = [...sentinels.servers, ...sentinels.sentinels].map((node) => node.name);
      for (const other of [...PROCESS_NAMES, ...others]) if (other !== name) network.partition(name, other);
    },
    end: heal,
  },
];

const pauses: Fault[] = [
  ...PROCESS_NAMES.map((name) => ({
    name: `${name} is paused`,
    begin: (cluster: Cluster) => cluster.process(name).signal('SIGSTOP'),
    end: (cluster: Cluster) => cluster.process(name).signal('SIGCONT'),
  })),
  {
    name: 'pgbouncer is paused',
    begin: ({ bouncer }) => bouncer.signal('SIGSTOP'),
    end: ({ bouncer }) => bouncer.signal('SIGCONT'),
  },
];

const kills: Fault[] = [
  ...PROCESS_NAMES.map((name) => ({
    name: `${name} is killed`,
    begin: async (cluster: Cluster) => void (await cluster.process(name).end('SIGKILL')),
    end: (cluster: Cluster) => cluster.restart(name),
  })),
];

const storeKills: Fault[] = [
  { name: 'pgbouncer is killed', begin: ({ bouncer }) => bouncer.kill(), end: ({ bouncer }) => bouncer.start() },
  ...[0, 1].map((nth): Fault => {
    const server = ({ sentinels }: Cluster) => sentinels.servers[nth];
    return {
      name: `redis-${nth} is killed`,
      begin: (cluster) => server(cluster)?.kill(),
      end: (cluster) => server(cluster)?.start(),
    };
  }),
];

const isPossible = redisAvailable() && s3Available() && pgBouncerAvailable();

describe.skipIf(!isPossible)('two APIs, four workers and a reaper over PgBouncer, Sentinel and S3', () => {
  let cluster: Cluster | undefined;
  afterEach(async () => {
    await cluster?.close();
    cluster = undefined;
  });

  it.each([
    ['partition of each process from each store', partitions],
    ['partition of stores from each other', betweenStores],
    ['pause of each process', pauses],
    ['kill of each process', kills],
    ['kill of PgBouncer and of each Redis', storeKills],
  ])('nothing is lost, doubled or stuck, and everything works 30 s after the %s', async (kind, all) => {
    const faults = chosenFaults(all);
    if (faults.length === 0) return;
    cluster = await startCluster();
    const clients = await Workload.start(cluster);
    await clients.awaitRecovery(AWAITED_MS_MAX);
    const recoveries: { name: string; ms: number }[] = [];
    for (const fault of faults) {
      await fault.begin(cluster);
      await delay(faultSeconds() * 1_000);
      await fault.end(cluster);
      const failed = (error: unknown) => Promise.reject(new Error(`after "${fault.name}": ${error}`));
      const { ms, acceptedMs } = await clients.awaitRecovery(AWAITED_MS_MAX).catch(failed);
      recoveries.push({ name: fault.name, ms });
      process.stdout.write(
        `${fault.name}: accepts after ${Math.round(acceptedMs)} ms, all works after ${Math.round(ms)} ms\n`,
      );
    }
    const verdict = await clients.finish(END_MS_MAX);
    const worst = recoveries.reduce((a, b) => (b.ms > a.ms ? b : a));
    reportFigures({
      guarantee: `${kind}, ${faultSeconds()} s each`,
      ...{ n: faults.length, lost: verdict.lost.length, doubled: verdict.doubled.length, stuck: verdict.stuck.length },
      worstRecoveryMs: worst.ms,
      note: `after "${worst.name}"; ${verdict.documents} documents, ${verdict.bulkJobs} bulk jobs, ${clients.failedSearches} of ${clients.searches} searches failed meanwhile`,
    });
    expect(verdict).toMatchObject({ lost: [], doubled: [], stuck: [] });
    expect(cluster.unexpectedExits()).toEqual([]);
    expect(recoveries.filter(({ ms }) => ms > RECOVERY_MS_MAX)).toEqual([]);
  });
});
