import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Scope } from '../../src/access/caller.ts';
import { listIndexStats } from '../../src/index/index-stats.ts';
import type { Service } from '../../src/platform/lifecycle.ts';
import { openTestGateway, type TestGateway } from '../support/gateway.ts';
import { makeUserToken } from '../support/tokens.ts';
import { until } from '../support/until.ts';

const BUILT_IN = 'local/lexical-1';
const VENDOR = 'vendor-a/alpha';
const DOCUMENTS = 200;
const SCOPES: Scope[] = [
  ...(['embed', 'search', 'documents:write', 'buckets:manage', 'routing:manage'] as const),
  'jobs:write',
];

let test: TestGateway;
let worker: Service;
let key: string;
let serial = 0;

beforeAll(async () => {
  test = await openTestGateway(
    { models: [{ id: VENDOR, vendor: 'vendor-a', dimensions: 160, max_tokens: 8192 }], workers: { retries_max: 0 } },
    { semantic: true, dimensions: { alpha: 160 } },
  );
  worker = test.appliance.jobs.worker('ingest');
  await worker.start(new AbortController().signal);
  key = await test.key({ authLevel: 10, scopes: SCOPES });
});
afterAll(async () => {
  await worker.stop();
  await test.close();
});

/** A document of a bucket, found by the one word that no other document has. */
interface Known {
  readonly id: string;
  readonly word: string;
}

const call = (method: string, path: string, json?: unknown) =>
  test.call(method, path, { key, ...(json === undefined ? {} : { json }) });

async function createBucket(name: string): Promise<void> {
  expect((await call('POST', '/v1/buckets', { name })).status).toBe(201);
}

async function upload(bucket: string, word = `heron${++serial}q`): Promise<Known> {
  const json = { filename: `${word}.txt`, text: `The ${word} stands still in the shallow water of the harbour.` };
  const { status, body } = await call('POST', `/v1/buckets/${bucket}/documents`, json);
  expect(status).toBe(202);
  return { id: body.id, word };
}

const route = (primary: string) => call('PUT', '/v1/routing', { primary });

async function search(bucket: string, query: string, mode = 'hybrid') {
  const { status, body } = await call('POST', `/v2/buckets/${bucket}/search`, { query, mode, top_k: 5 });
  expect(status).toBe(200);
  return body;
}

async function areSettled(bucket: string): Promise<void> {
  const { sql } = test.appliance;
  const unfinished = async () => {
    const [row] = await sql`
      SELECT count(*)::int AS count FROM jobs JOIN buckets ON buckets.id = jobs.bucket_id
      WHERE buckets.name = ${bucket} AND jobs.status NOT IN ('ready', 'failed', 'cancelled')`;
    return row?.['count'] === 0;
  };
  await until(unfinished, { withinMs: 120_000, what: 'the end of all jobs' });
}

/** Check that a keyword of its own text finds each document, and none that was deleted. */
async function expectFound(bucket: string, known: readonly Known[], deleted: readonly Known[] = []): Promise<void> {
  const missing: string[] = [];
  for (const { id, word } of known) {
    const { results } = await search(bucket, word, 'keyword');
    if (results[0]?.document_id !== id) missing.push(word);
  }
  expect(missing).toEqual([]);
  for (const { id, word } of deleted) {
    const { results } = await search(bucket, word, 'keyword');
    expect(results.map((hit: { document_id: string }) => hit.document_id)).not.toContain(id);
  }
}

