import { expect, it } from 'vitest';
import type { JobKindOperations } from '../../src/jobs/handler.ts';
import type { Lease } from '../../src/jobs/lease.ts';
import { cancelJob, deleteJob, reprocessJob } from '../../src/jobs/operations.ts';
import { reapStaleJobs } from '../../src/jobs/reap.ts';
import { IN_PROGRESS, type Job } from '../../src/jobs/schema.ts';
import { enqueueJob } from '../../src/jobs/store.ts';
import { readJob } from '../support/jobs.ts';
import { until } from '../support/until.ts';
import { code, mine, newJob, operationsUnderTest, RESULT } from './operations-under-test.ts';

const under = operationsUnderTest();

it.each(['ready', 'failed', 'cancelled'] as const)(
  'reprocess of a job that is %s queues a new one and notifies workers',
  async (status) => {
    const id = await under.jobIn(status);
    let notifications = 0;
    const stop = new AbortController();
    const listener = { onNotification: () => ++notifications > 0, onLost: () => {} };
    await under.operations.notifier.listen('ingest', listener, stop.signal);
    const view = await reprocessJob(under.operations, mine, id);
    expect(view).toMatchObject({ status: 'queued', reprocess_of_job_id: id, started_at: null });
    expect(view.id).not.toBe(id);
    expect((await under.rowOf(id))?.['status']).toBe(status);
    await until(async () => notifications > 0);
    stop.abort();
  },
);

it.each(['queued', ...IN_PROGRESS] as const)('reprocess of a job that is %s is refused', async (status) => {
  const id = await under.jobIn(status);
  expect(await code(reprocessJob(under.operations, mine, id))).toBe('400 job_not_terminal');
  expect(await under.sql`SELECT 1 FROM jobs`).toHaveLength(1);
});

it.each(['queued', 'ready', 'failed', 'cancelled'] as const)('delete removes a job that is %s', async (status) => {
  const id = await under.jobIn(status);
  await deleteJob(under.operations, mine, id);
  expect(await under.rowOf(id)).toBeUndefined();
  expect(under.calls).toEqual([...(status === 'queued' ? [`cancelled ${id}`] : []), `forgot ${id}`]);
  expect(await code(deleteJob(under.operations, mine, id))).toBe('404 job_not_found');
});

it.each(IN_PROGRESS)('delete refuses a job that is %s', async (status) => {
  const id = await under.jobIn(status);
  expect(await code(deleteJob(under.operations, mine, id))).toBe('400 job_in_progress');
  expect(await under.rowOf(id)).toMatchObject({ status });
  expect(under.calls).toEqual([]);
});

it('a reap fails jobs that were silent for too long, whatever their organization, and no other', async () => {
  const stale = [await under.jobIn('extracting', 31), await under.jobIn('indexing', 31, 'org_b')];
  const others = [
    await under.jobIn('embedding', 29),
    await under.jobIn('queued', 90),
    await under.jobIn('ready', 90),
    await under.jobIn('failed', 90),
    await under.jobIn('cancelled', 90),
  ];
  const before = await Promise.all(others.map(under.rowOf));
  const jobs = [
    { job_id: stale[0], org_id: 'org_a', stuck_status: 'extracting' },
    { job_id: stale[1], org_id: 'org_b', stuck_status: 'indexing' },
  ];
  const reply = { timeout_minutes: 30, reaped_count: 2, jobs: expect.arrayContaining(jobs) };
  expect(await reapStaleJobs(under.operations, 'cron', { timeoutMinutes: 30, dryRun: true })).toEqual(reply);
  expect(under.calls).toEqual([]);
  expect(await reapStaleJobs(under.operations, 'cron', { timeoutMinutes: 30 })).toEqual(reply);
  expect(await under.rowOf(stale[0] as string)).toMatchObject({
    ...{ status: 'failed', failed_phase: 'extracting', error_category: 'stale', retryable: true, fence: 8 },
    error_message: 'the job did no work for 30 minutes; process it again',
  });
  expect(under.calls.toSorted()).toEqual(stale.map((id) => `failed ${id} stale`).toSorted());
  expect(await Promise.all(others.map(under.rowOf))).toEqual(before);
  expect(await reapStaleJobs(under.operations, 'cron', { timeoutMinutes: 30 })).toMatchObject({
    reaped_count: 0,
    jobs: [],
  });
});

it('a reap goes on with the other jobs if the cleanup of one fails', async () => {
  const broken = await under.jobIn('extracting', 60);
  const fine = await under.jobIn('chunking', 50);
  const ingest = under.operations.kinds.get('ingest') as JobKindOperations;
  const onFailed = async (_tx: unknown, job: Job) => {
    if (job.id === broken) throw new Error('broken');
  };
  const kinds = new Map([['ingest' as const, { ...ingest, onFailed }]]);
  const reply = await reapStaleJobs({ ...under.operations, kinds }, 'cron', { timeoutMinutes: 30 });
  expect(reply.jobs.map((job) => job.job_id)).toEqual([fine]);
  expect(await under.rowOf(broken)).toMatchObject({ status: 'extracting', fence: 7 });
});

