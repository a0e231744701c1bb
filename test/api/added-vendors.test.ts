import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { openEmbedding } from '../../src/embedding/open-embedding.ts';
import { openMetrics } from '../../src/platform/metrics.ts';
import { openTestApi, type TestApi } from '../support/api.ts';
import { FakeTokenServer } from '../support/fake-token-server.ts';
import { FakeUpstream } from '../support/fake-upstream.ts';
import { until } from '../support/until.ts';

const KEY = 'a-key-that-nobody-may-see';
let test: TestApi;
let upstream: FakeUpstream;
let admin: string;

beforeAll(async () => {
  upstream = await FakeUpstream.start({ apiKeys: [KEY] });
  test = await openTestApi({
    worker: false,
    settings: { providers: { 'vendor-d': { protocol: 'tei', base_url: 'http://127.0.0.1:9/tei' } } },
  });
  admin = await test.key({ scopes: ['platform_admin', 'embed'] });
});
afterAll(async () => {
  await test.close();
  await upstream.close();
});

const acme = (rest: object = {}) => ({
  ...{ name: 'acme', protocol: 'openai', base_url: upstream.baseUrl('openai'), api_key: KEY, model: 'words-1' },
  ...rest,
});
const add = (json: object, key = admin) => test.call('POST', '/v1/vendors', { key, json });
const remove = (name: string) => test.call('DELETE', `/v1/vendors/${name}`, { key: admin });
const embed = (model: string) =>
  test.call('POST', '/v1/embeddings', { key: admin, json: { model, input: `a text for ${model}` } });
const listed = async (name: string) => {
  const { body } = await test.call('GET', '/v1/vendors', { key: admin });
  return body.data.find((each: { name: string }) => each.name === name);
};

it('an added vendor answers a test call, and serves its model at once', async () => {
  const { status, body } = await add(acme());
  expect([status, body]).toEqual([
    201,
    { name: 'acme', model: 'acme/words-1', dimensions: 8, latency_ms: expect.any(Number) },
  ]);
  expect(await listed('acme')).toEqual({
    ...{ name: 'acme', protocol: 'openai', is_set_up: true, is_added: true },
    models: [{ id: 'acme/words-1', price_per_million: 0 }],
  });
  expect((await embed('acme/words-1')).body.data[0].embedding).toHaveLength(8);
  expect(upstream.calls.at(-1)).toMatchObject({ model: 'words-1', apiKey: KEY });
  expect((await remove('acme')).body).toEqual({ name: 'acme', deleted: true });
  expect((await embed('acme/words-1')).body).toMatchObject({ error: { code: 'unknown_model' } });
  expect(await listed('acme')).toBeUndefined();
});

it('the key of an added vendor is encrypted in the database, and in no answer and no audit record', async () => {
  const added = await add(acme());
  const { sql } = test.appliance;
  const [row] = await sql`SELECT sealed_api_key, to_jsonb(vendors) AS row FROM vendors WHERE name = 'acme'`;
  expect(row?.['sealed_api_key'].includes(Buffer.from(KEY))).toBe(false);
  const audits = await sql`SELECT * FROM audit_log WHERE target = 'acme' ORDER BY id`;
  expect(audits.map(({ action, org_id }) => [action, org_id])).toContainEqual(['vendor.add', null]);
  const shown = [added.body, await listed('acme'), row?.['row'], audits];
  expect(JSON.stringify(shown)).not.toContain(KEY);
  await remove('acme');
});

it('a running process takes over vendors that another one adds and removes', async () => {
  const { appliance } = test;
  const other = await openEmbedding({ ...appliance, metrics: openMetrics(), meter: appliance.usage.meter });
  try {
    await add(acme());
    await until(async () => other.vendors.protocolOf('acme') === 'openai', { what: 'the added vendor', everyMs: 50 });
    expect(other.backends.isAvailable(other.backends.catalog.find('acme/words-1'))).toBe(true);
    await remove('acme');
    await until(async () => other.vendors.protocolOf('acme') === null, { what: 'its removal', everyMs: 50 });
    expect(other.backends.catalog.get('acme/words-1')).toBeUndefined();
  } finally {
    await other.close();
  }
});

it('the alias keeps its model when a vendor is added, so that no vectors change', async () => {
  const before = (await embed('service-embed-1-small')).body.model;
  await add(acme({ name: 'vendor-z' }));
  expect((await embed('service-embed-1-small')).body.model).toBe(before);
  await remove('vendor-z');
});

