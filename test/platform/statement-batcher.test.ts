import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { StatementBatcher } from '../../src/platform/postgres/statement-batcher.ts';
import { valueRows } from '../../src/platform/postgres/value-rows.ts';
import { createTestDatabase, type TestDatabase } from '../support/postgres.ts';

let database: TestDatabase;
/** Numbers of each statement that was sent. */
let sent: (readonly number[])[];

beforeAll(async () => {
  database = await createTestDatabase({ isEmpty: true, poolMax: 6 });
  await database.sql`CREATE TABLE numbers (n integer PRIMARY KEY CHECK (n < 1000))`;
});
afterAll(() => database.drop());
beforeEach(async () => {
  sent = [];
  await database.sql`TRUNCATE numbers`;
});

async function insert(numbers: readonly number[]): Promise<string[]> {
  sent.push(numbers);
  const { sql } = database;
  const given = valueRows(sql, 'given', numbers, { n: ['integer', (n) => n] });
  const rows = await sql`INSERT INTO numbers (n) SELECT n FROM ${given} RETURNING n`;
  const inserted = new Set(rows.map((row) => row['n'] as number));
  return numbers.map((n) => (inserted.has(n) ? `${n} is in` : `${n} is not in`));
}

it('calls of one moment share a statement, and those that come while it runs share the next one', async () => {
  const batcher = new StatementBatcher(insert);
  const first = [1, 2, 3].map((n) => batcher.call(n));
  // The first statement is sent by then, and not answered.
  await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
  const next = [4, 5].map((n) => batcher.call(n));
  expect(await Promise.all([...first, ...next])).toEqual([1, 2, 3, 4, 5].map((n) => `${n} is in`));
  expect(await batcher.call(6)).toBe('6 is in');
  expect(sent).toEqual([[1, 2, 3], [4, 5], [6]]);
});

it('no statement has more calls than its bound', async () => {
  const batcher = new StatementBatcher(insert, { max: 2 });
  await Promise.all([1, 2, 3, 4, 5].map((n) => batcher.call(n)));
  expect(sent).toEqual([[1, 2], [3, 4], [5]]);
});

it('what PostgreSQL refuses of one call fails that call only', async () => {
  const batcher = new StatementBatcher(insert);
  const outcomes = await Promise.allSettled([7, 1000, 8].map((n) => batcher.call(n)));
  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  expect(outcomes[1]).toMatchObject({ reason: { code: '23514' } });
  expect(sent).toEqual([[7, 1000, 8], [7], [1000], [8]]);
  expect(await batcher.call(9)).toBe('9 is in');
});

it('a call whose statement takes too long fails alone, and delays no later ones', async () => {
  const { sql } = database;
  const limited = sql.limited({ ms: 300 });
  const locked = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  const locking = sql.begin(async (tx) => {
    await tx`INSERT INTO numbers (n) VALUES (1)`;
    locked.resolve();
    await released.promise;
  });
  await locked.promise;
  const batcher = new StatementBatcher(async (numbers: readonly number[]) => {
    sent.push(numbers);
    // It waits for the row of the other transaction.
    await limited`INSERT INTO numbers (n) SELECT unnest(${numbers}::integer[])`;
    return numbers;
  });
  const outcomes = await Promise.allSettled([1, 2, 3].map((n) => batcher.call(n)));
  expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'fulfilled']);
  expect(outcomes[0]).toMatchObject({ reason: { code: 'query_timeout' } });
  expect(sent).toEqual([[1, 2, 3], [1], [2], [3]]);
  released.resolve();
  await locking;
});

it('an unavailable database fails all calls at once, without further attempts', async () => {
  const gone = await createTestDatabase({ isEmpty: true });
  await gone.sql.end();
  let attempts = 0;
  const batcher = new StatementBatcher(async (calls: readonly number[]) => {
    attempts++;
    await gone.sql`SELECT 1`;
    return calls;
  });
  const outcomes = await Promise.allSettled([1, 2].map((n) => batcher.call(n)));
  expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(attempts).toBe(1);
  await gone.drop();
});

it('rows of any number are planned once, and keep their types and nulls', async () => {
  const single = await createTestDatabase({ isEmpty: true, poolMax: 1 });
  const { sql } = single;
  const rows = Array.from({ length: 12 }, (_, n) => ({ text: `a "${n}", {b}\\`, big: 2 ** 40 + n, real: n / 3 }));
  const read = (count: number) => {
    const given = valueRows(sql, 'given', rows.slice(0, count), {
      text: ['text', ({ text }) => text],
      big: ['bigint', ({ big }) => big],
      none: ['integer', () => null],
      real: ['double', ({ real }) => real],
    });
    return sql`SELECT text, big, "none", "real" FROM ${given}`;
  };
  for (let count = 1; count <= rows.length; count++) {
    expect([...(await read(count))]).toEqual(rows.slice(0, count).map((row) => ({ ...row, none: null })));
  }
  const [planned] = await sql`
    SELECT generic_plans FROM pg_prepared_statements WHERE statement LIKE '%AS "given"%' AND statement NOT LIKE '%pg_prepared%'`;
  expect(planned?.['generic_plans']).toBe(7); // PostgreSQL plans the first five for their values.
  await single.drop();
});
