import { expect, test } from 'vitest';
import { createTestRandom } from '../support/random.ts';
import { checkApprovals } from './approvals.property.ts';

test('in 500 random workflows no side effect happens without its approval, or in a run that is not live', async () => {
  const { done, withheld } = await checkApprovals(createTestRandom('approvals'), 500);
  expect(done).toBeGreaterThan(100);
  expect(withheld).toBeGreaterThan(100);
});
