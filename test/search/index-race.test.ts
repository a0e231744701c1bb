import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { indexOnS3 } from '../../src/search/index-on-s3.ts';
import { makeDataDir } from '../support/appliance.ts';
import { type IndexPlace, runIndexRace } from '../support/index-race.ts';
import { createTestDatabase, type TestDatabase } from '../support/postgres.ts';
import { s3Available, s3Settings, startS3 } from '../support/s3.ts';

let database: TestDatabase;
beforeEach(async () => {
  database = await createTestDatabase();
});
afterEach(() => database.drop());

async function race(place: IndexPlace, operations: number): Promise<void> {
  const report = await runIndexRace(database.sql, { databaseUrl: database.url, place, operations, seed: 7 });
  expect(report).toMatchObject({ rowsLost: 0, rowsDoubled: 0, rowsLeftOver: 0, readFaults: [] });
  expect(report.rowsExpected).toBeGreaterThan(operations / 2);
  expect(report.reads).toBeGreaterThan(5);
}

describe("two processes that write to one bucket's index and one that reads it lose and double no row", () => {
  it('on disk, in 500 operations', { timeout: 120_000 }, async () => {
    const { dataDir, remove } = makeDataDir();
    try {
      await race([path.join(dataDir, 'index')], 500);
    } finally {
      remove();
    }
  });

  it.skipIf(!s3Available())('on S3, in 120 operations', { timeout: 120_000 }, async () => {
    const s3 = await startS3();
    try {
      await race(indexOnS3(s3Settings(s3.endpoint, await s3.createBucket(), { prefix: 'service/' })), 120);
    } finally {
      await s3.drop();
    }
  });
});
