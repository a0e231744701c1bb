import { expect } from 'vitest';
import { createTestRandom } from '../support/random.ts';
import { drawSteps } from './operations.ts';
import { runSteps } from './run-steps.ts';

const KILL_EVERY = 15;

/** Run random operations on an installation, and expect the state that some order of them leads to. */
export async function expectAgreement(steps: number): Promise<void> {
  const result = await runSteps(drawSteps(createTestRandom('random operations'), steps, KILL_EVERY));
  expect(result.mismatch === null ? null : `step ${result.mismatch.step}: ${result.mismatch.message}`).toBeNull();
  expect(result.documents).toBeGreaterThan(0);
}
