import { afterAll, beforeAll, expect, it } from 'vitest';
import { createBucket, deleteBucket } from '../../src/documents/buckets.ts';
import { BucketPolicy } from '../../src/documents/schema.ts';
import { openLogger } from '../../src/platform/logger.ts';
import { findBucketIndex } from '../../src/search/bucket-index-store.ts';
import { LastSeenIndexes } from '../../src/search/early-start.ts';
import { publishVersion } from '../../src/search/index-versions-store.ts';
import { indexLearning } from '../../src/search/learn-indexes.ts';
import { openTestAppliance, type TestAppliance } from '../support/appliance.ts';
import { originIn } from '../support/origins.ts';

let test: TestAppliance;
beforeAll(async () => {
  test = await openTestAppliance();
});
afterAll(() => test.close());

async function makeIndex(name: string, version: number): Promise<string> {
  const { sql } = test.appliance;
  const { id } = await createBucket(sql, test.operator, { name, policy: BucketPolicy.parse({}) });
  const index = { name: id, version, origin: originIn('lexical-1'), settled: true, shape: null };
  await publishVersion(sql, id, index);
  return id;
}

async function learn(lastSeen: LastSeenIndexes, prepare = () => {}): Promise<void> {
  const { sql } = test.appliance;
  const learning = indexLearning({ sql, lastSeen, resident: { prepare }, logger: openLogger('silent') });
  await learning.start(new AbortController().signal);
  await learning.stop();
}

it('the thread that holds indexes is started if there are any', async () => {
  let prepared = 0;
  await learn(new LastSeenIndexes(), () => void prepared++);
  expect(prepared).toBe(0);
  await makeIndex('cranes', 1);
  await learn(new LastSeenIndexes(), () => void prepared++);
  expect(prepared).toBe(1);
});

it('the versions of the indexes of all buckets are learnt as a search would find them', async () => {
  const { sql } = test.appliance;
  const { orgId } = test.operator;
  const herons = await makeIndex('herons', 7);
  await makeIndex('storks', 9);
  await createBucket(sql, test.operator, { name: 'empty', policy: BucketPolicy.parse({}) });
  const lastSeen = new LastSeenIndexes();
  await learn(lastSeen);
  for (const ref of ['herons', 'storks', herons])
    expect(lastSeen.get(orgId, ref)).toEqual(await findBucketIndex(sql, orgId, ref));
  expect(lastSeen.get(orgId, 'herons')?.indexTable?.version).toBe(7);
  expect(lastSeen.get(orgId, 'empty')).toBeUndefined();
  expect(lastSeen.get('org_other', 'herons')).toBeUndefined();
});

it('an index that a search has seen meanwhile stays as it was seen, and that of a deleted bucket is not learnt', async () => {
  const { sql } = test.appliance;
  const { orgId } = test.operator;
  await makeIndex('gulls', 3);
  await makeIndex('terns', 3);
  const lastSeen = new LastSeenIndexes();
  const seen = { bucketId: 'bkt_newer', indexTable: null, synonymsEdit: null };
  lastSeen.remember(orgId, 'gulls', seen);
  await deleteBucket(sql, test.operator, 'terns', 'terns');
  await learn(lastSeen);
  expect(lastSeen.get(orgId, 'gulls')).toBe(seen);
  expect(lastSeen.get(orgId, 'terns')).toBeUndefined();
});

it('a server goes on if the versions cannot be learnt', async () => {
  const lastSeen = new LastSeenIndexes();
  const closed = await openTestAppliance();
  await closed.close();
  const learning = indexLearning({ sql: closed.appliance.sql, lastSeen, resident: null, logger: openLogger('silent') });
  await learning.start(new AbortController().signal);
  await expect(learning.stop()).resolves.toBeUndefined();
});
