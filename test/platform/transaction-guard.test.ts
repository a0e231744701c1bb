import { afterAll, beforeAll, expect, test } from 'vitest';
import { inTransaction, type Sql } from '../../src/platform/postgres.ts';
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

test('a change in a pool whose queries are limited happens completely or not at all', async () => {
  const { sql } = database;
  await sql`create table changed (n integer)`;
  const limited = sql.limited({ ms: 5_000 });
  const change = (executor: Sql) =>
    inTransaction(executor, async (tx) => {
      expect(tx.isTransaction).toBe(true);
      await tx`insert into changed values (1)`;
      throw new Error('half done');
    });
  for (const executor of [sql, limited, limited.limited({ ms: 1_000 })]) {
    await expect(change(executor)).rejects.toThrow('half done');
  }
  await expect(limited.begin((tx) => change(tx.limited({ ms: 1_000 })))).rejects.toThrow('half done');
  expect(await sql`select * from changed`).toEqual([]);
});
