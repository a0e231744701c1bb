import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { Scope } from '../../src/access/caller.ts';
import { purgeDeleted } from '../../src/documents/remove-documents.ts';
import { openTestApi, type TestApi } from '../support/api.ts';
import { createConfig, fillBucket } from '../support/channels.ts';
import { FakeMessenger } from '../support/fake-messenger.ts';
import { until } from '../support/until.ts';

let messenger: FakeMessenger;
let api: TestApi;
let channel: string;
/** Key that may run workflows, but not approve; and one of an administrator that may do both. */
let runner: string;
let approver: string;

const RUN: Scope[] = ['workflows:run', 'search', 'documents:write'];
const APPROVE: Scope[] = [...RUN, 'workflows:manage', 'workflows:approve', 'platform_admin', 'channels:manage'];

beforeAll(async () => {
  messenger = await FakeMessenger.start();
  api = await openTestApi({ settings: { channels: { messenger: { base_url: messenger.url } } } });
  runner = await api.key({ scopes: RUN, authLevel: 2 });
  approver = await api.key({ scopes: APPROVE, authLevel: 5 });
  channel = await createConfig(api, approver);
  await fillBucket(api, 'default', [{ fileName: 'pump.txt', text: 'The pump is greased every three months.' }]);
});
afterAll(async () => {
  await api.close();
  await messenger.close();
});
beforeEach(() => messenger.reset());

const send = (id: string, part: Record<string, unknown> = {}) => ({
  ...{ id, type: 'send_notification' },
  with: {
    ...{ channel_config_id: channel, phone: '01012345678', template_code: id.toUpperCase() },
    template_args: { text: '{{blocks.find.output.results.0.text}}' },
  },
  ...part,
});
/** Searches, stores a document, and sends one or two messages about what was found. */
const definition = () => ({
  inputs: { name: { type: 'string' } },
  blocks: [
    { id: 'find', type: 'search', with: { bucket: 'default', query: 'greased pump', mode: 'keyword' } },
    {
      id: 'store',
      type: 'upload_document',
      with: { bucket: 'default', filename: '{{inputs.name}}.txt', text: '{{inputs.name}}' },
    },
    send('first'),
    send('second'),
    { id: 'receipt', type: 'template', with: { text: 'sent {{blocks.first.output.status}}' } },
  ],
  output: '{{blocks.receipt.output}}',
});

let names = 0;
const call = (method: string, path: string, json?: unknown, key = approver, headers: Record<string, string> = {}) =>
  api.call(method, `/v1/workflows${path}`, { key, headers, ...(json === undefined ? {} : { json }) });

async function publish(of: unknown = definition()): Promise<string> {
  const { body } = await call('POST', '', { name: `Approvals ${++names}`, definition: of });
  expect(await call('POST', `/${body.id}/publish`)).toMatchObject({ status: 200 });
  return body.id;
}

/** Run a workflow live as the runner. @returns path of its run */
async function runWaiting(id: string, name: string, approvals = {}, key = runner): Promise<string> {
  const { body } = await call('POST', `/${id}/run`, { inputs: { name }, mode: 'live', approvals }, key);
  expect(body).toMatchObject({ status: 'needs_approval' });
  return `/${id}/runs/${body.run_id}`;
}

const stateOf = (body: { blocks: { id: string; status: string }[] }) =>
  Object.fromEntries(body.blocks.map(({ id, status }) => [id, status]));
const sent = () => messenger.seen.map(({ body }) => (body as { template_code: string }).template_code);
const stored = async (name: string) =>
  (await api.appliance.sql`SELECT 1 FROM documents WHERE file_name = ${`${name}.txt`}`).length;

