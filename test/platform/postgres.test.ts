import { once } from 'node:events';
import { type AddressInfo, connect, createServer, Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import postgres from 'postgres';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { AppError } from '../../src/platform/errors.ts';
import {
  inTransaction,
  isUniqueViolation,
  listenChannel,
  mapPostgresError,
  openPostgres,
  type Sql,
  withAdvisoryLock,
} from '../../src/platform/postgres.ts';
import { Secret } from '../../src/platform/secret.ts';
import { createTestDatabase, type TestDatabase } from '../support/postgres.ts';

let database: TestDatabase;
let admin: TestDatabase['sql'];

beforeAll(async () => {
  database = await createTestDatabase({ isEmpty: true });
  admin = openPostgres(database.connection, { poolMax: 2, applicationName: 'admin' });
  await admin`create table things (id bigint primary key, name text constraint things_name unique, body jsonb, at timestamptz)`;
});

afterAll(async () => {
  await admin?.end({ timeout: 1 });
  await database?.drop();
});

async function backendPid(sql: Sql): Promise<number> {
  const [row] = await sql<{ pid: number }[]>`select pg_backend_pid() as pid`;
  return row?.pid ?? 0;
}

async function rejection(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => expect.unreachable('it should have been rejected'),
    (error: unknown) => error,
  );
}

describe('values', () => {
  test('come back as they went in', async () => {
    const { sql } = database;
    const at = new Date('2026-01-02T03:04:05.678Z');
    const body = { list: [1, 'zwei', null], 한국어: true };
    await sql`insert into things (id, name, body, at) values (${9007199254740991}, 'values', ${sql.json(body)}, ${at})`;
    const [row] =
      await sql`select *, jsonb_typeof(body) as type, count(*) over () as n from things where name = 'values'`;
    expect(row).toMatchObject({ id: 9007199254740991, body, at, type: 'object', n: 1 });
  });

  test('bigints beyond the safe integers stay exact, also in arrays', async () => {
    const [row] =
      await database.sql`select 9007199254740993::bigint as big, array[1, 9007199254740993]::bigint[] as list`;
    expect(row).toEqual({ big: 9007199254740993n, list: [1, 9007199254740993n] });
  });

  test('arrays of every kind of element', async () => {
    const { sql } = database;
    const texts = [
      'plain',
      'a,b',
      '"quoted"',
      'back\\slash',
      '{braces}',
      '',
      'NULL',
      ' spaces ',
      'new\nline',
      '한국어',
    ];
    const at = new Date('2026-01-02T03:04:05.678Z');
    const [row] = await sql`
      select ${texts}::text[] as texts, ${[[1, 2], [3, 4]]}::int[] as nested, ${[]}::text[] as empty,
             ${['a', null]}::text[] as nulls, ${sql.array([true, false])} as booleans, ${sql.array([at])} as times,
             ${[0.5, -1e300]}::float8[] as floats, array['{"a": [1, "x"]}', 'null']::jsonb[] as documents,
             array['\\x0001'::bytea] as bytes, '[0:1]={7,8}'::int[] as bounds, null::int[] as nothing`;
    expect(row).toEqual({
      texts,
      nested: [
        [1, 2],
        [3, 4],
      ],
      empty: [],
      nulls: ['a', null],
      booleans: [true, false],
      times: [at],
      floats: [0.5, -1e300],
      documents: [{ a: [1, 'x'] }, null],
      bytes: [Buffer.from([0, 1])],
      bounds: [7, 8],
      nothing: null,
    });
    const lists = await sql`select ${sql.array([{ a: [1] }, 'x', [2]] as never[], 3802)}::jsonb[] as list`;
    expect(lists).toEqual([{ list: [{ a: [1] }, 'x', [2]] }]);
  });

  test('fragments, lists and arrays as postgres.js has them', async () => {
    const { sql } = database;
    const condition = sql`n = any(${[2, 3]}::int[]) and n in ${sql([3, 4])}`;
    expect(await sql`select n from generate_series(1, 5) n where ${condition}`).toEqual([{ n: 3 }]);
    expect(await sql.unsafe('select $1::int as n', [7])).toEqual([{ n: 7 }]);
    expect(await sql.begin((tx) => tx`select n from generate_series(1, 5) n where ${condition}`)).toEqual([{ n: 3 }]);
    const rows: unknown[] = [];
    for await (const batch of sql`select n from generate_series(1, 5) n`.cursor(2)) rows.push(...batch);
    expect(rows).toHaveLength(5);
  });
});

