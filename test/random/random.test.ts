import { expect, it } from 'vitest';
import { createTestRandom } from '../support/random.ts';
import { drawSteps } from './operations.ts';
import { runSteps } from './run-steps.ts';

const STEPS = 50;
const KILL_EVERY = 15;

it('the installation agrees with concurrent uploads, edits, deletions, cancels and crashes in some order of them', {
  timeout: 120_000,
}, async () => {
  const result = await runSteps(drawSteps(createTestRandom('random operations'), STEPS, KILL_EVERY));
  expect(result.mismatch === null ? null : `step ${result.mismatch.step}: ${result.mismatch.message}`).toBeNull();
  expect(result.documents).toBeGreaterThan(0);
});
