import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { FairGate } from '../../src/platform/fair-gate.ts';
import { mapPostgresError } from '../../src/platform/postgres.ts';
import { createTestDatabase, type TestDatabase } from '../support/postgres.ts';
import { until } from '../support/until.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase({ isEmpty: true });
});
afterAll(() => database.drop());

/** Count the queries in progress that sleep. */
async function sleeping(): Promise<number> {
  const [row] = await database.sql`
    select count(*)::int as n from pg_stat_activity
    where datname = current_database() and state = 'active' and query like '%pg_sleep%' and pid <> pg_backend_pid()`;
  return row?.['n'] as number;
}

test('a query is cancelled at the end of its time, and the connection serves the next one', async () => {
  const sql = database.sql.limited({ ms: 100 });
  await expect(sql`select pg_sleep(60)`).rejects.toMatchObject({ code: 'query_timeout', status: 503 });
  expect(await sql`select 1 as one`).toEqual([{ one: 1 }]);
  await until(async () => (await sleeping()) === 0);
});

test('a statement in a transaction is cancelled at the end of its time, which PostgreSQL itself knows', async () => {
  const sql = database.sql.limited({ ms: 200 });
  const running = sql.begin(async (tx) => {
    expect(await tx`select current_setting('statement_timeout') as time`).toEqual([{ time: '200ms' }]);
    await tx`select pg_sleep(60)`;
  });
  const error = await running.catch((cause: unknown) => mapPostgresError(cause));
  expect(error).toMatchObject({ code: 'query_timeout' });
  expect(await sql`select 1 as one`).toEqual([{ one: 1 }]);
});

test('a transaction whose time ended does not cancel the next query of its connection', async () => {
  const limited = database.sql.limited({ ms: 20 });
  for (let nth = 0; nth < 20; nth++) {
    const running = limited.begin((tx) => tx`select pg_sleep(60)`);
    await running.catch(() => undefined);
    expect(await database.sql`select pg_sleep(0.05), 1 as one`).toMatchObject([{ one: 1 }]);
  }
});

test.each(['a query', 'a transaction'])('%s is cancelled when the signal aborts', async (kind) => {
  const controller = new AbortController();
  const reason = new Error('the client is gone');
  const sql = database.sql.limited({ ms: 60_000, signal: controller.signal });
  const running = kind === 'a query' ? sql`select pg_sleep(60)` : sql.begin((tx) => tx`select pg_sleep(60)`);
  const outcome = expect(running).rejects.toBe(reason);
  await until(async () => (await sleeping()) === 1);
  controller.abort(reason);
  await outcome;
  await until(async () => (await sleeping()) === 0);
  await expect(sql`select 1`).rejects.toBe(reason);
});

test('queries of one owner wait for a place in its share, and those of others do not', async () => {
  const gate = new FairGate({ runningMax: 4, runningOfOneMax: 2, waitingOfOneMax: 3 });
  const shareOf = (owner: string) => database.sql.limited({ ms: 60_000, share: { gate, owner } });
  const greedy = shareOf('greedy');
  const releases = Promise.withResolvers<void>();
  const held = Array.from({ length: 5 }, () => greedy.begin(() => releases.promise));
  await expect(greedy`select 1`).rejects.toMatchObject({ code: 'server_busy' });
  expect(await shareOf('modest')`select 1 as one`).toEqual([{ one: 1 }]);
  releases.resolve();
  await Promise.all(held);
  expect(await greedy`select 1 as one`).toEqual([{ one: 1 }]);
});

test('a query whose time is over while it waits for a place is never sent', async () => {
  const gate = new FairGate({ runningMax: 1, runningOfOneMax: 1, waitingOfOneMax: 3 });
  const sql = database.sql.limited({ ms: 60_000, share: { gate, owner: 'one' } });
  const releases = Promise.withResolvers<void>();
  const held = sql.begin(() => releases.promise);
  await expect(sql.limited({ ms: 50 })`create table never_sent (id int)`).rejects.toMatchObject({
    code: 'query_timeout',
  });
  releases.resolve();
  await held;
  expect(await sql`select to_regclass('never_sent') as found`).toEqual([{ found: null }]);
});

// The request to cancel arrives on a connection of its own, often after the query has ended by itself.
test.each(['a query', 'a transaction'])(
  '%s that is cancelled at the moment of its end does not cancel the next query of its connection',
  async (kind) => {
    const lone = await createTestDatabase({ isEmpty: true, poolMax: 1 });
    try {
      for (let nth = 0; nth < 60; nth++) {
        const controller = new AbortController();
        const sql = lone.sql.limited({ ms: 60_000, signal: controller.signal });
        const cancelled =
          kind === 'a query' ? sql`select pg_sleep(0.004)` : sql.begin((tx) => tx`select pg_sleep(0.004)`);
        const ended = cancelled.then(
          () => undefined,
          () => undefined,
        );
        const next = lone.sql`select pg_sleep(0.02), 1 as one`.execute();
        await delay(3 + (nth % 4));
        controller.abort(new Error('the client is gone'));
        await ended;
        expect(await next).toMatchObject([{ one: 1 }]);
      }
    } finally {
      await lone.drop();
    }
  },
);