describe('connection settings', () => {
  test('a URI reaches the same database as the parts, over the unix socket', async () => {
    const sql = openPostgres({ url: new Secret(database.url) }, { poolMax: 1, applicationName: 'by-uri' });
    const [row] = await sql`select current_database() as db, current_setting('application_name') as app`;
    expect(row).toEqual({ db: database.connection.database, app: 'by-uri' });
    await sql.end();
  });

  test('libpq parameters: everything by name, those for the client alone left out, those for the server passed on', async () => {
    const { host, port, username, password, database: dbname } = database.connection;
    const named = new URLSearchParams({
      host,
      port: String(port),
      user: username,
      password: password.reveal(),
      dbname,
    });
    const others = 'channel_binding=prefer&gssencmode=disable&sslmode=disable&statement_timeout=1234';
    const sql = openPostgres({ url: `postgresql:///?${named}&${others}` }, { poolMax: 1, applicationName: 'by-name' });
    const [row] = await sql`select current_database() as db, current_setting('statement_timeout') as timeout`;
    expect(row).toEqual({ db: dbname, timeout: '1234ms' });
    await sql.end();
  });

  test('a pool holds no more connections than it may', async () => {
    const sql = openPostgres(database.connection, { poolMax: 3, applicationName: 'bounded' });
    await Promise.all(Array.from({ length: 30 }, () => sql`select pg_sleep(0.005)`));
    const [row] = await admin`select count(*) as n from pg_stat_activity where application_name = 'bounded'`;
    expect(row?.['n']).toBe(3);
    await sql.end();
  });

  test('a database out of reach is a typed error', async () => {
    const sql = openPostgres({ ...database.connection, host: '/nonexistent' }, { poolMax: 1, applicationName: 'x' });
    const error = mapPostgresError(await rejection(sql`select 1`));
    expect(error).toMatchObject({ code: 'postgres_unavailable', status: 503, retryable: true });
    await sql.end({ timeout: 0 });
  });

  test('an address that takes connections and closes them is a typed error too, until a database is behind it', async () => {
    let dials = 0;
    let behind: Socket | null = null;
    const proxy = createServer((client) => {
      dials++;
      client.on('error', () => undefined);
      if (behind === null) return client.resume().end();
      const { host, port } = database.connection;
      behind = connect(`${host}/.s.PGSQL.${port}`);
      behind.on('error', () => undefined).on('close', () => client.destroy());
      client.on('close', () => behind?.destroy());
      client.pipe(behind).pipe(client);
    });
    await once(proxy.listen(0, '127.0.0.1'), 'listening');
    const { port } = proxy.address() as AddressInfo;
    const at = { ...database.connection, host: '127.0.0.1', port };
    const sql = openPostgres(at, { poolMax: 2, applicationName: 'x' });
    const attempts = [sql`select 1`, sql.begin((tx) => tx`select 1`), sql`select 1`, sql`select 1`];
    const errors = await Promise.all(attempts.map(rejection));
    errors.push(await rejection(withAdvisoryLock(sql, 'unreachable', async () => 1)));
    for (const error of errors) expect(mapPostgresError(error)).toMatchObject({ code: 'postgres_unavailable' });
    expect(dials).toBeLessThanOrEqual(errors.length);
    behind = new Socket();
    expect(await sql`select 1 as one`).toEqual([{ one: 1 }]);
    const abort = new AbortController();
    await withAdvisoryLock(sql, 'cancelled', async () => {
      const waiting = rejection(withAdvisoryLock(sql, 'cancelled', async () => 1, { signal: abort.signal }));
      await expect.poll(async () => (await admin`select 1 from pg_locks where not granted`).length).toBe(1);
      abort.abort(new Error('enough'));
      expect(await waiting).toMatchObject({ message: 'enough' });
    });
    await sql.end({ timeout: 1 });
    await new Promise((resolve) => proxy.close(resolve));
  });

  test('a wrong password is told apart from an outage', async () => {
    const sql = openPostgres(
      { ...database.connection, password: new Secret('wrong') },
      { poolMax: 1, applicationName: 'x' },
    );
    const error = mapPostgresError(await rejection(sql`select 1`));
    expect(error).toMatchObject({ code: 'postgres_refused', retryable: false });
    expect(JSON.stringify(error)).not.toContain('wrong');
    await sql.end({ timeout: 0 });
  });
});

