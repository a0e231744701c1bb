import { afterAll, beforeAll, expect, it } from 'vitest';
import { openTestApi, type TestApi } from '../support/api.ts';
import { until } from '../support/until.ts';

const BUCKETS = ['birds', 'boats', 'empty'] as const;
let test: TestApi;
let key: string;
let ids: Record<string, string>;
beforeAll(async () => {
  test = await openTestApi();
  key = await test.key({ scopes: ['search', 'documents:write', 'buckets:manage'] });
  ids = {};
  for (const name of BUCKETS) {
    ids[name] = (await test.call('POST', '/v1/buckets', { key, json: { name } })).body.id;
  }
  await upload('birds', 'heron.md', '# Heron\n\nThe heron stands in the harbour.', { kind: 'bird' });
  await upload('birds', 'gull.md', long('gull'), { kind: 'bird' });
  await upload('boats', 'tug.md', long('tug'), { kind: 'boat' });
  await upload('boats', 'secret.md', '# Secret\n\nThe harbour is mined.', {}, 9);
});
afterAll(() => test.close());

/** Text of several chunks, each about the harbour. */
function long(subject: string): string {
  const sections = ['one', 'two', 'three', 'four', 'five'].map(
    (number) => `## Part ${number}\n\nIn part ${number} the ${subject} passes the harbour ${`${number} `.repeat(120)}.`,
  );
  return `# ${subject}\n\n${sections.join('\n\n')}`;
}

async function upload(bucket: string, filename: string, text: string, metadata: object, privacy_level = 1) {
  const documents = `/v1/buckets/${bucket}/documents`;
  const json = { filename, text, metadata, privacy_level, chunk_size: 128, chunk_overlap: 0 };
  const high = privacy_level > 5 ? await test.key({ scopes: ['documents:write'], authLevel: 10 }) : key;
  const { body } = await test.call('POST', documents, { key: high, json });
  await until(async () => (await test.call('GET', `${documents}/${body.id}`, { key: high })).body.status === 'ready', {
    withinMs: 50_000,
  });
  ids[filename] = body.id;
}

const search = (json: object, as = key) => test.call('POST', '/v2/search', { key: as, json });

it('several buckets are searched as one, and each result names its bucket', async () => {
  const { status, body } = await search({ query: 'harbour', buckets: ['birds', ids['boats']], top_k: 50 });
  expect(status).toBe(200);
  expect(body.bucket_ids.toSorted()).toEqual([ids['birds'], ids['boats']].toSorted());
  const found = new Map(
    body.results.map((r: { document_id: string; bucket_id: string }) => [r.document_id, r.bucket_id]),
  );
  expect(Object.fromEntries(found)).toEqual({
    [ids['heron.md'] as string]: ids['birds'],
    [ids['gull.md'] as string]: ids['birds'],
    [ids['tug.md'] as string]: ids['boats'],
  });
  const scores = body.results.map(({ score }: { score: number }) => score);
  expect(scores).toEqual(scores.toSorted((a: number, b: number) => b - a));
});

it('results of several buckets are explained, where that is asked for', async () => {
  const { body } = await search({ query: 'harbour', buckets: ['birds', 'boats'], explain: true });
  expect(body.results.length).toBeGreaterThan(0);
  for (const { explain, scores } of body.results) {
    const parts = (explain.keyword?.contribution ?? 0) + (explain.vector?.contribution ?? 0);
    expect(parts).toBeCloseTo(scores.rrf_score, 10);
  }
  expect(body.results[0].explain.keyword.terms[0].words).toEqual([expect.stringMatching(/^harbour/i)]);
});

it('the sentences with words of the query are shown over several buckets, where highlights are asked for', async () => {
  const { body } = await search({ query: 'harbour', buckets: ['birds', 'boats'], highlights: true });
  const [first] = body.results;
  const matched = first.highlights.flatMap(({ parts }: { parts: { text: string; match: boolean }[] }) =>
    parts.filter(({ match }) => match).map(({ text }) => text.toLowerCase()),
  );
  expect(matched).toContain('harbour');
});