it('a reap reaches a job whose worker is alive and hangs', async () => {
  const { id } = await enqueueJob(under.sql, newJob('org_a'));
  let ended: unknown = null;
  const hang = async (lease: Lease) => {
    await new Promise((resolve) => lease.signal.addEventListener('abort', resolve, { once: true }));
    ended = lease.signal.reason;
  };
  const use = async () => {
    await until(async () => (await under.rowOf(id))?.['status'] === 'extracting');
    await under.sql`UPDATE jobs SET checkpoint_at = now() - interval '2 hours' WHERE id = ${id}`;
    const before = (await under.rowOf(id))?.['lease_expires_at'] as Date;
    await until(async () => ((await under.rowOf(id))?.['lease_expires_at'] as Date) > before);
    const reply = await reapStaleJobs(under.operations, 'cron', { timeoutMinutes: 60 });
    expect(reply.jobs.map((job) => job.job_id)).toEqual([id]);
    await until(async () => ended !== null);
  };
  await under.withWorker(hang, use, { leaseMs: 2_000 });
  expect(ended).toMatchObject({ name: 'LeaseLost' });
  expect(await under.rowOf(id)).toMatchObject({ status: 'failed', error_category: 'stale' });
});

it('a job that goes on working is not reaped, however long it takes', async () => {
  const { id } = await enqueueJob(under.sql, newJob('org_a'));
  const finish = Promise.withResolvers<void>();
  const held = Promise.withResolvers<Lease>();
  const work = async (lease: Lease) => {
    held.resolve(lease);
    await finish.promise;
    await lease.complete(under.sql, RESULT);
  };
  const use = async () => {
    const lease = await held.promise;
    await under.sql`UPDATE jobs SET checkpoint_at = now() - interval '2 hours' WHERE id = ${id}`;
    lease.worked();
    await until(async () => Number((await under.rowOf(id))?.['checkpoint_at']) > Date.now() - 3_600_000);
    const reply = await reapStaleJobs(under.operations, 'cron', { timeoutMinutes: 60 });
    expect(reply.reaped_count).toBe(0);
    finish.resolve();
    await until(async () => (await under.rowOf(id))?.['status'] === 'ready');
  };
  await under.withWorker(work, use, { leaseMs: 2_000 });
});

it('a worker that was only slow to report cannot finish a job that was reaped', async () => {
  const { id } = await enqueueJob(under.sql, newJob('org_a'));
  let outcome = '';
  await under.withWorker(
    async (lease) => {
      await under.sql`UPDATE jobs SET checkpoint_at = now() - interval '2 hours' WHERE id = ${id}`;
      await reapStaleJobs(under.operations, 'cron', { timeoutMinutes: 60 });
      outcome = await lease.complete(under.sql, RESULT).then(
        () => 'completed',
        (error) => error.name,
      );
    },
    async () => {
      await until(async () => outcome !== '');
    },
  );
  expect(outcome).toBe('LeaseLost');
  expect(await under.rowOf(id)).toMatchObject({ status: 'failed', error_category: 'stale' });
});

it('every operation treats a job of another organization like a missing one', async () => {
  const foreign = await under.jobIn('ready', 0, 'org_b');
  for (const id of [foreign, 'job_missing', '', "'; DROP TABLE jobs --"]) {
    for (const work of [
      () => cancelJob(under.operations, mine, id, { force: true }),
      () => reprocessJob(under.operations, mine, id),
      () => deleteJob(under.operations, mine, id),
      () => readJob(under.sql, mine.orgId, id),
    ]) {
      expect(await code(work())).toBe('404 job_not_found');
    }
  }
  expect(await under.rowOf(foreign)).toMatchObject({ status: 'ready' });
});

it('every operation on a job is recorded in the audit log, and refused ones are not', async () => {
  const [queued, ready, stale] = [
    await under.jobIn('queued'),
    await under.jobIn('ready'),
    await under.jobIn('embedding', 60),
  ];
  await code(cancelJob(under.operations, mine, stale, { force: false }));
  await cancelJob(under.operations, mine, queued, { force: false });
  const { id: again } = await reprocessJob(under.operations, mine, ready);
  await deleteJob(under.operations, mine, ready);
  await reapStaleJobs(under.operations, 'cron', { timeoutMinutes: 30 });
  expect(await under.sql`SELECT actor, action, target, detail FROM audit_log ORDER BY id`).toEqual([
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
