import { defineConfig } from 'vitest/config';
import config from './vitest.config.ts';

// Projects add to the lists of files of what they extend.
const { include: _, exclude: __, ...common } = config.test ?? {};

/** Tests that keep every core busy. No other test runs beside them. */
const BUSY = ['test/ingest/busy-host.long.test.ts', 'test/jobs/stop.long.test.ts'];

/** `npm run test:long`: the long tests (`*.long.test.ts`), each file in a process of its own. */
export default defineConfig({
  test: {
    ...common,
    isolate: true,
    // Many of them wait for leases, children and browsers: a third process uses the quarter of two cores that two leave idle.
    maxWorkers: 3,
    projects: [
      {
        extends: true,
        test: { name: 'long', include: ['test/**/*.long.test.ts'], exclude: BUSY, sequence: { groupOrder: 0 } },
      },
      {
        extends: true,
        test: { name: 'busy', include: BUSY, fileParallelism: false, sequence: { groupOrder: 1 } },
      },
    ],
  },
});
