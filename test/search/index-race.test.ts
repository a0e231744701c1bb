import path from 'node:path';
import { afterEach, beforeEach, it } from 'vitest';
import { makeDataDir } from '../support/appliance.ts';
import { createTestDatabase, type TestDatabase } from '../support/postgres.ts';
import { expectCleanRace } from './expect-clean-race.ts';

let database: TestDatabase;
let directory: ReturnType<typeof makeDataDir>;
beforeEach(async () => {
  database = await createTestDatabase();
  directory = makeDataDir();
});
afterEach(async () => {
  directory.remove();
  await database.drop();
});

it('two processes that write to one index and one that reads it lose and double no row', async () => {
  await expectCleanRace(database, [path.join(directory.dataDir, 'index')], 60);
});
