import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { JobHandler } from '../../src/jobs/handler.ts';
import { JobError, Lease, LeaseLapsed, LeaseLost } from '../../src/jobs/lease.ts';
import { type JobNotifier, openPostgresNotifier } from '../../src/jobs/notifier.ts';
import { CRASHES_MAX, recoverJobs } from '../../src/jobs/recovery.ts';
import type { Job } from '../../src/jobs/schema.ts';
import { claimJobs, completeJob, enqueueJob, renewLeases, retryJob } from '../../src/jobs/store.ts';
import { JobWorker, type WorkerOptions } from '../../src/jobs/worker.ts';
import { newId } from '../../src/platform/ids.ts';
import { openLogger } from '../../src/platform/logger.ts';
import { openMetrics } from '../../src/platform/metrics.ts';
import { openPostgres, type Sql } from '../../src/platform/postgres.ts';
import { readJob } from '../support/jobs.ts';
import { createTestDatabase, type TestDatabase } from '../support/postgres.ts';
import { openPostgresProxy } from '../support/postgres-proxy.ts';
import { until } from '../support/until.ts';

const LEASE_MS = 5_000;
const silent = openLogger('silent');
const context = () => ({ sql: db.sql, notifier, logger: silent, metrics: openMetrics() });
let db: TestDatabase;
let notifier: JobNotifier;

beforeAll(async () => {
  db = await createTestDatabase();
  notifier = openPostgresNotifier(db.sql, db.sql);
});
afterAll(() => db.drop());
beforeEach(async () => {
  await db.sql`DELETE FROM jobs`;
  await db.sql`DELETE FROM organizations`;
  for (const id of ['org_a', 'org_b'])
    await db.sql`INSERT INTO organizations (id, name, plan) VALUES (${id}, ${id}, 'free')`;
});

function submit(options: { org?: string; priority?: number } = {}) {
  return enqueueJob(db.sql, {
    id: newId('job'),
    kind: 'ingest',
    orgId: options.org ?? 'org_a',
    bucketId: 'bkt_x',
    priority: options.priority ?? 2,
    s3Key: 'k',
    fileName: 'f',
    fileSizeBytes: 1,
    processingType: 'test',
  });
}

function claim(limit = 1, suspects: 'none' | 'only' = 'none', leaseMs = LEASE_MS): Promise<Job[]> {
  return claimJobs(db.sql, { kind: 'ingest', workerId: 'wrk_t', firstPhase: 'extracting', leaseMs, limit, suspects });
}

async function withWorker(
  run: (lease: Lease) => Promise<void>,
  use: () => Promise<void>,
  options: Partial<WorkerOptions> = {},
  sql: Sql = db.sql,
): Promise<string[]> {
  const failed: string[] = [];
  const handler: JobHandler = {
    kind: 'ingest',
    firstPhase: 'extracting',
    run,
    async onFailed(_tx, job) {
      failed.push(job.id);
    },
  };
  const worker = new JobWorker({ ...context(), sql }, handler, {
    concurrency: 2,
    leaseMs: LEASE_MS,
    retriesMax: 2,
    ...options,
  });
  await worker.start();
  try {
    await use();
  } finally {
    await worker.stop();
  }
  return failed;
}

const complete = (lease: Lease) =>
  db.sql.begin((tx) => lease.complete(tx, { chunksCount: 1, fileType: 'txt', actualCost: 0 }));
const statusOf = async (id: string) => (await readJob(db.sql, 'org_a', id)).status;