describe('errors', () => {
  test('a unique violation is known by its constraint', async () => {
    const { sql } = database;
    await sql`insert into things (id, name) values (1, 'one')`;
    const byName = await rejection(sql`insert into things (id, name) values (2, 'one')`);
    expect(isUniqueViolation(byName)).toBe(true);
    expect(isUniqueViolation(byName, 'things_name')).toBe(true);
    expect(isUniqueViolation(byName, 'things_pkey')).toBe(false);
    expect(isUniqueViolation(await rejection(sql`select 1 / 0`))).toBe(false);
    expect(mapPostgresError(byName)).toBe(byName);
  });

  test('a deadlock asks to try again', async () => {
    const { sql } = database;
    await sql`insert into things (id) values (101), (102)`;
    const both = (
      first: number,
      second: number,
      ready: PromiseWithResolvers<void>,
      other: PromiseWithResolvers<void>,
    ) =>
      sql.begin(async (tx) => {
        await tx`update things set body = '1' where id = ${first}`;
        ready.resolve();
        await other.promise;
        await tx`update things set body = '2' where id = ${second}`;
      });
    const [a, b] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const outcomes = await Promise.allSettled([both(101, 102, a, b), both(102, 101, b, a)]);
    const failed = outcomes.filter((outcome) => outcome.status === 'rejected');
    expect(failed).toHaveLength(1);
    expect(mapPostgresError(failed[0]?.reason)).toMatchObject({ code: 'postgres_contention', retryable: true });
  });
});

describe('transactions', () => {
  test('commit, roll back, and nest as savepoints', async () => {
    const { sql } = database;
    await sql.begin(async (tx) => {
      await tx`insert into things (id, name) values (10, 'kept')`;
      const failure = await rejection(
        tx.begin(async (nested) => {
          await nested`insert into things (id, name) values (11, 'undone')`;
          await nested`insert into things (id, name) values (12, 'kept')`;
        }),
      );
      expect(isUniqueViolation(failure)).toBe(true);
      await tx.begin((nested) => nested`insert into things (id, name) values (13, 'nested')`);
    });
    const failure = await rejection(
      sql.begin(async (tx) => {
        await tx`insert into things (id, name) values (14, 'undone')`;
        throw new AppError({ code: 'changed_my_mind', status: 409, message: 'no' });
      }),
    );
    expect(failure).toMatchObject({ code: 'changed_my_mind' });
    expect(await sql`select id from things where id between 10 and 19 order by id`).toEqual([{ id: 10 }, { id: 13 }]);
  });

  test('take the options of BEGIN', async () => {
    const { sql } = database;
    const error = await rejection(sql.begin('read only', (tx) => tx`insert into things (id) values (20)`));
    expect(error).toBeInstanceOf(postgres.PostgresError);
  });

  test('inTransaction joins the one that there is', async () => {
    const xid = async (sql: Sql) => (await sql`select pg_current_xact_id()::text as xid`)[0]?.['xid'];
    const { sql } = database;
    await inTransaction(sql, async (tx) => expect(await inTransaction(tx, xid)).toBe(await xid(tx)));
  });

  test('refuse statements after their end instead of running them elsewhere', async () => {
    const { sql } = database;
    const leaked = await sql.begin(async (tx) => ({ tx }));
    await expect(leaked.tx`insert into things (id) values (30)`).rejects.toThrow('this transaction is over');
    expect(await sql`select 1 from things where id = 30`).toEqual([]);
  });
});

