import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { selectAnswererNames } from '../../src/answers/assistant-store.ts';
import type { Service } from '../../src/platform/lifecycle.ts';
import { KOREAN, LARGE, openTestGateway, SMALL, type TestGateway } from '../support/gateway.ts';
import { batchOf, storeFile } from '../support/stored-file.ts';
import { until } from '../support/until.ts';

// Limits of one key: quotas, rates, models and buckets (`src/access/key-limits.ts`).

/** Image of one pixel. */
const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==';
const LIMITED = ['embed', 'search', 'documents:write', 'jobs:write'];

let test: TestGateway;
let admin: string;
let worker: Service;
beforeAll(async () => {
  test = await openTestGateway();
  admin = await test.key({
    scopes: ['embed', 'search', 'documents:write', 'jobs:write', 'keys:manage', 'buckets:manage'],
  });
  worker = test.appliance.jobs.worker('embed');
  await worker.start(new AbortController().signal);
});
afterAll(async () => {
  await worker.stop();
  await test.close();
});

async function create(limits: object, scopes = LIMITED): Promise<{ id: string; key: string; limits: object }> {
  const { status, body } = await test.call('POST', '/v1/keys', { key: admin, json: { name: 'shop', scopes, limits } });
  expect([status, body.detail]).toEqual([201, undefined]);
  return body;
}

const embed = (key: string, input: string | string[], more: object = {}) =>
  test.call('POST', '/v1/embeddings', { key, json: { model: SMALL, input, ...more } });
const usedBy = async (id: string) => (await test.call('GET', `/v1/keys/${id}`, { key: admin })).body.used_this_month;

describe('quotas', () => {
  it('limit the texts of one key, and nobody else', async () => {
    const { id, key } = await create({ quotas: { embed: 2 } });
    for (const text of ['one', 'two']) expect((await embed(key, text)).status).toBe(200);
    const { status, body } = await embed(key, 'three');
    expect(status).toBe(402);
    expect(body.error.message).toMatch(/^this key has 2 texts a month on the axis "embed"/);
    expect(await usedBy(id)).toEqual({ embed: 2 });
    expect((await embed(admin, 'three')).status).toBe(200);
    expect((await embed(key, ['another', 'axis'])).status).toBe(200);
    expect(await usedBy(id)).toEqual({ embed: 2, embed_batch: 2 });
  });

  it('count what a key used before it had the quota', async () => {
    const { body } = await test.call('POST', '/v1/keys', { key: admin, json: { name: 'old', scopes: ['embed'] } });
    await embed(body.key, 'one');
    await usedBy(body.id); // writes the usage
    await test.call('PATCH', `/v1/keys/${body.id}`, { key: admin, json: { limits: { quotas: { embed: 1 } } } });
    await until(async () => (await embed(body.key, 'two')).status === 402);
  });

  it('give back the texts of a request that failed', async () => {
    const { id, key } = await create({ quotas: { embed: 1 } });
    test.upstream.decide = () => ({ kind: 'status', status: 400 });
    expect((await embed(key, 'refused')).status).toBe(400);
    test.upstream.decide = () => null;
    expect((await embed(key, 'accepted')).status).toBe(200);
    expect(await usedBy(id)).toEqual({ embed: 1 });
  });

  it('of 0 refuse every text of the axis', async () => {
    const { id, key } = await create({ quotas: { embed: 0 } });
    expect((await embed(key, 'none')).status).toBe(402);
    expect(await usedBy(id)).toEqual({ embed: 0 });
  });

  it('limit bulk jobs and batches, and settle at their end', async () => {
    const { id, key } = await create({ quotas: { embed_batch: 5 } });
    const bulk = (texts: string[]) => test.call('POST', '/v1/embed/jobs', { key, json: { texts, model: SMALL } });
    expect((await bulk(['1', '2', '3', '4', '5', '6'])).status).toBe(402);
    const { body } = await bulk(['1', '2', '3']);
    await until(async () => {
      const { body: job } = await test.call('GET', `/v1/jobs/${body.id}`, { key });
      return job.status === 'ready';
    });
    expect(await usedBy(id)).toEqual({ embed_batch: 3 });
    const batch = await run(key, [SMALL, SMALL, SMALL]);
    expect(batch).toMatchObject({ status: 'failed', errors: { data: [{ code: 'quota_exceeded' }] } });
    expect(await run(key, [SMALL, SMALL])).toMatchObject({ status: 'completed' });
    expect(await usedBy(id)).toEqual({ embed_batch: 5 });
  });
});