it('one of several buckets gives the results of a search of that bucket alone', async () => {
  const json = { query: 'the heron in the harbour', top_k: 5 };
  const alone = await test.call('POST', '/v2/buckets/birds/search', { key, json });
  const several = await search({ ...json, buckets: ['birds', 'empty'] });
  const idsOf = (answer: { body: { results: { id: string }[] } }) => answer.body.results.map(({ id }) => id);
  expect(idsOf(several)).toEqual(idsOf(alone));
});

it('filters, threshold, the bound per document and keyword mode work over several buckets', async () => {
  const all = { query: 'harbour', buckets: ['birds', 'boats'], top_k: 50 };
  const boats = await search({ ...all, filter: { kind: 'boat' } });
  expect(new Set(boats.body.results.map((r: { document_id: string }) => r.document_id))).toEqual(
    new Set([ids['tug.md']]),
  );
  const one = await search({ ...all, max_per_document: 1 });
  expect(one.body.results).toHaveLength(3);
  expect((await search({ ...all, score_threshold: 1 })).body.results.length).toBeLessThanOrEqual(1);
  const keyword = await search({ ...all, mode: 'keyword' });
  expect(keyword.body.model).toBeNull();
  const reranked = await search({ ...all, rerank: true });
  expect(reranked.body.warnings).toEqual([expect.stringContaining('no reranker')]);
});

it('documents that the caller may not see are in no result', async () => {
  const { body } = await search({ query: 'harbour mined', buckets: ['boats', 'birds'], top_k: 50 });
  expect(JSON.stringify(body)).not.toContain('mined');
  const high = await test.key({ scopes: ['search'], authLevel: 10 });
  expect(JSON.stringify((await search({ query: 'harbour mined', buckets: ['boats'] }, high)).body)).toContain('mined');
});

it.each([
  ['no buckets', { query: 'x' }, 400],
  ['an empty list', { query: 'x', buckets: [] }, 400],
  ['101 buckets', { query: 'x', buckets: Array.from({ length: 101 }, () => 'birds') }, 400],
  ['a bucket that is not there', { query: 'x', buckets: ['birds', 'none'] }, 404],
  ['another grouping', { query: 'x', buckets: ['birds'], group_by: 'page' }, 400],
])('a search with %s is refused', async (_label, json, expected) => {
  expect((await search(json)).status).toBe(expected);
});

it('a bucket of another organization is not found', async () => {
  const other = await test.key({ org: 'other', scopes: ['search'] });
  expect((await search({ query: 'x', buckets: [ids['birds']] }, other)).status).toBe(404);
});

it('results grouped by document are documents, each with its best passages', async () => {
  const json = { query: 'the gull passes the harbour', top_k: 2, group_by: 'document' };
  const one = await test.call('POST', '/v2/buckets/birds/search', { key, json });
  expect(one.status).toBe(200);
  expect(one.body).toMatchObject({ object: 'list', group_by: 'document', bucket_id: ids['birds'] });
  expect(one.body.results.map((r: { document_id: string }) => r.document_id)).toEqual([
    ids['gull.md'],
    ids['heron.md'],
  ]);
  const [gull] = one.body.results;
  expect(gull).toMatchObject({
    metadata: { kind: 'bird' },
    citation: { file_name: 'gull.md', url: expect.stringMatching(/^http/) },
  });
  expect(gull.passages).toHaveLength(3);
  expect(gull.score).toBe(gull.passages[0].score);
  for (const { document_id } of gull.passages) expect(document_id).toBe(ids['gull.md']);

  const several = await search({ ...json, top_k: 10, buckets: ['birds', 'boats'] });
  expect(several.body.results.map((r: { document_id: string }) => r.document_id).toSorted()).toEqual(
    ['heron.md', 'gull.md', 'tug.md'].map((name) => ids[name]).toSorted(),
  );
  for (const { bucket_id, passages } of several.body.results) {
    for (const passage of passages)
      expect([passage.bucket_id, bucket_id]).toEqual([bucket_id, expect.stringMatching(/^bkt_/)]);
  }
});

it('a search of documents finds as many as are wanted, although some have many matching chunks', async () => {
  const json = { query: 'harbour', top_k: 3, group_by: 'document', mode: 'keyword', buckets: ['birds', 'boats'] };
  expect((await search(json)).body.results).toHaveLength(3);
  expect((await search({ ...json, top_k: 1 })).body.results).toHaveLength(1);
});
