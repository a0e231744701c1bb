import path from 'node:path';
import { afterEach, beforeEach, it } from 'vitest';
import { indexOnS3 } from '../../src/index/lance/index-on-s3.ts';
import { makeDataDir } from '../support/appliance.ts';
import { createTestDatabase, type TestDatabase } from '../support/postgres.ts';
import { s3Available, s3Settings, startS3 } from '../support/s3.ts';
import { expectCleanRace } from './expect-clean-race.ts';

let database: TestDatabase;
beforeEach(async () => {
  database = await createTestDatabase();
});
afterEach(() => database.drop());

it('two processes that write to one index on disk and one that reads it lose and double no row in 500 operations', {
  timeout: 240_000,
}, async () => {
  const { dataDir, remove } = makeDataDir();
  try {
    await expectCleanRace(database, [path.join(dataDir, 'index')], 500);
  } finally {
    remove();
  }
});

it.skipIf(!s3Available())(
  'two processes that write to one index on S3 and one that reads it lose and double no row in 120 operations',
  { timeout: 240_000 },
  async () => {
    const s3 = await startS3();
    try {
      const settings = s3Settings(s3.endpoint, await s3.createBucket(), { prefix: 'service/' });
      await expectCleanRace(database, indexOnS3(settings), 120);
    } finally {
      await s3.drop();
    }
  },
);
