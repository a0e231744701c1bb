import { expect, it } from 'vitest';
import { createTestRandom } from '../support/random.ts';
import { ModelSwitches } from './model-switches.ts';

it('random switches of models lose no document and keep no deleted one: a short run', async () => {
  const run = await ModelSwitches.open(createTestRandom('a short run of model switches'));
  try {
    for (let round = 0; round < 3; round++) {
      for (let n = 0; n < 40; n++) await run.step(60);
      await run.compare();
    }
    expect(run.searches).toBeGreaterThan(0);
  } finally {
    await run.close();
  }
}, 900_000);
