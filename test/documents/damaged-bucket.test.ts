import { readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createBucket } from '../../src/documents/buckets.ts';
import { purgeDeleted } from '../../src/documents/remove-documents.ts';
import { BucketPolicy } from '../../src/documents/schema.ts';
import { generationOf } from '../index/draw-rows.ts';
import { openTestAppliance, type TestAppliance } from '../support/appliance.ts';
import { registerGeneration } from '../support/generations.ts';
import { keepLogs } from '../support/logs.ts';
import { originIn } from '../support/origins.ts';

/** More than one step of the removal, so that the damaged bucket alone fills the first page. */
const DAMAGED_DOCUMENTS = 201;

let test: TestAppliance;
beforeAll(async () => {
  test = await openTestAppliance();
});
afterAll(() => test.close());

/** Mark documents and their bucket as deleted, as `deleteBucket` does; the first document has a row in the index. */
async function makeDeleted(bucketId: string, first: number, count: number): Promise<void> {
  const { sql, search } = test.appliance;
  const { orgId } = test.operator;
  await sql`
    INSERT INTO documents (id, org_id, bucket_id, file_name, size_bytes, sha256, object_key, ingest_options, status)
    SELECT 'doc_' || n, ${orgId}, ${bucketId}, 'f', 1, '', 'o', '{}', 'deleting'
    FROM generate_series(${first}::int, ${first + count - 1}::int) AS n`;
  await registerGeneration(sql, { id: first, orgId, bucketId });
  await search.index.append(bucketId, generationOf(first, ['heron']), originIn('lexical-1'));
  await sql`UPDATE buckets SET deleting_at = now() WHERE id = ${bucketId}`;
}

it('a bucket whose index is damaged does not keep the deleted documents and buckets of others', async () => {
  const { sql } = test.appliance;
  const { logger, lines } = keepLogs();
  const ids: string[] = [];
  for (const name of ['a', 'b', 'c'])
    ids.push((await createBucket(sql, test.operator, { name, policy: BucketPolicy.parse({}) })).id);
  const [damaged, ...others] = ids.toSorted() as [string, string, string];
  await makeDeleted(damaged, 1_000, DAMAGED_DOCUMENTS);
  await makeDeleted(others[0], 2_000, 3);
  await makeDeleted(others[1], 3_000, 4);
  const data = path.join(test.dataDir, 'index', `${damaged}.lance`, 'data');
  for (const file of readdirSync(data)) writeFileSync(path.join(data, file), 'damaged');

  const removal = { ...test.appliance.documents.removal, logger };
  await expect(purgeDeleted(removal, new AbortController().signal)).rejects.toThrow();
  const documents = await sql`SELECT bucket_id, count(*)::int AS n FROM documents GROUP BY bucket_id`;
  expect(documents).toEqual([{ bucket_id: damaged, n: DAMAGED_DOCUMENTS }]);
  const buckets = await sql`SELECT id FROM buckets WHERE deleting_at IS NOT NULL`;
  expect(buckets.map((row) => row['id'])).toEqual([damaged]);
  expect(lines.filter(({ level }) => level === 40).map((line) => line['bucket_id'])).toEqual([damaged]);
});
