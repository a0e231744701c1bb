import { expect, it } from 'vitest';
import { createTestRandom } from '../support/random.ts';
import { drawSteps } from './operations.ts';
import { play } from './play.ts';

const STEPS = 50;
const KILL_EVERY = 15;

it('holds what uploads, edits, deletions, cancels and crashes at once have made of it, whatever their order', {
  timeout: 120_000,
}, async () => {
  const played = await play(drawSteps(createTestRandom('random operations'), STEPS, KILL_EVERY));
  expect(played.mismatch === null ? null : `step ${played.mismatch.step}: ${played.mismatch.message}`).toBeNull();
  expect(played.documents).toBeGreaterThan(0);
});
