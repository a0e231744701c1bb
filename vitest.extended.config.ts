import { defineConfig } from 'vitest/config';
import config from './vitest.config.ts';

/** `npm run test:extended`: tests at full size (`*.extended.test.ts`), which take minutes each and are not run by CI. */
export default defineConfig({
  test: { ...config.test, isolate: true, include: ['test/**/*.extended.test.ts'], exclude: [] },
});