describe('claiming', () => {
  it('a claim takes the lowest priority number first, then the oldest job', async () => {
    const late = await submit({ priority: 3 });
    const first = await submit({ priority: 0 });
    const second = await submit({ priority: 0 });
    const order = [...(await claim()), ...(await claim()), ...(await claim())].map((job) => job.id);
    expect(order).toEqual([first.id, second.id, late.id]);
  });

  it('a second organization is among the first three claims of fifty', async () => {
    for (let i = 0; i < 50; i++) await submit({ org: 'org_a' });
    const other = await submit({ org: 'org_b' });
    const order: string[] = [];
    for (let i = 0; i < 3; i++) order.push(...(await claim()).map((job) => job.id));
    expect(order).toContain(other.id);
  });

  it('a job is claimed by one of many concurrent claimants', async () => {
    for (let i = 0; i < 20; i++) await submit();
    const claimed = (await Promise.all(Array.from({ length: 10 }, () => claim(4)))).flat().map((job) => job.id);
    expect(claimed).toHaveLength(20);
    expect(new Set(claimed).size).toBe(20);
  });

  it('writes with an older fence are refused', async () => {
    const job = await submit();
    const [first] = (await claim(1, 'none', -1_000)) as [Job];
    expect(await recoverJobs(db.sql, new Map(), silent)).toEqual({ requeued: 1, poisoned: 0 });
    const [second] = (await claim(1, 'only')) as [Job];
    expect(second.fence).toBeGreaterThan(first.fence);
    expect(second.generation).not.toBe(first.generation);
    const result = { chunksCount: 1, fileType: 'txt', actualCost: 0 };
    expect(await completeJob(db.sql, first, result)).toBe(false);
    expect(await completeJob(db.sql, second, result)).toBe(true);
    expect(await statusOf(job.id)).toBe('ready');
  });
});

