import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Lease } from '../../src/jobs/lease.ts';
import { beginSuspectTurn, endSuspectTurn } from '../../src/jobs/suspect-store.ts';
import { SuspectTurns } from '../../src/jobs/suspect-turns.ts';
import type { JobWorker, WorkerOptions } from '../../src/jobs/worker.ts';
import { touchWorker } from '../../src/jobs/worker-store.ts';
import { until } from '../support/until.ts';
import { LEASE_MS, openQueue, type QueueUnderTest } from './queue-under-test.ts';

const HOUR_MS = 3_600_000;
const JOB_MS = 20;
/** Times of turns that are short enough for many of them in a test. */
const SHORT = { waitMs: 50, turnMsMin: 100, turnMsMax: 100, pauseMsMin: 100, checkEveryMs: 20 };
let queue: QueueUnderTest;
let workers: JobWorker[] = [];
/** Jobs of all workers: the ids of those that a worker ran beside each other at each start of one, in order. */
let starts: { workerId: string; ids: string[] }[] = [];
/** Ends of the jobs that run until a test ends them. */
const ends = new Map<string, () => void>();

beforeAll(async () => {
  queue = await openQueue();
});
afterAll(() => queue.db.drop());
beforeEach(async () => {
  starts = [];
  ends.clear();
  await queue.clear();
});
afterEach(async () => {
  for (const end of ends.values()) end();
  await Promise.all(workers.map((worker) => worker.stop()));
  workers = [];
});

/** Start a worker, whose jobs take `JOB_MS`, or until the test ends them if they are among `long`. */
async function startWorker(
  options: Partial<WorkerOptions>,
  long: ReadonlySet<string> = new Set(),
  onDone: (id: string) => Promise<unknown> = async () => {},
): Promise<JobWorker> {
  const running = new Set<string>();
  const run = async (lease: Lease) => {
    const { id } = lease.job;
    running.add(id);
    starts.push({ workerId: worker.id, ids: [...running] });
    await (long.has(id) ? new Promise<void>((resolve) => ends.set(id, resolve)) : delay(JOB_MS));
    running.delete(id);
    await queue.complete(lease);
    await onDone(id);
  };
  const worker = queue.worker({ run }, { sweepMs: 50, suspects: SHORT, ...options });
  workers.push(worker);
  await worker.start();
  return worker;
}

async function submitMany(count: number, org: 'org_a' | 'org_b'): Promise<string[]> {
  return Promise.all(Array.from({ length: count }, () => queue.submit({ org })));
}

async function areReady(ids: readonly string[]): Promise<boolean> {
  const [row] = await queue.sql`
    SELECT count(*)::int AS n FROM jobs WHERE status = 'ready' AND id = ANY(${queue.sql.array([...ids])}::text[])`;
  return row?.['n'] === ids.length;
}

/** Return the sets of jobs in which a worker ran a job. */
const besides = (id: string) => starts.filter(({ ids }) => ids.includes(id)).map(({ ids }) => ids);

async function workersWithTurn(): Promise<string[]> {
  return (await queue.sql`SELECT id FROM workers WHERE suspect_turn_at IS NOT NULL`).map((row) => row['id'] as string);
}

