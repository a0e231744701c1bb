import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Lease } from '../../src/jobs/lease.ts';
import { type Database, openPostgres } from '../../src/platform/postgres.ts';
import { openPostgresInterceptor, type PostgresInterceptor } from '../support/postgres-interceptor.ts';
import { until } from '../support/until.ts';
import { openQueue, type QueueUnderTest } from './queue-under-test.ts';

let queue: QueueUnderTest;

beforeAll(async () => {
  queue = await openQueue();
});
afterAll(() => queue.db.drop());

const untilAborted = (lease: Lease) =>
  new Promise<never>((_resolve, reject) => lease.signal.addEventListener('abort', () => reject(lease.signal.reason)));

const counts = async (id: string) =>
  (await queue.sql`SELECT status, crash_count, retry_count FROM jobs WHERE id = ${id}`)[0];

/** Wait for ever: the answer is lost once the test closes the connection. */
const NEVER = new Promise<void>(() => {});

describe('a worker whose claim or return of a job is lost on the way', () => {
  let network: PostgresInterceptor;
  let own: Database;
  beforeEach(async () => {
    await queue.clear();
    network = await openPostgresInterceptor(queue.db.connection);
    own = openPostgres(network.connection, { poolMax: 3, applicationName: 'behind-interceptor' });
    return async () => {
      await own.end({ timeout: 1 });
      await network.close();
    };
  });

  /** Close the connection that sends a statement: before PostgreSQL has it, or after it is done and before the answer. */
  const loseOnce = (part: string, lostMoment: 'before' | 'after', times = 1): (() => number) => {
    let lost = 0;
    network.listener = ({ text, rows }, moment) => {
      if (!text.includes(part) || moment !== lostMoment || lost >= times || rows === 0) return null;
      lost++;
      setTimeout(() => network.cut(), 10);
      return NEVER;
    };
    return () => lost;
  };

  it('runs the jobs of a claim whose answer was lost, without waiting for their leases or counting them as lost', async () => {
    const lost = loseOnce('fence = fence + 1', 'after');
    const job = await queue.submit();
    const worker = queue.worker({ run: (lease) => queue.complete(lease) }, { leaseMs: 60_000 }, own);
    await worker.start();
    await until(async () => (await queue.statusOf(job)) === 'ready', { what: 'the job', withinMs: 10_000 });
    await worker.stop();
    expect(lost()).toBe(1);
    expect(await counts(job)).toEqual({ status: 'ready', crash_count: 0, retry_count: 0 });
  });

  it('returns the jobs of a claim whose answer was lost when it stops', async () => {
    const lost = loseOnce('fence = fence + 1', 'after');
    const job = await queue.submit();
    const worker = queue.worker({ run: (lease) => queue.complete(lease) }, { leaseMs: 60_000 }, own);
    await worker.start();
    await until(async () => lost() === 1);
    await worker.stop();
    expect(await counts(job)).toEqual({ status: 'queued', crash_count: 0, retry_count: 0 });
  });

  it('does not return a job that runs', async () => {
    const running = await queue.submit();
    let attempts = 0;
    let finish: () => void = () => {};
    const finished = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const run = async (lease: Lease) => {
      if (lease.job.id === running) {
        attempts++;
        await finished;
      }
      await queue.complete(lease);
    };
    const worker = queue.worker({ run }, { leaseMs: 60_000, sweepMs: 100 }, own);
    await worker.start();
    await until(async () => attempts === 1);
    const lost = loseOnce('fence = fence + 1', 'after');
    const job = await queue.submit();
    await until(async () => (await queue.statusOf(job)) === 'ready', { what: 'the job', withinMs: 10_000 });
    finish();
    await until(async () => (await queue.statusOf(running)) === 'ready');
    await worker.stop();
    expect([lost(), attempts]).toEqual([1, 1]);
  });

  it.each(['before', 'after'] as const)(
    'returns a job at a drain although the statement is lost %s it is done',
    async (moment) => {
      const job = await queue.submit();
      const worker = queue.worker({ run: untilAborted }, { leaseMs: 60_000, drainMs: 50 }, own);
      await worker.start();
      await until(async () => (await queue.statusOf(job)) === 'extracting');
      const lost = loseOnce("status = 'queued', worker_id = NULL", moment);
      await worker.stop();
      expect(lost()).toBe(1);
      expect(await counts(job)).toEqual({ status: 'queued', crash_count: 0, retry_count: 0 });
    },
  );
});
