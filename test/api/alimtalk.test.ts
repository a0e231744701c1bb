import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { selectNotifications } from '../../src/channels/notification-store.ts';
import { openTestApi, type TestApi } from '../support/api.ts';
import { CONFIGS, SEND } from '../support/channels.ts';
import { FakeNhn } from '../support/fake-senders/fake-nhn.ts';
import { FakeSens } from '../support/fake-senders/fake-sens.ts';
import { FakeSolapi } from '../support/fake-senders/fake-solapi.ts';
import { keepLogs } from '../support/logs.ts';

// Alimtalk over the API: what becomes of a notification in the outbox, with each vendor.

const fakes = [new FakeSens(), new FakeSolapi(), new FakeNhn()];
const OUTBOX = '/v1/channels/outbox';
const TEXT = '민수님, 주문 7이 접수되었습니다.';

let api: TestApi;
/** Second process of the same installation. */
let other: TestApi;
let key: string;
const configs = new Map<string, string>();
const { logger, lines } = keepLogs();

beforeAll(async () => {
  for (const fake of fakes) await fake.start();
  const channels = Object.fromEntries(
    fakes.map(({ provider, url }) => [provider, { base_url: url, timeout_seconds: 2 }]),
  );
  api = await openTestApi({ logger, worker: false, settings: { channels } });
  other = await openTestApi({ worker: false, beside: api, settings: { channels } });
  key = await api.key({ scopes: ['channels:manage'] });
  for (const { provider, config } of fakes) {
    const json = { name: provider, provider, config: { ...config, sms_from: '0212345678' } };
    const answer = await api.call('POST', CONFIGS, { key, json });
    configs.set(provider, answer.body.id);
  }
});
afterAll(async () => {
  await other.close();
  await api.close();
  for (const fake of fakes) await fake.close();
});
beforeEach(() => {
  for (const fake of fakes) fake.reset();
});

let keys = 0;
const newKey = () => `alimtalk-${++keys}`;
const records = (configId: string | null = null, rowsMax = 1) =>
  selectNotifications(api.appliance.sql, api.operator.orgId, { configId, rowsMax });
const sweep = async (of: TestApi = api) => {
  const chore = of.appliance.channels.chores(60_000).find(({ name }) => name.includes('outbox'));
  await chore?.run(new AbortController().signal);
};
/** Move the clock of the outbox on: everything that waits is due. */
const passTime = () => api.appliance.sql`UPDATE channel_notifications SET next_at = now() WHERE next_at IS NOT NULL`;
/** Make all notifications look older. */
const age = (hours: number) =>
  api.appliance.sql`UPDATE channel_notifications SET requested_at = requested_at - ${hours} * interval '1 hour'`;

