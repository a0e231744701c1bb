import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { openTestApi, type TestApi } from '../support/api.ts';
import { CONFIGS, SEND } from '../support/channels.ts';
import { FakeSolapi } from '../support/fake-senders/fake-solapi.ts';
import { type ServiceProcess, startServiceProcess } from '../support/service-process.ts';
import { until } from '../support/until.ts';

// The outbox over several processes, of which some are killed while they send.

vi.setConfig({ testTimeout: 120_000 });

const NOTIFICATIONS = 60;
const fake = new FakeSolapi();
let api: TestApi;
let env: NodeJS.ProcessEnv;
let key: string;
let config: string;
const running: ServiceProcess[] = [];

beforeAll(async () => {
  await fake.start();
  const settings = { channels: { solapi: { base_url: fake.url } } };
  api = await openTestApi({ worker: false, settings });
  const file = path.join(api.dataDir, 'service.yaml');
  writeFileSync(file, JSON.stringify(settings));
  env = { SERVICE_DATA_DIR: api.dataDir, DATABASE_URL: api.databaseUrl, SERVICE_CONFIG: file };
  key = await api.key({ scopes: ['channels:manage'] });
  const json = { name: 'orders', provider: 'solapi', config: fake.config };
  config = (await api.call('POST', CONFIGS, { key, json })).body.id;
}, 120_000);
afterAll(async () => {
  await api.close();
  await fake.close();
});
beforeEach(() => fake.reset());
afterEach(async () => {
  for (const process of running.splice(0)) await process.end('SIGKILL');
});

async function start(...flags: string[]): Promise<ServiceProcess> {
  const process = await startServiceProcess(['serve', '--port', '0', ...flags], env);
  running.push(process);
  return process;
}

const json = (number: string) => ({
  ...{ channel_config_id: config, phone: '01012345678', template_code: 'ORDER' },
  template_args: { name: '민수', number },
});
const passTime = () => api.appliance.sql`UPDATE channel_notifications SET next_at = now() WHERE next_at IS NOT NULL`;
const states = async () => {
  const rows = await api.appliance.sql<{ status: string; n: number }[]>`
    SELECT status, count(*)::int AS n FROM channel_notifications GROUP BY status ORDER BY status`;
  return Object.fromEntries(rows.map(({ status, n }) => [status, n]));
};

test('a notification of a process that was killed while it sent is found by another process and not sent again', async () => {
  const killed = await start('--no-workers');
  let isTaken = false;
  fake.takeAndHang(() => {
    isTaken = true;
  });
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const sending = fetch(`${killed.ready['url']}${SEND}`, { method: 'POST', headers, body: JSON.stringify(json('1')) });
  const ended = sending.then(
    () => 'answered',
    () => 'lost',
  );
  await until(async () => isTaken, { what: 'message at the vendor' });
  await killed.end('SIGKILL');
  expect(await ended).toBe('lost');
  expect(await states()).toEqual({ sending: 1 });
  fake.instead = null;
  await passTime();
  await start();
  await until(async () => (await states())['accepted'] === 1, { withinMs: 60_000, what: 'acceptance' });
  expect(fake.messages).toHaveLength(1);
});

test('two processes send every queued notification exactly once after the vendor works again', async () => {
  await api.appliance.sql`DELETE FROM channel_notifications`;
  expect((await api.call('POST', SEND, { key, json: { ...json('0'), dry_run: true } })).status).toBe(200);
  fake.instead = () => ({ status: 503, body: {} });
  for (let n = 0; n < NOTIFICATIONS; n++) {
    expect((await api.call('POST', SEND, { key, json: json(String(n)) })).status).toBe(502);
  }
  expect(await states()).toEqual({ queued: NOTIFICATIONS });
  fake.instead = null;
  await Promise.all([start(), start()]);
  await passTime();
  await until(async () => (await states())['accepted'] === NOTIFICATIONS, { withinMs: 60_000, what: 'acceptance' });
  const numbers = fake.messages.map(({ request }) => request.body.messages[0].kakaoOptions.variables['#{number}']);
  expect(numbers.toSorted()).toEqual(Array.from({ length: NOTIFICATIONS }, (_, n) => String(n)).toSorted());
});
