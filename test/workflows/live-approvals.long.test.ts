import { expect, test } from 'vitest';
import { createTestRandom } from '../support/random.ts';
import { checkLiveApprovals } from './live-approvals.ts';

test('25 random workflows cause at the provider, in the bucket and on documents what was approved, and nothing else', async () => {
  const { done, withheld } = await checkLiveApprovals(createTestRandom('live approvals'), 25);
  expect(done).toBeGreaterThan(5);
  expect(withheld).toBeGreaterThan(5);
});
