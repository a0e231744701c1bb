import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { openTestApi, type TestApi } from '../support/api.ts';
import { type ServiceProcess, startServiceProcess } from '../support/service-process.ts';
import { until } from '../support/until.ts';
import { WebhookReceiver } from '../support/webhook-receiver.ts';
import { insertJob, passTime, setJobStatus } from './support.ts';

// Servers are killed while they send events, with a receiver that knows only the public rule of verification.

vi.setConfig({ testTimeout: 180_000 });

const MINUTE_MS = 60_000;
const JOBS = 40;

let api: TestApi;
let env: NodeJS.ProcessEnv;
let receiver: WebhookReceiver;
const running: ServiceProcess[] = [];

beforeAll(async () => {
  const settings = { webhooks: { networks: ['127.0.0.1'] } };
  api = await openTestApi({ worker: false, settings });
  const file = path.join(api.dataDir, 'service.yaml');
  writeFileSync(file, JSON.stringify(settings));
  env = { SERVICE_DATA_DIR: api.dataDir, DATABASE_URL: api.databaseUrl, SERVICE_CONFIG: file };
  receiver = await WebhookReceiver.start();
  const key = await api.key({ scopes: ['webhooks:manage'] });
  const json = { name: 'ours', url: receiver.url, events: ['job.queued', 'job.started', 'job.ready'] };
  receiver.secret = (await api.call('POST', '/v1/webhooks', { key, json })).body.secret;
}, 120_000);
afterAll(async () => {
  await api.close();
  await receiver.close();
});
afterEach(async () => {
  for (const process of running.splice(0)) await process.end('SIGKILL');
  receiver.reset();
  await api.appliance.sql`DELETE FROM webhook_deliveries`;
});

async function start(): Promise<ServiceProcess> {
  const process = await startServiceProcess(['serve', '--port', '0'], env);
  running.push(process);
  return process;
}

const sql = () => api.appliance.sql;
const pending = async () => {
  const [row] = await sql()<{ n: number }[]>`
    SELECT count(*)::int AS n FROM webhook_deliveries WHERE status = 'pending'`;
  return row?.n ?? 0;
};
const move = async (ids: readonly string[], status: string) => {
  for (const id of ids) await setJobStatus(sql(), api.operator.orgId, id, status);
};
const newJobs = async (prefix: string, count: number) => {
  const ids = Array.from({ length: count }, (_, n) => `job_${prefix}${n}`);
  for (const id of ids) await insertJob(sql(), api.operator.orgId, id);
  // No worker of the processes may take them.
  await sql()`UPDATE jobs SET scheduled_at = now() + interval '1 day' WHERE id = ANY(${sql().array(ids)}::text[])`;
  return ids;
};

test('an event whose sender is killed between the request and its record arrives again from another process', async () => {
  receiver.reply = (event) => receiver.accepted.push(event); // taken, but not answered
  const killed = await start();
  const [job] = (await newJobs('hung', 1)) as [string];
  await until(async () => receiver.accepted.length === 1, { withinMs: 60_000, what: 'the event' });
  await killed.end('SIGKILL');
  await move([job], 'embedding');
  receiver.reply = (event, response) => receiver.accept(event, response);
  await passTime(sql(), 2 * MINUTE_MS);
  await start();
  await until(async () => (await pending()) === 0, { withinMs: 60_000, what: 'the deliveries' });
  expect(receiver.faults).toEqual([]);
  expect(receiver.accepted.map(({ type }) => type)).toEqual(['job.queued', 'job.queued', 'job.started']);
  expect(receiver.accepted[0]?.id).toBe(receiver.accepted[1]?.id);
});

test('with a receiver that fails and servers that are killed, each event arrives, in order per object', async () => {
  let seen = 0;
  receiver.reply = (event, response) => {
    seen++;
    // Every third event is taken, but its answer is lost; every fifth is refused.
    if (seen % 3 === 0) {
      receiver.accepted.push(event);
      response.destroy();
    } else if (seen % 5 === 0) response.writeHead(503).end();
    else receiver.accept(event, response);
  };
  const ids = await newJobs('storm', JOBS);
  let isDone = false;
  const clock = (async () => {
    while (!isDone) {
      await passTime(sql(), MINUTE_MS);
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  })();
  for (const status of ['embedding', 'ready']) {
    const before = receiver.requests;
    const [first] = await Promise.all([start(), start()]);
    await until(async () => receiver.requests > before + 5, { withinMs: 60_000, what: 'some requests' });
    await first.end('SIGKILL');
    await move(ids, status);
  }
  receiver.reply = (event, response) => receiver.accept(event, response);
  await until(async () => (await pending()) === 0, { withinMs: 120_000, what: 'the deliveries' });
  isDone = true;
  await clock;
  expect(receiver.faults).toEqual([]);
  expect(receiver.byObject()).toEqual(new Map(ids.map((id) => [id, ['job.queued', 'job.started', 'job.ready']])));
});
