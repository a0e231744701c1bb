import { writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import path from 'node:path';
import { expect } from 'vitest';
import type { Scope } from '../../src/access/caller.ts';
import { openTestApi, type TestApi } from '../support/api.ts';
import { createConfig } from '../support/channels.ts';
import { FakeMessenger } from '../support/fake-messenger.ts';
import { type ServiceProcess, startServiceProcess } from '../support/service-process.ts';
import { until } from '../support/until.ts';

const SCOPES: Scope[] = ['workflows:manage', 'workflows:run', 'workflows:approve', 'channels:manage'];

/** Installation that looks on while another process runs a workflow of three notifications. */
export interface CrashTest {
  readonly provider: FakeMessenger;
  readonly api: TestApi;
  readonly key: string;
  /** Path of the workflow. */
  readonly workflow: string;
  /** Process that runs it. */
  child: ServiceProcess | null;
  /** Request of the block that hangs. */
  held: ServerResponse | null;
  close(): Promise<void>;
}

export async function openCrashTest(): Promise<CrashTest> {
  const provider = await FakeMessenger.start();
  const api = await openTestApi({ worker: false });
  const key = await api.key({ scopes: SCOPES });
  const messenger = { base_url: provider.url, timeout_seconds: 60 };
  writeFileSync(path.join(api.dataDir, 'service.yaml'), JSON.stringify({ channels: { messenger } }));
  const channel = await createConfig(api, key);
  const send = (id: string) => ({
    ...{ id, type: 'send_notification', after: id === 'one' ? [] : ['one'], timeout_seconds: 120 },
    with: { channel_config_id: channel, phone: '01012345678', template_code: id },
  });
  const json = { name: 'three notifications', definition: { blocks: [send('one'), send('two'), send('three')] } };
  const created = await api.call('POST', '/v1/workflows', { key, json });
  const workflow = `/v1/workflows/${created.body.id}`;
  await api.call('POST', `${workflow}/publish`, { key });
  const test: CrashTest = {
    ...{ provider, api, key, workflow, child: null, held: null },
    async close() {
      await test.child?.end('SIGKILL');
      await api.close();
      await provider.close();
    },
  };
  return test;
}

/** Template codes of the notifications that have arrived at the provider. */
export function sentIn({ provider }: CrashTest): string[] {
  return provider.seen.map(({ body }) => (body as { template_code: string }).template_code);
}

export function accept(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ message_id: 'm' }));
}

export const LIVE = { mode: 'live', approvals: { one: true, two: true, three: true } };

/** Start another process, and a live run in it that hangs in its second block. */
export async function startHangingRun(
  test: CrashTest,
  headers: Record<string, string> = {},
): Promise<{ id: string; reply: Promise<unknown> }> {
  const { provider, api, key, workflow } = test;
  provider.answer = (response, { body }) => {
    if ((body as { template_code: string }).template_code === 'two') test.held = response;
    else accept(response);
  };
  const child = await startServiceProcess(['serve', '--port', '0'], {
    ...{ SERVICE_DATA_DIR: api.dataDir, DATABASE_URL: api.databaseUrl, SERVICE_LOG_LEVEL: 'silent' },
  });
  test.child = child;
  const reply = fetch(`${child.ready['url']}${workflow}/run`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json', ...headers },
    body: JSON.stringify(LIVE),
  }).then(
    (response) => response.status,
    () => 'broken',
  );
  await until(async () => sentIn(test).includes('two'), { withinMs: 60_000, what: 'the second notification' });
  const { body } = await api.call('GET', `${workflow}/runs`, { key });
  expect(body.data[0]).toMatchObject({ status: 'running', finished_at: null });
  return { id: body.data[0].run_id, reply };
}

/** Read a run from the history. */
export async function show({ api, workflow, key }: CrashTest, id: string) {
  return (await api.call('GET', `${workflow}/runs/${id}`, { key })).body;
}

/** Let the heartbeat of a run be long ago, and do the chore until the run counts as crashed. */
export async function failCrashed(test: CrashTest, id: string): Promise<void> {
  const { sql, chores } = test.api.appliance;
  const chore = chores().find(({ name }) => name === 'failing of crashed workflow runs');
  // A heartbeat may still have been on its way.
  const isFailed = async () => {
    await sql`UPDATE workflow_runs SET heartbeat_at = now() - interval '40 seconds' WHERE id = ${id}`;
    await chore?.run(new AbortController().signal);
    return (await show(test, id)).status === 'failed';
  };
  await until(isFailed, { withinMs: 60_000, what: 'the crashed run' });
}
