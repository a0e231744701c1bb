import { afterAll, beforeAll, expect, test } from 'vitest';
import { SCOPES } from '../../src/access/caller.ts';
import { parseRowTemplate, type RowTemplate } from '../../src/memory/template.ts';
import { openTestApi, type TestApi } from '../support/api.ts';
import { type FakeReranker, startFakeReranker } from '../support/fake-reranker.ts';
import { until } from '../support/until.ts';

// Fields of requests that repeat or render something. A small request must not make a large answer, and must not keep
// the process busy.

const MIB = 1024 * 1024;
/** Bytes of an answer for each byte of its request, except for workflows, whose outputs have a bound of their own. */
const ANSWER_PER_BYTE_MAX = 4;
/** Bytes of any answer: an error, or a page of results. */
const ANSWER_BYTES = 64 * 1024;
/** Bytes of the answer of a run, whose outputs have 8 Mi characters at most. */
const RUN_BYTES_MAX = 10 * MIB;
/** Processor time for each kilobyte of a request, and for any request. */
const CPU_MS_PER_KB_MAX = 5;
const CPU_MS = 600;

let api: TestApi;
let reranker: FakeReranker;
let key: string;

beforeAll(async () => {
  const sources = { docs: { type: 'folder', root: import.meta.dirname, organizations: ['*'] } };
  reranker = await startFakeReranker('cohere');
  const rerank = { protocol: 'cohere', base_url: reranker.url, api_key: 'canary-fields-62d8', model: 'rerank-main' };
  api = await openTestApi({ settings: { sources, rerank } });
  key = await api.key({ scopes: SCOPES.filter((scope) => scope !== 'platform_admin'), authLevel: 9 });
  const json = { filename: 'a.txt', text: 'The first word of a document about ferries.', metadata: { team: 'a' } };
  const { body } = await api.call('POST', '/v1/buckets/default/documents', { key, json });
  await ready(body.job_id);
});
afterAll(async () => {
  await api.close();
  await reranker.close();
});

function ready(jobId: string) {
  return until(async () => (await api.call('GET', `/v1/jobs/${jobId}`, { key })).body.status === 'ready', {
    withinMs: 120_000,
  });
}

/** Send a request, and measure its bytes, those of the answer, and the processor time of both. */
async function measure(method: string, path: string, json: unknown) {
  const before = process.cpuUsage();
  const answer = await api.call(method, path, { key, json });
  const { user, system } = process.cpuUsage(before);
  return {
    status: answer.status,
    requestBytes: Buffer.byteLength(JSON.stringify(json)),
    answerBytes: Buffer.byteLength(JSON.stringify(answer.body)),
    cpuMs: (user + system) / 1_000,
  };
}

const list = <T>(length: number, make: (n: number) => T) => Array.from({ length }, (_, n) => make(n));
const SEARCH = '/v2/buckets/default/search';
const search = (filter: unknown) => ['POST', SEARCH, { query: 'ferries', filter }] as const;
const edit = (statement: string) =>
  ['PATCH', '/v1/buckets/default/documents/metadata/bulk', { statement, dry_run: true }] as const;
const source = (config: Record<string, unknown>) =>
  ['POST', '/v1/memory/sources', { name: `s${Math.random()}`, connection: 'docs', bucket: 'default', config }] as const;

const FIELDS = list(20, (n) => `field${n}`);
const rerank = (rank_fields: readonly string[]) => {
  const document = Object.fromEntries(FIELDS.map((field) => [field, 'x'.repeat(500)]));
  const documents = list(20, () => document);
  return ['POST', '/v1/rerank', { query: 'ferries', documents, rank_fields, return_documents: true }] as const;
};

type Request = readonly [method: string, path: string, json: unknown];

