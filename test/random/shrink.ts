import type { Step } from './operations.ts';
import { type RunResult, runSteps } from './run-steps.ts';

/** Number of tries, since timing depends on the machine and not every run shows the mismatch again. */
const TRIES = 3;

/** Find the shortest suffix of 1, 2, 4, … steps before a mismatch that shows one too. @returns null if there is none */
export async function shrink(
  steps: readonly Step[],
  found: NonNullable<RunResult['mismatch']>,
  untilMs: number,
): Promise<{ from: number; mismatch: NonNullable<RunResult['mismatch']> } | null> {
  for (let count = 1; count < found.step; count *= 2) {
    const from = found.step - count;
    for (let tried = 0; tried < TRIES && performance.now() < untilMs; tried++) {
      const { mismatch } = await runSteps(steps.slice(from, found.step));
      if (mismatch) return { from: from + 1, mismatch };
    }
  }
  return null;
}
