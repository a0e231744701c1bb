import { defineConfig } from 'vitest/config';
import faults from './vitest.faults.config.ts';

/** `npm run test:cluster`: the service as many processes over every server it can use, each pair cut off for a while. */
export default defineConfig({
  test: { ...faults.test, include: ['test/cluster/*.cluster.ts'], sequence: {}, testTimeout: 7_200_000 },
});
