import { afterAll, beforeAll, expect, it } from 'vitest';
import { Filter } from '../../src/search/filter.ts';
import { findLiveDocuments, listLiveDocumentIds } from '../../src/search/index-store.ts';
import { makeKeyRing, makeOrg } from '../support/access.ts';
import { createTestDatabase, type TestDatabase } from '../support/postgres.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase({ poolMax: 1 });
});
afterAll(() => database.drop());

it('a query with a filter leaves no prepared statement, since callers choose its shape', async () => {
  const { sql } = database;
  const { operator } = await makeOrg(sql, makeKeyRing());
  const kept = async () => {
    const [row] =
      await sql`SELECT count(*)::int AS n FROM pg_prepared_statements WHERE statement LIKE ${'%active_generation%'}`;
    return row?.['n'];
  };
  const scope = { bucketIds: ['bkt_x'], collectionId: null };
  for (const given of [{ a: 'x' }, { a: ['x'], b: 1 }, { type: 'gt', key: 'a', value: 1 }]) {
    const filter = Filter.parse(given);
    expect(await listLiveDocumentIds(sql, operator, { ...scope, filter }, 10)).toEqual([]);
    expect(await findLiveDocuments(sql, operator, { ...scope, filter }, ['doc_x'])).toEqual(new Map());
  }
  expect(await kept()).toBe(0);
  await findLiveDocuments(sql, operator, { ...scope, filter: null }, ['doc_x']);
  expect(await kept()).toBe(1);
});
