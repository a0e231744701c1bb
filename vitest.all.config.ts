import { defineConfig } from 'vitest/config';
import config from './vitest.config.ts';

/** `npm run test:all`: the long tests too, as CI runs them, each file in a process of its own. */
export default defineConfig({ test: { ...config.test, isolate: true, exclude: ['test/**/*.extended.test.ts'] } });
