import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openTestApi, type TestApi } from '../support/api.ts';
import { openTestAppliance, type TestAppliance } from '../support/appliance.ts';
import { calibrate } from '../support/calibrate.ts';
import { type FakeChat, startFakeChat } from '../support/fake-chat.ts';
import { type FakeReranker, startFakeReranker } from '../support/fake-reranker.ts';
import { semanticVectorOf } from '../support/fake-upstream/semantic.ts';
import { FakeUpstream } from '../support/fake-upstream.ts';
import { openTestGateway } from '../support/gateway.ts';
import { syntheticTexts } from '../support/synthetic-models.ts';
import { until } from '../support/until.ts';

// OLD made the vectors of an old index. It has a map, but no vendor serves it any more. APART has no map.

const LIVE = 'vendor-a/live';
const OLD = 'vendor-e/old';
const APART = 'vendor-a/apart';
const DIMENSIONS = { live: 128, old: 96, apart: 64 };
const dimensionOf = (id: string) => DIMENSIONS[id.split('/')[1] as keyof typeof DIMENSIONS];
const SETTINGS = {
  models: [LIVE, OLD, APART].map((id) => ({
    id,
    vendor: id.split('/')[0],
    dimensions: dimensionOf(id),
    max_tokens: 8192,
  })),
  projections: { auto: 'off' },
  workers: { retries_max: 0 },
};

let installation: TestAppliance;
let upstream: FakeUpstream;
let reranker: FakeReranker;
let chat: FakeChat;
let test: TestApi;
let key: string;

beforeAll(async () => {
  installation = await openTestAppliance();
  const behaviour = { semantic: true, dimensions: DIMENSIONS };
  const before = await openTestGateway(SETTINGS, behaviour, { beside: installation });
  await calibrate(before.appliance, LIVE, { reference: true });
  expect((await calibrate(before.appliance, OLD)).grade).toBe('good');
  await before.close();

  upstream = await FakeUpstream.start({ ...behaviour, apiKeys: ['sk-1'] });
  const provider = { protocol: 'openai', base_url: upstream.baseUrl('openai'), api_key: 'sk-1' };
  reranker = await startFakeReranker('jina');
  chat = await startFakeChat('openai');
  const settings = {
    ...SETTINGS,
    providers: { 'vendor-a': provider },
    rerank: { protocol: 'jina', base_url: reranker.url, model: 'ranker' },
    answers: { protocol: 'openai', base_url: chat.url, api_key: 'sk-2', model: 'chat-1' },
  };
  test = await openTestApi({ beside: installation, settings });
  await test.appliance.projections.refresh();
  key = await test.key({
    scopes: ['embed', 'search', 'routing:manage', 'buckets:manage', 'documents:write', 'jobs:write', 'users:manage'],
    authLevel: 10,
  });
  expect((await call('PUT', '/v1/routing', { primary: LIVE })).status).toBe(200);
});
afterAll(async () => {
  await test.close();
  await upstream.close();
  await reranker.close();
  await chat.close();
  await installation.close();
});

const call = (method: string, path: string, json?: unknown, as = key) =>
  test.call(method, path, { key: as, ...(json === undefined ? {} : { json }) });

/** Texts that no map was fitted on. */
const TEXTS = syntheticTexts(40, 77).map(({ text }) => text);

const vectorOf = (text: string, model = OLD) =>
  semanticVectorOf(model.split('/')[1] as string, text, dimensionOf(model));
const base64 = (vector: Float32Array) =>
  Buffer.from(vector.buffer, vector.byteOffset, vector.byteLength).toString('base64');
/** Make the row of a text, without the text itself. */
const bareRow = (text: string, nth: number) => ({ id: `old/${nth}`, vector: base64(vectorOf(text)) });

const importRows = (bucket: string, json: object, as = key) =>
  call('POST', `/v1/buckets/${bucket}/vectors`, { model: OLD, ...json }, as);

