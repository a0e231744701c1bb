import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { openTestAppliance, type TestAppliance } from '../support/appliance.ts';
import { runCommand } from './service.ts';

// Commands are slow on a busy machine, and each test runs several.
vi.setConfig({ testTimeout: 120_000 });

let installation: TestAppliance;
let env: NodeJS.ProcessEnv;

beforeAll(async () => {
  installation = await openTestAppliance();
  env = { SERVICE_DATA_DIR: installation.dataDir, DATABASE_URL: installation.databaseUrl };
});
afterAll(() => installation.close());

const webhooks = (...args: string[]) => runCommand(['webhooks', ...args], env);

test('a webhook is added, tested, changed, rotated, replayed and removed at the command line', async () => {
  const added = await webhooks('add', 'orders', '--address', 'https://example.com/hooks', '--event', 'job.failed');
  expect(added).toMatchObject({ code: 0, stderr: expect.stringContaining('it is not shown again') });
  const secret = added.stdout.trim();
  expect(secret).toMatch(/^whsec_/);
  const tested = await webhooks('test', 'orders', '--json');
  expect(tested.json()).toMatchObject({ type: 'webhook.test', status: 'pending' });
  const listed = await webhooks('deliveries', 'orders', '--json');
  expect(listed.json()).toMatchObject({ data: [{ id: tested.json().id, tries: 0 }] });

  const changed = await webhooks('change', 'orders', '--disable', '--json');
  expect(changed.json()).toMatchObject({ enabled: false, events: ['job.failed'] });
  expect(await webhooks('test', 'orders')).toMatchObject({ code: 4 });
  await webhooks('change', 'orders', '--enable');
  const all = await webhooks('replay', 'orders', '--failed-since', '2026-01-01T00:00:00Z');
  expect(all).toMatchObject({ code: 0, stdout: 'queued 1 event\n' });
  expect(await webhooks('replay', 'orders', tested.json().id)).toMatchObject({ code: 0 });

  const rotated = await webhooks('rotate', 'orders', '--overlap-hours', '1');
  expect(rotated.stdout).toMatch(/^whsec_/);
  const shown = [await webhooks('list'), await webhooks('show', 'orders'), await webhooks('list', '--json')];
  expect(JSON.stringify(shown)).not.toContain(secret);
  expect(shown[0]?.stdout).toContain('works');
  expect(await webhooks('remove', 'orders', '--yes')).toMatchObject({ code: 0 });
  expect(await webhooks('show', 'orders')).toMatchObject({ code: 3 });
});

test('a trigger of a workflow is made, listed and removed at the command line', async () => {
  const file = path.join(installation.dataDir, 'say.json');
  const definition = { blocks: [{ id: 'say', type: 'template', with: { text: 'x' } }] };
  writeFileSync(file, JSON.stringify({ name: 'say', definition }));
  const workflows = (...args: string[]) => runCommand(['workflows', ...args], env);
  await workflows('import', file, '--publish');
  const made = await workflows('trigger', 'say', '--webhook');
  expect(made).toMatchObject({ code: 0, stdout: expect.stringMatching(/^whsec_/) });
  const listed = await workflows('triggers', 'say', '--json');
  const [{ id }] = listed.json().data;
  expect(made.stderr).toContain(`/v1/workflow-triggers/${id}`);
  expect((await workflows('untrigger', 'say', id)).code).toBe(0);
  expect((await workflows('trigger', 'say', '--schedule', 'tomorrow')).code).toBe(2);
  expect((await workflows('trigger', 'say')).code).toBe(2);
});

test.each([
  [['add', 'x', '--address', 'http://10.0.0.1/'], 2, 'webhooks.networks'],
  [['add', 'x', '--address', 'https://example.com', '--event', 'job.unknown'], 2, '--event'],
  [['replay', 'orders'], 2, '--failed-since'],
  [['change', 'orders'], 2, '--enable'],
] as const)('%j is refused with what to do', async (args, code, text) => {
  const refused = await webhooks(...args);
  expect([refused.code, refused.stderr]).toEqual([code, expect.stringContaining(text)]);
});