test('an approved run goes on from where it waits, with what it had found, and does nothing twice', async () => {
  const id = await publish();
  const waiting = await runWaiting(id, 'one', { store: true }, approver);
  expect(await stored('one')).toBe(1);
  // What the search finds now is not what the person who approves has seen.
  await fillBucket(api, 'default', [{ fileName: 'newer.txt', text: 'greased pump greased pump' }]);
  const approved = await call('POST', `${waiting}/approve`, { approvals: { first: true, second: true } });
  expect(approved).toMatchObject({ status: 200, body: { status: 'completed', mode: 'live', output: 'sent sent' } });
  expect(stateOf(approved.body)).toEqual({
    ...{ find: 'completed', store: 'completed', first: 'completed', second: 'completed', receipt: 'completed' },
  });
  expect(messenger.seen.map(({ body }) => body)).toEqual([
    expect.objectContaining({
      template_code: 'FIRST',
      template_args: { text: 'The pump is greased every three months.' },
    }),
    expect.objectContaining({ template_code: 'SECOND' }),
  ]);
  expect(await stored('one')).toBe(1);
  const before = await call('GET', waiting);
  const { run_id } = approved.body;
  expect(before.body).toMatchObject({ status: 'needs_approval', continues: null });
  expect(before.body.continued_by).toMatchObject({ run_id, status: 'completed' });
  const after = await call('GET', `/${id}/runs/${run_id}`);
  expect(after.body).toMatchObject({ continues: before.body.run_id, continued_by: null, inputs: { name: 'one' } });
  expect(after.body.blocks).toEqual(approved.body.blocks);
});

test('who may not approve is refused; an administrator decides, and the runner sees the decision, not the new run', async () => {
  const id = await publish();
  const waiting = await runWaiting(id, 'two');
  expect(await call('POST', `${waiting}/approve`, { approvals: { first: true } }, runner)).toMatchObject({
    status: 403,
  });
  const onlyApproves = await api.key({ scopes: ['workflows:approve', 'platform_admin'], authLevel: 5 });
  expect(await call('POST', `${waiting}/approve`, { approvals: { first: true } }, onlyApproves)).toMatchObject({
    status: 403,
  });
  const below = await api.key({ scopes: APPROVE, authLevel: 1 });
  expect(await call('POST', `${waiting}/approve`, { approvals: { first: true } }, below)).toMatchObject({
    status: 404,
  });
  const approved = await call('POST', `${waiting}/approve`, { approvals: { first: true, store: false } });
  expect(approved.body).toMatchObject({ status: 'needs_approval' });
  expect(stateOf(approved.body)).toMatchObject({ store: 'skipped', first: 'completed', second: 'needs_approval' });
  const seen = await call('GET', waiting, undefined, runner);
  expect(seen.body.continued_by).toMatchObject({ run_id: approved.body.run_id, status: 'needs_approval' });
  expect(await call('GET', `/${id}/runs/${approved.body.run_id}`, undefined, runner)).toMatchObject({ status: 404 });
  // What is left waits in the new run, and is decided there. What was declined stays so.
  const rest = `/${id}/runs/${approved.body.run_id}/approve`;
  expect(await call('POST', rest, { approvals: { store: true } })).toMatchObject({ status: 400 });
  const last = await call('POST', rest, { approvals: { second: false } });
  expect(last.body).toMatchObject({ status: 'completed', output: 'sent sent' });
  expect(stateOf(last.body)).toMatchObject({ store: 'skipped', first: 'completed', second: 'skipped' });
  const declined = last.body.blocks.find((block: { id: string }) => block.id === 'second');
  expect(declined).toMatchObject({ error: expect.stringMatching(/declined it$/), would: { template_code: 'SECOND' } });
  expect([sent(), await stored('two')]).toEqual([['FIRST'], 0]);
  const audit = await api.appliance.sql`
    SELECT action, detail ->> 'block_id' AS block FROM audit_log
    WHERE target = ${id} AND action IN ('workflow.approve', 'workflow.decline') ORDER BY block`;
  expect(audit.map(({ action, block }) => `${action} ${block}`)).toEqual([
    ...['workflow.approve first', 'workflow.decline second', 'workflow.decline store'].sort(),
  ]);
});

test('of ten people who decide at once one is heard, and everything is done once', async () => {
  const id = await publish();
  const waiting = await runWaiting(id, 'three');
  const approvals = { store: true, first: true, second: true };
  const replies = await Promise.all(
    Array.from({ length: 10 }, () => call('POST', `${waiting}/approve`, { approvals })),
  );
  expect(replies.map(({ status }) => status).sort()).toEqual([200, ...Array.from({ length: 9 }, () => 409)]);
  const refused = replies.find(({ status }) => status === 409);
  expect(refused?.body.detail).toMatch(/already continued the run, as run_\w+; nothing was changed/);
  expect(await call('POST', `${waiting}/approve`, { approvals })).toMatchObject({ status: 409 });
  expect([sent(), await stored('three')]).toEqual([['FIRST', 'SECOND'], 1]);
});