async function newBucket(name: string): Promise<string> {
  const { status, body } = await call('POST', '/v1/buckets', { name });
  expect(status).toBe(201);
  return body.id;
}

/** Wait until all jobs of a bucket have ended. @returns its documents by source_path */
async function settled(bucket: string): Promise<Map<string, Record<string, unknown>>> {
  const id = (await call('GET', `/v1/buckets/${bucket}`)).body.id;
  await until(
    async () => {
      const [row] = await test.appliance.sql`
        SELECT count(*)::int AS open FROM jobs
        WHERE bucket_id = ${id} AND status NOT IN ('ready', 'failed', 'cancelled')`;
      return row?.['open'] === 0;
    },
    { what: `jobs of ${bucket}`, withinMs: 60_000 },
  );
  const { body } = await call('GET', `/v1/buckets/${bucket}/documents?limit=200`);
  return new Map(body.data.map((document: { source_path: string }) => [document.source_path, document]));
}

async function imported(bucket: string, json: object) {
  const { status, body } = await importRows(bucket, json);
  expect([status, body.warnings]).toEqual([202, []]);
  const documents = await settled(bucket);
  for (const document of documents.values()) expect(document).toMatchObject({ status: 'ready', error_message: null });
  return { body, documents };
}

async function search(bucket: string, query: string, fields: object = { mode: 'vector' }) {
  const { status, body } = await call('POST', `/v2/buckets/${bucket}/search`, { query, top_k: 5, ...fields });
  expect(status).toBe(200);
  return body;
}

/** Expect that each text finds its own row first. */
async function expectFound(bucket: string, texts: readonly string[] = TEXTS) {
  for (const [nth, text] of texts.entries()) {
    const { results } = await search(bucket, text);
    expect([text, results[0].citation.source_path]).toEqual([text, `old/${nth}`]);
  }
}