/** Run a batch with one request for each model. */
async function run(key: string, models: readonly string[]) {
  const lines = models.map((model, at) =>
    JSON.stringify({ custom_id: `${at}`, method: 'POST', url: '/v1/embeddings', body: { model, input: `${at}` } }),
  );
  const form = new FormData();
  form.append('purpose', 'batch');
  form.append('file', new Blob([lines.join('\n')]), 'requests.jsonl');
  const { body: file } = await test.call('POST', '/v1/files', { key, body: form });
  const { body: batch } = await test.call('POST', '/v1/batches', { key, json: batchOf(file.id) });
  const current = async () => (await test.call('GET', `/v1/batches/${batch.id}`, { key })).body;
  await until(async () => ['completed', 'failed'].includes((await current()).status));
  return current();
}

describe('rates', () => {
  it('limit the requests of one key, and show the tighter rate', async () => {
    const { key } = await create({ requests_per_minute: { embed: 2 } });
    const first = await embed(key, 'one');
    expect(first.headers.get('ratelimit-limit')).toBe('2');
    expect(first.headers.get('ratelimit-remaining')).toBe('1');
    await embed(key, 'two');
    const refused = await embed(key, 'three');
    expect([refused.status, refused.body.error.code]).toEqual([429, 'rate_limited']);
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
    expect((await embed(admin, 'three')).headers.get('ratelimit-limit')).toBeNull();
    expect((await embed(key, ['another', 'axis'])).status).toBe(200);
  });
});

describe('models', () => {
  it('are the only ones that requests may name, or get by the routing', async () => {
    const { key } = await create({ models: [SMALL] });
    expect((await embed(key, 'one')).status).toBe(200);
    const refused = await embed(key, 'one', { model: LARGE });
    expect([refused.status, refused.body.error.code]).toEqual([403, 'model_not_allowed']);
    expect(refused.body.error.message).toBe(`this key may use ${SMALL}, not ${LARGE}`);
    const { primary } = await test.appliance.embedding.routing.of(test.operator.orgId);
    expect(primary).not.toBe(SMALL);
    expect((await embed(key, 'one', { model: undefined })).status).toBe(403);
    const { body } = await test.call('GET', '/v1/models', { key });
    expect(body.data.map((model: { id: string }) => model.id)).toEqual([SMALL]);
  });

  it('limit bulk jobs, images and the requests of a batch', async () => {
    const { key } = await create({ models: [SMALL, KOREAN] });
    const image = { images: [PNG], model: LARGE };
    for (const [path, json] of [
      ['/v1/embed/jobs', { texts: ['1'], model: LARGE }],
      ['/v1/embed/batch', { texts: ['1'], model: LARGE }],
      ['/v1/embed/image', image],
    ] as const)
      expect((await test.call('POST', path, { key, json })).status, path).toBe(403);
    const batch = await run(key, [SMALL, LARGE]);
    expect(batch).toMatchObject({ status: 'completed', request_counts: { total: 2, completed: 1, failed: 1 } });
    const { body } = await test.call('GET', `/v1/files/${batch.error_file_id}/content`, { key });
    expect(body).toContain('"model_not_allowed"');
  });

  it('do not limit searches, whose model is that of the bucket', async () => {
    const { key } = await create({ models: [SMALL] });
    const found = await test.call('POST', '/v2/buckets/default/search', { key, json: { query: 'ferry' } });
    expect(found.status).toBe(200);
  });
});