test('a repeated request with its key gets the first reply, and another one with the key is refused', async () => {
  const waiting = await runWaiting(await publish(), 'four');
  const approvals = { store: true, first: true, second: true };
  const headers = { 'idempotency-key': 'approve-four' };
  const first = await call('POST', `${waiting}/approve`, { approvals }, approver, headers);
  const again = await call('POST', `${waiting}/approve`, { approvals }, approver, headers);
  expect([first.status, again.status, again.body]).toEqual([200, 200, first.body]);
  const other = await call('POST', `${waiting}/approve`, { approvals: { first: true } }, approver, headers);
  expect(other.status).toBe(422);
  expect(sent()).toEqual(['FIRST', 'SECOND']);
});

test('decisions that cannot be carried out are refused, and the run goes on waiting', async () => {
  const id = await publish();
  const waiting = await runWaiting(id, 'five');
  for (const [approvals, detail] of [
    [{}, 'approvals: must have a decision on a block'],
    [{ find: true }, /^approvals.find: no block "find" .* these do: store, first, second$/],
    [{ nope: true }, /^approvals.nope: no block "nope"/],
    [{ first: 'yes' }, /^approvals.first: /],
  ] as const) {
    const reply = await call('POST', `${waiting}/approve`, { approvals });
    expect(reply.status).toBe(400);
    expect(reply.body.detail).toMatch(detail);
  }
  const simulated = await call('POST', `/${id}/run`, { inputs: { name: 'five' } });
  expect(
    await call('POST', `/${id}/runs/${simulated.body.run_id}/approve`, { approvals: { first: true } }),
  ).toMatchObject({
    status: 409,
    body: { detail: 'the run does not wait for approvals; it is "completed"' },
  });
  expect(await call('POST', `/${id}/runs/run_0/approve`, { approvals: { first: true } })).toMatchObject({
    status: 404,
  });
  await call('PUT', `/${id}`, { definition: { ...definition(), output: 'other' } });
  await call('POST', `/${id}/publish`);
  const outdated = await call('POST', `${waiting}/approve`, { approvals: { first: true } });
  expect(outdated).toMatchObject({ status: 409, body: { detail: expect.stringContaining('run the workflow again') } });
  await call('POST', `/${id}/publish`, { version: 1 });
  expect((await call('GET', waiting)).body).toMatchObject({ continued_by: null });
  expect(await call('POST', `${waiting}/approve`, { approvals: { first: true } })).toMatchObject({ status: 200 });
});

test('an approval does not hold for values that changed since, nor for those that are not kept', async () => {
  const long = 'x'.repeat(70_000);
  // The history does not keep the output of `find`, so the search runs again; `first` then has other arguments.
  const blocks = [
    { id: 'find', type: 'search', with: { bucket: 'default', query: 'greased pump', mode: 'keyword', top_k: 2 } },
    { id: 'pad', type: 'template', with: { text: `{{blocks.find.output.results.0.citation.file_name}}${long}` } },
    send('first', { if: '{{blocks.pad.output}}' }),
    send('second', { with: { ...send('second').with, template_args: { text: long.slice(0, 900) } } }),
  ];
  const id = await publish({ inputs: { name: { type: 'string' } }, blocks });
  const waiting = await runWaiting(id, 'six');
  const run = await call('GET', waiting);
  expect(run.body.blocks[1].output).toEqual({ left_out: expect.any(String) });
  // `find` itself is kept, so its results are those that were shown.
  const approved = await call('POST', `${waiting}/approve`, { approvals: { first: true } });
  expect(stateOf(approved.body)).toMatchObject({ pad: 'completed', first: 'completed', second: 'needs_approval' });

  const changing = await publish({
    inputs: { name: { type: 'string' } },
    blocks: [
      { id: 'pad', type: 'template', with: { text: `{{inputs.name}}${long}` } },
      {
        id: 'find',
        type: 'search',
        if: '{{blocks.pad.output}}',
        with: { bucket: 'default', query: 'greased pump', mode: 'keyword' },
      },
      send('first'),
    ],
  });
  const second = await runWaiting(changing, 'seven');
  // As if the results had been too large to be kept.
  await api.appliance.sql`
    UPDATE workflow_run_blocks SET result = jsonb_set(result, '{output}', '{"left_out": "70000 bytes"}')
    WHERE result ->> 'id' = 'find' AND run_id = ${second.split('/').at(-1) as string}`;
  await fillBucket(api, 'default', [{ fileName: 'newest.txt', text: 'pump greased greased pump greased pump' }]);
  const changed = await call('POST', `${second}/approve`, { approvals: { first: true } });
  expect(changed.body).toMatchObject({ status: 'needs_approval' });
  expect(changed.body.blocks.at(-1)).toMatchObject({
    ...{ id: 'first', status: 'needs_approval', error: 'its arguments have changed since they were shown' },
  });
  expect(sent()).toEqual(['FIRST']);
});