/** The largest requests that are accepted, and larger ones, by the status of their answer. */
const REQUESTS: readonly (readonly [name: string, status: number, request: Request])[] = [
  [
    'the most synonyms',
    200,
    [
      'PUT',
      '/v1/buckets/default/synonyms',
      { groups: list(1_000, (n) => ['ferries', ...list(4, (m) => `w${n}x${m}`)]) },
    ],
  ],
  ['a query of words that have synonyms', 200, ['POST', SEARCH, { query: 'ferries '.repeat(900) }]],
  [
    'a filter of 50 conditions',
    200,
    search({ type: 'or', filters: list(50, (n) => ({ type: 'eq', key: `k${n}`, value: 'v' })) }),
  ],
  ['a filter of 1,000 values', 200, search({ team: list(1_000, (n) => `v${n}`) })],
  ['a filter of 20,000 values', 400, search({ team: list(20_000, (n) => `v${n}`) })],
  ['the most globs of many stars', 201, source({ include: list(50, (n) => `${n}${'a*'.repeat(90)}`) })],
  ['more globs', 400, source({ include: list(1_000, () => '*a') })],
  [
    'a statement with a long IN list',
    200,
    edit(`UPDATE documents SET x = '1' WHERE team IN (${list(500, (n) => `'v${n}'`).join(', ')})`),
  ],
  [
    'a statement of many conditions',
    200,
    edit(`UPDATE documents SET x = '1' WHERE ${list(40, (n) => `team LIKE '%${n}%'`).join(' OR ')}`),
  ],
  [
    'a statement of too many conditions',
    400,
    edit(`UPDATE documents SET x = '1' WHERE ${list(500, (n) => `team LIKE '%${n}%'`).join(' OR ')}`),
  ],
  ['documents to rerank with the most fields', 200, rerank(FIELDS)],
  ['documents to rerank by a field that is named 20 times', 400, rerank(FIELDS.map(() => 'field0'))],
  [
    'a search that names a bucket 20 times',
    200,
    ['POST', '/v2/search', { query: 'a', buckets: list(20, () => 'default') }],
  ],
  [
    'a search of a vector store that repeats a query',
    200,
    ['POST', '/v1/vector_stores/default/search', { query: list(10, () => 'ferries') }],
  ],
  ['a template of a source that repeats a column', 400, source({ table: 't', text: '{{b}}'.repeat(1_500) })],
];

test.each(REQUESTS)(
  '%s (%i): answer and processor time are in proportion to the request',
  async (_name, ...expected) => {
    const [wanted, [method, path, json]] = expected;
    const { status, requestBytes, answerBytes, cpuMs } = await measure(method, path, json);
    expect(status).toBe(wanted);
    expect(answerBytes).toBeLessThan(requestBytes * ANSWER_PER_BYTE_MAX + ANSWER_BYTES);
    expect(cpuMs).toBeLessThan((requestBytes / 1024) * CPU_MS_PER_KB_MAX + CPU_MS);
  },
);

test.each([
  ['small templates and inputs', 100, 1_000],
  ['the most references to a large input', 4_000, 90_000],
  ['the largest templates', 4_000, 200],
  ['the largest input', 10, 200_000],
])('a run of a workflow with %s has bounded outputs', async (name, references, inputChars) => {
  const text = '{{inputs.text}}'.repeat(references);
  const blocks = list(4, (n) => ({ id: `b${n}`, type: 'template', with: { text } }));
  const definition = { inputs: { text: { type: 'string' } }, blocks };
  const created = await api.call('POST', '/v1/workflows', { key, json: { name, definition } });
  expect(created.status).toBe(201);
  const json = { inputs: { text: 'x'.repeat(inputChars) } };
  const run = await measure('POST', `/v1/workflows/${created.body.id}/dry-run`, json);
  expect(run.status).toBe(200);
  expect(run.answerBytes).toBeLessThan(RUN_BYTES_MAX);
  const inputBytes = run.requestBytes + Buffer.byteLength(JSON.stringify(definition));
  expect(run.cpuMs).toBeLessThan((inputBytes / 1024) * CPU_MS_PER_KB_MAX + CPU_MS);
});

test('the text of a row is in proportion to its columns and its template', () => {
  const text = '{{a}} {{b}} {{c}} '.repeat(4);
  const row = { a: 'x'.repeat(MIB), b: 'y'.repeat(10), c: 'z'.repeat(2 * MIB) };
  const rendered = (parseRowTemplate(text) as RowTemplate).render(row);
  const rowChars = Object.values(row).reduce((sum, { length }) => sum + length, 0);
  expect(rendered.length).toBeLessThanOrEqual(ANSWER_PER_BYTE_MAX * rowChars + text.length);
});

test('the largest overlap makes at most three times the chunks of none', async () => {
  const text = list(20_000, (n) => `Word ${n} of a text.`).join(' ');
  const chunksWith = async (chunk_overlap: number) => {
    const json = { filename: 'b.txt', text, chunk_size: 128, chunk_overlap, on_duplicate: 'allow' };
    const { status, body } = await api.call('POST', '/v1/buckets/default/documents', { key, json });
    expect(status).toBe(202);
    await ready(body.job_id);
    const [row] = await api.appliance.sql`SELECT chunks_count FROM documents WHERE id = ${body.id}`;
    return row?.['chunks_count'] as number;
  };
  const without = await chunksWith(0);
  const overlapping = await chunksWith(64);
  expect(without).toBeGreaterThan(100);
  expect(overlapping).toBeLessThanOrEqual(3 * without);
});
