import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Caller } from '../../src/access/caller.ts';
import { operatorCaller } from '../../src/access/operator.ts';
import { openPostgresDoorbell } from '../../src/jobs/doorbell.ts';
import type { JobHandler, JobKindOperations } from '../../src/jobs/handler.ts';
import type { Lease } from '../../src/jobs/lease.ts';
import { cancelJob, deleteJob, type JobOperations, reprocessJob } from '../../src/jobs/operations.ts';
import { reapStaleJobs } from '../../src/jobs/reap.ts';
import { IN_PROGRESS, type Job, type JobStatus } from '../../src/jobs/schema.ts';
import { enqueueJob } from '../../src/jobs/store.ts';
import { JobWorker, type WorkerOptions } from '../../src/jobs/worker.ts';
import { newId } from '../../src/platform/ids.ts';
import { openLogger } from '../../src/platform/logger.ts';
import { openMetrics } from '../../src/platform/metrics.ts';
import { throwDice } from '../support/dice.ts';
import { readJob } from '../support/jobs.ts';
import { createTestDatabase, type TestDatabase } from '../support/postgres.ts';
import { until } from '../support/until.ts';

let db: TestDatabase;
let operations: JobOperations;
/** What the operations told the kind of the jobs. */
let told: string[];
const logger = openLogger('silent');
const caller = (orgId: string): Caller => operatorCaller({ id: orgId, plan: 'free' }, 'test');
const mine = caller('org_a');

beforeAll(async () => {
  db = await createTestDatabase({ poolMax: 10 });
});
afterAll(() => db.drop());
beforeEach(async () => {
  await db.sql`DELETE FROM jobs`;
  await db.sql`DELETE FROM audit_log`;
  await db.sql`DELETE FROM organizations`;
  for (const id of ['org_a', 'org_b']) {
    await db.sql`INSERT INTO organizations (id, name, plan) VALUES (${id}, ${id}, 'free')`;
  }
  told = [];
  const kind: Pick<JobHandler, 'onFailed'> & JobKindOperations = {
    onFailed: async (_tx, job, failure) => void told.push(`failed ${job.id} ${failure.category}`),
    onCancelled: async (_tx, job) => void told.push(`cancelled ${job.id}`),
    reprocess: (tx, job, newJobId) => enqueueJob(tx, { ...newJob(job.orgId), id: newJobId, reprocessOfJobId: job.id }),
    forget: async (job) => void told.push(`forgot ${job.id}`),
  };
  operations = {
    sql: db.sql,
    doorbell: openPostgresDoorbell(db.sql, db.sql),
    logger,
    kinds: new Map([['ingest', kind]]),
    visibleTo: (sql) => sql`true`,
  };
});

function newJob(orgId: string, priority = 2) {
  return {
    id: newId('job'),
    kind: 'ingest' as const,
    orgId,
    bucketId: 'bkt_x',
    priority,
    s3Key: 'k',
    fileName: 'f',
    fileSizeBytes: 1,
    processingType: 'test',
  };
}

/** A job in this state, silent for `silentMinutes`; its fence is 7. */
async function jobIn(status: JobStatus, silentMinutes = 0, orgId = 'org_a'): Promise<string> {
  const { id } = await enqueueJob(db.sql, newJob(orgId));
  await db.sql`
    UPDATE jobs SET status = ${status}, fence = 7, worker_id = 'wrk_x',
           checkpoint_at = now() - ${silentMinutes} * interval '1 minute'
    WHERE id = ${id}`;
  return id;
}

const rowOf = async (id: string) => (await db.sql`SELECT * FROM jobs WHERE id = ${id}`)[0];
const code = (work: Promise<unknown>) =>
  work.then(
    () => 'done',
    (error) => `${error.status} ${error.code}`,
  );

async function withWorker(
  run: (lease: Lease) => Promise<void>,
  use: () => Promise<void>,
  options: Partial<WorkerOptions> = {},
) {
  const handler = { kind: 'ingest' as const, firstPhase: 'extracting' as const, run, onFailed: async () => {} };
  const context = { sql: db.sql, doorbell: operations.doorbell, logger, metrics: openMetrics() };
  const worker = new JobWorker(context, handler, { concurrency: 4, leaseMs: 5_000, retriesMax: 0, ...options });
  await worker.start();
  try {
    await use();
  } finally {
    await worker.stop();
  }
}

const RESULT = { chunksCount: 1, fileType: 'txt', actualCost: 0 };