describe.each(fakes)('$provider', (fake) => {
  const request = (part: Record<string, unknown> = {}) => ({
    ...{ channel_config_id: configs.get(fake.provider), phone: '+821012345678', template_code: 'ORDER' },
    ...{ template_args: { name: '민수', number: '7' } },
    ...part,
  });
  const send = (part: Record<string, unknown> = {}, idempotencyKey?: string) =>
    api.call('POST', SEND, {
      ...{ key, json: request(part) },
      headers: idempotencyKey ? { 'Idempotency-Key': idempotencyKey } : {},
    });
  const last = async () => (await records(configs.get(fake.provider)))[0];

  test('a notification is accepted, and its delivery is reported in the outbox', async () => {
    const answer = await send();
    expect(answer).toMatchObject({
      status: 200,
      body: { status: 'sent', result: { message_id: fake.messages[0]?.id } },
    });
    expect(await last()).toMatchObject({ status: 'accepted', via: 'provider', phone: '+821012345678' });
    await passTime();
    await sweep();
    expect(await last()).toMatchObject({ status: 'accepted' });
    for (const message of fake.messages) message.state = 'delivered';
    await passTime();
    await sweep();
    expect(await last()).toMatchObject({ status: 'delivered', reason: null, delivered_at: expect.any(String) });
    expect(fake.sends).toHaveLength(1);
  });

  test('a notification that KakaoTalk does not deliver fails with the reason of the vendor', async () => {
    await send();
    for (const message of fake.messages) message.state = 'failed';
    await passTime();
    await sweep();
    expect(await last()).toMatchObject({
      status: 'failed',
      reason: expect.stringMatching(/3018|3104|MRC02/),
    });
  });

  test('a notification that was delivered as a text message says so', async () => {
    await send({ resend: true });
    for (const message of fake.messages) message.state = 'resent';
    await passTime();
    await sweep();
    expect(await last()).toMatchObject({ status: 'delivered', reason: 'text message' });
  });

  test.each([
    ['a phone of another country', { phone: '+14155550123' }, 'phone: must be a Korean mobile number'],
    ['a landline', { phone: '0212345678' }, 'phone: must be a Korean mobile number'],
    ['an unknown template', { template_code: 'NONE' }, 'template_code: '],
    ['a template that is not approved', { template_code: 'DRAFT' }, 'is not approved'],
    ['a missing argument', { template_args: { name: 'x' } }, 'template_args: lacks number. The template has'],
    ['an unknown argument', { template_args: { name: 'x', number: '7', y: '1' } }, 'template_args: has y, which'],
    [
      'a text that is too long',
      { template_args: { name: 'x'.repeat(1000), number: '7' } },
      'more than 1000 characters',
    ],
    ['a long title', { resend: true, resend_title: '가'.repeat(21) }, 'resend_title: must have at most 40 bytes'],
  ])('a notification with %s is refused with 400, and nothing is sent', async (_fault, part, fault) => {
    const answer = await send(part);
    expect(answer).toMatchObject({ status: 400, body: { detail: expect.stringContaining(fault) } });
    expect(fake.sends).toEqual([]);
    expect(await last()).toMatchObject({ status: 'failed', reason: expect.stringContaining(fault), uncertain: false });
  });

  test('a notification that the vendor refuses is a 400 with its reason, and can be sent again with the same key', async () => {
    const idempotencyKey = newKey();
    const args = { template_args: { name: 'refuse', number: '7' } };
    const answer = await send(args, idempotencyKey);
    expect(answer).toMatchObject({ status: 400, body: { detail: expect.stringMatching(/A105|1042|-3003/) } });
    fake.instead = null;
    expect((await send(args, idempotencyKey)).status).toBe(400);
    expect(fake.messages).toEqual([]);
  });

  test('a dry run renders the notification and sends and records nothing', async () => {
    const before = await last();
    const answer = await send({ dry_run: true, resend: true });
    expect(answer).toMatchObject({
      status: 200,
      body: {
        status: 'dry_run',
        result: {
          ...{ provider: fake.provider, phone: '01012345678', text: TEXT },
          resend: { type: 'SMS', from: '0212345678', text: TEXT },
        },
      },
    });
    expect(fake.sends).toEqual([]);
    expect(await last()).toEqual(before);
  });

  test.each([429, 503])('after a %s the notification waits and is sent once the vendor works', async (status) => {
    const idempotencyKey = newKey();
    expect((await send({ dry_run: true })).status).toBe(200);
    fake.instead = () => ({ status, body: {} });
    const answer = await send({}, idempotencyKey);
    expect(answer).toMatchObject({
      status: 502,
      body: { detail: expect.stringContaining('the outbox keeps it as msg_') },
    });
    expect(await last()).toMatchObject({ status: 'queued', reason: `http_${status}`, uncertain: false });
    expect((await send({}, idempotencyKey)).status).toBe(409);
    await sweep();
    expect(await last()).toMatchObject({ status: 'queued', next_attempt_at: expect.any(String) });
    await passTime();
    await sweep();
    expect(await last()).toMatchObject({ status: 'queued' });
    fake.instead = null;
    await passTime();
    await Promise.all([sweep(), sweep(other)]);
    expect(await last()).toMatchObject({ status: 'accepted', reason: null });
    expect(fake.messages).toHaveLength(1);
    expect((await send({}, idempotencyKey)).body).toMatchObject({ result: { message_id: fake.messages[0]?.id } });
    expect(fake.messages).toHaveLength(1);
  });

  test('a notification whose answer was lost is found at the vendor and not sent again', async () => {
    const idempotencyKey = newKey();
    expect((await send({ dry_run: true })).status).toBe(200);
    fake.takeAndReset();
    const answer = await send({}, idempotencyKey);
    expect(answer).toMatchObject({ status: 502, body: { detail: expect.stringContaining('does not send it again') } });
    expect(await last()).toMatchObject({ status: 'queued', reason: 'connection', uncertain: true });
    fake.instead = null;
    await passTime();
    await Promise.all([sweep(), sweep(other)]);
    expect(await last()).toMatchObject({ status: 'accepted', uncertain: false, message_id: fake.messages[0]?.id });
    expect(fake.messages).toHaveLength(1);
  });

  test('a notification whose answer was lost and that the vendor does not have is never sent again', async () => {
    expect((await send({ dry_run: true })).status).toBe(200);
    fake.instead = (response) => {
      response.socket?.resetAndDestroy();
      return undefined;
    };
    expect((await send()).status).toBe(502);
    fake.instead = null;
    await passTime();
    await sweep();
    expect(await last()).toMatchObject({ status: 'queued', uncertain: true });
    await age(1);
    await passTime();
    await sweep();
    expect(await last()).toMatchObject({ status: 'failed', reason: expect.stringContaining('no such message') });
    expect(fake.messages).toEqual([]);
  });

  test('a notification waits if the vendor does not answer the question for its template', async () => {
    // Templates are kept by configuration, so that a new one has none.
    const json = { name: 'new', provider: fake.provider, config: fake.config };
    const { id } = (await api.call('POST', CONFIGS, { key, json })).body;
    fake.instead = (response) => {
      response.socket?.resetAndDestroy();
      return undefined;
    };
    expect((await send({ channel_config_id: id, dry_run: true })).status).toBe(502);
    expect((await send({ channel_config_id: id })).status).toBe(502);
    expect(await records(id)).toMatchObject([{ status: 'queued', uncertain: false }]);
    fake.instead = null;
    await passTime();
    await sweep();
    expect(await records(id)).toMatchObject([{ status: 'accepted' }]);
  });

  test('the outbox asks for a notification of a process that died before it sends anything', async () => {
    const answer = await send();
    await api.appliance.sql`
      UPDATE channel_notifications SET status = 'sending', message_id = NULL, tries = 1, next_at = now()
      WHERE message_id = ${answer.body.result.message_id}`;
    await sweep(other);
    expect(await last()).toMatchObject({ status: 'accepted', message_id: answer.body.result.message_id });
    expect(fake.sends).toHaveLength(1);
  });

  test('a notification is given up after six hours', async () => {
    expect((await send({ dry_run: true })).status).toBe(200);
    fake.instead = () => ({ status: 503, body: {} });
    expect((await send()).status).toBe(502);
    await age(7);
    await passTime();
    await sweep();
    expect(await last()).toMatchObject({ status: 'failed', reason: 'http_503' });
  });

  test('an outage of a day costs few requests, with growing pauses, and never a second message', async () => {
    expect((await send({ dry_run: true })).status).toBe(200);
    fake.instead = () => ({ status: 503, body: {} });
    expect((await send()).status).toBe(502);
    const { sql } = api.appliance;
    const pausesS: number[] = [];
    while ((await last())?.status === 'queued') {
      // The clock goes on by the pause: the notification gets older, and is due.
      const [row] = await sql<{ pause_s: number }[]>`
        WITH waiting AS (
          SELECT id, next_at - now() AS pause FROM channel_notifications
          WHERE id = ${(await last())?.id ?? ''} AND status = 'queued' FOR UPDATE
        )
        UPDATE channel_notifications n SET requested_at = n.requested_at - waiting.pause, next_at = now()
        FROM waiting WHERE n.id = waiting.id RETURNING extract(epoch FROM waiting.pause)::float8 AS pause_s`;
      pausesS.push(row?.pause_s ?? 0);
      await sweep();
    }
    expect(await last()).toMatchObject({ status: 'failed', reason: 'http_503', uncertain: false });
    expect(pausesS.slice(0, 6).map((pause) => Math.round(pause / 15))).toEqual([1, 2, 4, 8, 16, 32]);
    expect(Math.max(...pausesS)).toBeLessThanOrEqual(600);
    const hours = pausesS.reduce((sum, pause) => sum + pause, 0) / 3600;
    expect(Math.round(hours)).toBe(6);
    expect(pausesS.length).toBeLessThan(50);
    expect(fake.messages).toEqual([]);
  });

  test('a queued notification can be cancelled once, and is not sent then', async () => {
    expect((await send({ dry_run: true })).status).toBe(200);
    fake.instead = () => ({ status: 503, body: {} });
    expect((await send()).status).toBe(502);
    const id = (await last())?.id;
    const reader = await api.key({ scopes: ['search'] });
    expect((await api.call('DELETE', `${OUTBOX}/${id}`, { key: reader })).status).toBe(403);
    const foreign = await api.key({ scopes: ['channels:manage'], org: 'foreign' });
    expect((await api.call('DELETE', `${OUTBOX}/${id}`, { key: foreign })).status).toBe(404);
    expect((await api.call('DELETE', `${OUTBOX}/${id}`, { key })).body).toEqual({ cancelled: true });
    expect((await api.call('DELETE', `${OUTBOX}/${id}`, { key })).status).toBe(409);
    fake.instead = null;
    await passTime();
    await sweep();
    expect(await last()).toMatchObject({ status: 'failed', reason: 'cancelled' });
    expect(fake.messages).toEqual([]);
  });
});

