import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Scope } from '../../src/access/caller.ts';
import { Secret } from '../../src/platform/secret.ts';
import { signatureHeaders } from '../../src/webhooks/sign.ts';
import { openTestApi, type TestApi } from '../support/api.ts';
import { createConfig } from '../support/channels.ts';
import { FakeMessenger } from '../support/fake-messenger.ts';
import { until } from '../support/until.ts';

// Workflows that start by a schedule, a signed request or a new document, in two processes.

const SCOPES: Scope[] = ['workflows:manage', 'workflows:run', 'documents:write', 'search', 'channels:manage'];

let api: TestApi;
let other: TestApi;
let key: string;
let messenger: FakeMessenger;
let channel: string;

beforeAll(async () => {
  messenger = await FakeMessenger.start();
  const settings = { base_url: 'https://service.example.com', channels: { messenger: { base_url: messenger.url } } };
  api = await openTestApi({ settings });
  other = await openTestApi({ worker: false, beside: api, settings });
  key = await api.key({ scopes: SCOPES, authLevel: 5 });
  channel = await createConfig(api, key);
});
afterAll(async () => {
  await other.close();
  await api.close();
  await messenger.close();
});

const call = (method: string, path: string, json?: object, as = key) =>
  api.call(method, path, { key: as, ...(json === undefined ? {} : { json }) });
let names = 0;
/** Publish a workflow that gives back its event. */
async function publish(part: object = {}): Promise<string> {
  const definition = {
    inputs: { event: { type: 'object' } },
    blocks: [{ id: 'say', type: 'template', with: { text: 'x' } }],
    output: '{{inputs.event}}',
    ...part,
  };
  const { body } = await call('POST', '/v1/workflows', { name: `triggered ${++names}`, definition });
  await call('POST', `/v1/workflows/${body.id}/publish`, {});
  return body.id;
}
const trigger = async (workflow: string, json: object) =>
  (await call('POST', `/v1/workflows/${workflow}/triggers`, json)).body;
const startAll = async () => {
  const choreOf = ({ appliance }: TestApi) =>
    appliance.workflows.chores(60_000).find(({ name }) => name === 'starting of workflows');
  await Promise.all([api, other].map((each) => choreOf(each)?.run(new AbortController().signal)));
};
const runsOf = async (workflow: string) => {
  const { body } = await call('GET', `/v1/workflows/${workflow}/runs`);
  const runs = body.data as { run_id: string }[];
  return Promise.all(
    runs.map(async ({ run_id: id }) => (await call('GET', `/v1/workflows/${workflow}/runs/${id}`)).body),
  );
};
const upload = async (text: string, part: object = {}) =>
  (await call('POST', '/v1/buckets/default/documents', { filename: `${text}.txt`, text, ...part })).body.id;
const isReady = (id: string) =>
  until(async () => (await call('GET', `/v1/buckets/default/documents/${id}`)).body.status === 'ready', {
    what: 'the document',
  });

test('a schedule starts a workflow once for each time, from two processes', async () => {
  const workflow = await publish();
  const made = await trigger(workflow, { schedule: '*/5 * * * *' });
  expect(made).toMatchObject({ kind: 'schedule', mode: 'live', secret: null, webhook_path: null });
  await startAll();
  expect(await runsOf(workflow)).toEqual([]);
  const { sql } = api.appliance;
  await sql`UPDATE workflow_triggers SET next_start_at = next_start_at - interval '1 hour' WHERE id = ${made.id}`;
  await startAll();
  await startAll();
  expect(await runsOf(workflow)).toEqual([
    expect.objectContaining({ status: 'completed', mode: 'live', output: { scheduled_at: expect.any(String) } }),
  ]);
  const [listed] = (await call('GET', `/v1/workflows/${workflow}/triggers`)).body.data;
  expect(Date.parse(listed.next_start_at)).toBeGreaterThan(Date.now());
  expect(listed).toMatchObject({ last_error: null, last_started_at: expect.any(String) });
});