describe('a worker', () => {
  it('a worker runs jobs queued before and after its start, each once', async () => {
    const runs: string[] = [];
    const before = await submit();
    await withWorker(
      async (lease) => {
        runs.push(lease.job.id);
        await lease.advance('chunking');
        await complete(lease);
      },
      async () => {
        const after = await submit();
        await notifier.notifyQueued('ingest');
        await until(async () => (await statusOf(before.id)) === 'ready' && (await statusOf(after.id)) === 'ready');
      },
    );
    expect(runs).toHaveLength(2);
  });

  it('a worker retries a retryable failure up to the bound', async () => {
    const job = await submit();
    let attempts = 0;
    const failed = await withWorker(
      async () => {
        attempts++;
        throw new JobError({ category: 'storage', message: 'not now', retryable: true });
      },
      async () => {
        await until(async () => {
          await db.sql`UPDATE jobs SET scheduled_at = NULL WHERE status = 'queued'`;
          await notifier.notifyQueued('ingest');
          return (await statusOf(job.id)) === 'failed';
        });
      },
    );
    const view = await readJob(db.sql, 'org_a', job.id);
    expect(view).toMatchObject({
      failed_phase: 'extracting',
      error_category: 'storage',
      retryable: true,
      retry_count: 2,
    });
    expect(attempts).toBe(3);
    expect(failed).toEqual([job.id]);
  });

  it('a worker fails a job at once that can never succeed, with a message for its owner', async () => {
    const job = await submit();
    await withWorker(
      async (lease) => {
        await lease.advance('chunking');
        throw new JobError({ category: 'corrupt', message: 'not a PDF', retryable: false });
      },
      async () => {
        await until(async () => (await statusOf(job.id)) === 'failed');
      },
    );
    expect(await readJob(db.sql, 'org_a', job.id)).toMatchObject({
      failed_phase: 'chunking',
      error_category: 'corrupt',
      error_message: 'not a PDF',
      retryable: false,
      retry_count: 0,
    });
  });

  it('a worker renews the lease of a job that takes longer than the lease', async () => {
    const job = await submit();
    let finish: () => void = () => {};
    const held = new Promise<void>((resolve) => {
      finish = resolve;
    });
    await withWorker(
      async (lease) => {
        await held;
        await complete(lease);
      },
      async () => {
        const first = await until(async () => leaseOf(job.id));
        await until(async () => ((await leaseOf(job.id)) ?? 0) > first, { what: 'renewal' });
        finish();
        await until(async () => (await statusOf(job.id)) === 'ready');
      },
      { leaseMs: 1_000 },
    );
  });

  it('a worker stops a job that was cancelled meanwhile', async () => {
    const job = await submit();
    let aborted = false;
    await withWorker(
      (lease) =>
        new Promise((_resolve, reject) => {
          lease.signal.addEventListener('abort', () => {
            aborted = true;
            reject(lease.signal.reason);
          });
        }),
      async () => {
        await until(async () => (await statusOf(job.id)) === 'extracting');
        await db.sql`UPDATE jobs SET status = 'cancelled', fence = fence + 1 WHERE id = ${job.id}`;
        await until(async () => aborted);
      },
      { leaseMs: 1_000 },
    );
    expect(await statusOf(job.id)).toBe('cancelled');
  });

  it('a worker returns a job to the queue whose lease it could not renew, without counting an attempt', async () => {
    const proxy = await openPostgresProxy(db.connection);
    const sql = openPostgres(proxy.connection, { poolMax: 3, applicationName: 'behind-proxy' });
    const job = await submit();
    let reason: unknown = null;
    await withWorker(
      (lease) =>
        new Promise((resolve, reject) => {
          // The second attempt succeeds.
          if (lease.job.fence > 1) return complete(lease).then(resolve, reject);
          lease.signal.addEventListener('abort', () => {
            reason = lease.signal.reason;
            reject(lease.signal.reason);
          });
        }),
      async () => {
        await until(async () => (await statusOf(job.id)) === 'extracting');
        await proxy.cut();
        await until(async () => reason !== null, { what: 'the abort of the job' });
        await proxy.open();
        await until(async () => (await statusOf(job.id)) === 'ready');
      },
      { leaseMs: 1_000 },
      sql,
    );
    expect(reason).toBeInstanceOf(LeaseLapsed);
    const [row] = await db.sql`SELECT crash_count, retry_count FROM jobs`;
    expect(row).toEqual({ crash_count: 0, retry_count: 0 });
    await sql.end({ timeout: 1 });
    await proxy.close();
  });

  it('a worker returns its jobs to the queue at a drain without counting an attempt', async () => {
    const job = await submit();
    await withWorker(
      (lease) =>
        new Promise((_resolve, reject) => lease.signal.addEventListener('abort', () => reject(lease.signal.reason))),
      async () => {
        await until(async () => (await statusOf(job.id)) === 'extracting');
      },
      { drainMs: 50 },
    );
    expect(await readJob(db.sql, 'org_a', job.id)).toMatchObject({ status: 'queued', retry_count: 0, worker_id: null });
  });

  it('a worker runs a job alone that has lost its lease', async () => {
    const suspect = await submit();
    await claim(1, 'none', -1_000);
    await recoverJobs(db.sql, new Map(), silent);
    const innocent = await submit();
    const concurrent: string[][] = [];
    const running = new Set<string>();
    await withWorker(
      async (lease) => {
        running.add(lease.job.id);
        concurrent.push([...running]);
        await db.sql`SELECT pg_sleep(0.02)`;
        running.delete(lease.job.id);
        await complete(lease);
      },
      async () => {
        await until(async () => (await statusOf(suspect.id)) === 'ready' && (await statusOf(innocent.id)) === 'ready');
      },
    );
    expect(concurrent.filter((jobs) => jobs.includes(suspect.id))).toEqual([[suspect.id]]);
  });
});