describe('vectors without their text', () => {
  it('are found by queries of a model in use, and the model that made them is never asked', async () => {
    await newBucket('bare');
    const rows = TEXTS.map((text, nth) => ({
      id: `old/${nth}`,
      vector: nth % 2 === 0 ? base64(vectorOf(text)) : [...vectorOf(text)],
      metadata: { parity: nth % 2 },
    }));
    const { body, documents } = await imported('bare', { rows });
    expect(body).toMatchObject({
      ...{ model: OLD, space: 'canon-v1', dry_run: false },
      counts: { added: 40, replaced: 0, unchanged: 0, without_text: 40 },
    });
    expect(body.map.score).toBeGreaterThan(0.95);
    expect(documents.get('old/7')).toMatchObject({
      ...{ file_name: 'old_7', file_type: 'vector', embed_model: OLD, metadata: { parity: '1' }, chunks_count: 1 },
    });

    await expectFound('bare');
    const { results, model, relevance, warnings } = await search('bare', TEXTS[0] as string, { mode: 'hybrid' });
    expect([model, relevance, warnings]).toEqual([LIVE, null, []]);
    expect(results[0]).toMatchObject({ text: '', relevance_score: null, scores: { bm25_score: null } });
    const filtered = await search('bare', TEXTS[0] as string, { mode: 'vector', filter: { parity: '1' } });
    expect(filtered.results.every(({ metadata }: { metadata: object }) => metadata)).toBe(true);
    expect(filtered.results.map((each: { metadata: { parity: string } }) => each.metadata.parity)).toEqual(
      Array.from({ length: 5 }, () => '1'),
    );
    expect((await search('bare', 'harbour', { mode: 'keyword' })).results).toEqual([]);
    expect(new Set(upstream.calls.map((each) => each.model))).toEqual(new Set(['live']));
    expect(upstream.calls.flatMap(({ texts }) => texts)).not.toContain('');
  });

  it('stay as they are when their documents are edited, processed again and restored', async () => {
    const bucket = await newBucket('kept');
    const { documents } = await imported('kept', { rows: TEXTS.slice(0, 4).map(bareRow) });
    const id = documents.get('old/2')?.['id'];
    const edit = { metadata: { lang: 'en' }, reindex: true };
    const admin = await test.key({ scopes: ['buckets:manage'], authLevel: 10 });
    const path = `/v1/buckets/${bucket}/documents/${id}/metadata`;
    expect((await call('PATCH', path, edit, admin)).status).toBe(200);
    expect((await settled('kept')).get('old/2')).toMatchObject({ status: 'ready', metadata: { lang: 'en' } });
    await expectFound('kept', TEXTS.slice(0, 4));

    const [job] = await test.appliance.sql`
      SELECT id FROM jobs WHERE document_id = ${id as string} AND processing_type = 'document_upload'`;
    expect((await call('POST', `/v1/jobs/${job?.['id']}/reprocess`, {})).status).toBe(200);
    expect((await settled('kept')).get('old/2')).toMatchObject({ status: 'ready', embed_model: OLD });
    await expectFound('kept', TEXTS.slice(0, 4));
    expect(upstream.calls.flatMap(({ texts }) => texts)).not.toContain('');
  });

  it('stay when their bucket moves to another model, which embeds the texts of the others', async () => {
    const bucket = await newBucket('moved');
    const texts = TEXTS.slice(0, 6);
    const rows = texts.map((text, nth) => ({ ...bareRow(text, nth), ...(nth < 3 ? {} : { text }) }));
    await imported('moved', { rows });
    const before = upstream.calls.length;
    const plan = await call('POST', `/v1/buckets/${bucket}/reembed`, { model: LIVE, dry_run: true });
    expect(plan.body).toMatchObject({ documents: 6, texts: 3 });
    expect((await call('POST', `/v1/buckets/${bucket}/reembed`, { model: LIVE })).status).toBe(202);
    const moved = await settled('moved');
    const models = texts.map((_, nth) => moved.get(`old/${nth}`)?.['embed_model']);
    expect(models).toEqual([OLD, OLD, OLD, LIVE, LIVE, LIVE]);
    const sent = upstream.calls.slice(before).flatMap((each) => each.texts);
    expect(sent.toSorted()).toEqual(texts.slice(3).toSorted());
    await expectFound('moved', texts);
    expect((await search('moved', texts[4] as string, { mode: 'keyword' })).results[0].text).toBe(texts[4]);

    const refused = await call('POST', `/v1/buckets/${bucket}/reembed`, { model: APART });
    expect(refused.status).toBe(409);
    expect(refused.body.detail).toContain(`3 documents of imported vectors without their text, and ${OLD}`);
  });

  it('are left out of a rehearsal, and a warning says so', async () => {
    const bucket = await newBucket('rehearsed');
    const rows = TEXTS.slice(0, 6).map((text, nth) => ({ ...bareRow(text, nth), ...(nth < 4 ? {} : { text }) }));
    await imported('rehearsed', { rows });
    const { status, body } = await call('POST', `/v1/buckets/${bucket}/rehearsals`, {
      ...{ model: LIVE, mode: 'vector', queries: [{ query: TEXTS[4] }] },
    });
    expect([status, body.sample]).toEqual([200, { documents: 2, chunks: 2 }]);
    expect(body.warnings).toContain(
      '4 documents have vectors without text, which no model can embed; they were left out',
    );
  });

  it('come after the others if a search reranks, and an answer does not cite them', async () => {
    await newBucket('reranked');
    const rows = TEXTS.slice(0, 4).map((text, nth) => ({ ...bareRow(text, nth), ...(nth < 2 ? {} : { text }) }));
    await imported('reranked', { rows });
    reranker.scoreOf = (text) => (text === TEXTS[3] ? 0.9 : 0.4);
    const { results, warnings } = await search('reranked', TEXTS[0] as string, { mode: 'vector', rerank: true });
    const found = results.map((each: { citation: { source_path: string }; score: number }) => [
      each.citation.source_path,
      each.score,
    ]);
    expect(found).toEqual([
      ['old/3', 0.9],
      ['old/2', 0.4],
      ['old/0', 0],
      ['old/1', 0],
    ]);
    expect(warnings).toEqual(['the reranker did not read 2 of the results, which have no text']);
    expect(reranker.calls.flatMap(({ texts }) => texts)).not.toContain('');

    const { status, body } = await call('POST', '/v1/answers', { query: TEXTS[0], buckets: ['reranked'] });
    expect(status).toBe(200);
    const sources = body.passages.map((each: { citation: { source_path: string } }) => each.citation.source_path);
    expect(sources.toSorted()).toEqual(['old/2', 'old/3']);
  });
});

