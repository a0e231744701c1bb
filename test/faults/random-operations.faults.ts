import { expect, it } from 'vitest';
import { drawSteps } from '../random/operations.ts';
import { runSteps } from '../random/run-steps.ts';
import { shrink } from '../random/shrink.ts';
import { createRandom, createTestRandom } from '../support/random.ts';
import { reportFigures } from './report-figures.ts';
import { scaled } from './scaled.ts';

const RUN_MS = 150_000;
const SHRINK_MS = 90_000;
const STEPS = 80;
const KILL_EVERY = 25;

it('lists, searches and stores agree with any concurrent operations on documents in some order of them', {
  timeout: RUN_MS + SHRINK_MS + 120_000,
}, async () => {
  const random = createTestRandom('random operations');
  const endMs = performance.now() + scaled(RUN_MS);
  const sum = { seeds: 0, steps: 0, operations: 0, settles: 0, documents: 0, searches: 0 };
  let failure: string | null = null;
  while (failure === null && performance.now() < endMs) {
    const seed = random.int(2 ** 31);
    const steps = drawSteps(createRandom(seed), STEPS, { killEvery: KILL_EVERY });
    const result = await runSteps(steps);
    sum.seeds++;
    for (const key of ['steps', 'operations', 'settles', 'documents', 'searches'] as const) sum[key] += result[key];
    if (!result.mismatch) continue;
    failure = `seed ${seed}, step ${result.mismatch.step}: ${result.mismatch.message}`;
    const shrunk = await shrink(steps, result.mismatch, performance.now() + SHRINK_MS);
    if (shrunk) failure += `\n\nand from step ${shrunk.from} on: ${shrunk.mismatch.message}`;
  }
  reportFigures({
    guarantee: 'random operations compared with a model in memory',
    ...{ n: sum.operations, lost: failure === null ? 0 : 1, doubled: 0, stuck: 0, worstRecoveryMs: null },
    note: `${sum.seeds} seeds, ${sum.steps} steps, ${sum.documents} documents and ${sum.searches} answers compared`,
  });
  expect(failure).toBeNull();
});
