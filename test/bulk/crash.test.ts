import { afterAll, beforeAll, it } from 'vitest';
import { KilledBulkWorker } from './killed-bulk-worker.ts';

let killed: KilledBulkWorker;
beforeAll(async () => {
  killed = await KilledBulkWorker.open();
});
afterAll(() => killed.close());

it('a bulk job continues in the next worker after a kill -9 of its worker, and no stored chunk is embedded again', async () => {
  await killed.runJob(600, 1);
  await killed.expectNothingTwice();
});