describe('an import', () => {
  it('with the ids of an earlier one changes only what differs', async () => {
    await newBucket('again');
    const rows = TEXTS.slice(0, 3).map((text, nth) => ({ ...bareRow(text, nth), text }));
    const first = await imported('again', { rows });
    const edited = [
      rows[0],
      { ...rows[1], vector: base64(vectorOf(TEXTS[9] as string)), text: TEXTS[9], metadata: { v: 2 } },
      { ...bareRow(TEXTS[20] as string, 20), text: TEXTS[20] },
    ];
    const dry = await importRows('again', { rows: edited, dry_run: true });
    expect(dry.body.counts).toEqual({ added: 1, replaced: 1, unchanged: 1, without_text: 0 });
    expect((await settled('again')).size).toBe(3);

    const second = await imported('again', { rows: edited });
    expect(second.body.counts).toEqual({ added: 1, replaced: 1, unchanged: 1, without_text: 0 });
    expect(second.body.documents.map(({ action }: { action: string }) => action)).toEqual(['keep', 'replace', 'add']);
    const ids = ({ documents }: { documents: Map<string, Record<string, unknown>> }) =>
      [0, 1, 2].map((nth) => documents.get(`old/${nth}`)?.['id']);
    expect(ids(second)).toEqual(ids(first));
    expect(second.documents.get('old/1')).toMatchObject({ metadata: { v: '2' } });
    expect((await search('again', TEXTS[9] as string)).results[0].citation.source_path).toBe('old/1');
    expect((await search('again', TEXTS[1] as string, { mode: 'keyword' })).results[0]?.text).not.toBe(TEXTS[1]);
  });

  it('of a model without a map stays apart, and is refused beside others', async () => {
    await newBucket('apart');
    const row = (nth: number) => ({ id: `old/${nth}`, vector: base64(vectorOf(TEXTS[nth] as string, APART)) });
    const { status, body } = await importRows('apart', { model: APART, rows: [row(0), row(1)] });
    expect([status, body.map]).toEqual([202, null]);
    expect(body.space).toMatch(/^native:vendor-a\/apart@/);
    expect(body.warnings).toEqual([
      `${APART} has no map; only queries of this model find the vectors until "service projections fit" maps it`,
    ]);
    await settled('apart');
    await expectFound('apart', TEXTS.slice(0, 2));

    await newBucket('mapped');
    await imported('mapped', { rows: [bareRow(TEXTS[0] as string, 0)] });
    const refused = await importRows('mapped', { model: APART, rows: [row(1)] });
    expect(refused.status).toBe(409);
    expect(refused.body.detail).toContain(`${APART} has no map into it; fit one (service projections fit`);
  });

  const good = () => bareRow(TEXTS[0] as string, 0);
  const scaled = vectorOf(TEXTS[1] as string).map((value) => value * 3);
  const broken = vectorOf(TEXTS[1] as string).with(4, Number.NaN);
  const zeros = new Float32Array(DIMENSIONS.old);
  const named: readonly (readonly [string, object, string, RegExp])[] = [
    ['of another length', { vector: [1, 0] }, 'rows[1].vector', /has 2 numbers, but vendor-e\/old has 96/],
    ['with NaN', { vector: base64(broken) }, 'rows[1].vector', /number 5 is NaN/],
    [
      'that is not normalised',
      { vector: base64(scaled) },
      'rows[1].vector',
      /has the length 3.000 instead of 1; set normalize/,
    ],
    ['of zeros', { vector: base64(zeros) }, 'rows[1].vector', /only zeros/],
    ['in broken base64', { vector: 'AAAA' }, 'rows[1].vector', /is not float32 in base64/],
    ['whose id came before', { id: 'old/0' }, 'rows[1].id', /is already the id of rows\[0\]/],
    ['without an id', { id: '' }, 'rows[1].id', /./],
    ['with a reserved key', { metadata: { 'schift.x': 1 } }, 'rows[1].metadata["schift.x"]', /reserved/],
    ['with too long a text', { text: 'x'.repeat(32_001) }, 'rows[1].text', /32000/],
    ['with an unknown field', { txt: 'a' }, 'rows[1]', /txt/],
  ];
  let refusals = 0;
  it.each(named)('refuses a row %s, names it, and stores nothing', async (_, fields, place, fault) => {
    const bucket = `refused-${refusals++}`;
    await newBucket(bucket);
    const row = { ...bareRow(TEXTS[1] as string, 1), ...fields };
    const { status, body } = await importRows(bucket, { rows: [good(), row] });
    expect([status, body.detail]).toEqual([400, expect.stringMatching(fault)]);
    expect(body.detail.startsWith(`${place}: `)).toBe(true);
    expect(await settled(bucket)).toEqual(new Map());
  });

  it.each([
    ['an unknown model', { model: 'vendor-z/none' }, 400, 'unknown model'],
    ['the lexical model', { model: 'local/lexical-1' }, 400, 'local/lexical-1 has no native vectors'],
    ['no rows', { rows: [] }, 400, 'rows: '],
    ['a field that does not exist', { normalise: true }, 400, 'normalise'],
    ['an unknown collection', { collection_id: 'none' }, 404, 'collection not found: none'],
  ])('refuses %s', async (_, fields, wanted, fault) => {
    const { status, body } = await importRows('bare', { rows: [good()], ...fields });
    expect([status, body.detail]).toEqual([wanted, expect.stringContaining(fault)]);
  });

  it('scales vectors of another length if asked', async () => {
    await newBucket('scaled');
    await imported('scaled', {
      normalize: true,
      rows: [{ id: 'old/0', vector: base64(scaled) }, bareRow(TEXTS[5] as string, 1)],
    });
    expect((await search('scaled', TEXTS[1] as string)).results[0].citation.source_path).toBe('old/0');
  });

  it('needs the scope to write, and does not reach a bucket of another organization', async () => {
    const reader = await test.key({ scopes: ['embed', 'search'] });
    expect((await importRows('bare', { rows: [good()] }, reader)).status).toBe(403);
    const other = await test.key({ org: 'other', scopes: ['documents:write'] });
    expect((await importRows('bare', { rows: [good()] }, other)).status).toBe(404);
  });

  it('does not tell of a document that the caller may not see', async () => {
    await newBucket('hidden');
    const { documents } = await imported('hidden', { rows: [bareRow(TEXTS[0] as string, 0)], privacy_level: 9 });
    const low = await test.key({ scopes: ['documents:write', 'search'], authLevel: 3 });
    const { status, body } = await importRows('hidden', { rows: [bareRow(TEXTS[0] as string, 0)] }, low);
    expect([status, body.counts]).toEqual([202, { added: 1, replaced: 0, unchanged: 0, without_text: 1 }]);
    expect(body.documents[0].document_id).not.toBe(documents.get('old/0')?.['id']);
    await settled('hidden');
  });

  it('is not forged by an upload: a file of its media type that holds no vector fails', async () => {
    await newBucket('forged');
    const json = { filename: 'a.json', text: '{"model":"m"}', content_type: 'application/vnd.service.vector+json' };
    expect((await call('POST', '/v1/buckets/forged/documents', { ...json, source_path: 'a' })).status).toBe(202);
    const document = (await settled('forged')).get('a');
    expect(document).toMatchObject({
      status: 'failed',
      error_message: expect.stringContaining('not an imported vector'),
    });
  });
});
