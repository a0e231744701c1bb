import { createHash } from 'node:crypto';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import type { Service } from '../../src/platform/lifecycle.ts';
import { openTestGateway, type TestGateway } from '../support/gateway.ts';
import { untilSettled } from '../support/settled.ts';
import { until } from '../support/until.ts';

// A bucket of twelve documents by one model, and candidates that are known to be better or worse for some queries.

const PRESENT = 'vendor-a/present';
const REVERSED = 'vendor-e/reversed';
const SWAPPED = 'vendor-a/swapped';
const DOCUMENTS = 12;
const DEGREES = 5;

/** Place of a document on a line, which each model sees in another way. */
const PLACES: Readonly<Record<string, (nth: number) => number>> = {
  present: (nth) => nth,
  reversed: (nth) => DOCUMENTS - 1 - nth,
  swapped: (nth) => [2, 1, 0][nth] ?? nth,
};
/** The first query is at the start of the line, the second at its end. */
const QUERIES: Readonly<Record<string, number>> = { 'first of all': 0, 'last of all': DOCUMENTS - 1 };

/** Vector of a document or query, of which two dimensions have the angle of its place. */
function vectorOf(model: string, text: string, dimensions: number): Float32Array | null {
  const nth = /gauge number (\d+)/.exec(text)?.[1];
  const place = nth === undefined ? QUERIES[text] : PLACES[model]?.(Number(nth));
  if (place === undefined) return null;
  const angle = (place * DEGREES * Math.PI) / 180;
  return Float32Array.from({ length: dimensions }, (_, at) => [Math.cos(angle), Math.sin(angle)][at] ?? 0);
}

let test: TestGateway;
let worker: Service;
let key: string;
let low: string;

beforeAll(async () => {
  const model = (id: string) => ({
    id,
    vendor: id.split('/')[0],
    dimensions: 8,
    max_tokens: 8192,
    price_per_million: 2,
  });
  test = await openTestGateway(
    {
      models: [PRESENT, REVERSED, SWAPPED].map(model),
      search: { log: 'queries' },
      plans: { free: { quotas: { embed_batch: 5 } } },
    },
    { vectors: vectorOf },
  );
  worker = test.appliance.jobs.worker('ingest');
  await worker.start(new AbortController().signal);
  key = await test.key({
    scopes: ['embed', 'search', 'documents:write', 'buckets:manage', 'routing:manage', 'users:manage'],
    authLevel: 10,
  });
  low = await test.key({ scopes: ['search', 'documents:write', 'buckets:manage'], authLevel: 3 });
  await call('PUT', '/v1/routing', { primary: PRESENT });
  await call('POST', '/v1/buckets', { name: 'gauges' });
  for (let nth = 0; nth < DOCUMENTS; nth++) await upload('gauges', nth);
  await untilSettled(test.appliance.sql, 'gauges');
});
afterAll(async () => {
  await worker.stop();
  await test.close();
});

const call = (method: string, path: string, json?: unknown, as = key) =>
  test.call(method, path, { key: as, ...(json === undefined ? {} : { json }) });

async function upload(bucket: string, nth: number, fields: object = {}): Promise<string> {
  const json = { filename: `gauge-${nth}.txt`, text: `This is gauge number ${nth}.`, ...fields };
  const { body } = await call('POST', `/v1/buckets/${bucket}/documents`, json);
  const isReady = async () => (await call('GET', `/v1/documents/${body.id}`)).body.status === 'ready';
  await until(isReady, { what: 'ingest', withinMs: 60_000 });
  return body.id;
}

const rehearse = (json: object, { bucket = 'gauges', as = key } = {}) =>
  call('POST', `/v1/buckets/${bucket}/rehearsals`, { mode: 'vector', ...json }, as);

const JUDGED = [
  { query: 'first of all', relevant: ['gauge-2.txt'] },
  { query: 'last of all', relevant: { 'gauge-2.txt': 3 } },
];
const gauges = (chunks: { file_name: string }[]) => chunks.map(({ file_name: name }) => Number(/\d+/.exec(name)?.[0]));

