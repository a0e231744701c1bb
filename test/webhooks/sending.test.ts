import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { openTestApi, type TestApi } from '../support/api.ts';
import { until } from '../support/until.ts';
import { WebhookReceiver } from '../support/webhook-receiver.ts';
import { insertJob, passTime, sendWebhooks, setJobStatus } from './support.ts';

// What becomes of events while receivers are down, refuse events or leave, in one process and in two.

const HOUR_MS = 3_600_000;
const WEBHOOKS = '/v1/webhooks';
const settings = { webhooks: { networks: ['127.0.0.1'] } };

let api: TestApi;
/** Second process of the same installation. */
let other: TestApi;
let key: string;
let orgId: string;
let receiver: WebhookReceiver;
let webhook: string;
let jobs = 0;

beforeAll(async () => {
  api = await openTestApi({ worker: false, settings });
  other = await openTestApi({ worker: false, beside: api, settings });
  key = await api.key({ scopes: ['webhooks:manage'] });
  orgId = api.operator.orgId;
});
afterAll(async () => {
  await other.close();
  await api.close();
});
beforeEach(async () => {
  receiver = await WebhookReceiver.start();
  const json = { name: 'ours', url: receiver.url, events: ['job.queued', 'job.started', 'job.ready', 'job.failed'] };
  const { status, body } = await api.call('POST', WEBHOOKS, { key, json });
  expect(status).toBe(201);
  webhook = body.id;
  receiver.secret = body.secret;
});
afterEach(async () => {
  await api.call('DELETE', `${WEBHOOKS}/${webhook}`, { key });
  await receiver.close();
});

const sql = () => api.appliance.sql;
const newJobs = async (count: number) => {
  const ids = Array.from({ length: count }, () => `job_w${++jobs}`);
  for (const id of ids) await insertJob(sql(), orgId, id);
  return ids;
};
const move = async (ids: readonly string[], status: string) => {
  for (const id of ids) await setJobStatus(sql(), orgId, id, status);
};
const show = async () => (await api.call('GET', `${WEBHOOKS}/${webhook}`, { key })).body;
const deliveries = async (query = '') =>
  (await api.call('GET', `${WEBHOOKS}/${webhook}/deliveries${query}`, { key })).body.data;

test('an event is posted with the headers of Standard Webhooks and a thin payload', async () => {
  const [job] = await newJobs(1);
  await sendWebhooks(api);
  expect(receiver.faults).toEqual([]);
  expect(receiver.accepted).toEqual([
    {
      id: expect.stringMatching(/^msg_[0-9a-f]{32}$/),
      type: 'job.queued',
      timestamp: expect.stringMatching(/Z$/),
      data: {
        ...{ id: job, kind: 'bulk', status: 'queued', bucket_id: '', document_id: null },
        ...{ retry_count: 0, error_category: null },
      },
    },
  ]);
  expect(receiver.headers).toMatchObject({ 'content-type': 'application/json' });
  const metrics = await api.appliance.metrics.registry.metrics();
  expect(metrics).toMatch(/service_webhook_requests_total\{outcome="delivered"\} [1-9]/);
  expect(await deliveries()).toEqual([
    expect.objectContaining({ status: 'delivered', tries: 1, reply_status: 204, next_try_at: null, object_id: job }),
  ]);
});

