import { afterAll, beforeAll, expect, it } from 'vitest';
import { createGroup } from '../../src/access/groups/groups.ts';
import { openTestApi, type TestApi } from '../support/api.ts';
import { until } from '../support/until.ts';

let api: TestApi;
let operator: string;
let low: string;
beforeAll(async () => {
  api = await openTestApi();
  operator = await api.key({
    scopes: ['documents:write', 'search', 'buckets:manage', 'platform_admin'],
    authLevel: 10,
  });
  low = await api.key({ scopes: ['search'], authLevel: 1 });
  await createGroup(api.appliance.sql, api.operator, { name: 'board' });
});
afterAll(() => api.close());

const HIDING = { level: { privacy_level: 9 }, group: { access: { groups: ['board'] } } };

/** Make a bucket with visible documents, and with hidden ones of these texts. */
async function fill(name: string, hidden: readonly string[], by: keyof typeof HIDING = 'level'): Promise<void> {
  await api.call('POST', '/v1/buckets', { key: operator, json: { name } });
  const visible = [
    'The harbour is open.',
    'The merger of the harbour offices was announced.',
    'A ferry leaves at noon.',
  ];
  for (const [at, text] of [...visible, ...hidden].entries()) {
    const access = at < visible.length ? {} : HIDING[by];
    const json = { filename: `${at}.txt`, text, ...access, on_duplicate: 'allow' };
    expect((await api.call('POST', `/v1/buckets/${name}/documents`, { key: operator, json })).status).toBe(202);
  }
  const settled = await until(async () => {
    const rows = await api.appliance.sql`SELECT status FROM documents WHERE status NOT IN ('ready')`;
    return rows.length === 0;
  });
  expect(settled).toBe(true);
}

const scoresFor = async (name: string, query: string, key: string) => {
  const answer = await api.call('POST', `/v2/buckets/${name}/search`, { key, json: { query } });
  expect(answer.status).toBe(200);
  return answer.body.results.map((result: { text: string; score: number; scores: object }) => [
    result.text,
    result.score,
    result.scores,
  ]);
};

it.each(['level', 'group'] as const)('no score of a search tells a word of a document hidden by its %s', async (by) => {
  const filler = Array.from({ length: 20 }, (_, n) => `A secret letter of number ${n}.`);
  const [having, without] = [`with-${by}`, `without-${by}`];
  await fill(having, [...filler.slice(1), 'The merger failed.'], by);
  await fill(without, filler, by);
  for (const query of ['merger', 'merger harbour', 'harbour open', 'failed merger ferry']) {
    expect(await scoresFor(having, query, low)).toEqual(await scoresFor(without, query, low));
  }
  // To whom nothing is hidden the scores are those of BM25, which differ.
  const [first] = await scoresFor(having, 'merger', operator);
  const [second] = await scoresFor(without, 'merger', operator);
  expect(first?.[2].bm25_score).not.toBe(second?.[2].bm25_score);
});

it('a caller from whom nothing in the bucket is hidden gets the scores of BM25', async () => {
  await fill('open', []);
  expect(await scoresFor('open', 'harbour', low)).toEqual(await scoresFor('open', 'harbour', operator));
  const [[, , scores]] = (await scoresFor('open', 'ferry', low)) as [[string, number, { bm25_score: number }]];
  expect(scores.bm25_score).not.toBe(1);
});

it('the first search after a document was hidden gets no scores of BM25, though it begins at an index that is known', async () => {
  await fill('closing', []);
  const before = await scoresFor('closing', 'harbour', low);
  expect(await scoresFor('closing', 'harbour', low)).toEqual(before);
  const { sql } = api.appliance;
  const [bucket] = await sql`SELECT id FROM buckets WHERE name = 'closing'`;
  await sql`UPDATE documents SET privacy_level = 9 WHERE bucket_id = ${bucket?.['id']} AND file_name = '2.txt'`;
  const after = await scoresFor('closing', 'harbour', low);
  const bm25 = (found: typeof before) =>
    found.map(([, , scores]: [string, number, { bm25_score: number }]) => scores.bm25_score);
  expect(bm25(after)).toEqual([1, 1 / 2]);
  expect(bm25(before)).not.toEqual(bm25(after));
});
