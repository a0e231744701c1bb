import { expect, test } from 'vitest';
import { createTestRandom } from '../support/random.ts';
import { checkLiveApprovals } from './live-approvals.ts';

test('300 random workflows cause at the provider, in the bucket and on documents what was approved, and nothing else', {
  timeout: 1_200_000,
}, async () => {
  const { done, withheld } = await checkLiveApprovals(createTestRandom('live approvals'), 300);
  expect(done).toBeGreaterThan(50);
  expect(withheld).toBeGreaterThan(50);
});