const textsUsed = async (as = key) =>
  (await call('GET', '/v1/usage/summary', undefined, as)).body.axes.embed_batch.texts;

/** Digest the rows of all tables but those of usage and audit, and those that say when a key was used. */
async function digests(): Promise<Record<string, string>> {
  const { sql, usage } = test.appliance;
  await usage.meter.flush();
  const tables = await sql<{ name: string }[]>`
    SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema()
      AND tablename !~ '^usage' AND tablename NOT IN ('api_keys', 'workers', 'audit_log') ORDER BY 1`;
  const digested: Record<string, string> = {};
  for (const { name } of tables) {
    const rows = await sql<{ row: string }[]>`SELECT to_jsonb(t)::text AS row FROM ${sql(name)} t ORDER BY 1`;
    digested[name] = createHash('sha256').update(JSON.stringify(rows)).digest('hex');
  }
  return digested;
}

it('a candidate that is better for one judged query and worse for another is shown so, to the place', async () => {
  const before = await digests();
  const used = await textsUsed();
  const { status, body } = await rehearse({ model: REVERSED, queries: JUDGED });
  expect(status).toBe(200);
  expect(body).toMatchObject({
    ...{ from_model: PRESENT, model: REVERSED, mode: 'vector', dry_run: false, queries: 2, judged: 2, warnings: [] },
    sample: { documents: DOCUMENTS, chunks: DOCUMENTS },
    // The document is third for one query and tenth for the other, and each model has them the other way round.
    ndcg: { before: 0.3945, after: 0.3945 },
    rehearsal: { texts: DOCUMENTS + 2 },
    whole_bucket: { documents: DOCUMENTS, chunks: DOCUMENTS, texts: DOCUMENTS },
  });
  const [first, last] = body.results;
  expect([first.ndcg, last.ndcg]).toEqual([
    { before: 0.5, after: 0.2891 },
    { before: 0.2891, after: 0.5 },
  ]);
  expect(gauges(first.before)).toEqual([0, 1, 2, 3, 4]);
  expect(gauges(first.after)).toEqual([11, 10, 9, 8, 7]);
  expect(first.before[2]).toMatchObject({ rank: 3, other_rank: 10, gain: 1, text: 'This is gauge number 2.' });
  expect(last.after.map((chunk: { other_rank: number }) => chunk.other_rank)).toEqual([12, 11, 10, 9, 8]);
  // Ranks 1 to 10 become 12 to 3: 11 + 9 + 7 + 5 + 3 + 1 + 1 + 3 + 5 + 7 places.
  expect(first).toMatchObject({ overlap: 0.8, mean_move: 5.2 });
  expect(body.rehearsal.cost).toBeCloseTo((body.rehearsal.tokens * 2) / 1e6);
  expect(body.whole_bucket.estimated_seconds).toBeGreaterThan(0);
  expect(await digests()).toEqual(before);
  expect((await textsUsed()) - used).toBe(DOCUMENTS + 2);
  const audited = await test.appliance.sql`SELECT detail FROM audit_log WHERE action = 'bucket.rehearse'`;
  expect(audited.map(({ detail }) => detail)).toEqual([{ model: REVERSED, sample: 2_000, queries: 2 }]);
});

it('a candidate that is only better has a higher nDCG, and small moves', async () => {
  const { body } = await rehearse({ model: SWAPPED, queries: [JUDGED[0], { query: 'last of all' }] });
  expect(body).toMatchObject({ judged: 1, ndcg: { before: 0.5, after: 1 }, overlap: 0.95, mean_move: 0.3 });
  expect(body.results[0]).toMatchObject({ ndcg: { before: 0.5, after: 1 }, overlap: 1, mean_move: 0.4 });
  expect(gauges(body.results[0].after)).toEqual([2, 1, 0, 3, 4]);
  // From the other end, one document leaves the ten best: it goes from rank 10 to 12.
  expect(body.results[1]).toMatchObject({ ndcg: null, overlap: 0.9, mean_move: 0.2 });
});

