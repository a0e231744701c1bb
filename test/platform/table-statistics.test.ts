import { afterAll, beforeAll, expect, it } from 'vitest';
import { statisticsChore } from '../../src/platform/table-statistics.ts';
import { createTestDatabase, type TestDatabase } from '../support/postgres.ts';
import { until } from '../support/until.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase({ isEmpty: true, poolMax: 1 });
});
afterAll(() => database.drop());

/** Rows of a table that PostgreSQL plans with; -1: it has no statistics. */
async function plannedRows(name: string): Promise<number> {
  const [row] = await database.sql`SELECT reltuples FROM pg_class WHERE relname = ${name}`;
  return row?.['reltuples'] as number;
}

it('tables that have some rows and no statistics are analysed, and no others', async () => {
  const { sql } = database;
  for (const [name, rows] of [
    ['filled', 300],
    ['nearly empty', 10],
  ] as const) {
    await sql`CREATE TABLE ${sql(name)} (n integer) WITH (autovacuum_enabled = false)`;
    await sql`INSERT INTO ${sql(name)} SELECT n FROM generate_series(1, ${rows}) AS n`;
  }
  await sql`SELECT pg_stat_force_next_flush()`;
  const chore = statisticsChore(sql);
  await until(async () => {
    await chore.run(new AbortController().signal);
    return (await plannedRows('filled')) === 300;
  });
  expect(await plannedRows('nearly empty')).toBe(-1);
  const analysed = async () =>
    (await sql`SELECT last_analyze FROM pg_stat_user_tables WHERE relname = 'filled'`)[0]?.['last_analyze'];
  const before = await analysed();
  await sql`INSERT INTO filled SELECT n FROM generate_series(1, 1000) AS n`;
  await chore.run(new AbortController().signal);
  expect(await analysed()).toEqual(before);
});
