import { expect, test } from 'vitest';
import { createTestRandom } from '../support/random.ts';
import { checkApprovals } from './approvals.property.ts';

test('in 20,000 random workflows no side effect happens without its approval, or in a run that is not live', {
  timeout: 1_200_000,
}, async () => {
  const { done, withheld } = await checkApprovals(createTestRandom('many approvals'), 20_000);
  expect(done).toBeGreaterThan(4_000);
  expect(withheld).toBeGreaterThan(4_000);
});
