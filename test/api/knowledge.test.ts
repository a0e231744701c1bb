import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openTestApi, type TestApi } from '../support/api.ts';
import { ingestAll } from '../support/ingest-all.ts';

let test: TestApi;
let key: string;

beforeAll(async () => {
  test = await openTestApi();
  const document = (id: string, text: string) => ({ id, fileName: `${id}.txt`, text });
  const { idOf } = await ingestAll(test.appliance, test.operator, 'default', [
    document('north', 'The pump of the north harbour is greased every three months.'),
    document('south', 'The pump of the south harbour is greased every five months.'),
    document('plain', 'The pump of no harbour is greased once a year.'),
  ]);
  key = await test.key({ scopes: ['search', 'buckets:manage'] });
  const metadata: Record<string, Record<string, string>> = {
    north: { place: 'north harbour', year: '2024', note: 'old' },
    south: { place: 'south harbour', year: '2026' },
  };
  for (const [id, name] of idOf) {
    const values = metadata[name];
    if (values === undefined) continue;
    const { status } = await test.call('PATCH', `/v1/buckets/default/documents/${id}/metadata`, {
      key,
      json: { metadata: values, reindex: false },
    });
    expect(status).toBe(200);
  }
}, 60_000);
afterAll(() => test.close());

const retrieve = (more: Record<string, unknown> = {}, as: string | undefined = key) =>
  test.call('POST', '/retrieval', {
    ...(as === undefined ? {} : { key: as }),
    json: {
      knowledge_id: 'default',
      query: 'when is the pump greased?',
      retrieval_setting: { top_k: 5, score_threshold: 0 },
      ...more,
    },
  });
const titles = ({ body }: Awaited<ReturnType<typeof retrieve>>) =>
  body.records.map(({ title }: { title: string }) => title).toSorted();
const where = (...conditions: [name: string, operator: string, value?: unknown][]) => ({
  metadata_condition: {
    logical_operator: 'and',
    conditions: conditions.map(([name, comparison_operator, value]) => ({ name, comparison_operator, value })),
  },
});

describe("Dify's external knowledge API", () => {
  it('answers with records: content, score, title and metadata', async () => {
    const { status, body } = await retrieve({ retrieval_setting: { top_k: 1, score_threshold: 0 } });
    expect([status, body.records.length]).toEqual([200, 1]);
    expect(body.records[0]).toMatchObject({
      content: expect.stringContaining('pump'),
      title: expect.stringMatching(/\.txt$/),
      metadata: {
        document_id: expect.stringMatching(/^doc_/),
        chunk_index: 0,
        url: expect.stringContaining('/console'),
      },
    });
    expect(body.records[0].score).toBeGreaterThan(0);
    expect((await retrieve({ retrieval_setting: { top_k: 5, score_threshold: 1 } })).body).toEqual({ records: [] });
  });

  it.each([
    [[['place', 'is', 'north harbour']], ['north.txt']],
    [[['place', 'is not', 'north harbour']], ['south.txt']],
    [[['place', 'contains', 'south']], ['south.txt']],
    [[['place', 'not contains', 'south']], ['north.txt']],
    [[['place', 'start with', 'north']], ['north.txt']],
    [[['place', 'end with', 'harbour']], ['north.txt', 'south.txt']],
    [[['place', 'in', ['north harbour', 'x']]], ['north.txt']],
    [[['place', 'not in', ['north harbour', 'x']]], ['south.txt']],
    [[['year', '≥', 2025]], ['south.txt']],
    [[['year', '<', 2025]], ['north.txt']],
    [[['year', '=', 2026]], ['south.txt']],
    [[['year', 'after', '2025-01-01']], ['south.txt']],
    [[['note', 'empty']], ['plain.txt', 'south.txt']],
    [[['note', 'not empty']], ['north.txt']],
    [
      [
        ['place', 'end with', 'harbour'],
        ['year', '>', 2025],
      ],
      ['south.txt'],
    ],
  ] as [[string, string, unknown?][], string[]][])('the conditions %j select %j', async (conditions, expected) => {
    expect(titles(await retrieve(where(...conditions)))).toEqual(expected);
  });

  it('with or one condition is enough, and a name may be a list', async () => {
    const conditions = [
      { name: 'place', comparison_operator: 'is', value: 'north harbour' },
      { name: ['year', 'other'], comparison_operator: 'is', value: '2026' },
    ];
    const either = await retrieve({ metadata_condition: { logical_operator: 'or', conditions } });
    expect(titles(either)).toEqual(['north.txt', 'south.txt']);
    expect(titles(await retrieve({ metadata_condition: null }))).toHaveLength(3);
  });

  it('answers the request of docs/clients/dify.md', async () => {
    const page = readFileSync(new URL('../../docs/clients/dify.md', import.meta.url), 'utf8');
    const [, json = ''] = /```json\n(.*?)```/s.exec(page) ?? [];
    expect(titles(await retrieve(JSON.parse(json)))).toEqual(['north.txt', 'south.txt']);
  });

  it('refuses in its own form: a wrong key, an unknown knowledge, a condition without a value', async () => {
    for (const [reply, status, code] of [
      [await retrieve({}, 'svc_wrong'), 401, 1002],
      [await retrieve({}, await test.key({ scopes: ['embed'] })), 403, 1002],
      [await retrieve({ knowledge_id: 'missing' }), 404, 2001],
      [await retrieve(where(['place', 'in', []])), 400, 400],
      [await retrieve(where(['place', 'like', 'x'])), 400, 400],
      [await retrieve({ query: '' }), 400, 400],
    ] as const) {
      expect([reply.status, reply.body]).toEqual([status, { error_code: code, error_msg: expect.any(String) }]);
    }
    const foreign = await test.key({ org: 'other', scopes: ['search'] });
    expect((await retrieve({}, foreign)).body.records ?? []).toEqual([]);
  });
});
