import { afterAll, beforeAll, expect, it } from 'vitest';
import { createBucket } from '../../../src/documents/buckets.ts';
import { deleteDocument } from '../../../src/documents/documents.ts';
import { BucketPolicy } from '../../../src/documents/schema.ts';
import { SearchRequest } from '../../../src/search/schema.ts';
import { searchBucket } from '../../../src/search/search.ts';
import { openTestAppliance, type TestAppliance } from '../../support/appliance.ts';
import { fillIndex } from '../../support/fill-index.ts';
import { until } from '../../support/until.ts';

// A process that holds the documents of a bucket in memory, and another one that changes them.

const DOCUMENTS = 30;
let here: TestAppliance;
let there: TestAppliance;
let bucketId: string;

beforeAll(async () => {
  here = await openTestAppliance();
  there = await openTestAppliance({}, { beside: here });
  const { sql, search } = here.appliance;
  ({ id: bucketId } = await createBucket(sql, here.operator, { name: 'ships', policy: BucketPolicy.parse({}) }));
  const passages = Array.from({ length: DOCUMENTS }, (_, nth) => `The vessel number${nth} lies at anchor.`);
  const shape = { chunksPerDocument: 1, teams: 3 };
  await fillIndex({ sql, tables: search.lance.tables }, { orgId: here.operator.orgId, bucketId }, passages, shape);
  await until(async () => {
    await find('number1');
    return here.appliance.search.documents?.documents === DOCUMENTS;
  });
});
afterAll(async () => {
  await there.close();
  await here.close();
});

async function find(query: string, fields: Record<string, unknown> = {}, caller = here.operator): Promise<string[]> {
  const request = SearchRequest.parse({ query, mode: 'keyword', correct: false, ...fields });
  const { results } = await searchBucket(here.appliance.search, caller, 'ships', request);
  return results.map(({ document_id }) => document_id);
}

const others = () => there.appliance.sql;
const held = () => here.appliance.search.documents?.documents;

it('the next search knows every change of a document that another process has made', async () => {
  const [id = ''] = await find('number3');
  const filter = { team: 'moved' };
  expect(await find('vessel', { filter })).toEqual([]);
  await others()`UPDATE documents SET metadata = '{"team": "moved"}' WHERE id = ${id}`;
  expect(await find('vessel', { filter })).toEqual([id]);
  const reader = { ...here.operator, role: 'member', authLevel: 4 } as typeof here.operator;
  expect(await find('number3', {}, reader)).toEqual([id]);
  await others()`UPDATE documents SET privacy_level = 5 WHERE id = ${id}`;
  expect(await find('number3', {}, reader)).toEqual([]);
  expect(await find('number3', { filter }, reader)).toEqual([]);
  expect(await find('number3', { filter })).toEqual([id]);
  await others()`UPDATE documents SET searchable = false WHERE id = ${id}`;
  expect(await find('number3', { filter })).toEqual([]);
  expect(held()).toBe(DOCUMENTS - 1);
  await others()`UPDATE documents SET searchable = true, privacy_level = 1, metadata = '{}' WHERE id = ${id}`;
  expect(await find('number3', {}, reader)).toEqual([id]);
  expect(held()).toBe(DOCUMENTS);
});

it('a deleted document is not found by the next search', async () => {
  const [id = ''] = await find('number5');
  await deleteDocument(there.appliance.sql, there.operator, bucketId, id);
  expect(await find('number5')).toEqual([]);
  expect(await find('vessel', { top_k: 50 })).not.toContain(id);
});

it('a search goes on with PostgreSQL if more has changed than a copy follows', async () => {
  const copy = here.appliance.search.documents?.find(here.operator.orgId, 'ships');
  expect(copy).toBeDefined();
  for (let nth = 0; nth < 40; nth++) {
    await others()`UPDATE documents SET updated_at = now() WHERE bucket_id = ${bucketId}`;
  }
  expect(await find('number9')).toHaveLength(1);
  expect(held()).toBe(0);
  await until(async () => (await find('number9')).length === 1 && (held() ?? 0) > 0);
});
