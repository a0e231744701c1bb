import { defineConfig } from 'vitest/config';

/** `npm test`: everything but the long tests (`*.long.test.ts`), most of which have a short part here. */
export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    exclude: ['test/**/*.long.test.ts', 'test/**/*.extended.test.ts'],
    globalSetup: ['test/support/global-setup.ts'],
    setupFiles: ['test/support/compile-cache.ts', 'test/support/report-seed.ts'],
    // Node reads the sources itself, as in production, and caches what it compiled for the next process.
    // Most tests need no meanings, and the lexical model starts no process.
    env: { SERVICE_BUILT_IN_MODEL: 'lexical' },
    experimental: { viteModuleRunner: false, nodeLoader: false },
    pool: 'forks',
    // The files share three processes, since reading the sources anew for each takes a third of the time. Many tests wait,
    // so two processes leave a third of two cores idle. `test:long` isolates its files.
    isolate: false,
    maxWorkers: 3,
    // Generous: a test that hangs is rare, a machine that is busy with something else is not.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    // As `until` of test/support/until.ts; the default of a second is too short on a busy machine.
    expect: { poll: { timeout: 20_000, interval: 20 } },
    retry: 0,
  },
});
