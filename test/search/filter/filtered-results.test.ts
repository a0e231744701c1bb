import { afterAll, beforeAll, expect, it } from 'vitest';
import { createBucket } from '../../../src/documents/buckets.ts';
import { BucketPolicy } from '../../../src/documents/schema.ts';
import { SearchRequest, type SearchResponse } from '../../../src/search/schema.ts';
import { searchBucket } from '../../../src/search/search.ts';
import { drawText, randomFrom } from '../../index/draw-rows.ts';
import { openTestAppliance, type TestAppliance } from '../../support/appliance.ts';
import { fillIndex } from '../../support/fill-index.ts';

const DOCUMENTS = 600;
const TEAMS = 40;
const random = randomFrom(40);
let test: TestAppliance;

beforeAll(async () => {
  test = await openTestAppliance();
  const { sql, search } = test.appliance;
  const { operator } = test;
  const { id: bucketId } = await createBucket(sql, operator, { name: 'teams', policy: BucketPolicy.parse({}) });
  const passages = Array.from({ length: DOCUMENTS * 2 }, () => drawText(random, 20 + Math.floor(random() * 60)));
  const shape = { chunksPerDocument: 2, teams: TEAMS };
  await fillIndex({ sql, tables: search.lance.tables }, { orgId: operator.orgId, bucketId }, passages, shape);
});
afterAll(() => test.close());

const teamsBelow = (end: number) => Array.from({ length: end }, (_, number) => `team-${number}`);

it.each([
  ['1 in 1', { team: teamsBelow(TEAMS) }],
  ['1 in 2', { team: teamsBelow(TEAMS / 2) }],
  ['1 in 4', { team: teamsBelow(TEAMS / 4) }],
  ['1 in 10', { team: teamsBelow(TEAMS / 10) }],
  ['1 in 40', { team: 'team-3' }],
  ['1 document', { file_name: 'file-77.md' }],
  ['none', { team: 'team-x' }],
])('with a filter of %s a search in memory finds the scores that a search of the table finds', async (_, filter) => {
  const { search } = test.appliance;
  for (const [mode, name] of [
    ['keyword', 'bm25_score'],
    ['vector', 'vector_score'],
  ] as const) {
    for (let nth = 0; nth < 3; nth++) {
      const request = SearchRequest.parse({ query: drawText(random, 3), filter, mode, top_k: 10 });
      const [ours, theirs] = await Promise.all(
        [search, { ...search, resident: null, documents: null }].map((context) =>
          searchBucket(context, test.operator, 'teams', request),
        ),
      );
      // Chunks of equal scores may be in another order, since LanceDB adds the terms of a score in any order.
      const scores = (reply: SearchResponse | undefined) => reply?.results.map((each) => each.scores[name] ?? 0) ?? [];
      const expected = scores(theirs);
      expect(scores(ours).length).toBe(expected.length);
      for (const [at, score] of scores(ours).entries()) {
        expect(Math.abs(score - (expected[at] as number))).toBeLessThan(1e-4);
      }
    }
  }
  expect(search.lance.copies?.totals.rows).toBe(DOCUMENTS * 2);
});

it.each([
  ['1 in 1', { team: teamsBelow(TEAMS) }],
  ['1 in 2', { team: teamsBelow(TEAMS / 2) }],
  ['1 in 4', { team: teamsBelow(TEAMS / 4) }],
  ['1 in 10', { team: teamsBelow(TEAMS / 10) }],
  ['1 in 40', { team: 'team-3' }],
])('a search with a filter of %s finds the same with the documents in memory and without', async (_, filter) => {
  const { search } = test.appliance;
  for (let nth = 0; nth < 3; nth++) {
    const request = SearchRequest.parse({ query: drawText(random, 3), filter, top_k: 10 });
    const context = { ...search, documents: null };
    const { results: expected } = await searchBucket(context, test.operator, 'teams', request);
    expect(expected).toHaveLength(10);
    // The documents are read into memory once the bucket has been searched often.
    expect((await searchBucket(search, test.operator, 'teams', request)).results).toEqual(expected);
  }
  expect(search.lance.copies?.totals.rows).toBe(DOCUMENTS * 2);
  expect(search.documents?.documents).toBe(DOCUMENTS);
});
