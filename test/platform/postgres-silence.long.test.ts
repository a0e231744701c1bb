import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Database, mapPostgresError, openPostgres } from '../../src/platform/postgres.ts';
import { openPostgresProxy, type PostgresProxy } from '../support/postgres-proxy.ts';
import { unhandledRejections } from '../support/unhandled.ts';
import { rejection, watchedDatabase } from '../support/watched-database.ts';

const SILENCE_MS = 1_500;

const watched = watchedDatabase();
let proxy: PostgresProxy;
let sql: Database;

beforeEach(async () => {
  proxy = await openPostgresProxy(watched.database.connection);
  sql = openPostgres(proxy.connection, { poolMax: 2, applicationName: 'silence', silenceMs: SILENCE_MS });
});
afterEach(async () => {
  await sql.end({ timeout: 0 });
  await proxy.close();
});

test('queries and transactions on connections that fall silent fail, and the pool works once the server is reached', async () => {
  await sql`select 1`;
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
  const { promise: silent, resolve: fallSilent } = Promise.withResolvers<void>();
  const statement = sql.begin(async (tx) => {
    await tx`select 1`;
    begin();
    await silent;
    await tx`select 2`;
  });
  await begun;
  proxy.freeze();
  fallSilent();
  // The pool has two connections: the second query and BEGIN wait behind the first ones.
  const attempts = [statement, sql`select 3`, sql`select 4`, sql.begin((tx) => tx`select 5`)];
  for (const error of await Promise.all(attempts.map(rejection)))
    expect(mapPostgresError(error)).toMatchObject({ code: 'postgres_unavailable', retryable: true });
  proxy.thaw();
  expect(await sql`select 6 as six`).toEqual([{ six: 6 }]);
  expect(await sql.begin((tx) => tx`select 7 as seven`)).toEqual([{ seven: 7 }]);
});

test('a transaction whose COMMIT gets no answer fails', async () => {
  const error = await rejection(
    sql.begin(async (tx) => {
      await tx`select 1`;
      proxy.freeze();
    }),
  );
  expect(mapPostgresError(error)).toMatchObject({ code: 'postgres_unavailable' });
});

test.each(['its time ends', 'its client leaves'])(
  'a query whose connection hangs while new ones are refused fails, and leaves no rejection unhandled when %s',
  async (end) => {
    await sql`select 1`;
    proxy.freeze();
    proxy.refuse();
    const unhandled = unhandledRejections();
    const client = new AbortController();
    const ms = end === 'its time ends' ? 50 : 60_000;
    const failed = rejection(sql.limited({ ms, signal: client.signal })`select 2`);
    await new Promise(setImmediate); // It is sent.
    if (end === 'its client leaves') client.abort(new Error('the client is gone'));
    expect(mapPostgresError(await failed)).toMatchObject({ code: 'postgres_unavailable', retryable: true });
    expect(unhandled).toEqual([]);
  },
);

test('a query that takes long is not lost while the server answers others', async () => {
  expect(await sql`select pg_sleep(${(4 * SILENCE_MS) / 1_000}) is not null as done`).toEqual([{ done: true }]);
});
