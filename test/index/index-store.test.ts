import { afterAll, beforeAll, expect, it } from 'vitest';
import { findLiveDocuments, listLiveDocumentIds } from '../../src/search/documents/document-store.ts';
import { Filter } from '../../src/search/filter/filter.ts';
import { makeKeyRing, makeOrg } from '../support/access.ts';
import { createTestDatabase, type TestDatabase } from '../support/postgres.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase({ poolMax: 1 });
});
afterAll(() => database.drop());

const scope = { bucketIds: ['bkt_x'], collectionId: null };

/** Count the prepared statements that ask which documents are visible. */
async function countKept(): Promise<number> {
  const [row] =
    await database.sql`SELECT count(*)::int AS n FROM pg_prepared_statements WHERE statement LIKE ${'%active_generation%'}`;
  return row?.['n'] as number;
}

it('a query with a filter of several conditions leaves no prepared statement, since callers choose its shape', async () => {
  const { sql } = database;
  const { operator } = await makeOrg(sql, makeKeyRing());
  const or = {
    type: 'or',
    filters: [
      { type: 'ne', key: 'a', value: 1 },
      { type: 'eq', key: 'a', value: 1 },
    ],
  };
  for (const given of [{ a: ['x'], b: 1 }, { type: 'gt', key: 'a', value: 1 }, { scope: 'x' }, or]) {
    const filter = Filter.parse(given);
    expect(await listLiveDocumentIds(sql, operator, { ...scope, filter }, 10)).toEqual([]);
    expect(await findLiveDocuments(sql, operator, { ...scope, filter }, ['doc_x'])).toEqual(new Map());
  }
  expect(await countKept()).toBe(0);
  await findLiveDocuments(sql, operator, { ...scope, filter: null }, ['doc_x']);
  expect(await countKept()).toBe(1);
});

it('filters of equalities of metadata share three prepared statements, whatever keys and values', async () => {
  const { sql } = database;
  const { operator } = await makeOrg(sql, makeKeyRing());
  const before = await countKept();
  const equal = (key: string) => ({ type: 'eq', key, value: 'y' });
  const or = (count: number) => ({ type: 'or', filters: Array.from({ length: count }, (_, nth) => equal(`k${nth}`)) });
  const [one, member, any] = [
    [{ a: 'x' }, { b: 1, c: 2 }, equal('c')],
    [{ a: ['x'] }, { b: [1, 2] }],
    [or(2), or(50)],
  ];
  for (const given of [...one, ...member, ...any]) {
    const filter = Filter.parse(given);
    expect(await findLiveDocuments(sql, operator, { ...scope, filter }, ['doc_x'])).toEqual(new Map());
  }
  expect((await countKept()) - before).toBe(3);
});