describe('cancel', () => {
  it.each([
    ['queued', false, 'cancelled'],
    ['queued', true, 'cancelled'],
    ...IN_PROGRESS.map((status) => [status, true, 'cancelled'] as const),
  ] as const)('of a job that is %s, force %s: %s, with a raised fence', async (status, force, becomes) => {
    const id = await jobIn(status);
    expect(await cancelJob(operations, mine, id, { force })).toEqual({ status: becomes });
    const row = await rowOf(id);
    expect(row).toMatchObject({ status: 'cancelled', fence: 8, lease_expires_at: null });
    expect(row?.['completed_at']).toBeInstanceOf(Date);
    expect(told).toEqual([`cancelled ${id}`]);
  });

  it.each(IN_PROGRESS)('of a job that is %s needs force', async (status) => {
    const id = await jobIn(status);
    expect(await code(cancelJob(operations, mine, id, { force: false }))).toBe('400 job_in_progress');
    expect(await rowOf(id)).toMatchObject({ status, fence: 7 });
    expect(told).toEqual([]);
  });

  it.each(['ready', 'failed', 'cancelled'] as const)(
    'of a job that is %s says so and changes nothing',
    async (status) => {
      const id = await jobIn(status);
      for (const force of [false, true]) {
        expect(await cancelJob(operations, mine, id, { force })).toEqual({
          status,
          detail: `the job is already ${status}`,
        });
      }
      expect(await rowOf(id)).toMatchObject({ status, fence: 7, completed_at: null });
      expect(told).toEqual([]);
    },
  );

  it.each([
    ['claimed', 'extracting', false],
    ['finished', 'ready', true],
  ] as const)('that lost the race against a worker which %s it is a conflict', async (_what, to, force) => {
    const id = await jobIn('queued');
    let outcome = Promise.resolve('');
    await db.sql.begin(async (tx) => {
      await tx`UPDATE jobs SET status = ${to} WHERE id = ${id}`;
      outcome = code(cancelJob(operations, mine, id, { force }));
      // It has read the old state and waits for the row.
      await until(
        async () => (await db.sql`SELECT 1 FROM pg_locks WHERE NOT granted AND locktype = 'transactionid'`).length > 0,
      );
    });
    expect(await outcome).toBe('409 job_state_changed');
    expect((await rowOf(id))?.['status']).toBe(to);
    expect(told).toEqual([]);
  });

  it('stops the running worker at once, not at its next heartbeat', async () => {
    const { id } = await enqueueJob(db.sql, newJob('org_a'));
    let aborted: unknown = null;
    await withWorker(
      (lease) =>
        new Promise((_resolve, reject) => {
          lease.signal.addEventListener('abort', () => {
            aborted = lease.signal.reason;
            reject(aborted);
          });
        }),
      async () => {
        await until(async () => (await rowOf(id))?.['status'] === 'extracting');
        await cancelJob(operations, mine, id, { force: true });
        await until(async () => aborted !== null);
      },
      { leaseMs: 600_000 },
    );
    expect(aborted).toMatchObject({ name: 'LeaseLost' });
    expect(await rowOf(id)).toMatchObject({ status: 'cancelled', retry_count: 0, error_category: null });
  });

  it('against completion, 1,000 times: one terminal state each, and work is visible of ready jobs only', {
    timeout: 120_000,
  }, async () => {
    const RACES = 1_000;
    const dice = throwDice('cancel against completion');
    await db.sql`CREATE TABLE IF NOT EXISTS visible_work (job_id text PRIMARY KEY)`;
    await db.sql`DELETE FROM visible_work`;
    /** The state that somebody was told a job ended in. */
    const ends = new Map<string, string[]>();
    const tell = (id: string, end: string) => ends.set(id, [...(ends.get(id) ?? []), end]);
    const ids: string[] = [];
    for (let i = 0; i < RACES; i++) ids.push((await enqueueJob(db.sql, newJob(i % 2 ? 'org_a' : 'org_b'))).id);
    const started = new Map<string, () => void>();
    const starts = new Map(ids.map((id) => [id, new Promise<void>((resolve) => started.set(id, resolve))]));

    await withWorker(
      async (lease) => {
        started.get(lease.job.id)?.();
        await lease.advance('indexing');
        await db.sql.begin(async (tx) => {
          await lease.complete(tx, RESULT);
          await tx`INSERT INTO visible_work VALUES (${lease.job.id})`;
        });
        tell(lease.job.id, 'ready');
      },
      async () => {
        await Promise.all(
          ids.map(async (id, i) => {
            await starts.get(id);
            await delay(dice.int(4));
            const outcome = await cancelJob(operations, caller(i % 2 ? 'org_a' : 'org_b'), id, { force: true }).catch(
              (error) => error,
            );
            if (outcome.status === 'cancelled') tell(id, 'cancelled');
            else expect(outcome.detail ?? outcome.code).toMatch(/already ready|job_state_changed/);
          }),
        );
        await until(
          async () => (await db.sql`SELECT 1 FROM jobs WHERE status NOT IN ('ready', 'cancelled')`).length === 0,
        );
      },
    );
    const rows = await db.sql`
      SELECT id, status, EXISTS (SELECT 1 FROM visible_work WHERE job_id = id) AS visible FROM jobs`;
    expect(rows).toHaveLength(RACES);
    for (const row of rows) {
      expect(ends.get(row['id'])).toEqual([row['status']]);
      expect(row['visible']).toBe(row['status'] === 'ready');
    }
    const counts = Map.groupBy(rows, (row) => row['status'] as string);
    process.stderr.write(
      `cancel against completion: ${counts.get('cancelled')?.length ?? 0} cancelled, ${counts.get('ready')?.length ?? 0} ready\n`,
    );
    expect(counts.size).toBe(2);
  });
});