test('each event of a receiver that is down for 10 hours arrives, in order per object, from two processes', async () => {
  const port = receiver.port;
  await receiver.close();
  const ids = await newJobs(12);
  let hours = 0;
  for (; hours < 10; hours += 0.25) {
    if (hours === 3) await move(ids, 'embedding');
    if (hours === 6) await move(ids.slice(6), 'failed');
    if (hours === 9) await move(ids.slice(0, 6), 'ready');
    await Promise.all([sendWebhooks(api), sendWebhooks(other)]);
    await passTime(sql(), HOUR_MS / 4);
  }
  const tries = (await deliveries('?limit=200')).reduce((sum: number, { tries }: { tries: number }) => sum + tries, 0);
  expect(tries, 'a receiver that is down costs few requests').toBeLessThan(90);
  expect(await show()).toMatchObject({ enabled: true, failing_since: expect.any(String) });

  const secret = receiver.secret;
  receiver = await WebhookReceiver.start(port);
  receiver.secret = secret;
  await passTime(sql(), HOUR_MS / 2);
  for (let round = 0; round < 5; round++) {
    await Promise.all([sendWebhooks(api), sendWebhooks(other)]);
    await passTime(sql(), HOUR_MS / 2);
  }
  expect(receiver.faults).toEqual([]);
  const end = (id: string) => (ids.indexOf(id) < 6 ? 'job.ready' : 'job.failed');
  expect(receiver.byObject()).toEqual(new Map(ids.map((id) => [id, ['job.queued', 'job.started', end(id)]])));
  expect(await show()).toMatchObject({ failing_since: null, next_try_at: null });
});

test('events that still fail after 24 hours are given up, listed, and replayed with the same ids', async () => {
  receiver.refuse(503);
  const ids = await newJobs(3);
  for (let hours = 0; hours <= 25; hours++) {
    await sendWebhooks(api);
    await passTime(sql(), HOUR_MS);
  }
  await sendWebhooks(api);
  const failed = await deliveries('?status=failed');
  expect(failed).toHaveLength(3);
  expect(failed[0]).toMatchObject({ error: 'it answers 503', finished_at: expect.any(String) });
  const before = receiver.requests;
  await passTime(sql(), HOUR_MS);
  await sendWebhooks(api);
  expect(receiver.requests).toBe(before);

  receiver.reset();
  const since = new Date(Date.now() - 48 * HOUR_MS).toISOString();
  const replay = await api.call('POST', `${WEBHOOKS}/${webhook}/replay`, { key, json: { since } });
  expect(replay).toMatchObject({ status: 202, body: { replayed: 3 } });
  await passTime(sql(), HOUR_MS);
  await sendWebhooks(api);
  await sendWebhooks(api);
  expect(receiver.accepted.map(({ id }) => id).toSorted()).toEqual(
    failed.map(({ id }: { id: string }) => id).toSorted(),
  );
  expect(new Set(receiver.byObject().keys())).toEqual(new Set(ids));
});

test('an event that the receiver refuses holds back those of its object alone, and is given up after 24 hours', async () => {
  const [bad, good] = (await newJobs(2)) as [string, string];
  await move([bad, good], 'embedding');
  receiver.reply = (event, response) => {
    if (event.data.id === bad && event.type === 'job.queued') response.writeHead(500).end();
    else receiver.accept(event, response);
  };
  for (let hours = 0; hours < 24; hours++) {
    await sendWebhooks(api);
    await passTime(sql(), HOUR_MS);
  }
  expect(receiver.byObject()).toEqual(new Map([[good, ['job.queued', 'job.started']]]));
  await passTime(sql(), HOUR_MS);
  await sendWebhooks(api);
  expect(receiver.byObject().get(bad)).toEqual(['job.started']);
  expect(await deliveries('?status=failed')).toEqual([expect.objectContaining({ object_id: bad, reply_status: 500 })]);
});

test('a receiver that asks for a pause gets it', async () => {
  receiver.refuse(429, { 'retry-after': '1200' });
  await newJobs(1);
  await sendWebhooks(api);
  receiver.reset();
  await passTime(sql(), 19 * 60_000);
  await sendWebhooks(api);
  expect(receiver.requests).toBe(0);
  await passTime(sql(), 2 * 60_000);
  await sendWebhooks(api);
  expect(receiver.accepted).toHaveLength(1);
});

test('a receiver that is gone is disabled with the reason, gets nothing more, and can be enabled again', async () => {
  receiver.refuse(410);
  const [job] = (await newJobs(2)) as [string];
  await sendWebhooks(api);
  expect(await show()).toMatchObject({ enabled: false, disabled_reason: 'the receiver answers 410 Gone' });
  expect(await deliveries('?status=pending')).toEqual([]);
  receiver.reset();
  await move([job], 'embedding');
  await sendWebhooks(api);
  expect(receiver.requests).toBe(0);
  expect((await api.call('POST', `${WEBHOOKS}/${webhook}/test`, { key })).status).toBe(409);
  await api.call('PATCH', `${WEBHOOKS}/${webhook}`, { key, json: { enabled: true } });
  await move([job], 'ready');
  await sendWebhooks(api);
  expect(receiver.byObject().get(job)).toEqual(['job.ready']);
});

