import { afterAll, beforeAll, expect, it } from 'vitest';
import { createBucket } from '../../src/documents/buckets.ts';
import { BucketPolicy } from '../../src/documents/schema.ts';
import { getIndexTable } from '../../src/index/index-store.ts';
import { renewTermsChore } from '../../src/ingest/reindex/renew-terms.ts';
import { INDEX_TERMS_VERSION } from '../../src/language/terms-version.ts';
import type { Service } from '../../src/platform/lifecycle.ts';
import { openLogger } from '../../src/platform/logger.ts';
import { SearchRequest } from '../../src/search/schema.ts';
import { searchBucket } from '../../src/search/search.ts';
import { openTestAppliance, type TestAppliance } from '../support/appliance.ts';
import { ingestAll } from '../support/ingest-all.ts';

let test: TestAppliance;
let worker: Service;
const signal = new AbortController().signal;

beforeAll(async () => {
  test = await openTestAppliance();
  worker = test.appliance.jobs.worker('ingest');
  await worker.start(signal);
});
afterAll(async () => {
  await worker.stop();
  await test.close();
});

async function openBucket(name: string, texts: readonly string[]): Promise<string> {
  const { id } = await createBucket(test.appliance.sql, test.operator, { name, policy: BucketPolicy.parse({}) });
  await ingestAll(
    test.appliance,
    test.operator,
    name,
    texts.map((text, nth) => ({ id: `${nth}`, fileName: `${nth}.txt`, text })),
  );
  await test.appliance.ingest.reindex.index.optimize(id, signal);
  return id;
}

async function findTexts(bucket: string, query: string): Promise<string[]> {
  const request = SearchRequest.parse({ query, mode: 'keyword' });
  return (await searchBucket(test.appliance.search, test.operator, bucket, request)).results.map(({ text }) => text);
}

const termsVersion = async (bucketId: string) =>
  (await test.appliance.sql`SELECT terms_version FROM index_tables WHERE bucket_id = ${bucketId}`)[0]?.[
    'terms_version'
  ];
const tableName = async (bucketId: string) => (await getIndexTable(test.appliance.sql, bucketId))?.name as string;
const renew = () => {
  const embedder = {
    embed: () => Promise.reject(new Error('a text was embedded')),
  } as never;
  return renewTermsChore({ ...test.appliance.ingest.reindex, embedder, logger: openLogger('error') }, 1_000).run(
    signal,
  );
};

it('an index with the terms of an earlier version is built again from its texts and vectors', async () => {
  const texts = ['Книги стоят на полках библиотеки.', 'Корабли ждут в гавани.'];
  const bucketId = await openBucket('old-terms', texts);
  expect(await termsVersion(bucketId)).toBe(INDEX_TERMS_VERSION);
  const before = await tableName(bucketId);
  const table = await test.appliance.search.lance.tables.openForWriting(before);
  await table.update({ values: { tokens: 'terms of an earlier version' } });
  await test.appliance.sql`
    UPDATE index_tables SET terms_version = NULL, version = ${await table.version()} WHERE bucket_id = ${bucketId}`;
  expect(await findTexts('old-terms', 'книга на полке')).toEqual([]);

  await renew();
  expect(await termsVersion(bucketId)).toBe(INDEX_TERMS_VERSION);
  expect(await tableName(bucketId)).not.toBe(before);
  expect(await findTexts('old-terms', 'книга на полке')).toEqual([texts[0]]);
});

it('an index with the terms of this version stays as it is', async () => {
  const bucketId = await openBucket('new-terms', ['The ferry leaves the harbour at seven.']);
  const before = await tableName(bucketId);
  await renew();
  expect(await tableName(bucketId)).toBe(before);
});
