import { expect, it } from 'vitest';
import { drawSteps } from '../random/operations.ts';
import { play } from '../random/play.ts';
import { shrink } from '../random/shrink.ts';
import { createRandom, createTestRandom } from '../support/random.ts';
import { reportFigures } from './report-figures.ts';
import { scaled } from './scaled.ts';

const LASTS_MS = 150_000;
const SHRINKS_MS = 90_000;
const STEPS = 80;
const KILL_EVERY = 25;

it('whatever is done to documents at once and in whatever order, lists, searches and stores agree with it', {
  timeout: LASTS_MS + SHRINKS_MS + 120_000,
}, async () => {
  const random = createTestRandom('random operations');
  const endMs = performance.now() + scaled(LASTS_MS);
  const sum = { seeds: 0, steps: 0, operations: 0, settles: 0, documents: 0, searches: 0 };
  let story: string | null = null;
  while (story === null && performance.now() < endMs) {
    const seed = random.int(2 ** 31);
    const steps = drawSteps(createRandom(seed), STEPS, KILL_EVERY);
    const played = await play(steps);
    sum.seeds++;
    for (const key of ['steps', 'operations', 'settles', 'documents', 'searches'] as const) sum[key] += played[key];
    if (!played.mismatch) continue;
    story = `seed ${seed}, step ${played.mismatch.step}: ${played.mismatch.message}`;
    const shrunk = await shrink(steps, played.mismatch, performance.now() + SHRINKS_MS);
    if (shrunk) story += `\n\nand from step ${shrunk.from} on: ${shrunk.mismatch.message}`;
  }
  reportFigures({
    promise: 'operations at random against a model in memory',
    ...{ n: sum.operations, lost: story === null ? 0 : 1, doubled: 0, stuck: 0, worstRecoveryMs: null },
    note: `${sum.seeds} seeds, ${sum.steps} steps, ${sum.documents} documents and ${sum.searches} answers compared`,
  });
  expect(story).toBeNull();
});
