import { defineConfig } from 'vitest/config';

/** `npm run test:faults`: the promises of the job engine against kills, pauses and outages, with figures at the end. */
export default defineConfig({
  test: {
    include: ['test/faults/*.faults.ts'],
    globalSetup: ['test/support/global-setup.ts', 'test/faults/setup.ts'],
    pool: 'forks',
    // What is measured must not wait for another test's processes.
    maxWorkers: 1,
    fileParallelism: false,
    testTimeout: 180_000,
    hookTimeout: 60_000,
    retry: 0,
  },
});
