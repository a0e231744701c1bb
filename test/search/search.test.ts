import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Caller } from '../../src/access/caller.ts';
import { createBucket, createCollection } from '../../src/documents/buckets.ts';
import { BucketPolicy } from '../../src/documents/schema.ts';
import { UploadRequest } from '../../src/ingest/schema.ts';
import { uploadDocument } from '../../src/ingest/upload.ts';
import type { Service } from '../../src/platform/lifecycle.ts';
import { SearchRequest } from '../../src/search/schema.ts';
import { searchBucket } from '../../src/search/search.ts';
import { openTestAppliance, type TestAppliance } from '../support/appliance.ts';
import { until } from '../support/until.ts';

let test: TestAppliance;
let worker: Service;
const ids = new Map<string, string>();

const TEXTS: [name: string, text: string, fields: Record<string, unknown>][] = [
  ['tides', 'The tide tables of the harbour list high water at dawn.', { metadata: { year: 2021, area: 'sea' } }],
  [
    'harbour',
    'Harbour dues are paid at the customs house.',
    { metadata: { year: 2024, area: 'sea' }, privacy_level: 6 },
  ],
  [
    'mountain',
    'Mountain huts open when the snow has melted.',
    { metadata: { year: 2024, area: 'land' }, collection_id: 'hikes' },
  ],
  ['payroll', 'Payroll of the harbour office, by month.', { metadata: { scope: 'finance' } }],
  ['korean', '항구의 만조 시각은 새벽입니다.', {}],
];

beforeAll(async () => {
  test = await openTestAppliance();
  const { sql } = test.appliance;
  const { uploads } = test.appliance.ingest;
  worker = test.appliance.jobs.worker('ingest');
  await worker.start(new AbortController().signal);
  await createBucket(sql, test.operator, { name: 'port', policy: BucketPolicy.parse({}) });
  await createCollection(sql, test.operator, 'port', 'hikes');
  for (const [name, text, fields] of TEXTS) {
    const content = { bytes: Buffer.from(text), fileName: `${name}.txt`, contentType: null };
    ids.set((await uploadDocument(uploads, test.operator, 'port', content, UploadRequest.parse(fields))).id, name);
  }
  await until(async () => {
    const [row] = await sql`SELECT count(*)::int AS n FROM documents WHERE status = 'ready'`;
    return row?.['n'] === TEXTS.length;
  });
});
afterAll(async () => {
  await worker.stop();
  await test.close();
});

async function find(query: string, fields: Record<string, unknown> = {}, caller: Caller = test.operator) {
  const request = SearchRequest.parse({ query, ...fields });
  const reply = await searchBucket(test.appliance.search, caller, 'port', request);
  return { ...reply, names: reply.results.map((result) => ids.get(result.document_id)) };
}

const member = (fields: Partial<Caller> = {}): Caller => ({
  ...test.operator,
  kind: 'user',
  role: 'member',
  scopes: new Set(['search']),
  authLevel: 3,
  ...fields,
});

describe('search', () => {
  it.each(['hybrid', 'vector', 'keyword'])('a search finds the passage first in mode %s', async (mode) => {
    const reply = await find('high water at the harbour', { mode });
    expect(reply.names[0]).toBe('tides');
    const [hit] = reply.results;
    expect(hit?.score).toBeGreaterThan(0);
    expect(hit?.score).toBeLessThanOrEqual(1);
    expect(hit?.scores.bm25_score === null).toBe(mode === 'vector');
    expect(hit?.scores.vector_score === null).toBe(mode === 'keyword');
    expect(hit?.citation).toMatchObject({ file_name: 'tides.txt', locator: { start: 0, heading_path: [] } });
  });

  it('a Korean query finds a Korean text', async () => {
    expect((await find('만조 시각')).names[0]).toBe('korean');
  });

  it('results are sorted by falling score, at most top_k of them', async () => {
    const { results } = await find('harbour', { top_k: 2 });
    expect(results).toHaveLength(2);
    expect((results[0]?.score ?? 0) >= (results[1]?.score ?? 0)).toBe(true);
  });

  it.each(['the of and', '?!…', '   '])('the query %j has no results and no error', async (query) => {
    expect((await find(query)).results).toEqual([]);
  });

  it('a warning reports that no reranker is configured', async () => {
    expect((await find('harbour', { rerank: true })).warnings.join()).toContain('reranker');
  });

  it('a search falls back to keywords and warns if the spaces cannot be compared', async () => {
    const { sql } = test.appliance;
    await sql`UPDATE index_tables SET space = 'canon-v1'`;
    const reply = await find('high water at the harbour');
    await sql`UPDATE index_tables SET space = 'lexical-1'`;
    expect(reply.names[0]).toBe('tides');
    expect(reply.warnings.join()).toContain('keyword only');
    expect(reply.results.every((result) => result.scores.vector_score === null)).toBe(true);
  });

  it('results below the score threshold are left out', async () => {
    const all = (await find('harbour')).results;
    const bar = all[0]?.score as number;
    expect((await find('harbour', { score_threshold: bar })).results.every((result) => result.score >= bar)).toBe(true);
  });
});