it('contract 4.9: a bucket of the built-in model keeps working after a vendor is routed, and moves to it while it is used', async () => {
  await createBucket('manuals');
  await route(BUILT_IN);
  const known = await Promise.all(Array.from({ length: DOCUMENTS }, () => upload('manuals')));
  await areSettled('manuals');

  const routed = await route(VENDOR);
  expect(routed.body.warnings.join()).toContain(
    `bucket manuals stays with ${BUILT_IN} (${DOCUMENTS} chunks); run "service index reembed --bucket manuals"`,
  );
  expect((await call('GET', '/v1/buckets/manuals')).body.embedding).toMatchObject({
    ...{ model: BUILT_IN, space: 'lexical-1', chunks: DOCUMENTS },
  });

  // Edits and uploads work as before, and call no vendor.
  const [edited, second] = known as [Known, Known];
  const edit = await call('PATCH', `/v1/buckets/manuals/documents/${edited.id}/metadata`, { metadata: { team: 'a' } });
  expect(edit.body).toMatchObject({ reindex_queued: true });
  known.push(await upload('manuals'));
  await areSettled('manuals');
  await expectFound('manuals', [edited, second, ...known.slice(-1)]);
  expect(test.upstream.calls).toHaveLength(0);
  const before = await search('manuals', edited.word);
  expect(before).toMatchObject({ model: BUILT_IN, warnings: [] });

  const plan = await call('POST', '/v1/buckets/manuals/reembed', { dry_run: true });
  expect(plan).toMatchObject({
    status: 200,
    body: { job_id: null, from_model: BUILT_IN, model: VENDOR, chunks: DOCUMENTS + 1, texts: DOCUMENTS + 1 },
  });
  expect(plan.body.tokens).toBeGreaterThan(DOCUMENTS);

  const deleted: Known[] = [];
  const reembed = await call('POST', '/v1/buckets/manuals/reembed', {});
  expect(reembed.status).toBe(202);
  const jobId = reembed.body.job_id as string;
  const isReady = async () => (await call('GET', `/v1/jobs/${jobId}`)).body.status === 'ready';
  for (let n = 0; n < 8 || !(await isReady()); n++) {
    known.push(await upload('manuals'));
    const [gone] = known.splice(10, 1) as [Known];
    expect((await call('DELETE', `/v1/buckets/manuals/documents/${gone.id}`)).status).toBe(200);
    deleted.push(gone);
    const target = known[5 + n] as Known;
    await call('PATCH', `/v1/buckets/manuals/documents/${target.id}/metadata`, { metadata: { step: `${n}` } });
    const { results } = await search('manuals', second.word, 'keyword');
    expect(results[0]?.document_id).toBe(second.id);
  }
  await areSettled('manuals');
  expect((await call('GET', '/v1/buckets/manuals')).body.embedding).toMatchObject({ model: VENDOR });
  expect(await search('manuals', second.word)).toMatchObject({ model: VENDOR, warnings: [] });
  await expectFound('manuals', known, deleted);
  const again = await call('POST', '/v1/buckets/manuals/reembed', {});
  expect(again).toMatchObject({ status: 200, body: { job_id: null } });
});

it('an edit needs no provider: the vectors that are stored are used again', async () => {
  await createBucket('edits');
  await route(VENDOR);
  const known = await upload('edits');
  await areSettled('edits');
  test.upstream.decide = () => ({ kind: 'status', status: 503 });
  try {
    await call('PATCH', `/v1/buckets/edits/documents/${known.id}/metadata`, { metadata: { team: 'b' } });
    await areSettled('edits');
    const found = await search('edits', known.word, 'keyword');
    expect(found.results[0]).toMatchObject({ document_id: known.id });
    expect((await call('GET', `/v1/buckets/edits/documents/${known.id}`)).body.status).toBe('ready');
  } finally {
    test.upstream.decide = () => null;
  }
});

it('a reembed is refused for an unknown model, one without a provider, an empty and an unknown bucket', async () => {
  await createBucket('refusals');
  const reembed = (bucket: string, json: unknown) => call('POST', `/v1/buckets/${bucket}/reembed`, json);
  expect(await reembed('refusals', { model: 'no/such' })).toMatchObject({ status: 400 });
  expect(await reembed('refusals', { model: 'vendor-b/embed-v4' })).toMatchObject({ status: expect.any(Number) });
  const empty = await reembed('refusals', {});
  expect(empty.status).toBe(409);
  expect(empty.body.detail).toContain('no searchable documents');
  expect(await reembed('nowhere', {})).toMatchObject({ status: 404 });
  const other = await test.key({ org: 'other', authLevel: 10, scopes: SCOPES });
  expect(await test.call('POST', '/v1/buckets/refusals/reembed', { key: other, json: {} })).toMatchObject({
    status: 404,
  });
});

it('a second reembed of a bucket is refused with the name of the first job, and a cancelled one leaves the bucket as it was', async () => {
  await createBucket('cancelled');
  await route(BUILT_IN);
  const known = [await upload('cancelled'), await upload('cancelled')];
  await areSettled('cancelled');
  const { calls } = test.upstream;
  test.upstream.decide = () => ({ kind: 'delay', ms: 60_000 });
  try {
    const sent = calls.length;
    const { body } = await call('POST', '/v1/buckets/cancelled/reembed', { model: VENDOR });
    await until(async () => calls.length > sent, { what: 'the first call to the vendor' });
    const second = await call('POST', '/v1/buckets/cancelled/reembed', { model: VENDOR });
    expect(second.status).toBe(409);
    expect(second.body.detail).toContain(body.job_id);
    expect((await call('POST', `/v1/jobs/${body.job_id}/cancel?force=true`)).body).toMatchObject({
      status: 'cancelled',
    });
  } finally {
    test.upstream.decide = () => null;
  }
  expect((await call('GET', '/v1/buckets/cancelled')).body.embedding).toMatchObject({ model: BUILT_IN });
  await expectFound('cancelled', known);
  const runs = await test.appliance.sql`
    SELECT 1 FROM reprojections JOIN buckets ON buckets.id = bucket_id WHERE name = 'cancelled'`;
  expect(runs).toHaveLength(0);
});

