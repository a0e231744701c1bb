import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { until } from '../support/until.ts';
import { openQueue, type QueueUnderTest } from './queue-under-test.ts';

let queue: QueueUnderTest;

beforeAll(async () => {
  queue = await openQueue();
});
afterAll(() => queue.db.drop());
beforeEach(() => queue.clear());

it('a job whose query takes too long each time fails after as many attempts as one with another temporary failure', async () => {
  const job = await queue.submit();
  let attempts = 0;
  const run = async () => {
    attempts++;
    await queue.sql.limited({ ms: 20 })`SELECT pg_sleep(10)`;
  };
  const worker = queue.worker({ run }, { retriesMax: 2 });
  await worker.start();
  await until(
    async () => {
      await queue.sql`UPDATE jobs SET scheduled_at = NULL WHERE status = 'queued'`;
      await queue.notifier.notifyQueued('ingest');
      return (await queue.statusOf(job)) === 'failed' || attempts > 6;
    },
    { what: 'the end of the job' },
  );
  await worker.stop();
  expect(attempts).toBe(3);
  expect(await queue.read(job)).toMatchObject({
    ...{ status: 'failed', error_category: 'timeout', retryable: true, retry_count: 2 },
    error_message: 'the database did not answer a query of the job in time',
  });
});