it('nothing is stored of a vendor that refuses the test call or cannot be reached', async () => {
  const refused = await add(acme({ api_key: 'another-key' }));
  expect([refused.status, refused.body.error.code]).toEqual([422, 'provider_refused']);
  expect(JSON.stringify(refused.body)).not.toContain('another-key');
  const closed = await add(acme({ base_url: 'http://127.0.0.1:9/v1' }));
  expect([closed.status, closed.body.error.code]).toEqual([502, 'provider_unavailable']);
  const short = await add(acme({ name: 'vendor-a', model: 'text-embedding-3-small' }));
  expect([short.status, short.body.error.code]).toEqual([409, 'model_dimension_differs']);
  expect(await test.appliance.sql`SELECT name FROM vendors`).toEqual([]);
});

it('a vendor of the settings file cannot be added or removed, and no name is used twice', async () => {
  const calls = upstream.calls.length;
  for (const reply of [await add(acme({ name: 'vendor-d' })), await remove('vendor-d')]) {
    expect([reply.status, reply.body.error.code]).toEqual([409, 'vendor_in_settings']);
  }
  expect(upstream.calls).toHaveLength(calls);
  await add(acme());
  const again = await add(acme());
  expect([again.status, again.body.error.code]).toEqual([409, 'vendor_exists']);
  await remove('acme');
  const gone = await remove('acme');
  expect([gone.status, gone.body.error.code]).toEqual([404, 'vendor_not_found']);
});

it.each([
  ['a name of this service', { name: 'local' }],
  ['a name with spaces', { name: 'my vendor' }],
  ['an address of another kind', { base_url: 'file:///etc/passwd' }],
  ['credentials in the address', { base_url: 'http://user:secret@127.0.0.1/' }],
  ['a key with a line break', { api_key: 'a\nb' }],
  ['an unknown protocol', { protocol: 'gopher' }],
])('a vendor with a wrong field is refused before any call: %s', async (_, fields) => {
  const calls = upstream.calls.length;
  expect((await add(acme(fields))).status).toBe(400);
  expect(upstream.calls).toHaveLength(calls);
});

const AWS_KEY = {
  ...{ accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'secret-that-nobody-may-see' },
  ...{ region: 'us-east-1', service: 'bedrock' },
};

/** Fields of a vendor of a cloud, and the secrets among them. */
async function clouds() {
  const aws = await FakeUpstream.start({ awsKey: AWS_KEY, dimensions: 1024 });
  const tokenServer = await FakeTokenServer.start();
  const google = await FakeUpstream.start({
    ...{ apiKeys: Array.from({ length: 9 }, (_, at) => `ya29.token-${at + 1}`), dimensions: 768 },
  });
  onTestFinished(async () => {
    await Promise.all([aws.close(), tokenServer.close(), google.close()]);
  });
  return [
    {
      ...{ name: 'aws', protocol: 'bedrock', base_url: `${aws.url}/bedrock`, region: 'us-east-1' },
      ...{ access_key_id: AWS_KEY.accessKeyId, secret_access_key: AWS_KEY.secretAccessKey },
      model: 'amazon.titan-embed-text-v2:0',
    },
    {
      ...{ name: 'google', protocol: 'vertex', base_url: `${google.url}/vertex`, project: 'p-1' },
      ...{ location: 'us-central1', service_account: tokenServer.keyFile(), model: 'text-embedding-005' },
    },
  ];
}

it('vendors of clouds are added with their parameters, and their secrets are encrypted', async () => {
  for (const vendor of await clouds()) {
    const added = await add(vendor);
    expect(added).toMatchObject({ status: 201, body: { model: `${vendor.name}/${vendor.model}` } });
    const { sql } = test.appliance;
    const [row] = await sql`SELECT *, to_jsonb(vendors) AS row FROM vendors WHERE name = ${vendor.name}`;
    expect(row?.['models']).toMatchObject([{ id: `${vendor.name}/${vendor.model}` }]);
    expect(row?.['sealed_credentials'].length).toBeGreaterThan(0);
    const audits = await sql`SELECT * FROM audit_log WHERE target = ${vendor.name}`;
    const shown = JSON.stringify([added.body, await listed(vendor.name), row?.['row'], row?.['parameters'], audits]);
    expect(shown).not.toMatch(/nobody-may-see|PRIVATE KEY/);
    const reply = await embed(`${vendor.name}/${vendor.model}`);
    expect(reply).toMatchObject({ status: 200 });
    // Another process reads the secrets from the database.
    const { appliance } = test;
    const other = await openEmbedding({ ...appliance, metrics: openMetrics(), meter: appliance.usage.meter });
    const { catalog } = other.backends;
    const vectors = await other
      .embedNative({
        ...{ model: catalog.find(`${vendor.name}/${vendor.model}`), texts: ['a text'], taskType: 'retrieval_query' },
        signal: new AbortController().signal,
      })
      .finally(() => other.close());
    expect(vectors).toHaveLength(reply.body.data[0].embedding.length);
    await remove(vendor.name);
  }
});