it('a reembed whose provider changes its dimension in the middle fails, leaves the bucket as it was, and can be repeated', async () => {
  await createBucket('dimension');
  await route(BUILT_IN);
  const known = await Promise.all(Array.from({ length: 300 }, () => upload('dimension')));
  await areSettled('dimension');
  let answers = 0;
  // The vendor answers a call of up to 2,048 texts: the first batch of documents succeeds, the second does not.
  test.upstream.decide = () => (answers++ === 0 ? null : { kind: 'wrong-length' });
  const ended = (id: string, status: string) => async () =>
    (await call('GET', `/v1/jobs/${id}`)).body.status === status;
  const { body } = await call('POST', '/v1/buckets/dimension/reembed', { model: VENDOR });
  try {
    await until(ended(body.job_id, 'failed'), { withinMs: 120_000, what: 'the failure' });
  } finally {
    test.upstream.decide = () => null;
  }
  expect((await call('GET', '/v1/buckets/dimension')).body.embedding).toMatchObject({ model: BUILT_IN });
  await expectFound('dimension', known.slice(0, 3));
  const answersAgain = async () =>
    (await call('POST', '/v1/embeddings', { input: `heron${++serial}q`, model: VENDOR })).status === 200;
  await until(answersAgain, { withinMs: 120_000, everyMs: 250, what: 'an answer of the provider' });
  const again = await call('POST', '/v1/buckets/dimension/reembed', { model: VENDOR });
  await until(ended(again.body.job_id, 'ready'), { withinMs: 120_000, what: 'the second attempt' });
  expect((await call('GET', '/v1/buckets/dimension')).body.embedding).toMatchObject({ model: VENDOR });
  await expectFound('dimension', known.slice(0, 3));
});

it('a reembed of a deleted bucket is refused', async () => {
  await createBucket('deleted');
  const session = await makeUserToken(test.appliance, { role: 'owner', authLevel: 10 });
  expect((await test.call('DELETE', '/v1/buckets/deleted?confirm=deleted', { key: session })).status).toBeLessThan(300);
  expect((await call('POST', '/v1/buckets/deleted/reembed', {})).status).toBe(404);
});

it('a reembed whose worker is stopped three times in the middle ends as one that is not', async () => {
  await createBucket('stopped');
  await route(BUILT_IN);
  // Several batches: documents of hundreds of chunks each.
  const long = Array.from(
    { length: 12 },
    (_, n) => `crane${n}k ${'stands in the shallow water of the old harbour. '.repeat(800)}`,
  );
  const known = await Promise.all(
    long.map(async (text, n) => {
      const json = { filename: `crane${n}k.txt`, text, chunk_size: 64, chunk_overlap: 0 };
      return { id: (await call('POST', '/v1/buckets/stopped/documents', json)).body.id, word: `crane${n}k` };
    }),
  );
  await areSettled('stopped');
  const { body } = await call('POST', '/v1/buckets/stopped/reembed', { model: VENDOR });
  const { sql } = test.appliance;
  const done = async () => {
    const [row] = await sql`SELECT chunks_done FROM reprojections WHERE job_id = ${body.job_id}`;
    return (row?.['chunks_done'] as number | undefined) ?? -1;
  };
  const isReady = async () => (await call('GET', `/v1/jobs/${body.job_id}`)).body.status === 'ready';
  for (let stops = 0; stops < 3; stops++) {
    const before = await done();
    await until(async () => (await done()) > before || (await isReady()), { withinMs: 60_000, what: 'progress' });
    await worker.stop();
    worker = test.appliance.jobs.worker('ingest', { drainMs: 0 });
    await worker.start(new AbortController().signal);
  }
  await until(isReady, { withinMs: 120_000, what: 'the end of the job' });
  expect((await call('GET', '/v1/buckets/stopped')).body.embedding).toMatchObject({ model: VENDOR });
  await expectFound('stopped', known);
  const [row] = await sql`
    SELECT sum(g.chunks_count)::int AS chunks FROM documents d JOIN generations g ON g.id = d.active_generation
    JOIN buckets b ON b.id = d.bucket_id WHERE b.name = 'stopped'`;
  const stats = await listIndexStats(test.appliance.search, test.operator, 'stopped');
  expect(stats[0]).toMatchObject({ model: VENDOR, chunks: row?.['chunks'], rows: row?.['chunks'] });
});