describe('when connections die', () => {
  test('a transaction fails cleanly with a statement under way', async () => {
    const { sql } = database;
    const started = Promise.withResolvers<number>();
    const transaction = rejection(
      sql.begin(async (tx) => {
        started.resolve(await backendPid(tx));
        await tx`select pg_sleep(60)`;
      }),
    );
    await admin`select pg_terminate_backend(${await started.promise})`;
    expect(mapPostgresError(await transaction)).toMatchObject({ code: 'postgres_unavailable' });
    expect(await sql`select 1 as one`).toEqual([{ one: 1 }]);
  });

  test('a transaction that was idle then does nothing more, in whatever way it ends', async () => {
    const { sql } = database;
    const outcomes: unknown[] = [];
    for (const [id, ending] of (['throws', 'returns', 'goes on', 'goes on nested'] as const).entries()) {
      const started = Promise.withResolvers<number>();
      const killed = Promise.withResolvers<void>();
      const over = Promise.withResolvers<unknown>();
      const transaction = rejection(
        sql.begin(async (tx) => {
          started.resolve(await backendPid(tx));
          await killed.promise;
          try {
            if (ending === 'throws') throw new Error('of its own');
            if (ending === 'goes on') await tx`insert into things (id) values (${200 + id})`;
            if (ending === 'goes on nested')
              await tx.begin((nested) => nested`insert into things (id) values (${200 + id})`);
            over.resolve(ending);
          } catch (error) {
            over.resolve(error);
            throw error;
          }
        }),
      );
      await admin`select pg_terminate_backend(${await started.promise}, 5000)`;
      outcomes.push(mapPostgresError(await transaction));
      // The pool gets busy with other work, on the very connection that was lost if it must.
      const others = Promise.all(Array.from({ length: 10 }, () => sql.begin((tx) => tx`select pg_sleep(0.01)`)));
      killed.resolve();
      const outcome = await over.promise;
      if (ending.startsWith('goes on')) expect(outcome).toMatchObject({ code: 'postgres_unavailable' });
      await others;
    }
    expect(outcomes).toMatchObject(Array.from({ length: 4 }, () => ({ code: 'postgres_unavailable' })));
    expect(await sql`select id from things where id between 200 and 210`).toEqual([]);
  });

  test('the pool works again at once after all its connections were killed under load', async () => {
    const sql = openPostgres(database.connection, { poolMax: 5, applicationName: 'victim' });
    const abort = new AbortController();
    const faults: unknown[] = [];
    let done = 0;
    const load = Array.from({ length: 20 }, async () => {
      while (!abort.signal.aborted) {
        try {
          await sql`select pg_sleep(0.001)`;
          await sql.begin((tx) => tx`select pg_sleep(0.001)`);
          done++;
        } catch (error) {
          faults.push(mapPostgresError(error)); // and tries again in the same breath
        }
      }
    });
    for (let round = 0; round < 20; round++) {
      await admin`select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'victim'`;
      const before = done;
      await expect.poll(() => done, { timeout: 5_000, interval: 5 }).toBeGreaterThan(before + 20);
    }
    abort.abort();
    await Promise.all(load);
    expect(faults.length).toBeGreaterThan(0);
    for (const fault of faults) expect(fault).toMatchObject({ code: 'postgres_unavailable' });
    await sql.end({ timeout: 5 });
  });
});