it('keywords are fused as in searches', async () => {
  const query = 'gauge number 7';
  const { body } = await rehearse({ model: REVERSED, mode: 'hybrid', queries: [{ query }] });
  expect(gauges(body.results[0].before)[0]).toBe(7);
  expect(gauges(body.results[0].after)[0]).toBe(7);
  const { body: searched } = await call('POST', '/v2/buckets/gauges/search', { query, top_k: 5 });
  const names = searched.results.map((hit: { citation: { file_name: string } }) => hit.citation);
  expect(gauges(body.results[0].before)).toEqual(gauges(names));
});

it('a dry run says what the rehearsal costs, and sends nothing', async () => {
  const before = test.upstream.calls.length;
  const { body } = await rehearse({ model: REVERSED, queries: JUDGED, dry_run: true });
  expect(test.upstream.calls.length).toBe(before);
  expect(body).toMatchObject({
    dry_run: true,
    sample: { documents: null, chunks: DOCUMENTS },
    rehearsal: { texts: DOCUMENTS + 2, seconds: null },
    ...{ ndcg: null, overlap: null, mean_move: null, results: [] },
  });
  const { body: plan } = await call('POST', '/v1/buckets/gauges/reembed', { model: REVERSED, dry_run: true });
  const { texts, tokens, estimated_cost } = plan;
  expect(body.whole_bucket).toMatchObject({ texts, tokens, estimated_cost });
  // A chunk has two vectors of 1,024 floats and one of 8 half floats.
  expect(body.whole_bucket.vector_bytes).toBe(DOCUMENTS * (2 * 4096 + 16));
});

it('a sample of a large bucket has what searches find and what is judged, and no more than its size', async () => {
  await call('POST', '/v1/buckets', { name: 'long' });
  const text = Array.from({ length: 6_000 }, (_, n) => `Sentence ${n} tells about the tide at pier ${n % 97}.`).join(
    ' ',
  );
  await upload('long', 20, { text });
  await upload('long', 5);
  const { body: listed } = await call('GET', '/v1/buckets/long');
  expect(listed.embedding.chunks).toBeGreaterThan(200);
  const queries = [{ query: 'the tide at pier 96', relevant: ['gauge-5.txt'] }];
  const { body } = await rehearse({ model: REVERSED, mode: 'hybrid', queries, sample: 100 }, { bucket: 'long' });
  expect(body).toMatchObject({ sample: { chunks: 100, documents: 2 }, rehearsal: { texts: 101 }, warnings: [] });
  const { body: found } = await call('POST', '/v2/buckets/long/search', { query: queries[0]?.query, top_k: 1 });
  expect(body.results[0].before[0].chunk_id).toBe(found.results[0].id);
  const again = await rehearse({ model: REVERSED, mode: 'hybrid', queries, sample: 100 }, { bucket: 'long' });
  expect(again.body.results).toEqual(body.results);
});

it('without queries, those of the log are used: judged ones first', async () => {
  const { body: found } = await call('POST', '/v2/buckets/gauges/search', { query: 'last of all' });
  await call('POST', '/v2/buckets/gauges/search', { query: 'first of all' });
  const isLogged = async () => (await call('GET', '/v1/search/log?bucket=gauges')).body.data.length >= 2;
  await until(isLogged, { what: 'log' });
  const document = found.results[0].document_id;
  await call('POST', `/v1/search/log/${found.search_id}/judgement`, { document_id: document, grade: 3 });
  const { body } = await rehearse({ model: REVERSED });
  const asked = body.results.map(({ query }: { query: string }) => query);
  expect(asked.slice(0, 2).toSorted()).toEqual(['first of all', 'last of all']);
  expect(asked[0]).toBe('last of all');
  expect(body.results[0].ndcg.before).toBe(1);
  // The reader of the log needs a scope of its own.
  expect((await rehearse({ model: REVERSED }, { as: low })).status).toBe(403);
});

