import { writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Caller } from '../../src/access/caller.ts';
import type { Appliance } from '../../src/appliance/appliance.ts';
import { createBucket, createCollection } from '../../src/documents/buckets.ts';
import { BucketPolicy } from '../../src/documents/schema.ts';
import type { Service } from '../../src/platform/lifecycle.ts';
import { openTestAppliance, type TestAppliance } from '../support/appliance.ts';
import type { TestMilvus } from '../support/milvus.ts';
import { type ServiceProcess, startServiceProcess } from '../support/service-process.ts';
import { until } from '../support/until.ts';
import { BUCKETS, type CallerName, COLLECTIONS, NODES } from './operations.ts';
import { AUTH_LEVELS } from './state.ts';

/** Lost leases of a job after which one more makes it fail as a job that kills its worker. */
const CRASHES_MAX = 2;
const HOUSEKEEPING = [
  'removal of deleted documents',
  'removal of replaced index tables',
  'removal of unused generations',
  'settling of abandoned indexes',
];
const signal = new AbortController().signal;

export interface Bucket {
  readonly id: string;
  readonly collections: readonly string[];
}

/** Several nodes of the service on one database and data directory, with workers that may be killed. */
export interface Installation {
  readonly nodes: readonly Appliance[];
  readonly callers: Readonly<Record<CallerName, Caller>>;
  readonly buckets: readonly Bucket[];
  /** Stop a worker in the middle of its jobs and replace it. */
  restartWorker(worker: number): Promise<void>;
  /** End the leases of all running jobs as if their workers were paused. They continue beside the next workers. */
  abandonJobs(): Promise<void>;
  /** Kill the worker in the separate process, if one was started, and start the next. */
  killWorker(): Promise<void>;
  /** Codes of refusals while an engine of the index is down. */
  readonly outages: readonly string[];
  /** Kill the second engine of the index, and start it again. */
  killEngine(): Promise<void>;
  /** Recover jobs whose worker is gone. */
  recover(): Promise<void>;
  housekeep(node: number): Promise<void>;
  close(): Promise<void>;
}

/** @param milvus second engine of the index; null for none */
export async function openInstallation(milvus: TestMilvus | null = null): Promise<Installation> {
  const index = milvus === null ? {} : { index: { milvus: { url: milvus.settings.url } } };
  const settings = { workers: { lease_seconds: 5, ingest_concurrency: 3 }, ...index };
  const first = await openTestAppliance(settings);
  // The worker process reads its settings there.
  writeFileSync(path.join(first.dataDir, 'service.yaml'), JSON.stringify(index));
  const tests: TestAppliance[] = [first];
  while (tests.length < NODES) tests.push(await openTestAppliance(settings, { beside: first }));
  const nodes = tests.map((test) => test.appliance);
  const { sql } = first.appliance;
  const startWorker = async (node: Appliance): Promise<Service> => {
    const worker = node.jobs.worker('ingest', { drainMs: 0 });
    await worker.start(signal);
    return worker;
  };
  const workers = nodes.map(startWorker);
  let child: Promise<ServiceProcess> | null = null;
  let killing = Promise.resolve();
  const buckets: Bucket[] = [];
  for (let i = 0; i < BUCKETS; i++) {
    const name = `random-${i}`;
    const { id } = await createBucket(sql, first.operator, { name, policy: BucketPolicy.parse({}) });
    const collections: string[] = [];
    for (let j = 0; j < COLLECTIONS; j++) {
      collections.push((await createCollection(sql, first.operator, id, `collection-${j}`)).id);
    }
    buckets.push({ id, collections });
  }
  const doChore = async (node: Appliance | undefined, name: string) => {
    const chore = node?.chores().find((each) => each.name === name);
    if (chore === undefined) throw new Error(`the appliance has no chore "${name}"`);
    await chore.run(signal);
  };
  const recover = () => doChore(first.appliance, 'recovery of jobs');
  const housekeep = async (node: Appliance | undefined) => {
    for (const name of HOUSEKEEPING) await doChore(node, name);
  };
  return {
    nodes,
    callers: {
      high: first.operator,
      low: {
        ...first.operator,
        ...{ kind: 'api_key', actor: 'key:low', role: null, authLevel: AUTH_LEVELS.low },
        scopes: new Set(['search', 'documents:write', 'buckets:manage', 'jobs:write']),
      },
    },
    buckets,
    outages: milvus === null ? [] : ['index_unavailable'],
    async restartWorker(worker) {
      const node = nodes[worker] as Appliance;
      const next = (workers[worker] as Promise<Service>).then((old) => old.stop()).then(() => startWorker(node));
      workers[worker] = next;
      await next;
    },
    async abandonJobs() {
      await sql`
        UPDATE jobs SET lease_expires_at = now() - interval '1 millisecond'
        WHERE status IN ('extracting', 'chunking', 'embedding', 'indexing') AND crash_count < ${CRASHES_MAX}
          AND kind = 'ingest'`;
      await recover();
    },
    async killWorker() {
      const killed = child;
      const env = { DATABASE_URL: first.databaseUrl, SERVICE_LOG_LEVEL: 'error' };
      child = startServiceProcess(['worker', 'ingest', '--data-dir', first.dataDir], env);
      // An error of the start is thrown when the worker is killed.
      child.catch(() => undefined);
      if (killed === null) return;
      await (await killed).end('SIGKILL');
      await recover();
    },
    async killEngine() {
      const before = killing;
      killing = before.then(async () => {
        await milvus?.kill();
        await milvus?.start();
        // A node may wait some seconds before it connects again.
        for (const { search } of nodes) {
          const reaches = async () => (await search.milvus?.probe().catch(() => 'down')) !== 'down';
          await until(reaches, { what: 'the second engine' });
        }
      });
      await killing;
    },
    recover,
    housekeep: (node) => housekeep(nodes[node]),
    async close() {
      await (await child?.catch(() => null))?.end('SIGKILL');
      await Promise.all(workers.map(async (worker) => (await worker).stop()));
      for (const test of tests.toReversed()) await test.close();
    },
  };
}
