import type { JobHandler } from '../../src/jobs/handler.ts';
import type { Lease } from '../../src/jobs/lease.ts';
import { openPostgresNotifier } from '../../src/jobs/notifier.ts';
import type { Job, JobKind } from '../../src/jobs/schema.ts';
import { claimJobs, enqueueJob } from '../../src/jobs/store.ts';
import { JobWorker, type WorkerOptions } from '../../src/jobs/worker.ts';
import { newId } from '../../src/platform/ids.ts';
import { openLogger } from '../../src/platform/logger.ts';
import { openMetrics } from '../../src/platform/metrics.ts';
import type { Sql } from '../../src/platform/postgres.ts';
import { readJob } from '../support/jobs.ts';
import { createTestDatabase } from '../support/postgres.ts';

export const LEASE_MS = 5_000;

/** Queue in a database of its own, with the organizations `org_a` and `org_b`. */
export interface QueueUnderTest extends Awaited<ReturnType<typeof openQueue>> {}

interface NewTestJob {
  readonly org?: 'org_a' | 'org_b';
  readonly kind?: JobKind;
}

async function submitJob(sql: Sql, { org: orgId = 'org_a', kind = 'ingest' }: NewTestJob): Promise<string> {
  const file = { s3Key: 'k', fileName: 'f', fileSizeBytes: 1, processingType: 'test' };
  const job = await enqueueJob(sql, { id: newId('job'), kind, orgId, bucketId: 'bkt_x', priority: 2, ...file });
  return job.id;
}

export async function openQueue() {
  const db = await createTestDatabase();
  const { sql } = db;
  const notifier = openPostgresNotifier(sql, sql);
  const context = { sql, notifier, logger: openLogger('silent'), metrics: openMetrics() };
  return {
    ...{ db, sql, notifier, context },
    async clear() {
      await sql`DELETE FROM jobs`;
      await sql`DELETE FROM workers`;
      await sql`DELETE FROM organizations`;
      for (const id of ['org_a', 'org_b'])
        await sql`INSERT INTO organizations (id, name, plan) VALUES (${id}, ${id}, 'free')`;
    },
    submit: (options: NewTestJob = {}) => submitJob(sql, options),
    /** Submit a job that has lost a lease, and is due since a time. */
    submitSuspect: (dueSinceMs: number, org: 'org_a' | 'org_b' = 'org_a') =>
      sql.begin(async (tx) => {
        const id = await submitJob(tx, { org });
        await tx`
          UPDATE jobs SET crash_count = 1, updated_at = now() - ${dueSinceMs} * interval '1 millisecond' WHERE id = ${id}`;
        return id;
      }),
    claim(limit: number, leaseMs: number, kind: JobKind = 'ingest'): Promise<Job[]> {
      const claim = { kind, workerId: 'wrk_t', firstPhase: 'extracting', leaseMs, limit, suspects: 'none' } as const;
      return claimJobs(sql, claim);
    },
    complete: (lease: Lease) =>
      sql.begin((tx) => lease.complete(tx, { chunksCount: 1, fileType: 'txt', actualCost: 0 })),
    read: (id: string, org = 'org_a') => readJob(sql, org, id),
    async statusOf(id: string): Promise<string> {
      const [row] = await sql`SELECT status FROM jobs WHERE id = ${id}`;
      return row?.['status'] as string;
    },
    /** @param ownSql pool of the worker, for example one behind a proxy */
    worker(
      handler: Pick<JobHandler, 'run'> & Partial<JobHandler>,
      options: Partial<WorkerOptions> = {},
      ownSql: Sql = sql,
    ): JobWorker {
      const full: JobHandler = { kind: 'ingest', firstPhase: 'extracting', onFailed: async () => {}, ...handler };
      return new JobWorker({ ...context, sql: ownSql }, full, {
        concurrency: 2,
        leaseMs: LEASE_MS,
        retriesMax: 2,
        ...options,
      });
    },
  };
}
