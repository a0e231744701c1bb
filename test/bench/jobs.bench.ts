/**
 * Benchmark of claiming and finishing empty jobs by four workers, each with its own connections, compared with bare
 * PostgreSQL: the same claim and the same finish, one job at a time on four connections, without the engine.
 */
import { MIGRATIONS } from '../../src/appliance/stores.ts';
import type { JobHandler } from '../../src/jobs/handler.ts';
import type { Lease } from '../../src/jobs/lease.ts';
import { type JobNotifier, openPostgresNotifier } from '../../src/jobs/notifier.ts';
import { JobWorker } from '../../src/jobs/worker.ts';
import { openEmbeddedPostgres } from '../../src/platform/embedded-postgres.ts';
import { openLogger } from '../../src/platform/logger.ts';
import { openMetrics } from '../../src/platform/metrics.ts';
import { migrate } from '../../src/platform/migrate.ts';
import { type Database, openPostgres } from '../../src/platform/postgres.ts';
import { makeDataDir } from '../support/appliance.ts';

const WORKERS = 4;
const CONCURRENCY = 16;
const JOBS = 10_000;
const BARE_JOBS = 4_000;
const ORGANIZATIONS = 20;
const RESULT = { chunksCount: 0, fileType: null, actualCost: 0 };

const logger = openLogger('warn');
const metrics = openMetrics();

/** Insert queued jobs of several organizations, with the ranks that enqueueing would assign. */
async function queue(sql: Database, jobs: number): Promise<void> {
  await sql`DELETE FROM jobs`;
  await sql`
    INSERT INTO jobs (id, kind, org_id, bucket_id, priority, fair_rank, status, s3_key, file_name, file_size)
    SELECT 'job_' || n, 'bulk', 'org_' || n % ${ORGANIZATIONS}::int, 'b', n % 4, n / ${ORGANIZATIONS}::int, 'queued', 'k', 'f', 0
    FROM generate_series(1, ${jobs}::int) n`;
  await sql`VACUUM ANALYZE jobs`;
}

/** Measure connections that each claim and finish jobs sequentially. @returns jobs per second */
async function bare(connect: () => Database, sql: Database): Promise<number> {
  await queue(sql, BARE_JOBS);
  const connections = Array.from({ length: WORKERS }, connect);
  const loop = async (own: Database) => {
    for (;;) {
      const [job] = await own`
        WITH due AS (
          SELECT id FROM jobs WHERE status = 'queued' AND kind = 'bulk' AND (scheduled_at IS NULL OR scheduled_at <= now())
          ORDER BY priority, fair_rank, created_at FOR UPDATE SKIP LOCKED LIMIT 1)
        UPDATE jobs SET status = 'embedding', worker_id = 'w', fence = fence + 1,
               lease_expires_at = now() + interval '30 seconds', started_at = now(), updated_at = now()
        FROM due WHERE jobs.id = due.id RETURNING jobs.id, jobs.fence`;
      if (!job) return;
      await own`
        UPDATE jobs SET status = 'ready', completed_at = now(), updated_at = now(), lease_expires_at = NULL
        WHERE id = ${job['id']} AND fence = ${job['fence']} AND status = 'embedding'`;
    }
  };
  await Promise.all(connections.map((own) => own`SELECT 1`));
  const beganMs = performance.now();
  await Promise.all(connections.map(loop));
  const seconds = (performance.now() - beganMs) / 1000;
  await Promise.all(connections.map((own) => own.end()));
  return BARE_JOBS / seconds;
}

/** Measure complete workers. @returns jobs per second, and CPU time of this process per job */
async function engine(connect: () => Database, sql: Database): Promise<{ rate: number; cpuMs: number }> {
  await queue(sql, JOBS);
  let left = JOBS;
  let done: () => void = () => {};
  const allDone = new Promise<void>((resolve) => {
    done = resolve;
  });
  const pools = Array.from({ length: WORKERS }, connect);
  const workers = pools.map((own) => {
    const notifier: JobNotifier = openPostgresNotifier(own, own);
    const handler: JobHandler = {
      kind: 'bulk',
      firstPhase: 'embedding',
      async run(lease: Lease) {
        await lease.complete(own, RESULT);
        if (--left === 0) done();
      },
      onFailed: async () => {},
    };
    const options = { concurrency: CONCURRENCY, leaseMs: 30_000, retriesMax: 0 };
    return new JobWorker({ sql: own, notifier, logger, metrics }, handler, options);
  });
  await Promise.all(pools.map((own) => own`SELECT 1`));
  const beganMs = performance.now();
  const cpuBefore = process.cpuUsage();
  for (const worker of workers) await worker.start();
  await allDone;
  const seconds = (performance.now() - beganMs) / 1000;
  const cpu = process.cpuUsage(cpuBefore);
  for (const worker of workers) await worker.stop();
  const [row] = await sql`SELECT count(*) FILTER (WHERE status = 'ready' AND fence = 1) AS ready FROM jobs`;
  if (row?.['ready'] !== JOBS) throw new Error(`${row?.['ready']} of ${JOBS} jobs are ready after one claim each`);
  await Promise.all(pools.map((own) => own.end()));
  return { rate: JOBS / seconds, cpuMs: (cpu.user + cpu.system) / 1000 / JOBS };
}

const { dataDir, remove } = makeDataDir();
const server = await openEmbeddedPostgres({ dataDir, logger });
const open = (poolMax: number) => openPostgres(server.connection, { poolMax, applicationName: 'bench', logger });
const sql = open(2);
try {
  await migrate(sql, { directory: MIGRATIONS });
  await sql`INSERT INTO organizations (id, name, plan) SELECT 'org_' || n, 'org_' || n, 'free' FROM generate_series(0, ${ORGANIZATIONS - 1}::int) n`;
  const floor = await bare(() => open(1), sql);
  const { rate, cpuMs } = await engine(() => open(5), sql);
  console.log(
    `jobs     claim + finish of empty jobs, ${WORKERS} workers: ${rate.toFixed(0)} jobs/s, ${cpuMs.toFixed(2)} ms CPU each (this process; bare PostgreSQL, one job at a time on ${WORKERS} connections: ${floor.toFixed(0)} jobs/s)`,
  );
} finally {
  await sql.end();
  await server.release();
  remove();
}
