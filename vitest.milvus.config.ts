import { defineConfig } from 'vitest/config';
import tests from './vitest.config.ts';

/**
 * `npm run test:milvus`: tests of uploads, searches, rights and statements with every bucket on Milvus. Those that look
 * into LanceDB's tables and copies are left out.
 */
export default defineConfig({
  test: {
    ...tests.test,
    include: [
      'test/search/search.test.ts',
      'test/search/search-of-changes.test.ts',
      'test/api/search-*.test.ts',
      'test/api/vector-imports.test.ts',
      'test/documents/*.test.ts',
      'test/metadata/*.test.ts',
      'test/vector-stores/*.test.ts',
    ],
    exclude: [...(tests.test?.exclude ?? []), 'test/documents/damaged-bucket.test.ts'],
    globalSetup: ['test/support/global-setup.ts', 'test/milvus/setup.ts'],
    // The installations of all files share one Milvus Lite.
    maxWorkers: 1,
  },
});
