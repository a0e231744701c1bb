import { afterAll, beforeAll, expect, test } from 'vitest';
import { openTestApi, type TestApi } from '../support/api.ts';
import { CONFIGS, createConfig, deliver, messengerConfig, SEND } from '../support/channels.ts';

let api: TestApi;
let key: string;
beforeAll(async () => {
  api = await openTestApi({ worker: false });
  key = await api.key({ scopes: ['channels:manage'] });
});
afterAll(() => api.close());

const create = (config: unknown, part: Record<string, unknown> = {}) =>
  api.call('POST', CONFIGS, { key, json: { name: 'Shop', provider: 'messenger', config, ...part } });

test('a configuration is created, listed with masked credentials, and deleted permanently', async () => {
  const created = await create(messengerConfig({ bot_id: 'life', public_only: true }));
  expect(created).toMatchObject({ status: 200, body: { id: expect.any(String), name: 'Shop', provider: 'messenger' } });
  expect(Object.keys(created.body)).toEqual(['id', 'name', 'provider']);
  const list = (await api.call('GET', CONFIGS, { key })).body;
  expect(list.find((each: { id: string }) => each.id === created.body.id)).toEqual({
    ...created.body,
    config: {
      ...{ rest_api_key: 'res****789', channel_id: '@shop', admin_key: 'adm****789', collection: 'default' },
      ...{ bot_id: 'life', secret: 'sign****6789', public_only: true, score_min: 0.1 },
    },
  });
  const path = `${CONFIGS}/${created.body.id}`;
  expect(await api.call('DELETE', path, { key })).toMatchObject({ status: 200, body: { deleted: true } });
  expect(await api.call('DELETE', path, { key })).toMatchObject({ status: 404, body: { detail: expect.any(String) } });
  expect((await deliver(api, { bot_id: 'life' })).status).toBe(403);
  const rows = await api.appliance.sql`SELECT 1 FROM channel_configs WHERE id = ${created.body.id}`;
  expect(rows).toHaveLength(0);
});

test('without a valid key every endpoint of configurations answers 401', async () => {
  for (const [method, path] of [
    ['POST', CONFIGS],
    ['GET', CONFIGS],
    ['DELETE', `${CONFIGS}/chn_x`],
  ] as const) {
    const json = method === 'POST' ? { json: { name: 'a', provider: 'messenger', config: messengerConfig() } } : {};
    expect((await api.call(method, path, json)).status).toBe(401);
    expect((await api.call(method, path, { ...json, key: 'svc_wrong' })).status).toBe(401);
  }
});

test('a key without the scope channels:manage lists configurations, and neither creates nor deletes them', async () => {
  const other = await api.key({ scopes: ['search'] });
  const json = { name: 'a', provider: 'messenger', config: messengerConfig({ bot_id: 'scope' }) };
  expect((await api.call('POST', CONFIGS, { key: other, json })).status).toBe(403);
  expect((await api.call('DELETE', `${CONFIGS}/chn_x`, { key: other })).status).toBe(403);
  expect((await api.call('GET', CONFIGS, { key: other })).status).toBe(200);
});

test.each([
  ['no rest_api_key', { rest_api_key: undefined }, 'config.rest_api_key: is required'],
  ['no channel_id', { channel_id: undefined }, 'config.channel_id: is required'],
  ['no collection', { collection: undefined }, 'config.collection: is required'],
  ['no bot_id', { bot_id: undefined }, 'config.bot_id: is required'],
  ['no secret', { secret: undefined }, 'config.secret: is required'],
  ['an empty secret', { secret: '' }, 'config.secret: must not be empty'],
  ['a secret of blanks', { secret: '   ' }, 'config.secret: must not be empty'],
  ['an empty admin_key', { admin_key: '' }, 'config.admin_key: must not be empty'],
  ['a bot_id that is a number', { bot_id: 7 }, 'config.bot_id: must be a string'],
  ['a bot_id with a line break', { bot_id: 'a\nb' }, 'config.bot_id: must not contain control characters'],
  ['a key that no header can hold', { rest_api_key: '열쇠' }, 'config.rest_api_key: must be printable ASCII'],
  ['a score beyond 1', { score_min: 2 }, 'config.score_min: must be at most 1'],
  ['public_only as a text', { public_only: 'yes' }, 'config.public_only: must be true or false'],
  ['a bucket that does not exist', { collection: 'nowhere' }, 'config.collection: bucket not found: nowhere'],
  ['a collection that does not exist', { bucket_collection: 'none' }, 'config.bucket_collection: collection not found'],
])('a messenger configuration with %s is refused with 400', async (_fault, part, fault) => {
  const { status, body } = await create(messengerConfig(part));
  expect({ status, body }).toEqual({ status: 400, body: { detail: expect.stringContaining(fault) } });
});