describe('a worker beside a job that has lost its lease', () => {
  it('other jobs go on while a long job keeps the only worker from running a suspect alone', async () => {
    const long = await queue.submit();
    await startWorker({}, new Set([long]));
    await until(async () => ends.has(long));
    const suspect = await queue.submitSuspect(HOUR_MS);
    const others = await submitMany(20, 'org_b');
    await until(() => areReady(others), { what: 'the end of the other jobs' });
    expect(await queue.statusOf(suspect)).toBe('queued');
    ends.get(long)?.();
    await until(() => areReady([suspect]));
    expect(besides(suspect)).toEqual([[suspect]]);
  });

  it('a suspect runs alone although the queue is never empty', async () => {
    await submitMany(8, 'org_b');
    await startWorker({ concurrency: 4 }, new Set(), () => queue.submit({ org: 'org_b' }));
    await until(async () => starts.length > 4);
    const suspect = await queue.submitSuspect(HOUR_MS);
    await until(() => areReady([suspect]));
    expect(besides(suspect)).toEqual([[suspect]]);
  });

  it('a worker that finds no other job runs a suspect at once', async () => {
    const suspect = await queue.submitSuspect(0);
    await startWorker({ suspects: { waitMs: HOUR_MS } });
    await until(() => areReady([suspect]));
  });

  it('an organization with many suspects takes a part of the time of a worker only', async () => {
    const suspects: string[] = [];
    for (let i = 0; i < 20; i++) suspects.push(await queue.submitSuspect(HOUR_MS, 'org_a'));
    const others = await submitMany(20, 'org_b');
    await startWorker({});
    await until(() => areReady([...suspects, ...others]));
    const order = starts.map(({ ids }) => ids.at(-1) as string);
    const last = (ids: readonly string[]) => Math.max(...ids.map((id) => order.indexOf(id)));
    expect(suspects).toContain(order[0]);
    expect(last(others)).toBeLessThan(last(suspects));
    for (const suspect of suspects) expect(besides(suspect)).toEqual([[suspect]]);
  });

  it.each(['passes a checkpoint', 'has run alone for long'])('other jobs run beside a suspect that %s', async (way) => {
    const leases: Lease[] = [];
    const end = Promise.withResolvers<void>();
    const run = async (lease: Lease) => {
      leases.push(lease);
      if (lease.job.crashCount > 0) await end.promise;
      await queue.complete(lease);
    };
    const aloneMsMax = way === 'has run alone for long' ? 100 : HOUR_MS;
    const worker = queue.worker({ run }, { sweepMs: 50, suspects: { ...SHORT, turnMsMax: HOUR_MS, aloneMsMax } });
    workers.push(worker);
    const suspect = await queue.submitSuspect(HOUR_MS);
    await worker.start();
    await until(async () => leases.length === 1, { what: 'the suspect' });
    const others = await submitMany(5, 'org_b');
    if (way === 'passes a checkpoint') {
      expect(await areReady(others)).toBe(false);
      leases[0]?.passCheckpoint();
    }
    await until(() => areReady(others), { what: 'the other jobs' });
    expect(await queue.statusOf(suspect)).not.toBe('ready');
    end.resolve();
    await until(() => areReady([suspect]), { what: 'the end of the suspect' });
  });

  it('of two workers one makes room for a suspect and then runs it alone, and the other goes on', async () => {
    const [first, second, third] = (await submitMany(3, 'org_a')) as [string, string, string];
    const long = new Set([first, second, third]);
    const suspects = { ...SHORT, turnMsMin: HOUR_MS, turnMsMax: HOUR_MS };
    await startWorker({ suspects }, long);
    await until(async () => ends.size === 2);
    await startWorker({ suspects }, long);
    await until(async () => ends.size === 3);
    ends.get(starts[0]?.ids[0] as string)?.();

    const suspect = await queue.submitSuspect(HOUR_MS);
    const [holder] = await until(async () => {
      const found = await workersWithTurn();
      return found.length > 0 && found;
    });
    const others = await submitMany(20, 'org_b');
    await until(() => areReady(others), { what: 'the end of the other jobs' });
    expect(await workersWithTurn()).toEqual([holder]);
    const runBy = (id: string) => starts.find(({ ids }) => ids.includes(id))?.workerId;
    for (const other of others) expect(runBy(other)).not.toBe(holder);
    expect(await queue.statusOf(suspect)).toBe('queued');

    for (const id of long) if (runBy(id) === holder) ends.get(id)?.();
    await until(() => areReady([suspect]));
    expect(besides(suspect)).toEqual([[suspect]]);
    expect(runBy(suspect)).toBe(holder);
    await until(async () => (await workersWithTurn()).length === 0, { what: 'the end of the turn' });
  });
});

describe('turns for suspects', () => {
  const touch = (id: string) => touchWorker(queue.sql, { id, kind: 'ingest', host: 'h', pid: 1 });
  const begin = (id: string) => beginSuspectTurn(queue.sql, 'ingest', id, LEASE_MS);
  const turnsOf = (id: string, times: Partial<typeof SHORT>) =>
    new SuspectTurns(queue.sql, { id, kind: 'ingest', leaseMs: LEASE_MS }, { ...SHORT, ...times });

  it('one worker of a kind has a turn at a time, until it ends it or has no heartbeat', async () => {
    for (const id of ['wrk_a', 'wrk_b', 'wrk_c']) await touch(id);
    const began = await Promise.all(['wrk_a', 'wrk_b', 'wrk_c'].map(begin));
    expect(began.filter((isMine) => isMine).length).toBeLessThanOrEqual(1);
    for (const id of ['wrk_a', 'wrk_b', 'wrk_c']) await endSuspectTurn(queue.sql, id);
    expect([await begin('wrk_a'), await begin('wrk_b')]).toEqual([true, false]);
    await endSuspectTurn(queue.sql, 'wrk_a');
    expect([await begin('wrk_b'), await begin('wrk_a')]).toEqual([true, false]);
    await queue.sql`UPDATE workers SET seen_at = now() - ${2 * LEASE_MS} * interval '1 millisecond' WHERE id = 'wrk_b'`;
    expect(await begin('wrk_a')).toBe(true);
  });

  it('a turn begins once a suspect has waited for long, and ends when no suspect is due', async () => {
    await touch('wrk_a');
    const turns = turnsOf('wrk_a', { waitMs: 60_000, turnMsMax: HOUR_MS, checkEveryMs: 0 });
    expect(await turns.isOpen()).toBe(false);
    const suspect = await queue.submitSuspect(10_000);
    expect(await turns.isOpen()).toBe(false);
    await queue.sql`UPDATE jobs SET updated_at = now() - interval '2 minutes' WHERE id = ${suspect}`;
    expect(await turns.isOpen()).toBe(true);
    expect(await workersWithTurn()).toEqual(['wrk_a']);
    await queue.sql`DELETE FROM jobs`;
    expect(await turns.isOpen()).toBe(false);
    expect(await workersWithTurn()).toEqual([]);
  });

  it('after a turn a worker claims other jobs for at least as long before its next turn', async () => {
    await touch('wrk_a');
    await queue.submitSuspect(HOUR_MS);
    const turns = turnsOf('wrk_a', { checkEveryMs: 0, pauseMsMin: 0 });
    const beganMs = performance.now();
    expect(await turns.isOpen()).toBe(true);
    await until(async () => !(await turns.isOpen()), { everyMs: 5, what: 'the end of the turn' });
    const endedMs = performance.now();
    await until(() => turns.isOpen(), { everyMs: 5, what: 'the next turn' });
    expect(endedMs - beganMs).toBeGreaterThanOrEqual(SHORT.turnMsMin);
    expect(performance.now() - endedMs).toBeGreaterThanOrEqual(SHORT.turnMsMin / 2);
  });
});
