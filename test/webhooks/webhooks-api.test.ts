import { afterAll, beforeAll, expect, test } from 'vitest';
import { openTestApi, type TestApi } from '../support/api.ts';
import { keepLogs } from '../support/logs.ts';
import { WebhookReceiver } from '../support/webhook-receiver.ts';
import { insertJob, passTime, sendWebhooks } from './support.ts';

// Who makes webhooks of what, and what they and their secrets show.

const WEBHOOKS = '/v1/webhooks';

let api: TestApi;
let key: string;
let receiver: WebhookReceiver;
const { logger, lines } = keepLogs();

beforeAll(async () => {
  api = await openTestApi({ worker: false, logger });
  key = await api.key({ scopes: ['webhooks:manage'] });
  receiver = await WebhookReceiver.start();
});
afterAll(async () => {
  await api.close();
  await receiver.close();
});

const call = (method: string, path: string, json?: object, as = key) =>
  api.call(method, path, { key: as, ...(json === undefined ? {} : { json }) });
const create = async (name: string, part: object = {}) =>
  (await call('POST', WEBHOOKS, { name, url: 'https://example.com/hooks', ...part })).body;

test('a secret is shown when it is made, and then neither in answers, the audit log, logs nor the database', async () => {
  const json = { name: 'secretive', url: 'https://example.com/hooks' };
  const headers = { 'Idempotency-Key': 'secretive' };
  const made = await api.call('POST', WEBHOOKS, { key, json, headers });
  const { id, secret } = made.body;
  expect((await api.call('POST', WEBHOOKS, { key, json, headers })).body).toEqual(made.body);
  expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
  const rotated = await call('POST', `${WEBHOOKS}/${id}/secret`, {});
  expect(rotated.body).toMatchObject({ id, previous_secret_until: expect.any(String) });
  const { sql } = api.appliance;
  const shown = JSON.stringify([
    (await call('GET', WEBHOOKS)).body,
    (await call('GET', `${WEBHOOKS}/${id}`)).body,
    (await call('PATCH', `${WEBHOOKS}/${id}`, { name: 'discreet' })).body,
    await sql`SELECT * FROM audit_log`,
    await sql`SELECT * FROM webhook_endpoints`,
    await sql`SELECT * FROM idempotency_keys`,
    lines,
  ]);
  for (const each of [secret, rotated.body.secret]) expect(shown).not.toContain(each.slice('whsec_'.length));
});

test.each([
  ['http://127.0.0.1:8080/', 'url: 127.0.0.1 is in a network of the operator'],
  ['http://[::1]/', 'url: ::1 is in a network of the operator'],
  ['http://169.254.169.254/latest/meta-data', 'url: 169.254.169.254 is in'],
  ['ftp://example.com/', 'url: must begin with http:// or https://'],
  ['https://me:word@example.com/', 'url: must not have a user name or a password'],
  ['example.com', 'url: must be a URL'],
])('the address %s is refused', async (url, fault) => {
  const { status, body } = await call('POST', WEBHOOKS, { name: 'own', url });
  expect([status, body.detail]).toEqual([400, expect.stringContaining(fault)]);
});

test('a name that leads to an own address is refused at the connection, and the list does not name the address', async () => {
  const { id } = await create('rebound', { url: `http://localhost:${receiver.port}/`, events: ['job.failed'] });
  await call('POST', `${WEBHOOKS}/${id}/test`);
  await sendWebhooks(api);
  const { body } = await call('GET', `${WEBHOOKS}/${id}/deliveries`);
  expect(body.data).toEqual([
    expect.objectContaining({
      status: 'pending',
      reply_status: null,
      error: expect.stringContaining('webhooks.networks'),
    }),
  ]);
  expect(JSON.stringify(body)).not.toMatch(/127\.0\.0\.1|::1/);
  expect(receiver.requests).toBe(0);
});