test('each new document of a bucket starts a run once, but none that the maker of the trigger may not read', async () => {
  const workflow = await publish();
  const made = await trigger(workflow, { bucket: 'default' });
  const admin = await api.key({ scopes: ['documents:write'], authLevel: 9 });
  const json = { filename: 'hidden.txt', text: 'hidden', privacy_level: 9 };
  const hidden = (await call('POST', '/v1/buckets/default/documents', json, admin)).body.id;
  const seen = await upload('seen');
  await isReady(seen);
  await until(
    async () =>
      (await call('GET', `/v1/buckets/default/documents/${hidden}`, undefined, admin)).body.status === 'ready',
  );
  await startAll();
  expect((await runsOf(workflow)).map(({ output }) => output.document_id)).toEqual([seen]);
  await api.appliance.sql`UPDATE documents SET status = 'processing' WHERE id = ${seen}`;
  await api.appliance.sql`UPDATE documents SET status = 'ready' WHERE id = ${seen}`;
  await startAll();
  expect(await runsOf(workflow)).toHaveLength(1);
  // The record of a start lasts as long as its document.
  const { sql } = api.appliance;
  await sql`UPDATE workflow_starts SET created_at = created_at - interval '8 days'`;
  const clean = api.appliance.workflows
    .chores(60_000)
    .find(({ name }) => name === 'removal of old starts of workflows');
  const keys = async () =>
    (await sql`SELECT key FROM workflow_starts WHERE trigger_id = ${made.id}`).map((row) => row['key']);
  await clean?.run(new AbortController().signal);
  expect((await keys()).toSorted()).toEqual([hidden, seen].toSorted());
  await sql`DELETE FROM documents WHERE id = ${seen}`;
  await clean?.run(new AbortController().signal);
  expect(await keys()).toEqual([hidden]);
});

test('a request that is signed as Standard Webhooks says starts a run once, and others are refused alike', async () => {
  const workflow = await publish();
  const made = await trigger(workflow, { webhook: true });
  const secret = new Secret(made.secret);
  const payload = JSON.stringify({ order: 7, note: 'a\0b' });
  const post = (headers: Record<string, string>, body = payload, path = made.webhook_path) =>
    api.call('POST', path, { body, headers: { 'Content-Type': 'application/json', ...headers } });
  const signed = (id: string, atMs = Date.now(), body = payload) =>
    signatureHeaders({ id, payload: body }, [secret], atMs);
  expect((await post(signed('msg_1'))).body).toEqual({ accepted: true });
  expect((await post(signed('msg_1'))).body).toEqual({ accepted: false });
  const refusals = [
    await post(signed('msg_2'), '{"order":8}'),
    await post(signed('msg_2', Date.now() - 6 * 60_000)),
    await post({ ...signed('msg_2'), 'webhook-id': 'msg_3' }),
    await post({}),
    await post(signed('msg_2'), payload, '/v1/workflow-triggers/trg_missing'),
    await post(signatureHeaders({ id: 'msg_2', payload }, [new Secret(`whsec_${'a'.repeat(43)}=`)], Date.now())),
  ];
  expect(new Set(refusals.map(({ status, body }) => `${status} ${body.detail}`)).size).toBe(1);
  expect(refusals[0]?.status).toBe(403);
  expect((await post(signed('msg_4', Date.now(), '[1]'), '[1]')).status).toBe(400);
  const deep = '['.repeat(50_000);
  expect((await post(signed('msg_5', Date.now(), deep), deep)).status).toBe(400);
  await startAll();
  expect(await runsOf(workflow)).toEqual([
    expect.objectContaining({ status: 'completed', output: { order: 7, note: expect.stringMatching(/^a.+b$/) } }),
  ]);
  expect(JSON.stringify((await call('GET', `/v1/workflows/${workflow}/triggers`)).body)).not.toContain('whsec');
});

test('a started run waits for approvals and tells the approver, with the address of its page', async () => {
  const notify = { channel_config_id: channel, phone: '01012345678', template_code: 'APPROVE' };
  const store = { id: 'store', type: 'upload_document', with: { bucket: 'default', filename: 'y.txt', text: 'y' } };
  const workflow = await publish({ blocks: [store], notify });
  const made = await trigger(workflow, { schedule: '0 0 1 1 *' });
  await api.appliance.sql`UPDATE workflow_triggers SET next_start_at = now() WHERE id = ${made.id}`;
  await startAll();
  const [run] = await runsOf(workflow);
  expect(run).toMatchObject({ status: 'needs_approval' });
  expect(messenger.seen).toHaveLength(1);
  expect(JSON.stringify(messenger.seen)).toContain(
    `https://service.example.com/console/workflows/${workflow}/runs/${run.run_id}`,
  );
});