test('an endpoint that fails for five days is disabled with the last error', async () => {
  await receiver.close();
  for (let hours = 0; hours <= 126; hours += 6) {
    await newJobs(1);
    await sendWebhooks(api);
    await passTime(sql(), 6 * HOUR_MS);
  }
  expect(await show()).toMatchObject({
    enabled: false,
    disabled_reason: expect.stringMatching(/^it has failed for 5 days: .*ECONNREFUSED/),
  });
  receiver = await WebhookReceiver.start();
});

test('a redirect is not followed', async () => {
  receiver.refuse(302, { location: receiver.url });
  await newJobs(1);
  await sendWebhooks(api);
  expect(receiver.requests).toBe(1);
  expect((await deliveries())[0].error).toContain('redirect 302, which the service does not follow');
});

test('while the overlap of a rotation lasts, receivers with either secret verify the events', async () => {
  const old = receiver.secret;
  const rotated = await api.call('POST', `${WEBHOOKS}/${webhook}/secret`, { key, json: { overlap_hours: 2 } });
  const fresh = rotated.body.secret;
  expect(fresh).not.toBe(old);
  for (const secret of [old, fresh]) {
    receiver.secret = secret;
    await newJobs(1);
    await sendWebhooks(api);
  }
  expect([receiver.accepted.length, receiver.faults]).toEqual([2, []]);
  expect(String(receiver.headers['webhook-signature']).split(' ')).toHaveLength(2);
  await passTime(sql(), 3 * HOUR_MS);
  receiver.secret = old;
  await newJobs(1);
  await sendWebhooks(api);
  expect(receiver.faults).toEqual([expect.stringContaining('No matching signature')]);
});

test('two processes share the events of a receiver, and each arrives once', async () => {
  const ids = await newJobs(60);
  await Promise.all([sendWebhooks(api), sendWebhooks(other)]);
  expect(receiver.accepted.map(({ data }) => data.id).toSorted()).toEqual(ids.toSorted());
});

test('events of a suspended organization wait', async () => {
  await newJobs(1);
  await sql()`UPDATE organizations SET suspended_at = now() WHERE id = ${orgId}`;
  await sendWebhooks(api);
  expect(receiver.requests).toBe(0);
  await sql()`UPDATE organizations SET suspended_at = NULL WHERE id = ${orgId}`;
  await sendWebhooks(api);
  expect(receiver.accepted).toHaveLength(1);
});

test('slow receivers of one organization leave places for the events of another', async () => {
  const hostile = await api.key({ org: 'slow', scopes: ['webhooks:manage'] });
  const [row] = await sql()`SELECT id FROM organizations WHERE name = 'slow'`;
  const slow = createServer(() => held++);
  let held = 0;
  await new Promise<void>((resolve) => slow.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(slow.address() as AddressInfo).port}/`;
  for (let nth = 0; nth < 40; nth++) {
    const json = { name: `slow-${nth}`, url, events: ['job.queued'] };
    expect((await api.call('POST', WEBHOOKS, { key: hostile, json })).status).toBe(201);
  }
  await insertJob(sql(), row?.['id'] as string, 'job_slow');
  const sending = sendWebhooks(api);
  await until(async () => held === 8, { what: 'the share of one organization' });
  await newJobs(1);
  await until(async () => receiver.accepted.length === 1, { what: 'the event of the other organization' });
  expect(held).toBe(8);
  await sql()`DELETE FROM webhook_endpoints WHERE org_id = ${row?.['id'] as string}`;
  await new Promise((resolve) => {
    slow.close(resolve);
    slow.closeAllConnections();
  });
  await sending;
});
