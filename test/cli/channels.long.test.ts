import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { sendNotification } from '../../src/channels/send-notification.ts';
import { openTestApi, type TestApi } from '../support/api.ts';
import { fillBucket, messengerConfig, PATIENT } from '../support/channels.ts';
import type { FakeMessenger } from '../support/fake-messenger.ts';
import { freePort } from '../support/free-port.ts';
import { SLACK_SECRET, SLACK_TOKEN, slackBody, slackHeaders, startPlatforms, takeReply } from '../support/platforms.ts';
import { until } from '../support/until.ts';
import { runCommand, runService } from './service.ts';

// Each test runs several commands, which are slow on a busy machine.
vi.setConfig({ testTimeout: 120_000 });

let api: TestApi;
let env: NodeJS.ProcessEnv;
let folder: string;
let fake: FakeMessenger;
beforeAll(async () => {
  const platforms = await startPlatforms();
  fake = platforms.fake;
  const settings = { channels: { ...PATIENT.channels, ...platforms.settings } };
  api = await openTestApi({ settings });
  folder = mkdtempSync(path.join(tmpdir(), 'channels-cli-'));
  const file = path.join(folder, 'service.yaml');
  writeFileSync(file, JSON.stringify(settings));
  env = { SERVICE_CONFIG: file, SERVICE_DATA_DIR: api.dataDir, DATABASE_URL: api.databaseUrl };
  await fillBucket(api, 'default', [{ fileName: 'pump.txt', text: 'The pump is greased every three months.' }]);
}, 120_000);
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await api.close();
  await fake.close();
});

const channels = (...args: string[]) => runCommand(['channels', ...args], env);

function writeConfig(part: Record<string, unknown> = {}): string {
  const file = path.join(folder, 'channel.json');
  writeFileSync(file, JSON.stringify(messengerConfig(part)));
  return file;
}

test('a channel is created from a file, listed with its credentials masked, tested and deleted', async () => {
  const created = await channels('create', 'Support', '--config-file', writeConfig({ bot_id: 'cli' }), '--json');
  expect(created).toMatchObject({ code: 0, stderr: '' });
  const { id } = created.json();
  expect(created.json()).toEqual({ id, name: 'Support', provider: 'messenger' });

  const listed = await channels('list');
  expect(listed.stdout).toMatch(new RegExp(`${id} +Support +messenger +cli +default`));
  const { stdout } = await channels('list', '--json');
  expect(stdout).not.toContain('canary-0123456789');
  expect(JSON.parse(stdout)).toMatchObject([{ id, config: { secret: 'sign****6789', bot_id: 'cli' } }]);

  for (const ref of [id, 'cli', 'Support']) {
    const tested = await channels('test', ref, `how often is the pump greased, ${ref}?`, '--url', api.api.url);
    expect(tested).toMatchObject({ code: 0, stderr: expect.stringMatching(/^answered in \d+ ms\n$/) });
    expect(tested.stdout).toContain('1. [1.00] The pump is greased every three months.\n(pump.txt)');
  }
  const reply = await channels('test', 'cli', 'pump', '--url', api.api.url, '--json');
  expect(reply.json()).toMatchObject({
    version: '2.0',
    template: { outputs: [{ simpleText: { text: expect.any(String) } }] },
  });

  expect(await channels('delete', id)).toMatchObject({ code: 2, stderr: expect.stringContaining('--yes') });
  expect((await channels('delete', id, '--yes', '--json')).json()).toEqual({ deleted: true });
  expect((await channels('delete', id, '--yes')).code).toBe(3);
  expect((await channels('list')).stderr).toBe('no channels\n');
});

test('a configuration is read from stdin, and pairs on the command line override its fields', async () => {
  const args = ['channels', 'create', 'Pipe', '--config-file', '-', '--json'];
  const pairs = ['--set', 'bot_id=piped', '--set', 'public_only=true', '--set', 'score_min=0.4', '--set', 'typo=1'];
  const created = await runService([...args, ...pairs], env, JSON.stringify(messengerConfig()));
  expect(created).toMatchObject({
    code: 0,
    stderr: 'warning: config.typo is not a field of a messenger configuration and was ignored\n',
  });
  const [listed] = (await channels('list', '--json')).json();
  expect(listed.config).toMatchObject({ bot_id: 'piped', public_only: true, score_min: 0.4 });
});

