import { expect, it } from 'vitest';
import { createTestRandom } from '../support/random.ts';
import { ModelSwitches } from './model-switches.ts';

const STEPS = 3_000;
/** Steps between two quiet points. */
const ROUND = 100;

it('thousands of random switches of models, outages and kills lose no document and keep no deleted one', async () => {
  const run = await ModelSwitches.open(createTestRandom('model switches'));
  try {
    for (let step = 0; step < STEPS; step += ROUND) {
      for (let n = 0; n < ROUND; n++) await run.step(150);
      await run.compare();
    }
    expect(run.kills).toBeGreaterThan(5);
    expect(run.reembeds).toBeGreaterThan(50);
  } finally {
    await run.close();
  }
}, 3_600_000);