it.each([
  ['bedrock without a region', { protocol: 'bedrock', api_key: 'k' }, 'region'],
  ['bedrock with two credentials', { protocol: 'bedrock', region: 'us-east-1', credentials: 'aws' }, 'api_key'],
  ['a region of another protocol', { region: 'us-east-1' }, 'region'],
  ['vertex with a key', { protocol: 'vertex', project: 'p', location: 'global' }, 'service_account'],
  ['azure without an address', { protocol: 'azure', base_url: undefined }, 'base_url'],
])('a vendor whose fields do not fit its protocol is refused before any call: %s', async (_, fields, param) => {
  const calls = upstream.calls.length;
  const { status, body } = await add(acme(fields));
  expect([status, body.error.param]).toEqual([400, param]);
  expect(upstream.calls).toHaveLength(calls);
});

it('only a platform administrator adds and removes vendors', async () => {
  const key = await test.key({ scopes: ['embed', 'routing:manage', 'keys:manage'] });
  expect((await add(acme(), key)).status).toBe(403);
  expect((await test.call('DELETE', '/v1/vendors/acme', { key })).status).toBe(403);
});

const addModel = (name: string, json: object, key = admin) =>
  test.call('POST', `/v1/vendors/${name}/models`, { key, json });

it('an added vendor gets more models, each after a test call, and its first one goes on', async () => {
  await add(acme());
  expect((await addModel('acme', { model: 'words-2', max_tokens: 2048 })).body).toMatchObject({
    ...{ name: 'acme', model: 'acme/words-2', dimensions: 8 },
  });
  for (const model of ['acme/words-1', 'acme/words-2']) expect((await embed(model)).status).toBe(200);
  expect((await listed('acme')).models.map(({ id }: { id: string }) => id)).toEqual(['acme/words-1', 'acme/words-2']);
  await addModel('acme', { model: 'words-2' });
  expect((await listed('acme')).models).toHaveLength(2);
  upstream.next({ kind: 'status', status: 401 });
  expect((await addModel('acme', { model: 'words-3' })).status).toBe(422);
  expect((await listed('acme')).models).toHaveLength(2);
  await remove('acme');
});

it('models are added only to added vendors, by a platform administrator', async () => {
  const missing = await addModel('nobody', { model: 'words-1' });
  expect([missing.status, missing.body.error.code]).toEqual([404, 'vendor_not_found']);
  const fixed = await addModel('vendor-d', { model: 'words-1' });
  expect([fixed.status, fixed.body.error.code]).toEqual([409, 'vendor_in_settings']);
  const key = await test.key({ scopes: ['embed', 'routing:manage', 'keys:manage'] });
  expect((await addModel('acme', { model: 'words-1' }, key)).status).toBe(403);
});

it('a vendor whose model a bucket uses is not removed, and the refusal names the bucket', async () => {
  await add(acme());
  const { sql } = test.appliance;
  const [bucket] = await sql`SELECT id, name FROM buckets WHERE name = 'default' LIMIT 1`;
  await sql`INSERT INTO index_tables (bucket_id, version, settled, model)
    VALUES (${bucket?.['id']}, 1, true, 'acme/words-1')`;
  const refused = await remove('acme');
  expect([refused.status, refused.body.error.code]).toEqual([409, 'model_in_use']);
  expect(refused.body.error.message).toContain('default');
  expect((await embed('acme/words-1')).status).toBe(200);
  await sql`DELETE FROM index_tables WHERE bucket_id = ${bucket?.['id']}`;
  expect((await remove('acme')).status).toBe(200);
});

it('the alias can name a model of an added vendor, which then is not removed', async () => {
  await add(acme());
  const { appliance } = test;
  const config = { ...appliance.config, alias: { default: 'acme/words-1' } };
  const open = () => openEmbedding({ ...appliance, config, metrics: openMetrics(), meter: appliance.usage.meter });
  const other = await open();
  try {
    const alias = other.backends.catalog.find('service-embed-1-small');
    expect(other.backends.isAvailable(alias)).toBe(true);
    expect(other.backends.aliasBackends.map(({ id }) => id)).toEqual(['acme/words-1']);
    await expect(other.vendors.remove('user:a', 'acme')).rejects.toMatchObject({ code: 'model_in_use', status: 409 });
  } finally {
    await other.close();
  }
  await remove('acme');
  await expect(open()).rejects.toMatchObject({ code: 'config_invalid' });
});
