import { afterAll, beforeAll, expect, it } from 'vitest';
import { unprepared } from '../../src/platform/postgres/unprepared.ts';
import { createTestDatabase, type TestDatabase } from '../support/postgres.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase({ isEmpty: true, poolMax: 1 });
});
afterAll(() => database.drop());

it('an unprepared query leaves no prepared statement on the connection, in a transaction and outside', async () => {
  const { sql } = database;
  const part = sql`${'b'}::text`;
  expect((await unprepared(sql`SELECT ${'a'}::text AS one, ${part} AS two`))[0]).toEqual({ one: 'a', two: 'b' });
  await sql.begin((tx) => unprepared(tx`SELECT ${[1, 2]}::int[] AS three`));
  await sql`SELECT ${'c'}::text AS kept`;
  const kept = await sql`SELECT statement FROM pg_prepared_statements WHERE statement LIKE 'SELECT $1%'`;
  expect(kept.map((row) => row['statement'])).toEqual(['SELECT $1::text AS kept']);
});