test('a notification of a deleted configuration fails, and one of a suspended organization waits', async () => {
  const [fake] = fakes;
  if (fake === undefined) throw new Error('there is no fake');
  const created = await api.call('POST', CONFIGS, { key, json: { name: 'x', provider: 'sens', config: fake.config } });
  const { id } = created.body;
  const json = {
    ...{ channel_config_id: id, phone: '01012345678', template_code: 'ORDER' },
    template_args: { name: 'x', number: '7' },
  };
  fake.instead = () => ({ status: 503, body: {} });
  expect((await api.call('POST', SEND, { key, json })).status).toBe(502);
  fake.instead = null;
  const { sql } = api.appliance;
  await passTime();
  await sql`UPDATE organizations SET suspended_at = now() WHERE id = ${api.operator.orgId}`;
  await sweep();
  await sql`UPDATE organizations SET suspended_at = NULL WHERE id = ${api.operator.orgId}`;
  expect(await records(id)).toMatchObject([{ status: 'queued' }]);
  await api.call('DELETE', `${CONFIGS}/${id}`, { key });
  await sweep();
  expect(await records(id)).toMatchObject([{ status: 'failed', reason: expect.stringContaining('not found') }]);
});

test('a configuration lacks no field of its vendor, and needs a number to resend as a text message', async () => {
  const create = (config: object) => api.call('POST', CONFIGS, { key, json: { name: 'x', provider: 'sens', config } });
  expect(await create({ channel_id: '@shop' })).toMatchObject({
    status: 400,
    body: { detail: expect.stringMatching(/config.access_key: is required.*config.secret_key.*config.service_id/) },
  });
  expect(await create({ ...fakes[0]?.config, resend: true })).toMatchObject({
    status: 400,
    body: { detail: expect.stringContaining('config.sms_from: is required if resend is true') },
  });
  const listed = await api.call('GET', CONFIGS, { key });
  expect(JSON.stringify(listed.body)).not.toContain('canary');
  expect(JSON.stringify(listed.body)).toContain('ncp:kkobizmsg:kr:1234567:shop');
});

