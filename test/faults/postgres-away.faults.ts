import { readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, expect, it } from 'vitest';
import { type EmbeddedPostgres, openEmbeddedPostgres } from '../../src/platform/embedded-postgres.ts';
import { openLogger } from '../../src/platform/logger.ts';
import { type Database, openPostgres, postgresUrl } from '../../src/platform/postgres.ts';
import { makeDataDir } from '../support/appliance.ts';
import { openPostgresProxy, type PostgresProxy } from '../support/postgres-proxy.ts';
import { until } from '../support/until.ts';
import { type Fleet, LEASE_MS, openFleet, TINY } from './fleet.ts';
import { routeToUpstream } from './ingest-jobs.ts';
import { reportFigures } from './report-figures.ts';
import { scaled } from './scaled.ts';

const RESTARTS = 4;
const BACKEND_KILLS = 10;
/** Outage that is longer than a lease, so that all leases end. */
const OUTAGE_MS = LEASE_MS + 3_000;
const SUBMIT_EVERY_MS = 50;
const TEXTS = 1_000;
const RECOVERY_MS_MAX = 5_000;
const END_MS = 3 * LEASE_MS + 20_000;
/** Settings that lose durability only in a crash of the machine, which is not tested. */
const SETTINGS = { fsync: 'off' };

let fleet: Fleet | undefined;
let server: EmbeddedPostgres;
let proxy: PostgresProxy;
let admin: Database;
const directories: { dataDir: string; remove: () => void }[] = [];

afterEach(async () => {
  await fleet?.close();
  await admin.end({ timeout: 1 });
  await proxy.close();
  await server.release();
  for (const { dataDir } of directories.splice(0)) await rm(dataDir, { recursive: true, force: true });
});

it('no job is lost when PostgreSQL is stopped, loses its backends or is unreachable for longer than a lease', async () => {
  const [home, storage] = [makeDataDir(), makeDataDir()];
  directories.push(home, storage);
  server = await openEmbeddedPostgres({ dataDir: home.dataDir, settings: SETTINGS });
  admin = openPostgres(server.connection, { poolMax: 1, applicationName: 'test' });
  proxy = await openPostgresProxy(server.connection);
  // Every process except that of the test connects through the proxy.
  fleet = await openFleet({
    storage: { dataDir: storage.dataDir, databaseUrl: postgresUrl(server.connection), connection: server.connection },
    logger: openLogger('silent'),
  });
  const { spawn, upstream, unexpectedExits } = fleet;
  await routeToUpstream(fleet);
  upstream.decide = () => ({ kind: 'delay', ms: 30 });
  const databaseUrl = postgresUrl(proxy.connection);
  const processes = await Promise.all(
    [
      ['serve', '--port', '0', '--no-workers'],
      ['worker', 'embed'],
      ['worker', 'embed'],
      ['worker', 'ingest'],
    ].map((args) => spawn(args, { databaseUrl })),
  );
  const url = processes[0]?.ready['url'] as string;
  const key = await fleet.key({ scopes: ['embed', 'documents:write'] });
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const jobs: string[] = [];
  const unexpected: string[] = [];
  let unavailable = 0;
  let lastAcceptedMs = 0;
  let slowestMs = 0;
  const stop = new AbortController();

  const submitting = (async () => {
    for (let i = 0; !stop.signal.aborted; i++) {
      const isBulk = i % 4 === 0;
      const texts = Array.from({ length: TEXTS }, (_, k) => `job ${i} text ${k}`);
      const json = isBulk ? { texts, model: TINY.id } : { filename: `d-${i}.txt`, text: `Document ${i}.` };
      const at = isBulk ? '/v1/embed/jobs' : '/v1/buckets/default/documents';
      const beganMs = performance.now();
      const reply = await fetch(url + at, { method: 'POST', headers, body: JSON.stringify(json) });
      const body = (await reply.json()) as Record<string, string>;
      slowestMs = Math.max(slowestMs, performance.now() - beganMs);
      if (reply.ok) {
        jobs.push(body['job_id'] ?? (body['id'] as string));
        lastAcceptedMs = performance.now();
      } else if (reply.status === 503 && Number(reply.headers.get('retry-after')) > 0) unavailable++;
      else unexpected.push(`${reply.status} ${reply.headers.get('retry-after')} ${JSON.stringify(body)}`);
      await delay(SUBMIT_EVERY_MS, undefined, { signal: stop.signal }).catch(() => undefined);
    }
  })();
  const recoveries: number[] = [];
  /** Measure the time from the return of the database until a submit is accepted and an unfinished job is done. */
  const recover = async () => {
    const backMs = performance.now();
    const finished = async () =>
      (await admin`SELECT count(*)::int AS n FROM jobs WHERE status = 'ready'`)[0]?.['n'] as number;
    const before = await finished();
    await until(async () => lastAcceptedMs > backMs && (await finished()) > before, {
      withinMs: 30_000,
      what: 'an accepted submit and a finished job after the outage',
    });
    recoveries.push(performance.now() - backMs);
  };
  const postmasterPid = () =>
    Number(readFileSync(path.join(server.directory, 'postmaster.pid'), 'utf8').split('\n')[0]);

  await until(async () => jobs.length > 10);
  const restarts = scaled(RESTARTS);
  for (let i = 0; i < restarts; i++) {
    const pid = postmasterPid();
    process.kill(pid, 'SIGQUIT'); // SIGQUIT is PostgreSQL's immediate shutdown. The process that opened the server starts it again.
    await until(async () => {
      await delay(5);
      return (await admin`SELECT 1`.catch(() => [])).length === 1 && postmasterPid() !== pid;
    });
    await recover();
  }
  const backendKills = scaled(BACKEND_KILLS);
  for (let i = 0; i < backendKills; i++) {
    await admin`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'`;
    await recover();
  }
  await proxy.cut();
  await delay(OUTAGE_MS);
  await proxy.open();
  await recover();
  stop.abort();
  await submitting;

  const open = () => admin`SELECT id FROM jobs WHERE status NOT IN ('ready', 'failed', 'cancelled')`;
  await until(async () => (await open()).length === 0, { withinMs: END_MS, everyMs: 100 }).catch(() => undefined);
  const rows = await admin`SELECT id, status, error_category, error_message FROM jobs`;
  const ready = new Set(rows.filter((row) => row['status'] === 'ready').map((row) => row['id'] as string));
  const lost = jobs.filter((id) => !ready.has(id)).length;
  const stuck = (await open()).length;
  const chunks = await admin`
    SELECT job_id FROM bulk_chunks JOIN jobs ON jobs.id = job_id AND jobs.status = 'ready'
    GROUP BY job_id HAVING sum(texts) <> ${TEXTS}`;
  reportFigures({
    guarantee: 'PostgreSQL stopped, backends killed, unreachable',
    ...{ n: restarts + backendKills + 1, lost, doubled: chunks.length, stuck },
    worstRecoveryMs: Math.max(...recoveries),
    note: `${jobs.length} jobs, ${unavailable} x 503 with Retry-After, slowest answer ${Math.round(slowestMs)} ms`,
  });
  const failed = rows.filter((row) => row['status'] === 'failed');
  expect({ lost, stuck, unexpected, failed, unexpectedExits: unexpectedExits() }).toEqual({
    ...{ lost: 0, stuck: 0, unexpected: [], failed: [], unexpectedExits: [] },
  });
  expect(chunks).toHaveLength(0);
  expect(unavailable).toBeGreaterThan(0);
  expect(Math.max(...recoveries)).toBeLessThan(RECOVERY_MS_MAX);
});