test('a start runs with the rights of its maker as they are now, and says why it cannot', async () => {
  const maker = await api.key({ scopes: SCOPES });
  const workflow = await publish();
  const { id } = (await call('POST', `/v1/workflows/${workflow}/triggers`, { schedule: '0 0 1 1 *' }, maker)).body;
  const { sql } = api.appliance;
  await sql`UPDATE api_keys SET revoked_at = now() WHERE id = ${maker.split('_')[1] as string}`;
  await sql`UPDATE workflow_triggers SET next_start_at = now() WHERE id = ${id}`;
  await startAll();
  expect(await runsOf(workflow)).toEqual([]);
  const [listed] = (await call('GET', `/v1/workflows/${workflow}/triggers`)).body.data;
  expect(listed.last_error).toContain('is no longer valid');
  expect((await call('DELETE', `/v1/workflows/${workflow}/triggers/${id}`)).status).toBe(204);
  expect((await call('GET', `/v1/workflows/${workflow}/triggers`)).body.data).toEqual([]);
});

test('a start whose process died is taken over, and a run that began is not repeated', async () => {
  const workflow = await publish();
  const made = await trigger(workflow, { schedule: '0 0 1 1 *' });
  const { sql } = api.appliance;
  const due = () => sql`UPDATE workflow_triggers SET next_start_at = now() WHERE id = ${made.id}`;
  await due();
  await startAll();
  await sql`UPDATE workflow_starts SET next_at = now() WHERE trigger_id = ${made.id}`; // as if its end was not recorded
  await startAll();
  expect(await runsOf(workflow)).toHaveLength(1);
  const [row] = await sql`SELECT next_at, tries FROM workflow_starts WHERE trigger_id = ${made.id}`;
  expect(row).toEqual({ next_at: null, tries: 2 });
});

test('long runs of one organization leave places for those of another', async () => {
  const { sql } = api.appliance;
  const slowKey = await api.key({ scopes: SCOPES, org: 'slow' });
  const made = async (as: string) => {
    const definition = { blocks: [{ id: 'say', type: 'template', with: { text: 'x' } }], output: 'x' };
    const { id } = (await call('POST', '/v1/workflows', { name: 'shared', definition }, as)).body;
    await call('POST', `/v1/workflows/${id}/publish`, {}, as);
    const json = { schedule: '0 0 1 1 *' };
    return (await call('POST', `/v1/workflows/${id}/triggers`, json, as)).body.id as string;
  };
  const [slow, quick] = [await made(slowKey), await made(key)];
  const queue = (trigger: string, count: number) => sql`
    INSERT INTO workflow_starts (trigger_id, key, org_id, event)
    SELECT id, nth::text, org_id, '{}' FROM workflow_triggers, generate_series(1, ${count}) AS nth WHERE id = ${trigger}`;
  const over = async (trigger: string) =>
    (await sql`SELECT 1 FROM workflow_starts WHERE trigger_id = ${trigger} AND next_at IS NULL`).length;
  const claimed = async () =>
    (await sql`SELECT 1 FROM workflow_starts WHERE trigger_id = ${slow} AND tries > 0`).length;
  await queue(slow, 6);
  const chore = api.appliance.workflows.chores(60_000).find(({ name }) => name === 'starting of workflows');
  let running: Promise<void> | undefined;
  await sql.begin(async (tx) => {
    // Runs of this organization wait for its row.
    await tx`SELECT 1 FROM organizations WHERE name = 'slow' FOR UPDATE`;
    running = Promise.resolve(chore?.run(new AbortController().signal));
    await until(async () => (await claimed()) === 2, { what: 'the share of one organization' });
    await queue(quick, 1);
    await until(async () => (await over(quick)) === 1, { what: 'the run of the other organization' });
    expect([await claimed(), await over(slow)]).toEqual([2, 0]);
  });
  await running;
  expect(await over(slow)).toBe(6);
});

test.each([
  [{}, 'exactly one of schedule, bucket and webhook'],
  [{ schedule: '* * * * *', webhook: true }, 'exactly one of schedule, bucket and webhook'],
  [{ schedule: 'tomorrow' }, 'cron expression'],
] as const)('the trigger %j is refused', async (json, fault) => {
  const { status, body } = await call('POST', `/v1/workflows/${await publish()}/triggers`, json);
  expect([status, body.detail]).toEqual([400, expect.stringContaining(fault)]);
});

test('triggers of another organization are not found, and a bucket must exist', async () => {
  const foreign = await api.key({ scopes: SCOPES, org: 'foreign' });
  const workflow = await publish();
  const { id } = await trigger(workflow, { schedule: '0 0 1 1 *' });
  for (const [method, path, json] of [
    ['POST', '', { webhook: true }],
    ['GET', ''],
    ['DELETE', `/${id}`],
  ] as const) {
    expect((await call(method, `/v1/workflows/${workflow}/triggers${path}`, json, foreign)).status).toBe(404);
  }
  expect((await call('POST', `/v1/workflows/${workflow}/triggers`, { bucket: 'missing' })).status).toBe(404);
});