describe('withAdvisoryLock', () => {
  test('one at a time, whatever the size of the pool', async () => {
    const sql = openPostgres(database.connection, { poolMax: 1, applicationName: 'locks' });
    let inside = 0;
    const peaks = await Promise.all(
      Array.from({ length: 8 }, () =>
        withAdvisoryLock(sql, 'bucket:1', async (stillHeld) => {
          const peak = ++inside;
          expect(await stillHeld()).toBe(true);
          await sql`select 1`; // the holder gets its connection while others wait
          inside--;
          return peak;
        }),
      ),
    );
    expect(peaks).toEqual(Array(8).fill(1));
    await sql.end();
  });

  test('other keys do not wait', async () => {
    const { sql } = database;
    const inner = withAdvisoryLock(sql, 'a', () => withAdvisoryLock(sql, 'b', async () => 'both'));
    expect(await inner).toBe('both');
  });

  test('a lost connection is told, and the lock is free for the next', async () => {
    const { sql } = database;
    const next = Promise.withResolvers<string>();
    await withAdvisoryLock(sql, 'lost', async (stillHeld, lost) => {
      expect(await stillHeld()).toBe(true);
      withAdvisoryLock(sql, 'lost', async () => 'got it').then(next.resolve, next.reject);
      await admin`
        select pg_terminate_backend(pid) from pg_locks
        where locktype = 'advisory' and granted and database = (select oid from pg_database where datname = current_database())`;
      expect(await next.promise).toBe('got it');
      await expect.poll(() => lost.aborted).toBe(true);
      expect(await stillHeld()).toBe(false);
    });
  });

  test('the wait can be aborted, and leaves no waiting backend', async () => {
    const { sql } = database;
    await withAdvisoryLock(sql, 'taken', async () => {
      const abort = new AbortController();
      const waiting = rejection(withAdvisoryLock(sql, 'taken', async () => 'never', { signal: abort.signal }));
      const waiters = async () => (await admin`select count(*) as n from pg_locks where not granted`)[0]?.['n'];
      await expect.poll(waiters).toBe(1);
      abort.abort(new Error('enough'));
      expect(await waiting).toMatchObject({ message: 'enough' });
      await expect.poll(waiters).toBe(0);
    });
  });

  test('a transaction is not the place to take one', async () => {
    await expect(database.sql.begin((tx) => withAdvisoryLock(tx, 'x', async () => 1))).rejects.toBeInstanceOf(
      TypeError,
    );
  });
});

describe('listenChannel', () => {
  test('hears what is sent, tells of reconnections, and stops', async () => {
    const { sql } = database;
    const abort = new AbortController();
    const heard: (string | null)[] = [];
    await listenChannel(sql, 'Door bell', (payload) => heard.push(payload), { signal: abort.signal });
    await sql.notify('Door bell', 'one');
    await sql.notify('another', 'not for us');
    await sql.begin((tx) => tx.notify('Door bell', 'two'));
    await expect.poll(() => heard).toEqual(['one', 'two']);

    const listeners = () =>
      admin`select pid from pg_stat_activity where query like 'listen%' and datname = current_database()`;
    await admin`select pg_terminate_backend(pid) from pg_stat_activity where query like 'listen%' and datname = current_database()`;
    await expect.poll(() => heard).toEqual(['one', 'two', null]);
    await sql.notify('Door bell', 'three');
    await expect.poll(() => heard).toEqual(['one', 'two', null, 'three']);

    abort.abort();
    await expect.poll(async () => (await listeners()).length).toBe(0);
  });

  test('a database that is away at first is waited for until aborted', async () => {
    const sql = openPostgres(
      { ...database.connection, database: 'not_there_yet' },
      { poolMax: 1, applicationName: 'early' },
    );
    const abort = new AbortController();
    const heard: (string | null)[] = [];
    const listening = listenChannel(sql, 'c', (payload) => heard.push(payload), { signal: abort.signal });
    expect(await Promise.race([listening, delay(300, 'waiting')])).toBe('waiting');
    await admin`create database not_there_yet`;
    await listening;
    await sql.notify('c', 'now');
    await expect.poll(() => heard).toEqual(['now']);
    abort.abort();
    await sql.end({ timeout: 1 });
    await admin`drop database not_there_yet with (force)`;
  });
});