test('organizations get their own events alone and do not see webhooks of others', async () => {
  const foreign = await api.key({ scopes: ['webhooks:manage'], org: 'foreign' });
  const ours = await create('ours', { events: ['job.queued'] });
  const theirs = (
    await call('POST', WEBHOOKS, { name: 'ours', url: 'https://example.com/', events: ['job.queued'] }, foreign)
  ).body;
  await insertJob(api.appliance.sql, api.operator.orgId, 'job_ours');
  const listOf = async (id: string, as: string) =>
    (await call('GET', `${WEBHOOKS}/${id}/deliveries`, undefined, as)).body;
  expect((await listOf(ours.id, key)).data).toHaveLength(1);
  expect((await listOf(theirs.id, foreign)).data).toEqual([]);
  const delivery = (await listOf(ours.id, key)).data[0].id;
  for (const [method, path, json] of [
    ['GET', ''],
    ['PATCH', '', { enabled: false }],
    ['DELETE', ''],
    ['GET', '/deliveries'],
    ['POST', '/test'],
    ['POST', '/secret', {}],
    ['POST', `/deliveries/${delivery}/replay`],
    ['POST', '/replay', { since: '2026-01-01T00:00:00Z' }],
  ] as const) {
    expect([path, (await call(method, `${WEBHOOKS}/${ours.id}${path}`, json, foreign)).status]).toEqual([path, 404]);
  }
  expect((await call('GET', `${WEBHOOKS}/${ours.id}`)).body.enabled).toBe(true);
});

test('a key without the scope neither makes nor lists webhooks, whose addresses may hold credentials', async () => {
  const other = await api.key({ scopes: ['search', 'channels:manage', 'buckets:manage'] });
  expect((await call('GET', WEBHOOKS, undefined, other)).status).toBe(403);
  expect((await call('POST', WEBHOOKS, { name: 'x', url: 'https://example.com' }, other)).status).toBe(403);
});

test('a webhook is found by its name, changed, disabled and deleted', async () => {
  const { id } = await create('changing', { events: ['job.failed'] });
  expect((await call('POST', WEBHOOKS, { name: 'changing', url: 'https://example.com' })).status).toBe(409);
  const changed = await call('PATCH', `${WEBHOOKS}/changing`, { name: 'changed', events: ['job.ready', 'job.ready'] });
  expect(changed.body).toMatchObject({ id, name: 'changed', events: ['job.ready'], enabled: true });
  expect((await call('PATCH', `${WEBHOOKS}/changed`, { name: 'ours' })).status).toBe(409);
  await call('POST', `${WEBHOOKS}/changed/test`);
  const disabled = await call('PATCH', `${WEBHOOKS}/changed`, { enabled: false });
  expect(disabled.body).toMatchObject({ enabled: false, disabled_reason: 'disabled by an administrator' });
  const { data } = (await call('GET', `${WEBHOOKS}/changed/deliveries`)).body;
  expect(data).toEqual([expect.objectContaining({ type: 'webhook.test', status: 'failed' })]);
  const replay = await call('POST', `${WEBHOOKS}/changed/deliveries/${data[0].id}/replay`);
  expect([replay.status, replay.body.detail]).toEqual([409, expect.stringContaining('is disabled')]);
  expect((await call('DELETE', `${WEBHOOKS}/changed`)).status).toBe(204);
  expect((await call('GET', `${WEBHOOKS}/${id}`)).status).toBe(404);
});

test('deliveries are listed page by page and by status, and removed when they are old', async () => {
  const { id } = await create('paged', { events: ['job.cancelled'] });
  const sent = [];
  for (let n = 0; n < 5; n++) sent.unshift((await call('POST', `${WEBHOOKS}/${id}/test`)).body.id);
  const first = (await call('GET', `${WEBHOOKS}/${id}/deliveries?limit=3`)).body;
  const rest = (await call('GET', `${WEBHOOKS}/${id}/deliveries?limit=3&cursor=${first.next_cursor}`)).body;
  expect([...first.data, ...rest.data].map((each: { id: string }) => each.id)).toEqual(sent);
  expect([first.has_more, rest.has_more]).toEqual([true, false]);
  expect((await call('GET', `${WEBHOOKS}/${id}/deliveries?status=failed`)).body.data).toEqual([]);

  await call('PATCH', `${WEBHOOKS}/${id}`, { enabled: false });
  const { sql } = api.appliance;
  const clean = async (days: number) => {
    await passTime(sql, days * 24 * 3_600_000);
    const chore = api.appliance.webhooks.chores(60_000).find(({ name }) => name.includes('removal'));
    await chore?.run(new AbortController().signal);
    return (await call('GET', `${WEBHOOKS}/${id}/deliveries`)).body.data.length;
  };
  expect(await clean(29)).toBe(5);
  expect(await clean(2)).toBe(0);
});

test('an organization without webhooks gets no rows', async () => {
  await api.key({ org: 'quiet' });
  const { orgId } = await api.appliance.access.operator('quiet');
  await insertJob(api.appliance.sql, orgId, 'job_quiet');
  expect(await api.appliance.sql`SELECT 1 FROM webhook_deliveries WHERE org_id = ${orgId}`).toEqual([]);
});