describe('recovery', () => {
  it(`recovery fails a job whose worker died ${CRASHES_MAX} times`, async () => {
    const job = await submit();
    const failed: string[] = [];
    const handlers = new Map([
      ['ingest' as const, { onFailed: async (_tx: unknown, lost: Job) => void failed.push(lost.id) }],
    ]);
    for (let crash = 1; crash <= CRASHES_MAX; crash++) {
      await claim(1, crash === 1 ? 'none' : 'only', -1_000);
      await recoverJobs(db.sql, handlers, silent);
    }
    expect(await readJob(db.sql, 'org_a', job.id)).toMatchObject({
      status: 'failed',
      error_category: 'poison',
      retryable: false,
    });
    expect(failed).toEqual([job.id]);
  });

  it('recovery does not fail a job that makes progress between crashes of its workers', async () => {
    const job = await submit();
    for (let crash = 1; crash <= 2 * CRASHES_MAX; crash++) {
      const [held] = (await claim(1, crash === 1 ? 'none' : 'only', -1_000)) as [Job];
      await new Lease(db.sql, held, 'extracting').progressed();
      expect(await recoverJobs(db.sql, new Map(), silent)).toEqual({ requeued: 1, poisoned: 0 });
    }
    expect(await statusOf(job.id)).toBe('queued');
  });

  it('progress and the reset of the count of crashes are visible at the same moment', async () => {
    const job = await submit();
    await claim(1, 'none', -1_000);
    await recoverJobs(db.sql, new Map(), silent);
    const [held] = (await claim(1, 'only')) as [Job];
    const crashes = async (sql: Sql) =>
      (await sql`SELECT crash_count FROM jobs WHERE id = ${job.id}`)[0]?.['crash_count'];
    const lease = new Lease(db.sql, held, 'extracting');
    const fails = lease.progressedBy(async () => {
      throw new Error('the write failed');
    });
    await expect(fails).rejects.toThrow('the write failed');
    expect(await crashes(db.sql)).toBe(1);
    await expect(lease.progressedBy(async () => false)).rejects.toThrow(LeaseLost);
    expect(await crashes(db.sql)).toBe(1);
    await lease.progressedBy(async (tx) => {
      expect([await crashes(tx), await crashes(db.sql)]).toEqual([0, 1]);
      return true;
    });
    expect(await crashes(db.sql)).toBe(0);
  });

  it('recovery and renewals skip a row that a hung process has locked', async () => {
    const [hung, other, renewed] = [await submit(), await submit(), await submit()];
    await claim(2, 'none', -1_000);
    const [live] = (await claim()) as [Job];
    const before = await leaseOf(renewed.id);
    await db.sql.begin(async (tx) => {
      await tx`SELECT 1 FROM jobs WHERE id IN (${hung.id}, ${renewed.id}) FOR UPDATE`;
      expect(await recoverJobs(db.sql, new Map(), silent)).toEqual({ requeued: 1, poisoned: 0 });
      expect(await statusOf(other.id)).toBe('queued');
      expect(await renewLeases(db.sql, 'wrk_t', [{ ...live, hasWorked: true }], 60_000)).toEqual([
        { id: live.id, fence: live.fence, isWritten: false },
      ]);
    });
    expect(await leaseOf(renewed.id)).toBe(before);
    expect(await recoverJobs(db.sql, new Map(), silent)).toEqual({ requeued: 1, poisoned: 0 });
    expect(await renewLeases(db.sql, 'wrk_t', [{ ...live, hasWorked: true }], 60_000)).toMatchObject([
      { isWritten: true },
    ]);
    expect(await leaseOf(renewed.id)).toBeGreaterThan(before as number);
  });

  it('recovery leaves live leases and scheduled retries alone', async () => {
    const scheduled = await submit();
    const [held] = (await claim()) as [Job];
    await retryJob(db.sql, held, 'extracting', { category: 'storage', message: 'm', retryable: true }, 60_000);
    await submit();
    await claim();
    expect(await recoverJobs(db.sql, new Map(), silent)).toEqual({ requeued: 0, poisoned: 0 });
    expect(await statusOf(scheduled.id)).toBe('queued');
    expect(await claim()).toEqual([]);
  });
});

async function leaseOf(id: string): Promise<number | null> {
  const [row] = await db.sql`SELECT lease_expires_at FROM jobs WHERE id = ${id}`;
  return (row?.['lease_expires_at'] as Date | null)?.getTime() ?? null;
}
