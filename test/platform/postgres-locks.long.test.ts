import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { listenChannel, mapPostgresError, openPostgres, withAdvisoryLock } from '../../src/platform/postgres.ts';
import { openPostgresProxy } from '../support/postgres-proxy.ts';
import { unhandledRejections } from '../support/unhandled.ts';
import { waitingBackends } from '../support/waiting-backends.ts';
import { rejection, watchedDatabase } from '../support/watched-database.ts';

const watched = watchedDatabase();

test('an advisory lock is held by one at a time, whatever the size of the pool', async () => {
  const sql = openPostgres(watched.database.connection, { poolMax: 1, applicationName: 'locks' });
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

test('advisory locks with different keys do not wait for each other', async () => {
  const { sql } = watched.database;
  const inner = withAdvisoryLock(sql, 'a', () => withAdvisoryLock(sql, 'b', async () => 'both'));
  expect(await inner).toBe('both');
});

test('locks that follow each other take one session, whose loss in between is no error', async () => {
  const sql = openPostgres(watched.database.connection, { poolMax: 1, applicationName: 'again' });
  const holder = () =>
    withAdvisoryLock(sql, 'again', async () => {
      const [row] = await watched.admin`
        select pid from pg_locks join pg_stat_activity using (pid)
        where locktype = 'advisory' and granted and application_name = 'again'`;
      return row?.['pid'] as number;
    });
  const pids = [await holder(), await holder()];
  await expect(withAdvisoryLock(sql, 'again', () => Promise.reject(new Error('of its own')))).rejects.toThrow('own');
  pids.push(await holder());
  expect(pids).toEqual([pids[0], pids[0], pids[0]]);
  await watched.admin`select pg_terminate_backend(${pids[0] as number}, 5000)`;
  await expect.poll(() => holder().catch(() => pids[0])).not.toBe(pids[0]);
  await sql.end();
  const left = () => watched.admin`select pid from pg_stat_activity where application_name = 'again'`;
  await expect.poll(async () => [...(await left())]).toEqual([]);
});

test('the holder of an advisory lock is notified that its connection was lost, and the next one gets the lock', async () => {
  const { sql } = watched.database;
  const next = Promise.withResolvers<string>();
  await withAdvisoryLock(sql, 'lost', async (stillHeld, lost) => {
    expect(await stillHeld()).toBe(true);
    withAdvisoryLock(sql, 'lost', async () => 'got it').then(next.resolve, next.reject);
    await watched.admin`
        select pg_terminate_backend(pid) from pg_locks
        where locktype = 'advisory' and granted and database = (select oid from pg_database where datname = current_database())`;
    expect(await next.promise).toBe('got it');
    await expect.poll(() => lost.aborted).toBe(true);
    expect(await stillHeld()).toBe(false);
  });
});

test('the holder of an advisory lock who is not reached loses it and is told so, and the next one gets it', async () => {
  const proxy = await openPostgresProxy(watched.database.connection);
  const sql = openPostgres(proxy.connection, { poolMax: 1, applicationName: 'unreached' });
  const holder = async (stillHeld: () => Promise<boolean>, lost: AbortSignal) => {
    expect(await stillHeld()).toBe(true);
    proxy.freeze();
    // The question itself gets no answer.
    expect(await stillHeld()).toBe(false);
    expect(lost.aborted).toBe(true);
    return withAdvisoryLock(watched.database.sql, 'unreached', async () => 'got it');
  };
  expect(await withAdvisoryLock(sql, 'unreached', holder, { silenceMs: 2_000 })).toBe('got it');
  await sql.end({ timeout: 0 });
  await proxy.close();
});

test('a waiter who is not reached when it gets the lock fails, and the next one gets it', async () => {
  const proxy = await openPostgresProxy(watched.database.connection);
  const sql = openPostgres(proxy.connection, { poolMax: 1, applicationName: 'unreached' });
  const { sql: direct } = watched.database;
  let waiting = Promise.resolve<unknown>(null);
  await withAdvisoryLock(direct, 'unreached', async () => {
    waiting = rejection(withAdvisoryLock(sql, 'unreached', async () => 'never', { silenceMs: 2_000 }));
    await expect.poll(async () => (await waitingBackends(watched.admin)).length).toBe(1);
    proxy.freeze();
  });
  expect(await withAdvisoryLock(direct, 'unreached', async () => 'got it')).toBe('got it');
  proxy.thaw();
  expect(mapPostgresError(await waiting)).toMatchObject({ code: 'postgres_unavailable' });
  await sql.end({ timeout: 0 });
  await proxy.close();
});

test('the wait for an advisory lock can be aborted, and leaves no waiting backend', async () => {
  const { sql } = watched.database;
  await withAdvisoryLock(sql, 'taken', async () => {
    const abort = new AbortController();
    const waiting = rejection(withAdvisoryLock(sql, 'taken', async () => 'never', { signal: abort.signal }));
    const waiters = async () => (await waitingBackends(watched.admin)).length;
    await expect.poll(waiters).toBe(1);
    abort.abort(new Error('enough'));
    expect(await waiting).toMatchObject({ message: 'enough' });
    await expect.poll(waiters).toBe(0);
  });
});

test('a wait for an advisory lock that is aborted while the server is unreachable leaves no rejection unhandled', async () => {
  const unhandled = unhandledRejections();
  const proxy = await openPostgresProxy(watched.database.connection);
  const sql = openPostgres(proxy.connection, { poolMax: 1, applicationName: 'unreached' });
  await withAdvisoryLock(watched.database.sql, 'unreached', async () => {
    const abort = new AbortController();
    const options = { signal: abort.signal, silenceMs: 2_000 };
    const waiting = rejection(withAdvisoryLock(sql, 'unreached', async () => 'never', options));
    await expect.poll(async () => (await waitingBackends(watched.admin)).length).toBe(1);
    proxy.freeze();
    proxy.refuse();
    abort.abort(new Error('enough'));
    expect(await waiting).toMatchObject({ message: 'enough' });
  });
  expect(unhandled).toEqual([]);
  await sql.end({ timeout: 0 });
  await proxy.close();
});

test('withAdvisoryLock refuses a transaction', async () => {
  await expect(watched.database.sql.begin((tx) => withAdvisoryLock(tx, 'x', async () => 1))).rejects.toBeInstanceOf(
    TypeError,
  );
});

test('listenChannel receives notifications, reports reconnections, and stops', async () => {
  const { sql } = watched.database;
  const abort = new AbortController();
  const received: (string | null)[] = [];
  await listenChannel(sql, 'Some channel', (payload) => received.push(payload), { signal: abort.signal });
  await sql.notify('Some channel', 'one');
  await sql.notify('another', 'not for us');
  await sql.begin((tx) => tx.notify('Some channel', 'two'));
  await expect.poll(() => received).toEqual(['one', 'two']);

  const listeners = () =>
    watched.admin`select pid from pg_stat_activity where query like 'listen%' and datname = current_database()`;
  await watched.admin`select pg_terminate_backend(pid) from pg_stat_activity where query like 'listen%' and datname = current_database()`;
  await expect.poll(() => received).toEqual(['one', 'two', null]);
  await sql.notify('Some channel', 'three');
  await expect.poll(() => received).toEqual(['one', 'two', null, 'three']);

  abort.abort();
  await expect.poll(async () => (await listeners()).length).toBe(0);
});

test('listenChannel waits for a database that is not available at first', async () => {
  const sql = openPostgres(
    { ...watched.database.connection, database: 'not_there_yet' },
    { poolMax: 1, applicationName: 'early' },
  );
  const abort = new AbortController();
  const received: (string | null)[] = [];
  const listening = listenChannel(sql, 'c', (payload) => received.push(payload), { signal: abort.signal });
  expect(await Promise.race([listening, delay(300, 'waiting')])).toBe('waiting');
  await watched.admin`create database not_there_yet`;
  await listening;
  await sql.notify('c', 'now');
  await expect.poll(() => received).toEqual(['now']);
  abort.abort();
  await sql.end({ timeout: 1 });
  await watched.admin`drop database not_there_yet with (force)`;
});