describe('filters', () => {
  it.each([
    [{ area: 'sea' }, ['harbour', 'tides']],
    [{ area: ['land', 'sea'], year: 2024 }, ['harbour', 'mountain']],
    [{ type: 'eq', key: 'area', value: 'land' }, ['mountain']],
    [{ type: 'ne', key: 'area', value: 'sea' }, ['mountain']],
    [{ type: 'gte', key: 'year', value: 2024 }, ['harbour', 'mountain']],
    [{ type: 'lt', key: 'year', value: 2024 }, ['tides']],
    [{ type: 'in', key: 'file_name', value: ['korean.txt'] }, ['korean']],
    [{ type: 'nin', key: 'area', value: ['sea', 'land'] }, []],
    [
      {
        type: 'or',
        filters: [
          { type: 'eq', key: 'area', value: 'land' },
          { type: 'and', filters: [{ type: 'eq', key: 'year', value: '2021' }] },
        ],
      },
      ['mountain', 'tides'],
    ],
    [{ "a' OR true --": 'x' }, []],
  ])('the filter %j selects its documents', async (filter, expected) => {
    const { names } = await find('harbour tide mountain payroll 만조', { filter, mode: 'vector' });
    expect(names.toSorted()).toEqual(expected);
  });

  it('a search can be limited to a collection', async () => {
    expect((await find('open', { collection: 'hikes', mode: 'vector' })).names).toEqual(['mountain']);
  });

  it.each([{ type: 'regex', key: 'a', value: 'b' }, 'area=sea', { a: { b: 1 } }, [1]])(
    'the filter %j is refused',
    (filter) => {
      expect(SearchRequest.safeParse({ query: 'q', filter }).success).toBe(false);
    },
  );
});

describe('what a caller may see', () => {
  it('a search hides documents above the auth level', async () => {
    expect((await find('harbour dues customs', {}, member())).names).not.toContain('harbour');
    expect((await find('harbour dues customs', {}, member({ authLevel: 6 }))).names[0]).toBe('harbour');
  });

  it('a search finds a visible document behind thousands of better chunks that are hidden', async () => {
    const { sql } = test.appliance;
    const { uploads } = test.appliance.ingest;
    const text = Array.from(
      { length: 4_000 },
      (_, i) => `# Lighthouse ${i}\n\n${'lighthouse keeper log '.repeat(12)}${i}.`,
    ).join('\n\n');
    const content = { bytes: Buffer.from(text), fileName: 'logs.md', contentType: null };
    const request = UploadRequest.parse({ privacy_level: 9, chunk_size: 64, chunk_overlap: 0 });
    const hidden = await uploadDocument(uploads, test.operator, 'port', content, request);
    const open = { bytes: Buffer.from('The lighthouse is open on Sundays.'), fileName: 'open.txt', contentType: null };
    ids.set((await uploadDocument(uploads, test.operator, 'port', open, UploadRequest.parse({}))).id, 'open');
    const isReady = async () => (await sql`SELECT 1 FROM documents WHERE status NOT IN ('ready')`).length === 0;
    await until(isReady, { withinMs: 50_000 });
    const [row] = await sql`SELECT chunks_count FROM documents WHERE id = ${hidden.id}`;
    expect(row?.['chunks_count']).toBeGreaterThan(3_200);
    expect((await find('lighthouse keeper log', {}, member())).names).toContain('open');
  });

  it('documents of a department are found by its members only', async () => {
    expect((await find('payroll by month', {}, member())).names).not.toContain('payroll');
    expect((await find('payroll by month', {}, member({ department: 'finance' }))).names[0]).toBe('payroll');
  });

  it('a change of the privacy level takes effect at once, without a new index', async () => {
    const { sql } = test.appliance;
    expect((await find('mountain huts', {}, member())).names[0]).toBe('mountain');
    await sql`UPDATE documents SET privacy_level = 9 WHERE file_name = 'mountain.txt'`;
    expect((await find('mountain huts', {}, member())).names).not.toContain('mountain');
    await sql`UPDATE documents SET privacy_level = 1 WHERE file_name = 'mountain.txt'`;
  });

  it('a search never leaves the organization', async () => {
    const stranger = member({ orgId: 'org_other' });
    await expect(find('harbour', {}, stranger)).rejects.toMatchObject({ code: 'bucket_not_found', status: 404 });
  });
});
