import { beforeEach } from 'vitest';
import { SEED, wereDiceThrown } from './dice.ts';

beforeEach(({ onTestFailed, task }) =>
  onTestFailed(() => {
    if (wereDiceThrown())
      process.stderr.write(`"${task.name}" failed with TEST_SEED=${SEED}, which repeats its choices\n`);
  }),
);
