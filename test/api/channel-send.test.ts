import type { ServerResponse } from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { selectNotifications } from '../../src/channels/notification-store.ts';
import { openTestApi, type TestApi } from '../support/api.ts';
import { createConfig, SEND } from '../support/channels.ts';
import { FakeMessenger } from '../support/fake-messenger.ts';
import { freePort } from '../support/free-port.ts';

let provider: FakeMessenger;
let api: TestApi;
let offline: TestApi;
let key: string;
let config: string;

beforeAll(async () => {
  provider = await FakeMessenger.start();
  const messenger = { base_url: provider.url, auth_scheme: 'KakaoAK' };
  api = await openTestApi({ worker: false, settings: { channels: { messenger } } });
  offline = await openTestApi({ worker: false, beside: api });
  key = await api.key({ scopes: ['channels:manage'] });
  config = await createConfig(api, key);
});
afterAll(async () => {
  await offline.close();
  await api.close();
  await provider.close();
});
beforeEach(() => provider.reset());

const request = (part: Record<string, unknown> = {}) => ({
  ...{ channel_config_id: config, phone: '+821012345678', template_code: 'ORDER_1', template_args: { name: '민수' } },
  ...part,
});
let keys = 0;
const send = (json: unknown, idempotencyKey?: string, to: TestApi = api) =>
  to.call('POST', SEND, { key, json, headers: idempotencyKey ? { 'Idempotency-Key': idempotencyKey } : {} });
const newKey = () => `key-${++keys}`;
const records = () => selectNotifications(api.appliance.sql, api.operator.orgId, { configId: null, rowsMax: 1 });

test('a notification is sent to the provider unchanged, and the reply has the id of the provider', async () => {
  const answer = await send(request());
  expect(answer).toMatchObject({
    status: 200,
    body: { status: 'sent', result: { message_id: 'm-1', sent_at: expect.any(Number) } },
  });
  expect(Math.abs(answer.body.result.sent_at - Date.now())).toBeLessThan(60_000);
  expect(provider.seen).toEqual([
    {
      path: '/v1/notify',
      authorization: 'KakaoAK rest-key-canary-0123456789',
      body: { channel_id: '@shop', phone: '+821012345678', template_code: 'ORDER_1', template_args: { name: '민수' } },
    },
  ]);
  expect(await records()).toMatchObject([
    { via: 'provider', status: 'accepted', message_id: 'm-1', reason: null, uncertain: false },
  ]);
});

test.each([
  ['no phone', { phone: undefined }, 'phone: is required'],
  ['no template_code', { template_code: undefined }, 'template_code: is required'],
  ['an empty template_code', { template_code: '' }, 'template_code: must not be empty'],
  ['no channel_config_id', { channel_config_id: undefined }, 'channel_config_id: is required'],
  ['a phone with hyphens', { phone: '010-1234-5678' }, 'phone: must be in E.164 form'],
  ['a phone that is too long', { phone: '+8210123456789012' }, 'phone: must be in E.164 form'],
  ['a user id in place of a phone', { phone: 'user-1' }, 'phone: must be in E.164 form'],
  ['a phone that is a number', { phone: 1012345678 }, 'phone: must be a string'],
  ['an argument that is a number', { template_args: { n: 1 } }, 'template_args.n: must be a string'],
  ['arguments that are a list', { template_args: ['a'] }, 'template_args: must be an object'],
])(
  'a notification with %s is refused with 400 before the configuration is looked up, and nothing is sent',
  async (_fault, part, fault) => {
    const answer = await send(request({ channel_config_id: 'chn_missing', ...part }));
    expect(answer).toMatchObject({ status: 400, body: { detail: expect.stringContaining(fault) } });
    expect(provider.seen).toEqual([]);
  },
);

test('a send is answered 404 for an unknown configuration, 403 without the scope, and 200 with channels:send only', async () => {
  expect((await send(request({ channel_config_id: 'chn_missing' }))).status).toBe(404);
  const json = request({ phone: '01012345678' });
  const other = await api.key({ scopes: ['search'] });
  expect((await api.call('POST', SEND, { key: other, json })).status).toBe(403);
  expect((await api.call('POST', SEND, { json })).status).toBe(401);
  const sender = await api.key({ scopes: ['channels:send'] });
  expect((await api.call('POST', SEND, { key: sender, json })).status).toBe(200);
});

test('without a provider a notification is kept in the outbox', async () => {
  const answer = await send(request({ template_args: undefined }), undefined, offline);
  expect(answer).toMatchObject({ status: 200, body: { status: 'sent', result: { message_id: expect.any(String) } } });
  expect(await records()).toMatchObject([
    {
      ...{ id: answer.body.result.message_id, via: 'outbox', status: 'accepted', phone: '+821012345678' },
      ...{ template_code: 'ORDER_1', template_args: {}, channel_config_id: config },
    },
  ]);
  expect(provider.seen).toEqual([]);
});

