import { beforeEach } from 'vitest';
import { SEED, wasSeedUsed } from './random.ts';

beforeEach(({ onTestFailed, task }) =>
  onTestFailed(() => {
    if (wasSeedUsed())
      process.stderr.write(`"${task.name}" failed with TEST_SEED=${SEED}; set it to repeat the random choices\n`);
  }),
);