test('fields about text messages are refused for the messenger provider', async () => {
  const { createConfig } = await import('../support/channels.ts');
  const config = await createConfig(api, key);
  const json = { channel_config_id: config, phone: '+14155550123', template_code: 'T' };
  expect((await api.call('POST', SEND, { key, json })).status).toBe(200);
  expect(await api.call('POST', SEND, { key, json: { ...json, resend: true } })).toMatchObject({
    status: 400,
    body: { detail: expect.stringContaining('resend: works only with the providers sens, solapi, nhn') },
  });
});

test('no answer, metric, log line or table contains a credential as plain text', async () => {
  for (const fake of fakes) {
    fake.instead = (_response, { headers, path }) => ({
      status: 401,
      body: JSON.stringify({ message: path, headers }),
    });
    const json = { channel_config_id: configs.get(fake.provider), phone: '01012345678', template_code: 'OTHER' };
    expect((await api.call('POST', SEND, { key, json })).status).toBe(502);
  }
  const answers = await Promise.all([OUTBOX, CONFIGS, '/metrics'].map((path) => api.call('GET', path, { key })));
  const { sql } = api.appliance;
  const tables = await sql<{ name: string }[]>`SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public'`;
  const rows = [];
  for (const { name } of tables) rows.push(...(await sql`SELECT to_jsonb(t)::text AS row FROM ${sql(name)} t`));
  expect(lines.length).toBeGreaterThan(10);
  for (const shown of [...answers, ...lines, ...rows]) expect(JSON.stringify(shown)).not.toContain('canary');
});
