import { expect } from 'vitest';
import { type IndexPlace, runIndexRace } from '../support/index-race.ts';
import type { TestDatabase } from '../support/postgres.ts';
import { SEED } from '../support/random.ts';

/** Run two writers and a reader of one index, and expect every row to be there once, at any time and at the end. */
export async function expectCleanRace(database: TestDatabase, place: IndexPlace, operations: number): Promise<void> {
  const report = await runIndexRace(database.sql, { databaseUrl: database.url, place, operations, seed: SEED });
  expect(report).toMatchObject({ rowsLost: 0, rowsDoubled: 0, rowsLeftOver: 0, readFaults: [] });
  expect(report.rowsExpected).toBeGreaterThan(operations / 2);
  expect(report.reads).toBeGreaterThan(0);
}