describe('buckets', () => {
  const documents = new Map<string, string>();
  beforeAll(async () => {
    for (const name of ['open', 'closed']) {
      await test.call('POST', '/v1/buckets', { key: admin, json: { name } });
      const json = { filename: `${name}.txt`, text: `the ferry of ${name}` };
      documents.set(name, (await test.call('POST', `/v1/buckets/${name}/documents`, { key: admin, json })).body.id);
    }
  });

  it('other than those of a key do not exist for it', async () => {
    const { key, limits } = await create({ buckets: ['open'] });
    expect(limits).toEqual({ buckets: [expect.stringMatching(/^bucket_|^bkt_/)] });
    const namesOf = ({ body }: { body: { data: { name: string }[] } }) => body.data.map(({ name }) => name);
    expect(namesOf(await test.call('GET', '/v1/buckets', { key }))).toEqual(['open']);
    expect(namesOf(await test.call('GET', '/v1/usage/buckets', { key }))).toEqual(['open']);
    const statusOf = async (method: string, path: string, json?: object) =>
      (await test.call(method, path, json === undefined ? { key } : { key, json })).status;
    const upload = (text: string) => ({ filename: `${text}.txt`, text });
    const query = { query: 'ferry' };
    for (const [name, status, uploaded] of [
      ['open', 200, 202],
      ['closed', 404, 404],
    ] as const) {
      expect(await statusOf('GET', `/v1/buckets/${name}`), name).toBe(status);
      expect(await statusOf('POST', `/v2/buckets/${name}/search`, query), name).toBe(status);
      expect(await statusOf('POST', '/v2/search', { ...query, buckets: ['open', name] }), name).toBe(status);
      expect(await statusOf('POST', `/v1/vector_stores/${name}/search`, query), name).toBe(status);
      expect(await statusOf('GET', `/v1/vector_stores/${name}/files`), name).toBe(status);
      expect(await statusOf('GET', `/v1/buckets/${name}/documents`), name).toBe(status);
      expect(await statusOf('GET', `/v1/buckets/${name}/documents/${documents.get(name)}`), name).toBe(status);
      expect(await statusOf('POST', `/v1/buckets/${name}/documents`, upload(`new ${name}`)), name).toBe(uploaded);
    }
    expect(namesOf(await test.call('GET', '/v1/vector_stores', { key }))).toEqual(['open']);
    const { body: jobs } = await test.call('GET', '/v1/jobs', { key });
    const ofDocuments = new Set(jobs.map((job: { document_id: string }) => job.document_id));
    expect(ofDocuments.has(documents.get('open'))).toBe(true);
    expect(ofDocuments.has(documents.get('closed'))).toBe(false);
  });
});

describe('files', () => {
  it('of other buckets than those of a key do not exist for it', async () => {
    const { key } = await create({ buckets: ['open'] });
    for (const [name, status] of [
      ['open', 200],
      ['closed', 404],
    ] as const) {
      const file = await storeFile(test, admin, 'assistants');
      expect((await test.call('GET', `/v1/files/${file}/content`, { key })).status).toBe(200);
      const json = { file_id: file };
      expect((await test.call('POST', `/v1/vector_stores/${name}/files`, { key: admin, json })).status).toBe(200);
      for (const path of [`/v1/files/${file}`, `/v1/files/${file}/content`])
        expect([path, (await test.call('GET', path, { key })).status]).toEqual([path, status]);
      const { body } = await test.call('GET', '/v1/files', { key });
      expect(body.data.some(({ id }: { id: string }) => id === file)).toBe(status === 200);
      expect((await test.call('POST', '/v1/vector_stores/open/files', { key, json })).status).toBe(status);
    }
  });
});