describe('reprocess', () => {
  it.each(['ready', 'failed', 'cancelled'] as const)(
    'of a job that is %s queues a new one and rings',
    async (status) => {
      const id = await jobIn(status);
      let bells = 0;
      const stop = new AbortController();
      const listener = { onBell: () => ++bells > 0, onRecall: () => {} };
      await operations.doorbell.listen('ingest', listener, stop.signal);
      const view = await reprocessJob(operations, mine, id);
      expect(view).toMatchObject({ status: 'queued', reprocess_of_job_id: id, started_at: null });
      expect(view.id).not.toBe(id);
      expect((await rowOf(id))?.['status']).toBe(status);
      await until(async () => bells > 0);
      stop.abort();
    },
  );

  it.each(['queued', ...IN_PROGRESS] as const)('of a job that is %s is refused', async (status) => {
    const id = await jobIn(status);
    expect(await code(reprocessJob(operations, mine, id))).toBe('400 job_not_terminal');
    expect(await db.sql`SELECT 1 FROM jobs`).toHaveLength(1);
  });
});

describe('delete', () => {
  it.each(['queued', 'ready', 'failed', 'cancelled'] as const)('removes a job that is %s', async (status) => {
    const id = await jobIn(status);
    await deleteJob(operations, mine, id);
    expect(await rowOf(id)).toBeUndefined();
    expect(told).toEqual([...(status === 'queued' ? [`cancelled ${id}`] : []), `forgot ${id}`]);
    expect(await code(deleteJob(operations, mine, id))).toBe('404 job_not_found');
  });

  it.each(IN_PROGRESS)('refuses a job that is %s', async (status) => {
    const id = await jobIn(status);
    expect(await code(deleteJob(operations, mine, id))).toBe('400 job_in_progress');
    expect(await rowOf(id)).toMatchObject({ status });
    expect(told).toEqual([]);
  });
});

describe('reap', () => {
  it('fails what was silent for too long, whatever its organization, and nothing else', async () => {
    const stale = [await jobIn('extracting', 31), await jobIn('indexing', 31, 'org_b')];
    const others = [
      await jobIn('embedding', 29),
      await jobIn('queued', 90),
      await jobIn('ready', 90),
      await jobIn('failed', 90),
      await jobIn('cancelled', 90),
    ];
    const before = await Promise.all(others.map(rowOf));
    const jobs = [
      { job_id: stale[0], org_id: 'org_a', stuck_status: 'extracting' },
      { job_id: stale[1], org_id: 'org_b', stuck_status: 'indexing' },
    ];
    const reply = { timeout_minutes: 30, reaped_count: 2, jobs: expect.arrayContaining(jobs) };
    expect(await reapStaleJobs(operations, 'cron', { timeoutMinutes: 30, dryRun: true })).toEqual(reply);
    expect(told).toEqual([]);
    expect(await reapStaleJobs(operations, 'cron', { timeoutMinutes: 30 })).toEqual(reply);
    expect(await rowOf(stale[0] as string)).toMatchObject({
      ...{ status: 'failed', failed_phase: 'extracting', error_category: 'stale', retryable: true, fence: 8 },
      error_message: 'there was no sign of life for 30 minutes',
    });
    expect(told.toSorted()).toEqual(stale.map((id) => `failed ${id} stale`).toSorted());
    expect(await Promise.all(others.map(rowOf))).toEqual(before);
    expect(await reapStaleJobs(operations, 'cron', { timeoutMinutes: 30 })).toMatchObject({
      reaped_count: 0,
      jobs: [],
    });
  });

  it('does not let one job that cannot be put in order keep the others', async () => {
    const broken = await jobIn('extracting', 60);
    const fine = await jobIn('chunking', 50);
    const ingest = operations.kinds.get('ingest') as JobKindOperations;
    const onFailed = async (_tx: unknown, job: Job) => {
      if (job.id === broken) throw new Error('broken');
    };
    const kinds = new Map([['ingest' as const, { ...ingest, onFailed }]]);
    const reply = await reapStaleJobs({ ...operations, kinds }, 'cron', { timeoutMinutes: 30 });
    expect(reply.jobs.map((job) => job.job_id)).toEqual([fine]);
    expect(await rowOf(broken)).toMatchObject({ status: 'extracting', fence: 7 });
  });

  it('a worker that was only slow to speak cannot finish what was reaped', async () => {
    const { id } = await enqueueJob(db.sql, newJob('org_a'));
    let outcome = '';
    await withWorker(
      async (lease) => {
        await db.sql`UPDATE jobs SET checkpoint_at = now() - interval '2 hours' WHERE id = ${id}`;
        await reapStaleJobs(operations, 'cron', { timeoutMinutes: 60 });
        outcome = await lease.complete(db.sql, RESULT).then(
          () => 'completed',
          (error) => error.name,
        );
      },
      async () => {
        await until(async () => outcome !== '');
      },
    );
    expect(outcome).toBe('LeaseLost');
    expect(await rowOf(id)).toMatchObject({ status: 'failed', error_category: 'stale' });
  });
});

