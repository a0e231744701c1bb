import { defineConfig } from 'vitest/config';
import config from './vitest.config.ts';

/** `npm run test:long`: the long tests (`*.long.test.ts`), each file in a process of its own. */
export default defineConfig({
  test: {
    ...config.test,
    isolate: true,
    include: ['test/**/*.long.test.ts'],
    exclude: [],
  },
});
