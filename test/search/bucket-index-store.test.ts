import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Caller } from '../../src/access/caller.ts';
import { createBucket, deleteBucket } from '../../src/documents/buckets.ts';
import { BucketPolicy } from '../../src/documents/schema.ts';
import { filterHiding } from '../../src/documents/store.ts';
import { findBucketIndex, findIndexForCaller } from '../../src/search/bucket-index-store.ts';
import { openTestAppliance, type TestAppliance } from '../support/appliance.ts';
import { fillIndex } from '../support/fill-index.ts';

let test: TestAppliance;
const ids = new Map<string, string>();
beforeAll(async () => {
  test = await openTestAppliance();
  const { sql, search } = test.appliance;
  const { operator } = test;
  for (const [nth, name] of ['open', 'level', 'department', 'classified'].entries()) {
    const { id: bucketId } = await createBucket(sql, operator, { name, policy: BucketPolicy.parse({}) });
    ids.set(name, bucketId);
    const shape = { chunksPerDocument: 1, teams: 1, after: nth * 2 };
    await fillIndex(
      { sql, tables: search.lance.tables },
      { orgId: operator.orgId, bucketId },
      ['A harbour.', 'A ferry.'],
      shape,
    );
  }
  await sql`UPDATE documents SET privacy_level = 1, public_accessible = true`;
  await sql`UPDATE documents SET privacy_level = 5 WHERE id = 'doc_4'`;
  await sql`UPDATE documents SET scope = 'legal' WHERE id = 'doc_6'`;
  await sql`UPDATE documents SET classification = 'restricted' WHERE id = 'doc_8'`;
  await createBucket(sql, operator, { name: 'empty', policy: BucketPolicy.parse({}) });
});
afterAll(() => test.close());

const BUCKETS = ['open', 'level', 'department', 'classified', 'empty'];

/** List the buckets that hold documents which a caller may not see. */
async function hidingFrom(caller: Caller): Promise<string[]> {
  const { sql } = test.appliance;
  const found = await Promise.all(BUCKETS.map((name) => findIndexForCaller(sql, caller, name)));
  return BUCKETS.filter((_, nth) => found[nth]?.isHiding);
}

const callerOf = (fields: Partial<Caller>): Caller => ({
  ...test.operator,
  ...{ role: 'member', scopes: new Set(['search'] as const), department: null, authLevel: 10 },
  ...fields,
});

it('a bucket hides documents from a caller of a lower level, another department or outside the organization', async () => {
  expect(await hidingFrom(test.operator)).toEqual([]);
  expect(await hidingFrom(callerOf({ department: 'legal' }))).toEqual([]);
  expect(await hidingFrom(callerOf({ department: 'legal', authLevel: 4 }))).toEqual(['level']);
  expect(await hidingFrom(callerOf({ department: 'sales' }))).toEqual(['department']);
  expect(await hidingFrom(callerOf({ outside: 'public', authLevel: 1 }))).toEqual([
    'level',
    'department',
    'classified',
  ]);
});

it('the index for a caller says what the two questions on their own say', async () => {
  const { sql } = test.appliance;
  for (const caller of [test.operator, callerOf({}), callerOf({ authLevel: 4, outside: 'unrestricted' })]) {
    const hiding = await filterHiding(sql, caller, [...ids.values()]);
    for (const [name, id] of ids) {
      const index = await findBucketIndex(sql, caller, name);
      expect(await findIndexForCaller(sql, caller, name)).toEqual({ index, isHiding: hiding.has(id), changes: null });
      expect(await findIndexForCaller(sql, caller, id)).toEqual({ index, isHiding: hiding.has(id), changes: null });
    }
  }
});

it('a document hides itself until its deletion has ended', async () => {
  const { sql } = test.appliance;
  await sql`UPDATE documents SET status = 'deleting' WHERE id = 'doc_4'`;
  expect(await hidingFrom(callerOf({ department: 'legal', authLevel: 4 }))).toEqual(['level']);
});

it('a deleted bucket, and one of another organization, is not found for any caller', async () => {
  const { sql } = test.appliance;
  const elsewhere = callerOf({ orgId: 'org_elsewhere', authLevel: 1 });
  const missing = { code: 'bucket_not_found' };
  await expect(findIndexForCaller(sql, elsewhere, 'open')).rejects.toMatchObject(missing);
  await deleteBucket(sql, test.operator, 'empty', 'empty');
  await expect(findIndexForCaller(sql, test.operator, 'empty')).rejects.toMatchObject(missing);
  await expect(findIndexForCaller(sql, callerOf({ authLevel: 1 }), 'empty')).rejects.toMatchObject(missing);
});