describe('under one Idempotency-Key', () => {
  test('a notification is sent once if 20 concurrent requests have the same Idempotency-Key', async () => {
    const idempotencyKey = newKey();
    const answers = await Promise.all(Array.from({ length: 20 }, () => send(request(), idempotencyKey)));
    expect(provider.seen).toHaveLength(1);
    const statuses = new Set(answers.map(({ status }) => status));
    expect([...statuses].filter((status) => status !== 200 && status !== 409)).toEqual([]);
    expect((await send(request(), idempotencyKey)).body.result.message_id).toBe('m-1');
  });

  test('another notification with a used Idempotency-Key is answered 422', async () => {
    const idempotencyKey = newKey();
    await send(request(), idempotencyKey);
    expect((await send(request({ phone: '01000000000' }), idempotencyKey)).status).toBe(422);
    expect(provider.seen).toHaveLength(1);
  });

  test.each([
    ['500', (response: ServerResponse) => void response.writeHead(500).end('{}'), 'http_500'],
    ['a success without an id', (response: ServerResponse) => void response.writeHead(200).end('{}'), 'invalid_answer'],
    ['HTML', (response: ServerResponse) => void response.writeHead(200).end('<html>'), 'invalid_answer'],
    ['a reset', (response: ServerResponse) => void response.socket?.resetAndDestroy(), 'connection'],
  ])(
    'a notification whose outcome is uncertain is not sent again with its Idempotency-Key: %s',
    async (_answer, answerWith, reason) => {
      const idempotencyKey = newKey();
      provider.answer = answerWith;
      const first = await send(request(), idempotencyKey);
      expect(first).toMatchObject({
        status: 502,
        body: { detail: expect.stringContaining(`(${reason}); it may have been sent`) },
      });
      expect(await records()).toMatchObject([{ status: 'failed', reason, uncertain: true }]);
      provider.reset();
      const again = await send(request(), idempotencyKey);
      expect(again).toMatchObject({ status: 409, body: { detail: expect.stringContaining('not sent again') } });
      expect(provider.seen).toEqual([]);
      expect((await send(request(), newKey())).status).toBe(200);
    },
  );

  test('a notification of a process that died is not sent again with its Idempotency-Key', async () => {
    const idempotencyKey = newKey();
    await send(request(), idempotencyKey);
    await api.appliance.sql`DELETE FROM idempotency_keys`;
    await api.appliance.sql`
      UPDATE channel_notifications SET status = 'requested', message_id = NULL, requested_at = now() - interval '1 hour'
      WHERE id = (SELECT id FROM channel_notifications ORDER BY requested_at DESC, id DESC LIMIT 1)`;
    expect((await send(request(), idempotencyKey)).status).toBe(409);
    expect(provider.seen).toHaveLength(1);
    for (const chore of api.appliance.channels.chores(1)) await chore.run(new AbortController().signal);
    const rows = await api.appliance
      .sql`SELECT 1 FROM channel_notifications WHERE reason = 'interrupted' AND uncertain`;
    expect(rows).toHaveLength(1);
  });

  test('an accepted notification gets the same reply after its stored response is lost', async () => {
    const idempotencyKey = newKey();
    const first = await send(request(), idempotencyKey);
    await api.appliance.sql`DELETE FROM idempotency_keys`;
    expect((await send(request(), idempotencyKey)).body).toEqual(first.body);
    expect(provider.seen).toHaveLength(1);
  });

  test('a notification that the provider refused is sent again with the same Idempotency-Key', async () => {
    const idempotencyKey = newKey();
    provider.answer = (response) => void response.writeHead(422).end('{"message":"unknown template"}');
    const first = await send(request(), idempotencyKey);
    expect(first).toMatchObject({
      status: 502,
      body: { detail: expect.stringContaining('(http_422); its record is') },
    });
    expect(await records()).toMatchObject([{ status: 'failed', reason: 'http_422', uncertain: false }]);
    provider.reset();
    expect((await send(request(), idempotencyKey)).status).toBe(200);
    expect(await records()).toMatchObject([{ status: 'accepted' }]);
  });
});

test('a redirect of the provider is not followed, so that the credential stays at the configured host', async () => {
  const elsewhere = await FakeMessenger.start();
  provider.answer = (response) => void response.writeHead(307, { location: elsewhere.url }).end();
  expect((await send(request())).status).toBe(502);
  expect(elsewhere.seen).toEqual([]);
  await elsewhere.close();
});

describe('an unreachable provider', () => {
  const openAt = (base_url: string, timeout_seconds: number) =>
    openTestApi({
      worker: false,
      beside: api,
      settings: { channels: { messenger: { base_url, timeout_seconds } } },
    });

  test('a provider without a connection is called again, since it cannot have received the notification', async () => {
    const port = await freePort();
    const gone = await openAt(`http://127.0.0.1:${port}/v1/notify`, 60);
    const sending = send(request(), undefined, gone);
    const late = await FakeMessenger.start(port);
    expect((await sending).status).toBe(200);
    expect(late.seen).toHaveLength(1);
    await gone.close();
    await late.close();
  });

  test('a notification without a connection to the provider fails and was certainly not sent', async () => {
    const gone = await openAt(`http://127.0.0.1:${await freePort()}/v1/notify`, 5);
    const answer = await send(request(), newKey(), gone);
    expect(answer).toMatchObject({
      status: 502,
      body: { detail: expect.stringMatching(/\(connection\); its record/) },
    });
    expect(await records()).toMatchObject([{ status: 'failed', reason: 'connection', uncertain: false }]);
    await gone.close();
  });

  test('a notification that the provider never answers fails with an uncertain outcome', async () => {
    provider.answer = () => undefined;
    const slow = await openAt(provider.url, 0.5);
    expect((await send(request(), newKey(), slow)).status).toBe(502);
    expect(provider.seen).toHaveLength(1);
    expect(await records()).toMatchObject([{ status: 'failed', reason: 'timeout', uncertain: true }]);
    await slow.close();
  });
});

test('notifications are counted by outcome', async () => {
  const { body } = await api.call('GET', '/metrics');
  expect(body).toMatch(
    new RegExp(`service_channel_notifications_total\\{channel="${config}",outcome="accepted"\\} [1-9]`),
  );
  expect(body).toMatch(
    new RegExp(`service_channel_notifications_total\\{channel="${config}",outcome="failed"\\} [1-9]`),
  );
});
