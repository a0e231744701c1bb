import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { Installations } from '../../src/local-models/install/installations.ts';
import { folderOf } from '../../src/local-models/model-folders.ts';
import { openTestApi, type TestApi } from '../support/api.ts';
import { FakeHub } from '../support/fake-hub.ts';
import { DIMENSION, FIXTURES } from '../support/local-models.ts';
import { until } from '../support/until.ts';

const ONNX = 'onnx/model.onnx';
const FILES = [
  ...['config.json', 'tokenizer.json', 'modules.json', '1_Pooling/config.json', 'sentence_bert_config.json'],
  ...['config_sentence_transformers.json', ONNX],
];
const TOKEN = 'hub-token-that-nobody-may-see';
let test: TestApi;
let hub: FakeHub;
let folder: string;
let admin: string;

beforeAll(async () => {
  folder = mkdtempSync(path.join(tmpdir(), 'service-models-'));
  for (const name of ['bert', 'reranker'])
    cpSync(path.join(FIXTURES, name), path.join(folder, name), { recursive: true });
  hub = await FakeHub.start(
    Object.fromEntries(FILES.map((file) => [file, readFileSync(path.join(FIXTURES, 'bert', file))])),
  );
  test = await openTestApi({
    settings: { local_models: { hub_url: hub.url, hub_token: TOKEN, folder } },
  });
  admin = await test.key({ scopes: ['platform_admin', 'embed', 'search', 'documents:write', 'buckets:manage'] });
});
afterAll(async () => {
  await test.close();
  await hub.close();
  rmSync(folder, { recursive: true, force: true });
});
beforeEach(() => {
  Object.assign(hub, { fault: () => false, status: null, card: { license: 'mit' } });
});

const plan = (json: object) => test.call('POST', '/v1/local-models/plan', { key: admin, json });
const install = (json: object) => test.call('POST', '/v1/local-models', { key: admin, json });
const cancel = (name: string) => test.call('DELETE', `/v1/local-models/${name}/installation`, { key: admin });
const remove = (name: string) => test.call('DELETE', `/v1/local-models/${name}`, { key: admin });
const list = async () => (await test.call('GET', '/v1/local-models', { key: admin })).body;
const installation = async () => (await list()).installations[0];
const ended = () =>
  until(async () => ((await installation())?.state ?? 'failed') === 'failed', { what: 'the end', everyMs: 50 });

/** Begin the file with the weights, and leave the rest unsent. */
function stall() {
  hub.fault = (file, _, response) => {
    if (file !== ONNX) return false;
    response.writeHead(200, { 'content-length': 1_000_000 }).write('begun');
    return true;
  };
}

it('the plan tells licence, size and commit, and installs nothing', async () => {
  const { status, body } = await plan({ source: 'org/model' });
  expect([status, body]).toEqual([
    200,
    {
      name: 'local/model',
      source: 'org/model@cccccccccccc',
      revision: 'c'.repeat(40),
      licence: 'mit',
      files: FILES.length,
      bytes: expect.any(Number),
      free_bytes: expect.any(Number),
    },
  ]);
  expect(await list()).toMatchObject({ data: [], installations: [], hub_url: hub.url, folders: ['bert', 'reranker'] });
});

// https://huggingface.co/docs/hub/model-cards: `license: other` has its name in `license_name`.
it.each([
  [{ license: 'other', license_name: 'house-terms' }, 'house-terms'],
  [{ license: ['mit', 'apache-2.0'] }, 'mit, apache-2.0'],
  [{}, null],
  [{ license: 7 }, null],
  [null, null],
])('the licence of the model card %j is %j', async (card, licence) => {
  hub.card = card;
  expect((await plan({ source: 'org/model' })).body.licence).toBe(licence);
});

it('a model of the hub is installed, embeds, and is removed with its files', async () => {
  expect(await install({ source: 'org/model', name: 'local/own' })).toMatchObject({
    status: 202,
    body: { name: 'local/own' },
  });
  await ended();
  const { data, installations } = await list();
  expect(installations).toEqual([]);
  expect(data).toMatchObject([{ name: 'local/own', kind: 'embedding', licence: 'mit', dimension: DIMENSION }]);
  const embedded = await test.call('POST', '/v1/embeddings', {
    key: admin,
    json: { model: 'local/own', input: 'a text' },
  });
  expect(embedded.body.data[0].embedding).toHaveLength(DIMENSION);
  const [row] = await test.appliance.sql`SELECT revision FROM local_models WHERE name = 'local/own'`;
  const files = folderOf(test.dataDir, 'local/own', row?.['revision']);
  expect(existsSync(files)).toBe(true);
  expect((await remove('own')).body).toEqual({ name: 'local/own', deleted: true });
  expect(existsSync(files)).toBe(false);
  expect((await list()).data).toEqual([]);
  const audits = await test.appliance.sql`SELECT action FROM audit_log WHERE target = 'local/own' ORDER BY id`;
  expect(audits.map(({ action }) => action)).toEqual(['model.install', 'model.remove']);
});

