import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createBucket } from '../../src/documents/buckets.ts';
import { BucketPolicy } from '../../src/documents/schema.ts';
import { UploadRequest } from '../../src/ingest/schema.ts';
import { uploadDocument } from '../../src/ingest/upload.ts';
import { SearchRequest, type SearchResponse } from '../../src/search/schema.ts';
import { searchBucket } from '../../src/search/search.ts';
import { openTestAppliance, type TestAppliance } from '../support/appliance.ts';
import { untilSettled } from '../support/settled.ts';
import { until } from '../support/until.ts';

const DOCUMENTS = 300;
const WORDS = ['anchor', 'buoy', 'cargo', 'dock', 'ebb', '항구', '만조', '부표'];

/** Two processes of one installation. */
let here: TestAppliance;
let there: TestAppliance;

/** Text of a few words and fixed length, so that most scores are ties. */
const textOf = (number: number) => [0, 1, 2].map((place) => WORDS[(number >> (place * 2)) % WORDS.length]).join(' ');

beforeAll(async () => {
  here = await openTestAppliance();
  there = await openTestAppliance({}, { beside: here });
  const { sql, ingest, jobs } = here.appliance;
  const { id: bucketId } = await createBucket(sql, here.operator, { name: 'ties', policy: BucketPolicy.parse({}) });
  for (let number = 0; number < DOCUMENTS; number++) {
    const content = { bytes: Buffer.from(textOf(number)), fileName: `${number}.txt`, contentType: null };
    await uploadDocument(
      ingest.uploads,
      here.operator,
      bucketId,
      content,
      UploadRequest.parse({ on_duplicate: 'allow' }),
    );
  }
  const worker = jobs.worker('ingest');
  await worker.start(new AbortController().signal);
  const isDone = async () => (await sql`SELECT 1 FROM documents WHERE status = 'ready'`).length === DOCUMENTS;
  await until(isDone, { what: 'the ingest of all documents' });
  await untilSettled(sql, bucketId);
  await worker.stop();
});
afterAll(async () => {
  await there.close();
  await here.close();
});

const Query = fc.record({
  query: fc.array(fc.constantFrom(...WORDS), { minLength: 1, maxLength: 3 }).map((words) => words.join(' ')),
  mode: fc.constantFrom('hybrid' as const, 'keyword' as const, 'vector' as const),
  top_k: fc.constantFrom(1, 10, 50),
  max_per_document: fc.constantFrom(undefined, 1),
});

const ordered = ({ results }: SearchResponse) => results.map(({ id, score, scores }) => ({ id, score, scores }));

it('equal searches of a settled index give equal results in equal order, in every process', async () => {
  await fc.assert(
    fc.asyncProperty(Query, async (query) => {
      const search = async ({ appliance, operator }: TestAppliance) =>
        ordered(await searchBucket(appliance.search, operator, 'ties', SearchRequest.parse(query)));
      const first = await search(here);
      expect(first.length).toBeGreaterThan(0);
      const others = await Promise.all([search(here), search(there), search(here), search(there)]);
      for (const other of [...others, await search(there)]) expect(other).toEqual(first);
    }),
    { numRuns: 40, seed: 20_261_122 },
  );
});
