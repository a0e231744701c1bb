import { afterAll, beforeAll, expect, it } from 'vitest';
import { createBucket } from '../../src/documents/buckets.ts';
import { BucketPolicy } from '../../src/documents/schema.ts';
import { getIndexTable } from '../../src/index/index-store.ts';
import { LanceTables } from '../../src/index/lance/lance.ts';
import { LanceIndex } from '../../src/index/lance/lance-index.ts';
import { IndexWriter } from '../../src/index/writing/index-writer.ts';
import { analyse, weighTerms } from '../../src/language/analyser.ts';
import { openTestAppliance, type TestAppliance } from '../support/appliance.ts';
import { registerGeneration } from '../support/generations.ts';
import { keepLogs } from '../support/logs.ts';
import { originIn } from '../support/origins.ts';
import { generationOf } from './draw-rows.ts';

let test: TestAppliance;
beforeAll(async () => {
  test = await openTestAppliance();
});
afterAll(() => test.close());

// Until the table is settled, LanceDB 0.31 does not find a word that new rows have more often than the table has rows.
it('a word that a new chunk repeats is found at once by a process that reads the files', async () => {
  const { sql } = test.appliance;
  const chunks = new LanceIndex(test.appliance.search.lance.tables);
  const writer = new IndexWriter({ sql, direct: sql, chunks, logger: keepLogs().logger });
  const policy = BucketPolicy.parse({});
  const { id: bucketId } = await createBucket(sql, test.operator, { name: 'pumps', policy });
  for (const [id, text] of [
    [910_001, 'valve'],
    [910_002, 'pump pump pump'],
    [910_003, 'heron heron heron heron heron'],
  ] as const) {
    await registerGeneration(sql, { id, orgId: test.operator.orgId, bucketId });
    await writer.append(bucketId, generationOf(id, [text]), originIn('lexical-1'));
    const table = await getIndexTable(sql, bucketId);
    const other = new LanceIndex(new LanceTables(`${test.dataDir}/index`));
    const reader = await other.open(table === null ? [] : [table]);
    const [word = ''] = text.split(' ');
    const found = await reader?.searchKeywords(weighTerms(analyse(word)), { limit: 10, documentIds: null });
    expect(found?.map(({ generation }) => generation)).toEqual([id]);
    await other.close();
  }
  await writer.close();
});