it('a bucket with a document out of reach is not rehearsed, and a deleted document does not appear', async () => {
  await call('POST', '/v1/buckets', { name: 'mixed' });
  for (let nth = 0; nth < 3; nth++) await upload('mixed', nth);
  const request = { model: REVERSED, queries: [{ query: 'first of all' }] };
  const secret = await upload('mixed', 3, { privacy_level: 9 });
  const refused = await rehearse(request, { bucket: 'mixed', as: low });
  expect(refused.status).toBe(403);
  expect(refused.body.detail).toContain('that you may not see');
  expect(gauges((await rehearse(request, { bucket: 'mixed' })).body.results[0].after)).toEqual([3, 2, 1, 0]);
  expect((await call('DELETE', `/v1/buckets/mixed/documents/${secret}`)).status).toBe(200);
  const { status, body } = await rehearse(request, { bucket: 'mixed' });
  expect(status).toBe(200);
  expect(gauges(body.results[0].after)).toEqual([2, 1, 0]);
  expect(JSON.stringify(body)).not.toContain(secret);
});

it('a rehearsal that cannot be made is refused with the reason', async () => {
  await call('POST', '/v1/buckets', { name: 'bare' });
  const queries = [{ query: 'first of all' }];
  const answer = async (json: object, bucket = 'gauges') => {
    const { status, body } = await rehearse({ queries, ...json }, { bucket });
    return [status, body.detail];
  };
  expect(await answer({ model: 'vendor-a/missing' })).toEqual([400, expect.stringContaining('vendor-a/missing')]);
  expect(await answer({ model: 'vendor-b/embed-v4' })).toEqual([expect.any(Number), expect.stringContaining('vendor')]);
  expect(await answer({ model: PRESENT })).toEqual([409, expect.stringContaining('already')]);
  expect(await answer({ model: REVERSED }, 'bare')).toEqual([409, expect.stringContaining('no searchable documents')]);
  expect(await answer({ model: REVERSED }, 'nowhere')).toEqual([404, expect.any(String)]);
  expect(await answer({ model: REVERSED, queries: [{ query: '???' }] })).toEqual([400, expect.stringContaining('???')]);
  expect((await rehearse({ model: REVERSED, queries, sample: 5_001 })).status).toBe(400);
});

it('a rehearsal beyond the quota of the plan is refused', async () => {
  const poor = await test.key({
    org: 'poor',
    scopes: ['search', 'documents:write', 'buckets:manage', 'routing:manage'],
    authLevel: 10,
  });
  await call('PUT', '/v1/routing', { primary: PRESENT }, poor);
  for (let nth = 0; nth < 3; nth++) {
    const json = { filename: `gauge-${nth}.txt`, text: `This is gauge number ${nth}.` };
    const { body } = await call('POST', '/v1/buckets/default/documents', json, poor);
    const isReady = async () =>
      (await call('GET', `/v1/documents/${body.id}`, undefined, poor)).body.status === 'ready';
    await until(isReady, { what: 'ingest', withinMs: 60_000 });
  }
  const request = { model: REVERSED, queries: [{ query: 'first of all' }, { query: 'last of all' }] };
  // Two of five texts are left. The two queries fit, and the three chunks do not.
  const { status, body } = await rehearse(request, { bucket: 'default', as: poor });
  expect([status, body.detail]).toEqual([402, expect.stringContaining('embed_batch')]);
});

it('a client that leaves ends the calls to the vendor', async () => {
  test.upstream.decide = ({ model }) => (model === 'reversed' ? { kind: 'delay', ms: 60_000 } : null);
  onTestFinished(() => {
    test.upstream.decide = () => null;
  });
  const client = new AbortController();
  const before = test.upstream.calls.length;
  const gone = fetch(`${test.api.url}/v1/buckets/gauges/rehearsals`, {
    method: 'POST',
    signal: client.signal,
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ model: REVERSED, queries: [{ query: 'a query that no cache has' }] }),
  }).catch((error: Error) => error.name);
  const sent = () => test.upstream.calls.slice(before).filter(({ model }) => model === 'reversed');
  await until(async () => sent().length === 1, { what: 'a call to the vendor' });
  client.abort();
  expect(await gone).toBe('AbortError');
  await until(async () => sent()[0]?.aborted === true, { what: 'the end of the call' });
  expect(sent()).toHaveLength(1);
});
