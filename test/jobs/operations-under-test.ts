import { afterAll, beforeAll, beforeEach } from 'vitest';
import type { Caller } from '../../src/access/caller.ts';
import { operatorCaller } from '../../src/access/operator.ts';
import type { JobHandler, JobKindOperations } from '../../src/jobs/handler.ts';
import type { Lease } from '../../src/jobs/lease.ts';
import { openPostgresNotifier } from '../../src/jobs/notifier.ts';
import type { JobOperations } from '../../src/jobs/operations.ts';
import type { JobStatus } from '../../src/jobs/schema.ts';
import { enqueueJob } from '../../src/jobs/store.ts';
import { JobWorker, type WorkerOptions } from '../../src/jobs/worker.ts';
import { newId } from '../../src/platform/ids.ts';
import { openLogger } from '../../src/platform/logger.ts';
import { openMetrics } from '../../src/platform/metrics.ts';
import type { Database } from '../../src/platform/postgres.ts';
import { createTestDatabase, type TestDatabase } from '../support/postgres.ts';

/** Operations on jobs of a made-up kind, in a database that holds none at the start of each test. */
export interface OperationsUnderTest {
  readonly sql: Database;
  readonly operations: JobOperations;
  /** Calls that the operations made to the kind of job. */
  readonly calls: readonly string[];
  /** Insert a job in this state, silent for `silentMinutes`; its fence is 7. */
  jobIn(status: JobStatus, silentMinutes?: number, orgId?: string): Promise<string>;
  rowOf(id: string): Promise<Record<string, unknown> | undefined>;
  /** Run jobs by `run` in a worker while `use` lasts. */
  withWorker(
    run: (lease: Lease) => Promise<void>,
    use: () => Promise<void>,
    options?: Partial<WorkerOptions>,
  ): Promise<void>;
}

const logger = openLogger('silent');
export const RESULT = { chunksCount: 1, fileType: 'txt', actualCost: 0 };

export const caller = (orgId: string): Caller => operatorCaller({ id: orgId, plan: 'free' }, 'test');
export const mine = caller('org_a');

export function newJob(orgId: string, priority = 2) {
  return {
    ...{ id: newId('job'), kind: 'ingest' as const, orgId, bucketId: 'bkt_x', priority },
    ...{ s3Key: 'k', fileName: 'f', fileSizeBytes: 1, processingType: 'test' },
  };
}

/** Return `done`, or status and code of the error. */
export const code = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'done',
    (error) => `${error.status} ${error.code}`,
  );

/** Register the hooks that open, empty and drop the database. */
export function operationsUnderTest(): OperationsUnderTest {
  let db: TestDatabase;
  const calls: string[] = [];
  const under = { calls } as unknown as { -readonly [K in keyof OperationsUnderTest]: OperationsUnderTest[K] };
  beforeAll(async () => {
    db = await createTestDatabase({ poolMax: 10 });
    under.sql = db.sql;
    under.operations = operationsOn(db.sql, calls);
  });
  afterAll(() => db.drop());
  beforeEach(async () => {
    for (const table of ['jobs', 'audit_log', 'organizations']) await db.sql`DELETE FROM ${db.sql(table)}`;
    for (const id of ['org_a', 'org_b']) {
      await db.sql`INSERT INTO organizations (id, name, plan) VALUES (${id}, ${id}, 'free')`;
    }
    calls.length = 0;
  });
  under.jobIn = async (status, silentMinutes = 0, orgId = 'org_a') => {
    const { id } = await enqueueJob(db.sql, newJob(orgId));
    await db.sql`
      UPDATE jobs SET status = ${status}, fence = 7, worker_id = 'wrk_x',
             checkpoint_at = now() - ${silentMinutes} * interval '1 minute'
      WHERE id = ${id}`;
    return id;
  };
  under.rowOf = async (id) => (await db.sql`SELECT * FROM jobs WHERE id = ${id}`)[0];
  under.withWorker = async (run, use, options = {}) => {
    const handler = { kind: 'ingest' as const, firstPhase: 'extracting' as const, run, onFailed: async () => {} };
    const context = { sql: db.sql, notifier: under.operations.notifier, logger, metrics: openMetrics() };
    const worker = new JobWorker(context, handler, { concurrency: 4, leaseMs: 5_000, retriesMax: 0, ...options });
    await worker.start();
    await use().finally(() => worker.stop());
  };
  return under;
}

function operationsOn(sql: Database, calls: string[]): JobOperations {
  const kind: Pick<JobHandler, 'onFailed'> & JobKindOperations = {
    onFailed: async (_tx, job, failure) => void calls.push(`failed ${job.id} ${failure.category}`),
    onCancelled: async (_tx, job) => void calls.push(`cancelled ${job.id}`),
    reprocess: (tx, job, newJobId) => enqueueJob(tx, { ...newJob(job.orgId), id: newJobId, reprocessOfJobId: job.id }),
    forget: async (job) => void calls.push(`forgot ${job.id}`),
  };
  const kinds = new Map([['ingest' as const, kind]]);
  return { sql, notifier: openPostgresNotifier(sql, sql), logger, kinds, visibleTo: (sql) => sql`true` };
}
