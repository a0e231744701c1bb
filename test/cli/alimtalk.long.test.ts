import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { openTestApi, type TestApi } from '../support/api.ts';
import { FakeSens } from '../support/fake-senders/fake-sens.ts';
import { runCommand } from './service.ts';

// Each test runs several commands, which are slow on a busy machine.
vi.setConfig({ testTimeout: 120_000 });

const fake = new FakeSens();
let api: TestApi;
let env: NodeJS.ProcessEnv;
let folder: string;
beforeAll(async () => {
  await fake.start();
  const settings = { channels: { sens: { base_url: fake.url } } };
  api = await openTestApi({ worker: false, settings });
  folder = mkdtempSync(path.join(tmpdir(), 'alimtalk-cli-'));
  const file = path.join(folder, 'service.yaml');
  writeFileSync(file, JSON.stringify(settings));
  env = { SERVICE_DATA_DIR: api.dataDir, DATABASE_URL: api.databaseUrl, SERVICE_CONFIG: file };
}, 120_000);
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await api.close();
  await fake.close();
});
beforeEach(() => fake.reset());

const channels = (...args: string[]) => runCommand(['channels', ...args], env);
const ORDER = ['--template', 'ORDER', '--phone', '+821012345678', '--arg', 'name=민수', '--arg', 'number=7'];

test('a channel of a vendor is created, checked without sending, and sends', async () => {
  const config = path.join(folder, 'sens.json');
  writeFileSync(config, JSON.stringify(fake.config));
  const given = ['--config-file', config, '--set', 'resend=true', '--set', 'sms_from=0212345678'];
  expect(await channels('create', 'orders', '--provider', 'sens', ...given)).toMatchObject({ code: 0, stderr: '' });
  expect((await channels('list', '--json')).stdout).not.toContain('canary');

  const checked = await channels('send', 'orders', ...ORDER, '--dry-run');
  expect(checked).toMatchObject({ code: 0, stderr: '' });
  expect(checked.stdout).toContain('nothing was sent. The notification to 01012345678 is valid.\n민수님, 주문 7이');
  expect(checked.stdout).toContain('as a text message (SMS) from 0212345678');
  expect(fake.sends).toEqual([]);

  const sent = await channels('send', 'orders', ...ORDER, '--no-resend', '--json');
  expect(sent.json()).toMatchObject({ status: 'sent', result: { message_id: fake.messages[0]?.id } });
  expect(fake.sends[0]?.body.messages[0].useSmsFailover).toBe(false);
});

test('faults of a notification name the flag or say what to do', async () => {
  const lacking = await channels('send', 'orders', '--template', 'ORDER', '--phone', '01012345678', '--dry-run');
  expect(lacking).toMatchObject({ code: 2, stderr: expect.stringContaining('lacks name, number') });
  const abroad = await channels('send', 'orders', '--template', 'ORDER', '--phone', '+14155550123');
  expect(abroad).toMatchObject({ code: 2, stderr: expect.stringContaining('must be a Korean mobile number') });
  const asked = await channels('test', 'orders', 'how long is the warranty?', '--url', api.api.url);
  expect(asked).toMatchObject({ code: 2, stderr: expect.stringContaining('channels send orders --dry-run') });
});

test('a notification that waits in the outbox is listed and cancelled', async () => {
  expect((await channels('send', 'orders', ...ORDER, '--dry-run')).code).toBe(0);
  const template = fake.instead;
  fake.instead = (_response, { method }) => ({ status: method === 'POST' ? 503 : 200, body: [ORDER_TEMPLATE] });
  const failed = await channels('send', 'orders', ...ORDER);
  expect(failed.stderr).toContain('the outbox keeps it as msg_');
  fake.instead = template;
  const [record] = (await channels('outbox', '--json')).json().data;
  expect(record).toMatchObject({ status: 'queued', reason: 'http_503', next_attempt_at: expect.any(String) });
  expect((await channels('cancel', record.id)).stdout).toContain(`cancelled ${record.id}`);
  expect(await channels('cancel', record.id)).toMatchObject({ stderr: expect.stringContaining('only a queued one') });
  expect((await channels('cancel', 'msg_missing')).code).toBe(3);
});

const ORDER_TEMPLATE = {
  ...{ templateCode: 'ORDER', content: '#{name} #{number}', templateInspectionStatus: 'COMPLETE', buttons: [] },
};

test('unanswered questions are shown as numbers and texts', async () => {
  expect((await channels('unanswered')).stderr).toBe('no unanswered questions\n');
  expect((await channels('unanswered', '--texts')).stderr).toBe('no unanswered questions\n');
  expect((await channels('unanswered', '--channel', 'x')).code).toBe(2);
});
