import postgres from 'postgres';
import { expect, test } from 'vitest';
import { AppError } from '../../src/platform/errors.ts';
import { inTransaction, isUniqueViolation, mapPostgresError, type Sql } from '../../src/platform/postgres.ts';
import { rejection, watchedDatabase } from '../support/watched-database.ts';

const watched = watchedDatabase();

test('values are read from PostgreSQL as they were written', async () => {
  const { sql } = watched.database;
  const at = new Date('2026-01-02T03:04:05.678Z');
  const body = { list: [1, 'zwei', null], 한국어: true };
  await sql`insert into things (id, name, body, at) values (${9007199254740991}, 'values', ${sql.json(body)}, ${at})`;
  const [row] =
    await sql`select *, jsonb_typeof(body) as type, count(*) over () as n from things where name = 'values'`;
  expect(row).toMatchObject({ id: 9007199254740991, body, at, type: 'object', n: 1 });
});

test('bigints beyond the safe integers stay exact, also in arrays', async () => {
  const [row] = await watched.database
    .sql`select 9007199254740993::bigint as big, array[1, 9007199254740993]::bigint[] as list`;
  expect(row).toEqual({ big: 9007199254740993n, list: [1, 9007199254740993n] });
});

test('arrays of every element type are read as they were written', async () => {
  const { sql } = watched.database;
  const texts = ['plain', 'a,b', '"quoted"', 'back\\slash', '{braces}', '', 'NULL', ' spaces ', 'new\nline', '한국어'];
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

test('fragments, lists and arrays work as in postgres.js', async () => {
  const { sql } = watched.database;
  const condition = sql`n = any(${[2, 3]}::int[]) and n in ${sql([3, 4])}`;
  expect(await sql`select n from generate_series(1, 5) n where ${condition}`).toEqual([{ n: 3 }]);
  expect(await sql.unsafe('select $1::int as n', [7])).toEqual([{ n: 7 }]);
  expect(await sql.begin((tx) => tx`select n from generate_series(1, 5) n where ${condition}`)).toEqual([{ n: 3 }]);
  await expect(sql`copy things to stdout`.readable()).rejects.toThrow('need a transaction');
});

test('a unique violation is recognised by its constraint', async () => {
  const { sql } = watched.database;
  await sql`insert into things (id, name) values (1, 'one')`;
  const byName = await rejection(sql`insert into things (id, name) values (2, 'one')`);
  expect(isUniqueViolation(byName)).toBe(true);
  expect(isUniqueViolation(byName, 'things_name')).toBe(true);
  expect(isUniqueViolation(byName, 'things_pkey')).toBe(false);
  expect(isUniqueViolation(await rejection(sql`select 1 / 0`))).toBe(false);
  expect(mapPostgresError(byName)).toBe(byName);
});

test('a deadlock is an error that asks to try again', async () => {
  const { sql } = watched.database;
  await sql`insert into things (id) values (101), (102)`;
  const both = (first: number, second: number, ready: PromiseWithResolvers<void>, other: PromiseWithResolvers<void>) =>
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

test('transactions commit, roll back, and nest as savepoints', async () => {
  const { sql } = watched.database;
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

test('a transaction takes the options of BEGIN', async () => {
  const { sql } = watched.database;
  const error = await rejection(sql.begin('read only', (tx) => tx`insert into things (id) values (20)`));
  expect(error).toBeInstanceOf(postgres.PostgresError);
});

test('inTransaction uses the current transaction', async () => {
  const xid = async (sql: Sql) => (await sql`select pg_current_xact_id()::text as xid`)[0]?.['xid'];
  const { sql } = watched.database;
  await inTransaction(sql, async (tx) => expect(await inTransaction(tx, xid)).toBe(await xid(tx)));
});

test('a transaction refuses statements after its end instead of running them elsewhere', async () => {
  const { sql } = watched.database;
  const leaked = await sql.begin(async (tx) => ({ tx }));
  await expect(leaked.tx`insert into things (id) values (30)`).rejects.toThrow('this transaction is over');
  expect(await sql`select 1 from things where id = 30`).toEqual([]);
});