it('a reranker is installed from a folder that the settings allow, and scores texts', async () => {
  await install({ source: 'reranker', kind: 'reranker' });
  await ended();
  expect((await list()).data).toMatchObject([{ name: 'local/reranker', kind: 'reranker', source: 'reranker' }]);
  const json = { model: 'local/reranker', query: 'ferry', documents: ['a ferry', 'a tree'] };
  expect((await test.call('POST', '/v1/rerank', { key: admin, json })).body.results).toHaveLength(2);
  await remove('reranker');
});

it.each([
  ['a path', '/etc'],
  ['a path upwards', '..'],
  ['a path below the folder', 'bert/onnx/x'],
  ['an unknown folder', 'missing'],
  ['an address', 'http://127.0.0.1:9/model'],
])('a request reads no folder and no host that the settings do not allow: %s', async (_, source) => {
  const reply = await plan({ source });
  expect([reply.status, reply.body.error.code, reply.body.error.param]).toEqual([400, 'invalid_request', 'source']);
});

it('an installation shows its progress, another has to wait, and a cancelled one leaves no model', async () => {
  stall();
  await install({ source: 'org/model' });
  await until(async () => (await installation())?.done_bytes > 0, { what: 'progress', everyMs: 50 });
  expect(await installation()).toMatchObject({ name: 'local/model', state: 'running', phase: 'fetching' });
  const second = await install({ source: 'bert' });
  expect([second.status, second.body.error.code]).toEqual([409, 'installation_running']);
  expect((await cancel('model')).status).toBe(200);
  await until(async () => (await installation()) === undefined, { what: 'the end', everyMs: 50 });
  expect((await list()).data).toEqual([]);
  const gone = await cancel('model');
  expect([gone.status, gone.body.error.code]).toEqual([404, 'installation_not_found']);
});

it('a failed installation says why, can be forgotten or repeated, and shows no token', async () => {
  hub.fault = (file, _, response) => file === ONNX && Boolean(response.end(Buffer.alloc(10_000_000)));
  await install({ source: 'org/model' });
  await ended();
  const failed = await installation();
  expect(failed).toMatchObject({ state: 'failed', error_code: 'hub_checksum_mismatch' });
  expect(JSON.stringify(failed)).not.toContain(TOKEN);
  expect(hub.requests.every(({ token }) => token === `Bearer ${TOKEN}`)).toBe(true);
  expect((await cancel('model')).status).toBe(200);
  expect((await list()).installations).toEqual([]);
});

it('a process that stops marks its installation as interrupted, and so does another one after its death', async () => {
  stall();
  const other = new Installations(test.appliance);
  const request = { source: 'org/model', kind: 'embedding', variant: 'fp32' } as const;
  await other.start('user:a', request, new AbortController().signal);
  await other.close();
  expect(await installation()).toMatchObject({ state: 'failed', error_code: 'installation_interrupted' });
  await test.appliance.sql`
    UPDATE model_installations SET state = 'running', updated_at = now() - interval '2 minutes'`;
  expect(await installation()).toMatchObject({ state: 'failed', error_code: 'installation_interrupted' });
  await cancel('model');
});

it('a model that a bucket uses is not removed, and the refusal names the bucket', async () => {
  await install({ source: 'bert', name: 'local/used' });
  await ended();
  const bucket = await test.call('POST', '/v1/buckets', { key: admin, json: { name: 'letters' } });
  const { sql } = test.appliance;
  await sql`INSERT INTO index_tables (bucket_id, version, settled, model)
    VALUES (${bucket.body.id}, 1, true, 'local/used')`;
  const refused = await remove('used');
  expect([refused.status, refused.body.error.code]).toEqual([409, 'model_in_use']);
  expect(refused.body.error.message).toContain('letters');
  await sql`DELETE FROM index_tables WHERE bucket_id = ${bucket.body.id}`;
  expect((await remove('used')).status).toBe(200);
});

it('the built-in model cannot be removed or replaced', async () => {
  expect((await remove('semantic-1')).status).toBe(400);
  expect((await install({ source: 'bert', name: 'local/semantic-1' })).status).toBe(400);
});

it('only a platform administrator sees, installs and removes local models', async () => {
  const key = await test.key({ scopes: ['embed', 'routing:manage', 'keys:manage'] });
  const calls = [
    ['GET', '/v1/local-models', undefined],
    ['POST', '/v1/local-models/plan', { source: 'bert' }],
    ['POST', '/v1/local-models', { source: 'bert' }],
    ['DELETE', '/v1/local-models/bert', undefined],
    ['DELETE', '/v1/local-models/bert/installation', undefined],
  ] as const;
  for (const [method, address, json] of calls) {
    expect((await test.call(method, address, { key, ...(json ? { json } : {}) })).status).toBe(403);
  }
});
