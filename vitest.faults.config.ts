import { randomInt } from 'node:crypto';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { readSeed } from './test/support/random.ts';

/** Names of the files that compute most: they run first and last, beside those that mostly wait. */
const FIRST = 'kill-api';
const LAST = 'kill-workers';

class FaultSequencer extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) =>
      Number(moduleId.includes(LAST)) - Number(moduleId.includes(FIRST));
    return files.toSorted((a, b) => rank(a) - rank(b));
  }
}

/** `npm run test:faults`: the promises of the job engine against kills, pauses and outages, with figures at the end. */
export default defineConfig({
  test: {
    include: ['test/faults/*.faults.ts'],
    globalSetup: ['test/support/global-setup.ts', 'test/faults/setup.ts'],
    env: { TEST_SEED: String(readSeed(randomInt(2 ** 31))) },
    pool: 'forks',
    maxWorkers: 2,
    sequence: { sequencer: FaultSequencer },
    testTimeout: 900_000,
    hookTimeout: 60_000,
    retry: 0,
  },
});
