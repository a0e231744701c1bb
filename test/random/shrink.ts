import type { Step } from './operations.ts';
import { type Played, play } from './play.ts';

/** What falls when is up to the machine, so that not every replay shows it again. */
const TRIES = 3;

/** The fewest last steps before a mismatch that show one too, of 1, 2, 4 and so on. Null: none of them did. */
export async function shrink(
  steps: readonly Step[],
  found: NonNullable<Played['mismatch']>,
  untilMs: number,
): Promise<{ from: number; mismatch: NonNullable<Played['mismatch']> } | null> {
  for (let count = 1; count < found.step; count *= 2) {
    const from = found.step - count;
    for (let tried = 0; tried < TRIES && performance.now() < untilMs; tried++) {
      const { mismatch } = await play(steps.slice(from, found.step));
      if (mismatch) return { from: from + 1, mismatch };
    }
  }
  return null;
}
