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
const MASSACRES = 10;
/** Longer than a lease: nobody can renew any. */
const OUTAGE_MS = LEASE_MS + 3_000;
const SUBMIT_EVERY_MS = 50;
const TEXTS = 1_000;
const RECOVERY_MS_MAX = 5_000;
const END_MS = 3 * LEASE_MS + 20_000;
/** What is durable matters: only the machine's crash is left out. */
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

it('PostgreSQL may be stopped at once, lose its backends, and be out of reach for longer than a lease', async () => {
  const [home, place] = [makeDataDir(), makeDataDir()];
  directories.push(home, place);
  server = await openEmbeddedPostgres({ dataDir: home.dataDir, settings: SETTINGS });
  admin = openPostgres(server.connection, { poolMax: 1, applicationName: 'test' });
  proxy = await openPostgresProxy(server.connection);
  // Every process but the test's own goes through the proxy.
  fleet = await openFleet({
    place: { dataDir: place.dataDir, databaseUrl: postgresUrl(server.connection), connection: server.connection },
    logger: openLogger('silent'),
  });
  const { spawn, upstream, casualties } = fleet;
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
  const strange: string[] = [];
  let unavailable = 0;
  let lastTakenMs = 0;
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
        lastTakenMs = performance.now();
      } else if (reply.status === 503 && Number(reply.headers.get('retry-after')) > 0) unavailable++;
      else strange.push(`${reply.status} ${reply.headers.get('retry-after')} ${JSON.stringify(body)}`);
      await delay(SUBMIT_EVERY_MS, undefined, { signal: stop.signal }).catch(() => undefined);
    }
  })();
  const recoveries: number[] = [];
  /** From here on the database answers: how long until a submit is taken, and a job that was not done is. */
  const recover = async () => {
    const backMs = performance.now();
    const finished = async () =>
      (await admin`SELECT count(*)::int AS n FROM jobs WHERE status = 'ready'`)[0]?.['n'] as number;
    const before = await finished();
    await until(async () => lastTakenMs > backMs && (await finished()) > before, {
      withinMs: 30_000,
      what: 'that submits are taken and jobs finished again',
    });
    recoveries.push(performance.now() - backMs);
  };
  const postmasterPid = () =>
    Number(readFileSync(path.join(server.directory, 'postmaster.pid'), 'utf8').split('\n')[0]);

  await until(async () => jobs.length > 10);
  const restarts = scaled(RESTARTS);
  for (let i = 0; i < restarts; i++) {
    const pid = postmasterPid();
    process.kill(pid, 'SIGQUIT'); // PostgreSQL's immediate shutdown; its owner starts it again
    await until(async () => {
      await delay(5);
      return (await admin`SELECT 1`.catch(() => [])).length === 1 && postmasterPid() !== pid;
    });
    await recover();
  }
  const massacres = scaled(MASSACRES);
  for (let i = 0; i < massacres; i++) {
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
    promise: 'PostgreSQL stopped at once, backends killed, out of reach',
    ...{ n: restarts + massacres + 1, lost, doubled: chunks.length, stuck },
    worstRecoveryMs: Math.max(...recoveries),
    note: `${jobs.length} jobs, ${unavailable} x 503 with Retry-After, slowest answer ${Math.round(slowestMs)} ms`,
  });
  const failed = rows.filter((row) => row['status'] === 'failed');
  expect({ lost, stuck, strange, failed, casualties: casualties() }).toEqual({
    ...{ lost: 0, stuck: 0, strange: [], failed: [], casualties: [] },
  });
  expect(chunks).toHaveLength(0);
  expect(unavailable).toBeGreaterThan(0);
  expect(Math.max(...recoveries)).toBeLessThan(RECOVERY_MS_MAX);
});