it("another organization's job, and one that is not there, are the same to every operation", async () => {
  const foreign = await jobIn('ready', 0, 'org_b');
  for (const id of [foreign, 'job_missing', '', "'; DROP TABLE jobs --"]) {
    for (const work of [
      () => cancelJob(operations, mine, id, { force: true }),
      () => reprocessJob(operations, mine, id),
      () => deleteJob(operations, mine, id),
      () => readJob(db.sql, mine.orgId, id),
    ]) {
      expect(await code(work())).toBe('404 job_not_found');
    }
  }
  expect(await rowOf(foreign)).toMatchObject({ status: 'ready' });
});

it('every operation leaves a line in the audit log, and none that was refused', async () => {
  const [queued, ready, stale] = [await jobIn('queued'), await jobIn('ready'), await jobIn('embedding', 60)];
  await code(cancelJob(operations, mine, stale, { force: false }));
  await cancelJob(operations, mine, queued, { force: false });
  const { id: again } = await reprocessJob(operations, mine, ready);
  await deleteJob(operations, mine, ready);
  await reapStaleJobs(operations, 'cron', { timeoutMinutes: 30 });
  expect(await db.sql`SELECT actor, action, target, detail FROM audit_log ORDER BY id`).toEqual([
    { actor: 'operator:test', action: 'job.cancel', target: queued, detail: { kind: 'ingest', was: 'queued' } },
    { actor: 'operator:test', action: 'job.reprocess', target: ready, detail: { kind: 'ingest', new_job_id: again } },
    {
      actor: 'operator:test',
      action: 'job.delete',
      target: ready,
      detail: { kind: 'ingest', was: 'ready', file_name: 'f' },
    },
    { actor: 'cron', action: 'job.reap', target: stale, detail: { kind: 'ingest', was: 'embedding' } },
  ]);
});

describe('whose turn it is', () => {
  /** The order in which workers start these jobs, one at a time. */
  async function starts(count: number, work: () => Promise<unknown> = async () => {}): Promise<string[]> {
    const order: string[] = [];
    await withWorker(
      async (lease) => {
        order.push(lease.job.id);
        await work();
        await lease.complete(db.sql, RESULT);
      },
      async () => {
        await until(async () => order.length >= count);
      },
      { concurrency: 1 },
    );
    return order;
  }

  it('an enterprise job that comes last overtakes a queue of free ones', async () => {
    for (let i = 0; i < 40; i++) await enqueueJob(db.sql, newJob('org_a', 3));
    let urgent = '';
    const order = await starts(41, async () => {
      if (urgent === '') ({ id: urgent } = await enqueueJob(db.sql, newJob('org_b', 0)));
    });
    expect(order[1]).toBe(urgent);
  });

  it.each([0, 20])(
    'of 50 jobs of one organization and one of another, the other starts among the first three, after %i of them are done',
    async (done) => {
      for (let i = 0; i < 50; i++) await enqueueJob(db.sql, newJob('org_a'));
      let other = '';
      let started = 0;
      if (done === 0) ({ id: other } = await enqueueJob(db.sql, newJob('org_b')));
      const order = await starts(51, async () => {
        if (++started === done) ({ id: other } = await enqueueJob(db.sql, newJob('org_b')));
      });
      expect(order.slice(done, done + 3)).toContain(other);
    },
  );

  it('a worker that takes many at once starts them in turn', async () => {
    const ids: string[] = [];
    for (const priority of [3, 1, 2, 0, 2, 1, 3, 0]) ids.push((await enqueueJob(db.sql, newJob('org_a', priority))).id);
    const order: string[] = [];
    await withWorker(
      async (lease) => {
        order.push(lease.job.id);
        await lease.complete(db.sql, RESULT);
      },
      async () => {
        await until(async () => order.length === 8);
      },
      { concurrency: 8 },
    );
    expect(order).toEqual([3, 7, 1, 5, 2, 4, 0, 6].map((place) => ids[place]));
  });
});
