import { afterAll, beforeAll, expect, it } from 'vitest';
import { KilledBatchWorker } from './killed-batch-worker.ts';

const REQUESTS = 4_000;
const KILLS = 10;

let killed: KilledBatchWorker;
beforeAll(async () => {
  killed = await KilledBatchWorker.open();
});
afterAll(() => killed.close());

it('a batch whose worker is killed ten times has the same files as one that runs through, and no stored chunk is embedded again', {
  timeout: 600_000,
}, async () => {
  const whole = await killed.run(REQUESTS, 0);
  const interrupted = await killed.run(REQUESTS, KILLS);
  expect(interrupted.output === whole.output).toBe(true);
  expect(interrupted.errors).toBe(whole.errors);
  expect(whole.output.trimEnd().split('\n')).toHaveLength(REQUESTS);
  await killed.expectNothingTwice(2, 2 * REQUESTS);
});