test('wrong usage of channels commands is reported with the required change', async () => {
  expect(await channels('create', 'None')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('--config-file FILE'),
  });
  const faults = await channels('create', 'Empty', '--set', 'bot_id=b', '--set', 'score_min=high');
  expect(faults).toMatchObject({ code: 2, stderr: expect.stringContaining('config.secret: is required') });
  expect(faults.stderr).toContain('config.score_min: must be a number');
  const missing = await channels('create', 'File', '--config-file', path.join(folder, 'missing.json'));
  expect(missing).toMatchObject({ code: 3, stderr: expect.stringContaining('there is no file') });
  const file = path.join(folder, 'broken.json');
  writeFileSync(file, '{');
  expect(await channels('create', 'Broken', '--config-file', file)).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('must be JSON'),
  });
  const twice = writeConfig({ bot_id: 'twice' });
  expect((await channels('create', 'One', '--config-file', twice)).code).toBe(0);
  expect(await channels('create', 'Two', '--config-file', twice)).toMatchObject({
    code: 4,
    stderr: expect.stringContaining('"twice"'),
  });
});

test('a test of a channel reports a missing channel, a missing server and a refusal', async () => {
  expect((await channels('test', 'nobody', 'x', '--url', api.api.url)).code).toBe(3);
  const away = await channels('test', 'twice', 'x', '--url', `http://127.0.0.1:${await freePort()}`);
  expect(away).toMatchObject({
    code: 5,
    stderr: expect.stringContaining('the connection failed; start "service serve"'),
  });
  const other = await openTestApi({ worker: false });
  const refused = await channels('test', 'twice', 'x', '--url', other.api.url);
  expect(refused).toMatchObject({ code: 4, stderr: expect.stringContaining('answered 403') });
  await other.close();
});

test('a Slack channel is set up step by step, its token is tested, and its deliveries are listed with reasons', async () => {
  const pairs = ['--set', 'collection=default', '--set', `secret=${SLACK_SECRET}`, '--set', `bot_token=${SLACK_TOKEN}`];
  const made = await channels('create', 'team', '--provider', 'slack', ...pairs);
  const [, id = ''] = /created channel team \((chn_\w+)\)/.exec(made.stdout) ?? [];
  expect(made.stdout).toContain(`/v1/channels/slack/${id}\n  1. OAuth & Permissions: add the bot token scopes`);
  expect(made.stdout).toContain(`then try it: service channels test ${id} 'a question'`);

  const tested = await channels('test', id, 'how often is the pump greased?', '--url', api.api.url);
  expect(tested).toMatchObject({ code: 0, stderr: expect.stringContaining('slack accepts the token') });
  expect(tested.stdout).toContain('The pump is greased every three months.');
  fake.answer = (response) => response.writeHead(200).end('{"ok":false,"error":"invalid_auth"}');
  const refused = await channels('test', id, 'pump', '--url', api.api.url);
  expect(refused).toMatchObject({ code: 5, stderr: expect.stringContaining('slack refuses the token (invalid_auth)') });

  const body = JSON.stringify(slackBody('how often is the pump greased?', 1));
  const headers = { 'Content-Type': 'application/json', ...slackHeaders(SLACK_SECRET, body) };
  await api.call('POST', `/v1/channels/slack/${id}`, { headers, body });
  const listed = async () => (await channels('deliveries', '--channel', id, '--json')).json().data[0];
  await until(async () => (await listed()).later_status === 'failed', { withinMs: 60_000, what: 'the record' });
  expect((await channels('deliveries', '--channel', id)).stdout).toMatch(/answered +\d+ +failed +invalid_auth/);
  const everything = JSON.stringify([made, tested, refused, await channels('list'), await channels('deliveries')]);
  for (const secret of [SLACK_SECRET, SLACK_TOKEN]) expect(everything).not.toContain(secret);
  fake.answer = takeReply;
});

test('the outbox lists notifications, newest first', async () => {
  expect((await channels('outbox')).stderr).toBe('no notifications\n');
  const [channel] = (await channels('list', '--json')).json();
  const request = { channel_config_id: channel.id, phone: '+821012345678', template_args: { name: '민수' } };
  for (const template_code of ['FIRST', 'SECOND']) {
    await sendNotification(api.appliance.channels.sending, api.operator, { ...request, template_code }, null);
  }
  const page = (await channels('outbox', '--json')).json();
  expect(page).toMatchObject({
    object: 'list',
    has_more: false,
    data: [{ template_code: 'SECOND' }, { template_code: 'FIRST' }],
  });
  expect(page.data[0]).toMatchObject({ via: 'outbox', status: 'accepted', reason: null, uncertain: false });
  expect((await channels('outbox')).stdout).toMatch(/outbox +accepted .* \+821012345678 +SECOND +\{"name":"민수"\}/);
  expect((await channels('outbox', '--channel', 'chn_missing')).stderr).toBe('no notifications\n');
  expect((await channels('outbox', '--limit', '0')).code).toBe(2);
});
