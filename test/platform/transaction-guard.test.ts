import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Sql } from '../../src/platform/postgres.ts';
import { createTestDatabase, type TestDatabase } from '../support/postgres.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase({ isEmpty: true });
});
afterAll(() => database.drop());

const settings = (sql: Sql) => sql`
  select current_setting('idle_in_transaction_session_timeout') as idle, current_setting('lock_timeout') as lock`;

test('the server limits idle transactions and waits for rows in transactions, and nothing outside of them', async () => {
  const { sql } = database;
  expect(await sql.begin((tx) => settings(tx))).toEqual([{ idle: '10s', lock: '15s' }]);
  const readOnly = await sql.begin('isolation level repeatable read read only', (tx) => settings(tx));
  expect(readOnly).toEqual([{ idle: '10s', lock: '15s' }]);
  expect(await settings(sql)).toEqual([{ idle: '0', lock: '0' }]);
});

test('a transaction that sets its own limits keeps them', async () => {
  const own = await database.sql.begin(async (tx) => {
    await tx`select set_config('lock_timeout', '0', true)`;
    return settings(tx);
  });
  expect(own).toMatchObject([{ lock: '0' }]);
});