test.each([
  ['no name', { name: undefined }],
  ['an empty name', { name: '' }],
  ['no provider', { provider: undefined }],
  ['a provider in capitals', { provider: 'SLACK' }],
  ['no config', { config: undefined }],
  ['a config that is a list', { config: [] }],
  ['a config that is a text', { config: 'x' }],
])('a request with %s is refused with 400', async (_fault, part) => {
  expect((await create(messengerConfig(), part)).status).toBe(400);
});

test('a refused configuration gets all faults in one message', async () => {
  const { body } = await create({});
  for (const field of ['rest_api_key', 'channel_id', 'collection', 'bot_id', 'secret']) {
    expect(body.detail).toContain(`config.${field}: is required`);
  }
});

test('an unknown field is ignored with a warning that names it', async () => {
  const answer = await create(messengerConfig({ bot_id: 'extra', public_onyl: true, secret: 'short' }));
  expect(answer.status).toBe(200);
  expect(answer.headers.get('x-service-warning')).toMatch(/public_onyl.*ignored; config\.secret has fewer than 16/);
  const { body } = await api.call('GET', CONFIGS, { key });
  const { config } = body.find((each: { id: string }) => each.id === answer.body.id);
  expect(config).not.toHaveProperty('public_onyl');
});

test('a bot_id is unique in an organization, and other organizations may use it too', async () => {
  expect((await create(messengerConfig({ bot_id: 'twice' }))).status).toBe(200);
  expect(await create(messengerConfig({ bot_id: 'twice' }))).toMatchObject({
    status: 409,
    body: { detail: expect.stringContaining('bot_id "twice"') },
  });
  const foreign = await api.key({ scopes: ['channels:manage'], org: 'neighbour' });
  await createConfig(api, foreign, { bot_id: 'twice', secret: 'another-secret-0123456789' });
  const { body } = await api.call('GET', CONFIGS, { key: foreign });
  expect(body).toHaveLength(1);
});

test('configurations of another organization are neither listed, deleted nor used for notifications', async () => {
  const id = await createConfig(api, key, { bot_id: 'mine' });
  const foreign = await api.key({ scopes: ['channels:manage'], org: 'stranger' });
  expect((await api.call('GET', CONFIGS, { key: foreign })).body).toEqual([]);
  expect((await api.call('DELETE', `${CONFIGS}/${id}`, { key: foreign })).status).toBe(404);
  const json = { channel_config_id: id, phone: '01012345678', template_code: 'T1' };
  expect((await api.call('POST', SEND, { key: foreign, json })).status).toBe(404);
});

test('a configuration of another provider is stored, and strings and numbers are masked unless their key is known to hold no credential', async () => {
  const config = {
    ...{ webhook_url: 'https://hooks.example.com/T000/B000/XXXXXXXX', channel: '#help', team_id: 3, strict: true },
    tokens: ['token-one-0123456789', { deep: { value: 'token-two-0123456789', team_id: 'T1' } }],
    ...{ pin: 'pin', code: 48151623, codes: [4, { 8: 15 }] },
  };
  const answer = await create(config, { provider: 'slack' });
  expect(answer.status).toBe(200);
  const { body } = await api.call('GET', CONFIGS, { key });
  expect(body.find((each: { id: string }) => each.id === answer.body.id).config).toEqual({
    ...{ webhook_url: 'http****XXXX', channel: '#help', team_id: 3, strict: true },
    tokens: ['to****89', { deep: { value: 'to****89', team_id: 'T1' } }],
    ...{ pin: '****', code: '****', codes: ['****', { 8: '****' }] },
  });
  const json = { channel_config_id: answer.body.id, phone: '01012345678', template_code: 'T1' };
  expect(await api.call('POST', SEND, { key, json })).toMatchObject({
    status: 400,
    body: { detail: expect.stringContaining('"slack" is not supported') },
  });
});

test('a configuration of another provider is refused if it is too large', async () => {
  const answer = await create({ note: 'x'.repeat(20_000) }, { provider: 'slack' });
  expect(answer).toMatchObject({ status: 400, body: { detail: expect.stringContaining('16384 bytes') } });
});
