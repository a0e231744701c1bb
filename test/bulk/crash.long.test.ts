import { afterAll, beforeAll, it } from 'vitest';
import { KilledBulkWorker } from './killed-bulk-worker.ts';

/** Kills per job; as many without progress would fail the job as one that kills its workers. */
const KILLS_A_JOB = 3;

let killed: KilledBulkWorker;
beforeAll(async () => {
  killed = await KilledBulkWorker.open();
});
afterAll(() => killed.close());

it('a bulk job continues in the next worker after each kill -9 of its worker, and no stored chunk is embedded again', {
  timeout: 600_000,
}, async () => {
  for (let job = 0; job < 2; job++) await killed.runJob(2_000, KILLS_A_JOB);
  await killed.expectNothingTwice();
});
