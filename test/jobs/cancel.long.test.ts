import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { cancelJob } from '../../src/jobs/operations.ts';
import { IN_PROGRESS } from '../../src/jobs/schema.ts';
import { enqueueJob } from '../../src/jobs/store.ts';
import { createTestRandom } from '../support/random.ts';
import { until } from '../support/until.ts';
import { waitingBackends } from '../support/waiting-backends.ts';
import { caller, code, mine, newJob, operationsUnderTest, RESULT } from './operations-under-test.ts';

const under = operationsUnderTest();

it.each([
  ['queued', false, 'cancelled'],
  ['queued', true, 'cancelled'],
  ...IN_PROGRESS.map((status) => [status, true, 'cancelled'] as const),
] as const)(
  'cancel of a job that is %s, with force %s, makes it %s and raises its fence',
  async (status, force, becomes) => {
    const id = await under.jobIn(status);
    expect(await cancelJob(under.operations, mine, id, { force })).toEqual({ status: becomes });
    const row = await under.rowOf(id);
    expect(row).toMatchObject({ status: 'cancelled', fence: 8, lease_expires_at: null });
    expect(row?.['completed_at']).toBeInstanceOf(Date);
    expect(under.calls).toEqual([`cancelled ${id}`]);
  },
);

it.each(IN_PROGRESS)('cancel of a job that is %s needs force', async (status) => {
  const id = await under.jobIn(status);
  expect(await code(cancelJob(under.operations, mine, id, { force: false }))).toBe('400 job_in_progress');
  expect(await under.rowOf(id)).toMatchObject({ status, fence: 7 });
  expect(under.calls).toEqual([]);
});

it.each(['ready', 'failed', 'cancelled'] as const)(
  'contract 3.2: cancel of a job that is %s reports that state and changes nothing',
  async (status) => {
    const id = await under.jobIn(status);
    for (const force of [false, true]) {
      expect(await cancelJob(under.operations, mine, id, { force })).toEqual({
        status,
        detail: `the job is already terminal: it is ${status}`,
      });
    }
    expect(await under.rowOf(id)).toMatchObject({ status, fence: 7, completed_at: null });
    expect(under.calls).toEqual([]);
  },
);

it.each([
  ['claimed', 'extracting', false],
  ['finished', 'ready', true],
] as const)('a cancel that lost the race against a worker which %s the job is a conflict', async (_what, to, force) => {
  const id = await under.jobIn('queued');
  let outcome = Promise.resolve('');
  await under.sql.begin(async (tx) => {
    await tx`UPDATE jobs SET status = ${to} WHERE id = ${id}`;
    outcome = code(cancelJob(under.operations, mine, id, { force }));
    // The cancel has read the old state and waits for the row.
    await until(async () => (await waitingBackends(under.sql)).length > 0);
  });
  expect(await outcome).toBe('409 job_state_changed');
  expect((await under.rowOf(id))?.['status']).toBe(to);
  expect(under.calls).toEqual([]);
});

it('cancel stops the running worker at once, not at its next heartbeat', async () => {
  const { id } = await enqueueJob(under.sql, newJob('org_a'));
  let aborted: unknown = null;
  await under.withWorker(
    (lease) =>
      new Promise((_resolve, reject) => {
        lease.signal.addEventListener('abort', () => {
          aborted = lease.signal.reason;
          reject(aborted);
        });
      }),
    async () => {
      await until(async () => (await under.rowOf(id))?.['status'] === 'extracting');
      await cancelJob(under.operations, mine, id, { force: true });
      await until(async () => aborted !== null);
    },
    { leaseMs: 600_000 },
  );
  expect(aborted).toMatchObject({ name: 'LeaseLost' });
  expect(await under.rowOf(id)).toMatchObject({ status: 'cancelled', retry_count: 0, error_category: null });
});

it('jobs cancelled as they complete have one terminal state each, and the work of ready ones only is visible', {
  timeout: 120_000,
}, async () => {
  const RACES = 1_000;
  const random = createTestRandom('cancel against completion');
  await under.sql`CREATE TABLE IF NOT EXISTS visible_work (job_id text PRIMARY KEY)`;
  await under.sql`DELETE FROM visible_work`;
  /** Terminal states that were reported for each job. */
  const ends = new Map<string, string[]>();
  const report = (id: string, end: string) => ends.set(id, [...(ends.get(id) ?? []), end]);
  const ids: string[] = [];
  for (let i = 0; i < RACES; i++) ids.push((await enqueueJob(under.sql, newJob(i % 2 ? 'org_a' : 'org_b'))).id);
  const newEvents = (nth: number) => ({
    ...{ nth, started: Promise.withResolvers<void>() },
    ...{ cancelled: Promise.withResolvers<void>(), ended: Promise.withResolvers<void>() },
  });
  const events = new Map(ids.map((id, nth) => [id, newEvents(nth)]));
  // Of each ten jobs one is cancelled before it completes, and one has completed before; the others race.
  const isCancelledFirst = (nth: number) => nth % 10 === 0;
  const isCompletedFirst = (nth: number) => nth % 10 === 1;

  await under.withWorker(
    async (lease) => {
      const { nth, started, cancelled, ended } = events.get(lease.job.id) as ReturnType<typeof newEvents>;
      started.resolve();
      if (isCancelledFirst(nth)) await cancelled.promise;
      else await delay(random.int(4));
      await lease.advance('indexing');
      await under.sql.begin(async (tx) => {
        await lease.complete(tx, RESULT);
        await tx`INSERT INTO visible_work VALUES (${lease.job.id})`;
      });
      report(lease.job.id, 'ready');
      ended.resolve();
    },
    async () => {
      await Promise.all(
        [...events].map(async ([id, { nth: i, started, cancelled, ended }]) => {
          await started.promise;
          if (isCompletedFirst(i)) await ended.promise;
          else await delay(random.int(4));
          const outcome = await cancelJob(under.operations, caller(i % 2 ? 'org_a' : 'org_b'), id, {
            force: true,
          }).catch((error) => error);
          cancelled.resolve();
          if (outcome.status === 'cancelled') report(id, 'cancelled');
          else expect(outcome.detail ?? outcome.code).toMatch(/already terminal: it is ready|job_state_changed/);
        }),
      );
      await until(
        async () => (await under.sql`SELECT 1 FROM jobs WHERE status NOT IN ('ready', 'cancelled')`).length === 0,
      );
    },
  );
  const rows = await under.sql`
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
  expect(counts.get('cancelled')?.length).toBeGreaterThanOrEqual(RACES / 10);
  expect(counts.get('ready')?.length).toBeGreaterThanOrEqual(RACES / 10);
});
