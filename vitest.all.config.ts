import { defineConfig } from 'vitest/config';
import config from './vitest.config.ts';

/** `npm run test:all`: the long tests too, as CI runs them. */
export default defineConfig({ test: { ...config.test, exclude: ['test/**/*.extended.test.ts'] } });
