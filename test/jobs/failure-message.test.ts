import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { REFUSED_MESSAGE } from '../../src/jobs/failure-message.ts';
import { JobError } from '../../src/jobs/lease.ts';
import { failStale } from '../../src/jobs/operation-store.ts';
import type { Job } from '../../src/jobs/schema.ts';
import type { JobFailure } from '../../src/jobs/store.ts';
import type { JobWorker } from '../../src/jobs/worker.ts';
import { until } from '../support/until.ts';
import { openQueue, type QueueUnderTest } from './queue-under-test.ts';

const UNSTORABLE = 'line 1:\n"\u0000" is out\u001b[31m of place \ud83d';
const STORED = 'line 1: " " is out [31m of place \ufffd';
let queue: QueueUnderTest;
let worker: JobWorker | null = null;

beforeAll(async () => {
  queue = await openQueue();
});
afterAll(() => queue.db.drop());
beforeEach(() => queue.clear());
afterEach(async () => {
  await worker?.stop();
  worker = null;
});

/** Start a worker whose jobs all fail, and return the failures that its cleanup was called with. */
async function startFailing(message: string, retryable: boolean): Promise<JobFailure[]> {
  const failures: JobFailure[] = [];
  const run = async () => {
    throw new JobError({ category: 'corrupt', message, retryable });
  };
  worker = queue.worker({ run, onFailed: async (_tx, _job, failure) => void failures.push(failure) });
  await worker.start();
  return failures;
}

/** Wait until a failure of a job is recorded, and return the job as it was then. */
function readRecorded(id: string, status: string) {
  return until(async () => {
    const job = await queue.read(id);
    return job.error_message !== null && job.status === status && job;
  });
}

describe('the message of a failure', () => {
  it.each([
    { retryable: false, status: 'failed' },
    { retryable: true, status: 'queued' },
  ])('a message that PostgreSQL refuses is stored on one printable line, retryable: $retryable', async (expected) => {
    const id = await queue.submit();
    await startFailing(UNSTORABLE, expected.retryable);
    const recorded = await readRecorded(id, expected.status);
    expect(recorded).toMatchObject({ ...expected, error_category: 'corrupt', error_message: STORED });
  });

  it('a message of any length is stored cut', async () => {
    const id = await queue.submit();
    await startFailing('x'.repeat(100_000), false);
    await until(async () => (await queue.statusOf(id)) === 'failed');
    expect((await queue.read(id)).error_message).toMatch(/^x{1999}…$/);
  });

  it('a job that is reaped with a message that PostgreSQL refuses is failed with a printable one', async () => {
    const id = await queue.submit();
    const [held] = (await queue.claim(1, 60_000)) as [Job];
    await queue.sql`UPDATE jobs SET checkpoint_at = now() - interval '1 hour'`;
    const failure = { category: 'stale', message: UNSTORABLE, retryable: true } as const;
    expect(await failStale(queue.sql, held, 1_000, failure)).toBe(true);
    expect(await queue.read(id)).toMatchObject({ status: 'failed', error_message: STORED });
  });

  it.each([
    { retryable: false, status: 'failed' },
    { retryable: true, status: 'queued' },
  ])('a job whose message PostgreSQL refuses in any form gets a fixed one, retryable: $retryable', async (expected) => {
    await queue.sql`ALTER TABLE jobs ADD CONSTRAINT message_refused CHECK (error_message NOT LIKE '%secret%')`;
    try {
      const id = await queue.submit();
      const failures = await startFailing('a secret message', expected.retryable);
      const recorded = await readRecorded(id, expected.status);
      expect(recorded).toMatchObject({ ...expected, error_category: 'corrupt', error_message: REFUSED_MESSAGE });
      expect(failures.map(({ message }) => message)).toEqual(expected.retryable ? [] : [REFUSED_MESSAGE]);
      const [row] = await queue.sql`SELECT crash_count FROM jobs`;
      expect(row).toEqual({ crash_count: 0 });
    } finally {
      await queue.sql`ALTER TABLE jobs DROP CONSTRAINT message_refused`;
    }
  });
});
