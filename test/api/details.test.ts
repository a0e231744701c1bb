import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Service } from '../../src/platform/lifecycle.ts';
import { filesWith } from '../support/files-with.ts';
import { openTestGateway, SMALL, type TestGateway } from '../support/gateway.ts';
import { until } from '../support/until.ts';

const DOCUMENTS = '/v1/buckets/default/documents';
const CANARY = 'zqxkvj5150wpf';

let test: TestGateway;
let key: string;
let worker: Service;
beforeAll(async () => {
  test = await openTestGateway();
  worker = test.appliance.jobs.worker('ingest');
  await worker.start(new AbortController().signal);
  key = await test.key({ scopes: ['embed', 'search', 'documents:write', 'buckets:manage', 'routing:manage'] });
});
afterAll(async () => {
  await worker.stop();
  await test.close();
});

async function upload(json: object, bucket = 'default'): Promise<string> {
  const { status, body } = await test.call('POST', `/v1/buckets/${bucket}/documents`, { key, json });
  expect([status, body.detail]).toEqual([202, undefined]);
  const path = `/v1/buckets/${bucket}/documents/${body.id}`;
  await until(async () => (await test.call('GET', path, { key })).body.status === 'ready', { withinMs: 50_000 });
  return body.id;
}

it.each([
  ['POST', '/v1/embeddings', { input: 'a', model: null, dimensions: null, task_type: null, user: null }, 200],
  ['POST', '/v1/embed/jobs', { texts: ['a'], model: null, dimensions: null, task_type: null }, 200],
  ['POST', '/v2/buckets/default/search', { query: 'a', top_k: null, mode: null, filter: null, rerank: null }, 200],
  ['POST', '/v1/vector_stores/default/search', { query: 'a', filters: null, ranking_options: null }, 200],
  ['POST', '/v1/memory/search', { query: 'a', buckets: ['default'], bucket: null, temporal: null, tags: null }, 200],
  ['POST', '/v1/buckets', { name: 'with-nulls', policy: null }, 201],
  ['POST', DOCUMENTS, { filename: 'a.txt', text: 'a', content: null, metadata: null, chunk_size: null }, 202],
  ['PATCH', `${DOCUMENTS}/metadata/bulk`, { where: { a: 'b' }, statement: null, limit: null, dry_run: null }, 200],
  ['PUT', '/v1/routing', { primary: 'local/lexical-1', fallback: null, mode: null }, 200],
])('%s %s takes null for fields that may be left out', async (method, path, json, expected) => {
  const { status, body } = await test.call(method, path, { key, json });
  expect([status, body.detail ?? body.error]).toEqual([expected, undefined]);
});

it('a required field may not be null, and is named', async () => {
  const { status, body } = await test.call('POST', '/v1/embeddings', { key, json: { input: null, model: null } });
  expect([status, body.error.param]).toEqual([400, 'input']);
});

it.each(['primary', 'fallback'])('a wrong %s of the routing is named as the field', async (field) => {
  const json = { primary: SMALL, mode: 'fallback', fallback: 'local/lexical-1', [field]: 'vendor-z/none' };
  const { status, body } = await test.call('PUT', '/v1/routing', { key, json });
  expect([status, body.error.param, body.error.code]).toEqual([400, field, 'unknown_model']);
  expect(body.error.message).toContain(field);
});

it.each(['x', 'doc_', 'bkt_01k9z0000000000000000000a0', "doc_' OR 1=1 --", '0'])(
  'the cursor %s is none and is refused',
  async (cursor) => {
    const { status, body } = await test.call('GET', `${DOCUMENTS}?cursor=${encodeURIComponent(cursor)}`, { key });
    expect([status, body.detail]).toEqual([400, expect.stringContaining('cursor')]);
  },
);

it.each(['lexical', 'semantic'])('a query of punctuation finds nothing in a bucket of a %s model', async (kind) => {
  const name = `of-${kind}`;
  const primary = kind === 'lexical' ? 'local/lexical-1' : SMALL;
  await test.call('PUT', '/v1/routing', { key, json: { primary } });
  await test.call('POST', '/v1/buckets', { key, json: { name } });
  await upload({ filename: 'a.txt', text: 'The heron stands still.' }, name);
  const find = async (query: string, mode: string) => {
    const json = { query, mode };
    const { body } = await test.call('POST', `/v2/buckets/${name}/search`, { key, json });
    return body.results.length;
  };
  expect(await find('the heron', 'hybrid')).toBe(1);
  for (const query of ['?', '…!?', ' - ', '。、', '"()[]{}"', '+=<>$']) {
    for (const mode of ['hybrid', 'vector', 'keyword'])
      expect([query, mode, await find(query, mode)]).toEqual([query, mode, 0]);
  }
});

it('DELETE of a document takes its text out of the files of the index', async () => {
  await test.call('PUT', '/v1/routing', { key, json: { primary: 'local/lexical-1' } });
  await test.call('POST', '/v1/buckets', { key, json: { name: 'deleted' } });
  for (let n = 0; n < 25; n++) await upload({ filename: `${n}.txt`, text: `Heron number ${n}.` }, 'deleted');
  const id = await upload({ filename: 'b.txt', text: `The word ${CANARY} is here.` }, 'deleted');
  expect(filesWith(test.dataDir, CANARY)).not.toEqual([]);
  expect((await test.call('DELETE', `/v1/buckets/deleted/documents/${id}`, { key })).status).toBe(200);
  await test.appliance.documents.purgeWithText(new AbortController().signal);
  expect(filesWith(test.dataDir, CANARY)).toEqual([]);
});