describe('limits', () => {
  it('are refused beside scopes that could lift them', async () => {
    for (const scope of ['keys:manage', 'buckets:manage']) {
      const json = { name: 'shop', scopes: ['embed', scope], limits: { quotas: { embed: 1 } } };
      const { status, body } = await test.call('POST', '/v1/keys', { key: admin, json });
      expect([status, body.detail]).toEqual([400, expect.stringContaining(`not ${scope}`)]);
    }
    const { id } = await create({ quotas: { embed: 1 } });
    const wider = await test.call('PATCH', `/v1/keys/${id}`, { key: admin, json: { scopes: ['keys:manage'] } });
    expect(wider.status).toBe(400);
  });

  it.each([
    [{ models: ['vendor-a/missing'] }, 400, 'vendor-a/missing'],
    [{ buckets: ['missing'] }, 404, 'missing'],
    [{ quotas: { embed: -1 } }, 400, 'limits.quotas.embed'],
    [{ quotas: { search: 1 } }, 400, 'limits.quotas'],
    [{ requests_per_minute: { search: 0 } }, 400, 'limits.requests_per_minute.search'],
    [{ models: [] }, 400, 'limits.models'],
    [{ quota: { embed: 1 } }, 400, 'limits'],
  ])('%j is refused with a reason', async (limits, wanted, reason) => {
    const json = { name: 'shop', scopes: ['embed'], limits };
    const { status, body } = await test.call('POST', '/v1/keys', { key: admin, json });
    expect([status, body.detail]).toEqual([wanted, expect.stringContaining(reason)]);
  });

  it('are kept by a rotation, shown to the key, and removed by null', async () => {
    const { id } = await create({ requests_per_minute: { search: 9 } });
    const { body: rotated } = await test.call('POST', `/v1/keys/${id}/rotate`, { key: admin, json: {} });
    expect(rotated.limits).toEqual({ requests_per_minute: { search: 9 } });
    expect((await test.call('GET', '/v1/me', { key: rotated.key })).body.limits).toEqual(rotated.limits);
    const edit = { key: admin, json: { limits: null } };
    expect((await test.call('PATCH', `/v1/keys/${rotated.id}`, edit)).body.limits).toBeNull();
    const renamed = { key: admin, json: { name: 'renamed' } };
    expect((await test.call('PATCH', `/v1/keys/${rotated.id}`, renamed)).body).toMatchObject({ limits: null });
  });
});

describe('assistants', () => {
  it('exist for a key only if all their buckets do', async () => {
    const full = await test.key({ scopes: ['search', 'buckets:manage', 'keys:manage'] });
    for (const name of ['shown', 'hidden']) await test.call('POST', '/v1/buckets', { key: full, json: { name } });
    for (const [name, buckets] of [
      ['of-shown', ['shown']],
      ['of-hidden', ['hidden']],
      ['of-both', ['shown', 'hidden']],
    ] as const) {
      expect((await test.call('POST', '/v1/assistants', { key: full, json: { name, buckets } })).status).toBe(201);
    }
    const { key } = await create({ buckets: ['shown'] });
    const namesFor = async (own: string) =>
      (await test.call('GET', '/v1/assistants', { key: own })).body.data.map(({ name }: { name: string }) => name);
    expect(await namesFor(full)).toEqual(['of-both', 'of-hidden', 'of-shown']);
    expect(await namesFor(key)).toEqual(['of-shown']);
    const statusOf = async (name: string) => (await test.call('GET', `/v1/assistants/${name}`, { key })).status;
    expect([await statusOf('of-shown'), await statusOf('of-hidden'), await statusOf('of-both')]).toEqual([
      200, 404, 404,
    ]);
    const { sql } = test.appliance;
    const [row] = await sql`SELECT limits FROM api_keys WHERE id = ${key.split('_')[1] as string}`;
    const user = { orgId: test.operator.orgId, limits: row?.['limits'] };
    expect(await selectAnswererNames(sql, user)).toEqual(['assistant/of-shown', 'bucket/shown']);
  });
});