test('a run that shows a deleted document cannot be approved', async () => {
  await fillBucket(api, 'default', [{ fileName: 'secret.txt', text: 'zanzibar zanzibar' }]);
  const find = { id: 'find', type: 'search', with: { bucket: 'default', query: 'zanzibar', mode: 'keyword' } };
  const id = await publish({ inputs: { name: { type: 'string' } }, blocks: [find, send('first')] });
  const waiting = await runWaiting(id, 'eight');
  const { sql } = api.appliance;
  const [document] = await sql`SELECT id FROM documents WHERE file_name = 'secret.txt'`;
  const remove = `/v1/buckets/default/documents/${document?.['id']}`;
  expect((await api.call('DELETE', remove, { key: approver })).status).toBeLessThan(300);
  await purgeDeleted(api.appliance.documents.removal, new AbortController().signal);
  await until(async () => !JSON.stringify((await call('GET', waiting)).body).includes('zanzibar zanzibar'), {
    ...{ withinMs: 60_000, what: 'removal of the document' },
  });
  const reply = await call('POST', `${waiting}/approve`, { approvals: { first: true } });
  expect(reply).toMatchObject({ status: 409, body: { detail: expect.stringContaining('did not keep all values') } });
  expect(sent()).toEqual([]);
});

test('a run that waits tells a person who may approve, by the channel of the definition', async () => {
  const notify = { channel_config_id: channel, phone: '01099998888', template_code: 'APPROVE' };
  const of = { inputs: {}, blocks: [{ ...send('first'), with: { ...send('first').with, template_args: {} } }], notify };
  const id = await publish(of);
  const { body } = await call('POST', `/${id}/run`, { mode: 'live' }, runner);
  expect(body).toMatchObject({ status: 'needs_approval', approval_url: expect.stringContaining(body.run_id) });
  expect(messenger.seen.map((seen) => seen.body)).toMatchObject([
    {
      phone: expect.stringContaining('99998888'),
      template_code: 'APPROVE',
      template_args: { run: body.run_id, url: body.approval_url, workflow: expect.stringContaining('Approvals') },
    },
  ]);
  messenger.reset();
  await call('POST', `/${id}/run`, { mode: 'simulate' }, runner);
  const done = await call('POST', `/${id}/run`, { mode: 'live', approvals: { first: true } });
  expect([done.body.status, sent()]).toEqual(['completed', ['FIRST']]);
});

test('only who may send messages publishes a workflow that tells approvers', async () => {
  const notify = { channel_config_id: channel, phone: '01099998888', template_code: 'APPROVE' };
  const key = await api.key({ scopes: ['workflows:manage'] });
  const of = { blocks: [{ id: 'say', type: 'template', with: { text: 'x' } }], notify };
  const { body } = await call('POST', '', { name: `Approvals ${++names}`, definition: of }, key);
  const refused = await call('POST', `/${body.id}/publish`, undefined, key);
  expect([refused.status, refused.body.detail]).toEqual([403, expect.stringContaining('channels:send')]);
  const wrong = await call('POST', '', { name: 'x', definition: { ...of, notify: { phone: 'x' } } }, key);
  expect([wrong.status, wrong.body.detail]).toEqual([400, expect.stringContaining('notify.channel_config_id')]);
});
