import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { FairGate } from '../../src/platform/fair-gate.ts';
import { mapPostgresError, openPostgres, type Sql } from '../../src/platform/postgres.ts';
import { createTestDatabase, type TestDatabase } from '../support/postgres.ts';
import { openPostgresProxy } from '../support/postgres-proxy.ts';
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

test('the rows of a query that fails in the middle are no part of the next result', async () => {
  const lone = await createTestDatabase({ isEmpty: true, poolMax: 1 });
  const fails = (sql: Sql) => sql`select 1 / (50 - i) from generate_series(1, 100) as i`;
  try {
    await expect(fails(lone.sql)).rejects.toThrow('division by zero');
    expect(await lone.sql`select 1 as one`).toEqual([{ one: 1 }]);
    await expect(lone.sql.begin(fails)).rejects.toThrow('division by zero');
    expect(await lone.sql`select 1 as one`).toEqual([{ one: 1 }]);
    const rows = await lone.sql.begin(async (tx) => {
      await tx.begin(fails).catch(() => undefined);
      return tx`select 1 as one`;
    });
    expect(rows).toEqual([{ one: 1 }]);
  } finally {
    await lone.drop();
  }
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

// PostgreSQL leaves a transaction open if it is cancelled while it reads COMMIT, which a client can hardly time.
test('a connection whose COMMIT was cancelled is not used again', async () => {
  const text = Buffer.from('SERROR\0C57014\0Mcanceling statement due to user request\0\0');
  const error = Buffer.concat([Buffer.from('E'), Buffer.alloc(4), text]);
  error.writeUInt32BE(error.length - 1, 1);
  const readyInFailed = Buffer.from([...Buffer.from('Z'), 0, 0, 0, 5, ...Buffer.from('E')]);
  const rewrite = (data: Buffer) => (data.includes('COMMIT\0') ? Buffer.concat([error, readyInFailed]) : data);
  const proxy = await openPostgresProxy(database.connection, { rewrite });
  const sql = openPostgres(proxy.connection, { poolMax: 1, applicationName: 'test' });
  try {
    await expect(sql.begin((tx) => tx`select 1`)).rejects.toMatchObject({ code: '57014' });
    expect(await sql`select 1 as one`).toEqual([{ one: 1 }]);
  } finally {
    await sql.end({ timeout: 1 });
    await proxy.close();
  }
});

test('a transaction is committed only after a late cancellation of its last statement has arrived', async () => {
  await database.sql`create table slow_commits (id int)`;
  await database.sql`
    create function sleep_in_commit() returns trigger language plpgsql as $$
    begin perform pg_sleep(0.5); return null; end $$`;
  await database.sql`
    create constraint trigger slow_commit after insert on slow_commits deferrable initially deferred
    for each row execute function sleep_in_commit()`;
  const proxy = await openPostgresProxy(database.connection);
  const sql = openPostgres(proxy.connection, { poolMax: 1, applicationName: 'test' });
  try {
    const controller = new AbortController();
    const committed = sql.limited({ ms: 60_000, signal: controller.signal }).begin(async (tx) => {
      await tx`insert into slow_commits values (1)`;
      const last = tx`select pg_sleep(0.3)`.execute();
      await until(async () => (await sleeping()) === 1);
      // Later than the statement ends, and before its commit would.
      proxy.delayNewConnections(600);
      controller.abort(new Error('the client is gone'));
      await last;
    });
    await committed;
    expect(await sql`select id from slow_commits`).toEqual([{ id: 1 }]);
  } finally {
    await sql.end({ timeout: 1 });
    await proxy.close();
  }
});

test.each([0, 1, 2])(
  'a transaction of statements that were sent together can be cancelled, with %i more of them',
  async (more) => {
    const lone = await createTestDatabase({ isEmpty: true, poolMax: 1 });
    try {
      const controller = new AbortController();
      const reason = new Error('the client is gone');
      const sql = lone.sql.limited({ ms: 60_000, signal: controller.signal });
      const others = Array.from({ length: more }, (_, nth) => nth);
      for (const nth of [0, 1, 2]) {
        const cancelled = sql.begin((tx) =>
          Promise.all([tx`select pg_sleep(${0.2})`, tx`select ${nth}::int`, ...others.map(() => tx`select 1`)]),
        );
        const outcome = expect(cancelled).rejects.toBe(reason);
        await delay(60);
        controller.abort(reason);
        await outcome;
        expect(await lone.sql`select 1 as one`).toEqual([{ one: 1 }]);
      }
    } finally {
      await lone.drop();
    }
  },
);
