import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { Scope } from '../../src/access/caller.ts';
import { purgeDeleted } from '../../src/documents/remove-documents.ts';
import { openTestApi, type TestApi } from '../support/api.ts';
import { createConfig, fillBucket } from '../support/channels.ts';
import { FakeMessenger } from '../support/fake-messenger.ts';
import { makeUserToken } from '../support/tokens.ts';
import { until } from '../support/until.ts';

let messenger: FakeMessenger;
let api: TestApi;
/** Key with the right to everything about workflows. */
let key: string;
let channel: string;
let documentId: string;

const ALL: Scope[] = [
  ...(['workflows:manage', 'workflows:run', 'workflows:approve', 'search', 'embed', 'documents:write'] as const),
  ...(['buckets:manage', 'channels:manage'] as const),
];

beforeAll(async () => {
  messenger = await FakeMessenger.start();
  api = await openTestApi({ settings: { channels: { messenger: { base_url: messenger.url } } } });
  key = await api.key({ scopes: ALL });
  channel = await createConfig(api, key);
  await fillBucket(api, 'default', [{ fileName: 'pump.txt', text: 'The pump is greased every three months.' }]);
  const { body } = await api.call('GET', '/v1/buckets/default/documents', { key });
  documentId = body.data[0].id;
});
afterAll(async () => {
  await api.close();
  await messenger.close();
});
beforeEach(() => messenger.reset());

const FIND = { id: 'find', type: 'search', with: { bucket: 'default', query: '{{inputs.question}}', mode: 'keyword' } };
const SEND = (part: Record<string, unknown> = {}) => ({
  ...{ id: 'send', type: 'send_notification' },
  with: {
    ...{ channel_config_id: channel, phone: '01012345678', template_code: 'ANSWER' },
    template_args: { text: '{{blocks.find.output.results.0.text}}' },
  },
  ...part,
});
const ANSWER = () => ({
  inputs: { question: { type: 'string' } },
  blocks: [FIND, SEND()],
  output: '{{blocks.find.output.results.0.citation.file_name}}',
});
const INPUTS = { question: 'how often is the pump greased?' };

let names = 0;
const newName = () => `Workflow ${++names}`;
const call = (method: string, path: string, json?: unknown, as: string = key, headers: Record<string, string> = {}) =>
  api.call(method, `/v1/workflows${path}`, { key: as, headers, ...(json === undefined ? {} : { json }) });

/** Create a published workflow and return its id. */
async function publish(definition: unknown, name = newName()): Promise<string> {
  const created = await call('POST', '', { name, definition });
  expect(created).toMatchObject({ status: 201 });
  expect(await call('POST', `/${created.body.id}/publish`)).toMatchObject({ status: 200 });
  return created.body.id;
}

test('a workflow is a draft until it is published, and its versions are kept', async () => {
  const name = newName();
  const created = await call('POST', '', { name, definition: ANSWER() });
  expect(created).toMatchObject({
    status: 201,
    body: { name, status: 'draft', latest_version: 1, published_version: null, version: 1, definition: ANSWER() },
  });
  const { id } = created.body;
  expect(id).toMatch(/^wfl_/);

  const refused = await call('POST', `/${id}/run`, { inputs: INPUTS, mode: 'live' });
  expect(refused).toMatchObject({ status: 200, body: { run_id: null, status: 'needs_review', blocks: [] } });
  expect(messenger.seen).toEqual([]);
  const tried = await call('POST', `/${encodeURIComponent(name)}/dry-run`, { inputs: INPUTS });
  expect(tried.body).toMatchObject({ status: 'completed', mode: 'dry_run', version: 1, output: 'pump.txt' });

  expect((await call('POST', `/${id}/publish`)).body).toMatchObject({ status: 'published', published_version: 1 });
  const second = { ...ANSWER(), output: 'second' };
  const added = await call('PUT', `/${id}`, { definition: second });
  expect(added.body).toMatchObject({ status: 'published', latest_version: 2, published_version: 1, version: 2 });
  expect((await call('POST', `/${id}/run`, { inputs: INPUTS })).body).toMatchObject({ version: 1, output: 'pump.txt' });
  expect((await call('POST', `/${id}/dry-run`, { inputs: INPUTS })).body).toMatchObject({
    version: 2,
    output: 'second',
  });
  await call('POST', `/${id}/publish`);
  expect((await call('POST', `/${id}/run`, { inputs: INPUTS })).body).toMatchObject({ version: 2, output: 'second' });
  expect((await call('POST', `/${id}/publish`, { version: 1 })).body).toMatchObject({ published_version: 1 });
  expect((await call('POST', `/${id}/publish`, { version: 3 })).status).toBe(404);

  const first = await call('GET', `/${id}?version=1`);
  expect(first.body).toMatchObject({ version: 1, definition: { output: ANSWER().output } });
  expect(first.body.versions).toEqual([
    { version: 2, created_at: expect.any(String), published_at: expect.any(String) },
    { version: 1, created_at: expect.any(String), published_at: expect.any(String) },
  ]);
  const listed = await call('GET', '');
  expect(listed.body).toMatchObject({ object: 'list', has_more: false, next_cursor: null });
  expect(listed.body.data).toContainEqual(expect.objectContaining({ id, name, status: 'published' }));

  expect((await call('DELETE', `/${id}`)).body).toEqual({ id, deleted: true });
  for (const [method, path] of [
    ['GET', `/${id}`],
    ['DELETE', `/${id}`],
    ['GET', `/${id}/runs`],
  ] as const) {
    expect((await call(method, path)).status).toBe(404);
  }
});

test('a faulty definition is refused with 400 and a line for each fault, at creation and for a new version', async () => {
  const definition = { blocks: [FIND, { ...SEND(), with: { template_args: { text: '{{blocks.fnd.output}}' } } }] };
  const faults = [
    'blocks[0].with.query: unknown input "question"',
    'blocks[1].with.template_args.text: unknown block "fnd"; did you mean "find"?',
    'blocks[1].with.channel_config_id: is required by send_notification',
    'blocks[1].with.phone: is required by send_notification',
    'blocks[1].with.template_code: is required by send_notification',
  ];
  const refused = await call('POST', '', { name: newName(), definition });
  expect(refused).toMatchObject({ status: 400, body: { detail: faults.join('\n') } });
  const id = await publish(ANSWER());
  expect((await call('PUT', `/${id}`, { definition })).body.detail).toBe(faults.join('\n'));
  const large = { blocks: Array.from({ length: 1000 }, () => FIND) };
  expect((await call('POST', '', { name: newName(), definition: large })).body.detail).toContain(
    'blocks: must have at most 100 blocks',
  );
  expect((await call('POST', '', { definition: ANSWER() })).body.detail).toBe('name: is required');
  expect((await call('POST', '', { name: 'wfl_x', definition: ANSWER() })).status).toBe(400);
});

test('a name is used once in an organization, and other organizations see nothing of a workflow', async () => {
  const name = newName();
  const id = await publish(ANSWER(), name);
  expect((await call('POST', '', { name, definition: ANSWER() })).status).toBe(409);
  const foreign = await api.key({ scopes: ALL, org: 'other' });
  expect((await call('POST', '', { name, definition: ANSWER() }, foreign)).status).toBe(201);
  for (const ref of [id, `${id}/runs`]) expect((await call('GET', `/${ref}`, undefined, foreign)).status).toBe(404);
  expect((await call('POST', `/${id}/run`, { inputs: INPUTS }, foreign)).status).toBe(404);
  const run = await call('POST', `/${id}/run`, { inputs: INPUTS });
  expect((await call('GET', `/${id}/runs/${run.body.run_id}`, undefined, foreign)).status).toBe(404);
});

test('a live run does what was approved, and shows the rest', async () => {
  const id = await publish(ANSWER());
  const run = (part: Record<string, unknown>, as = key) => call('POST', `/${id}/run`, { inputs: INPUTS, ...part }, as);

  const simulated = await run({ approvals: { send: true } });
  expect(simulated.body).toMatchObject({ mode: 'simulate', status: 'completed' });
  expect(simulated.body.blocks).toMatchObject([
    { id: 'find', type: 'search', status: 'completed', error: null, duration_ms: expect.any(Number) },
    { id: 'send', status: 'simulated', would: { template_args: { text: 'The pump is greased every three months.' } } },
  ]);
  for (const approvals of [undefined, {}, { send: false }, { find: true }]) {
    const waiting = await run({ mode: 'live', approvals });
    expect(waiting.body).toMatchObject({ status: 'needs_approval', output: 'pump.txt' });
    expect(waiting.body.blocks[1]).toMatchObject({ status: 'needs_approval', error: 'approvals.send is not true' });
  }
  const without = await api.key({ scopes: ALL.filter((scope) => scope !== 'workflows:approve') });
  const unapproved = await run({ mode: 'live', approvals: { send: true } }, without);
  expect(unapproved.body.blocks[1]).toMatchObject({
    status: 'needs_approval',
    error: 'approvals need the scope "workflows:approve"',
  });
  expect(messenger.seen).toEqual([]);

  const live = await run({ mode: 'live', approvals: { send: true } });
  expect(live.body).toMatchObject({ status: 'completed', output: 'pump.txt' });
  expect(live.body.blocks[1]).toMatchObject({ status: 'completed', output: { result: { message_id: 'm-1' } } });
  expect(messenger.seen).toMatchObject([
    { body: { template_args: { text: 'The pump is greased every three months.' } } },
  ]);
  const { sql } = api.appliance;
  const [approval] = await sql`SELECT * FROM audit_log WHERE action = 'workflow.approve' AND target = ${id}`;
  expect(approval?.['detail']).toMatchObject({ run_id: live.body.run_id, block_id: 'send' });
});

test('wrong inputs and approvals of blocks that are not there are refused with 400, and nothing runs', async () => {
  const id = await publish(ANSWER());
  const refusals = [
    [{ inputs: {} }, 'inputs.question: is required'],
    [{}, 'inputs.question: is required'],
    [{ inputs: { question: 5 } }, 'inputs.question: must be of type string, not number'],
    [{ inputs: { ...INPUTS, more: 1 } }, 'inputs.more: the workflow has no such input'],
    [{ inputs: INPUTS, mode: 'live', approvals: { sned: true } }, 'approvals.sned: the workflow has no block "sned"'],
    [{ inputs: INPUTS, approvals: { send: 'yes' } }, 'approvals.send: must be true or false'],
    [{ inputs: INPUTS, mode: 'dry_run' }, 'mode: must be one of "simulate", "live"'],
  ] as const;
  for (const [json, detail] of refusals) {
    expect(await call('POST', `/${id}/run`, json)).toMatchObject({ status: 400, body: { detail } });
  }
  expect((await call('GET', `/${id}/runs`)).body.data).toEqual([]);
});

test('blocks have the rights of the caller, no more', async () => {
  const upload = {
    ...{ id: 'up', type: 'upload_document' },
    with: { bucket: 'default', filename: 'note.txt', text: 'note {{inputs.question}}' },
  };
  const edit = {
    ...{ id: 'edit', type: 'update_metadata' },
    with: { bucket: 'default', document_id: documentId, metadata: { seen: 'yes' } },
  };
  const vectors = { id: 'vectors', type: 'embed', with: { texts: '{{inputs.question}}' } };
  const cases = [
    [FIND, 'search', 'find: this needs the scope "search"'],
    [vectors, 'embed', 'vectors: this needs the scope "embed"'],
    [upload, 'documents:write', 'up: this needs the scope "documents:write"'],
    [edit, 'buckets:manage', expect.stringContaining('edit: ')],
    [
      SEND({ with: { ...SEND().with, template_args: {} } }),
      'channels:manage',
      'send: this needs the scope "channels:send"',
    ],
  ] as const;
  for (const [block, scope, error] of cases) {
    const id = await publish({ inputs: { question: { type: 'string' } }, blocks: [block] });
    const as = await api.key({ scopes: ALL.filter((other) => other !== scope) });
    const json = { inputs: INPUTS, mode: 'live', approvals: { [block.id]: true } };
    const run = await call('POST', `/${id}/run`, json, as);
    expect([scope, run.body.status, run.body.error]).toEqual([scope, 'failed', error]);
  }
  expect(messenger.seen).toEqual([]);
  const runner = await api.key({ scopes: ['workflows:run', 'search'] });
  expect((await call('POST', '', { name: newName(), definition: ANSWER() }, runner)).status).toBe(403);
});

test('jobs that a run queues carry the id of the workflow', async () => {
  const upload = {
    ...{ id: 'up', type: 'upload_document' },
    with: { bucket: 'default', filename: 'queued.txt', text: 'A text of its own.' },
  };
  const edit = {
    ...{ id: 'edit', type: 'update_metadata' },
    with: { bucket: 'default', document_id: documentId, metadata: { seen: '{{inputs.question}}' }, reindex: true },
  };
  const id = await publish({ inputs: { question: { type: 'string' } }, blocks: [upload, edit] });
  const json = { inputs: INPUTS, mode: 'live', approvals: { up: true, edit: true } };
  const { body } = await call('POST', `/${id}/run`, json);
  expect(body).toMatchObject({ status: 'completed' });
  const { job_id } = body.blocks[0].output;
  const { reindex_job_id, metadata } = body.blocks[1].output;
  expect(metadata).toMatchObject({ seen: INPUTS.question });
  for (const job of [job_id, reindex_job_id]) {
    expect((await api.call('GET', `/v1/jobs/${job}`, { key })).body).toMatchObject({ workflow_id: id });
  }
  for (const job of [job_id, reindex_job_id]) {
    const isReady = async () => (await api.call('GET', `/v1/jobs/${job}`, { key })).body.status === 'ready';
    await until(isReady, { withinMs: 60_000, what: 'the queued jobs' });
  }
  const again = await api.call('POST', `/v1/jobs/${job_id}/reprocess`, {
    key: await api.key({ scopes: ['jobs:write'] }),
  });
  expect(again.body).toMatchObject({ workflow_id: id });
});

test('the history shows runs with their blocks to their callers, and to administrators of at least their level', async () => {
  const id = await publish(ANSWER());
  const run = await call('POST', `/${id}/run`, { inputs: INPUTS });
  const runId = run.body.run_id;
  const shown = await call('GET', `/${id}/runs/${runId}`);
  expect(shown.body).toMatchObject({
    ...{ run_id: runId, workflow_id: id, version: 1, mode: 'simulate', status: 'completed', error: null },
    ...{ inputs: INPUTS, output: 'pump.txt', started_at: expect.any(String), finished_at: expect.any(String) },
  });
  expect(shown.body.blocks).toMatchObject(run.body.blocks);
  await call('POST', `/${id}/dry-run`, { inputs: INPUTS });
  const list = async (as: string) => (await call('GET', `/${id}/runs`, undefined, as)).body.data;
  const runs = await list(key);
  expect(runs).toMatchObject([{ mode: 'dry_run' }, { run_id: runId }]);
  expect(runs[0]).not.toHaveProperty('blocks');
  expect((await call('GET', `/${id}/runs?limit=1`)).body.data).toHaveLength(1);
  expect((await call('GET', `/${id}/runs?limit=0`)).status).toBe(400);
  expect((await call('GET', `/${id}/runs/run_missing`)).status).toBe(404);

  expect(await list(await api.key({ scopes: ALL }))).toEqual([]);
  expect(await list(await makeUserToken(api.appliance, { role: 'admin', authLevel: 7 }))).toHaveLength(2);
  const low = await makeUserToken(api.appliance, { role: 'admin', authLevel: 2 });
  expect(await list(low)).toEqual([]);
  expect((await call('GET', `/${id}/runs/${runId}`, undefined, low)).status).toBe(404);
});

test('a request with a used Idempotency-Key gets the first run again, whatever became of it', async () => {
  const id = await publish(ANSWER());
  const json = { inputs: INPUTS, mode: 'live', approvals: { send: true } };
  const run = (idempotencyKey: string, body: unknown = json) =>
    call('POST', `/${id}/run`, body, key, { 'Idempotency-Key': idempotencyKey });
  const first = await run('a');
  expect((await run('a')).body).toEqual(first.body);
  expect((await run('a', { ...json, mode: 'simulate' })).status).toBe(422);
  expect(messenger.seen).toHaveLength(1);

  // The key of the server is lost, as after a crash: the history still knows the run.
  const { sql } = api.appliance;
  await sql`DELETE FROM idempotency_keys`;
  expect((await run('a')).body).toMatchObject({ run_id: first.body.run_id, status: 'completed' });
  await sql`DELETE FROM idempotency_keys`;
  expect((await run('a', { ...json, mode: 'simulate' })).status).toBe(422);
  await sql`UPDATE workflow_runs SET status = 'running' WHERE id = ${first.body.run_id}`;
  expect((await run('a')).status).toBe(409);
  expect(messenger.seen).toHaveLength(1);
});

test('results about a document are erased from the history when it is deleted', async () => {
  await fillBucket(api, 'erased', [{ fileName: 'secret.txt', text: 'The osprey nests at the weir.' }]);
  const find = {
    id: 'find',
    type: 'search',
    with: { bucket: 'erased', query: '{{inputs.question}}', mode: 'keyword' },
  };
  const say = { id: 'say', type: 'template', with: { text: 'It says: {{blocks.find.output.results.0.text}}' } };
  const definition = { inputs: { question: { type: 'string' } }, blocks: [find, say], output: '{{blocks.say.output}}' };
  const id = await publish(definition);
  const { body } = await call('POST', `/${id}/run`, { inputs: { question: 'osprey' } });
  expect(body.output).toBe('It says: The osprey nests at the weir.');
  const other = await call('POST', `/${id}/run`, { inputs: { question: 'heron' } });
  const document = body.blocks[0].output.results[0].document_id;
  expect((await api.call('DELETE', `/v1/buckets/erased/documents/${document}`, { key })).status).toBe(200);
  await purgeDeleted(api.appliance.documents.removal, new AbortController().signal);

  const after = await until(
    async () => {
      const { body: shown } = await call('GET', `/${id}/runs/${body.run_id}`);
      return !JSON.stringify(shown).includes('osprey') && shown;
    },
    { withinMs: 60_000, what: 'removal of the document' },
  );
  expect(after).toMatchObject({ status: 'completed', output: { left_out: expect.any(String) } });
  expect(after.blocks).toMatchObject([{ status: 'completed' }, { status: 'completed' }]);
  const kept = await call('GET', `/${id}/runs/${other.body.run_id}`);
  expect(kept.body).toMatchObject({ inputs: { question: 'heron' }, output: 'It says: ' });
});

test('a stored definition that is not valid any more is refused when it is run or published', async () => {
  const id = await publish(ANSWER());
  const { sql } = api.appliance;
  const old = { ...ANSWER(), blocks: [{ ...FIND, after: [], timeout_seconds: 30, type: 'removed' }] };
  await sql`UPDATE workflow_versions SET definition = ${sql.json(old)} WHERE workflow_id = ${id}`;
  const refused = await call('POST', `/${id}/run`, { inputs: INPUTS });
  expect(refused).toMatchObject({ status: 409, body: { detail: expect.stringContaining('"removed"') } });
  expect((await call('POST', `/${id}/publish`)).status).toBe(400);
});

test('large outputs and text that PostgreSQL cannot store do not fail a run; the history leaves them out', async () => {
  const definition = {
    inputs: { text: { type: 'string' } },
    blocks: [{ id: 'say', type: 'template', with: { text: 'It is {{inputs.text}}' } }],
    output: '{{inputs.text}}',
  };
  const id = await publish(definition);
  for (const [text, kept] of [
    ['x'.repeat(100_000), { left_out: '100008 bytes' }],
    ['a\0b\ud83d', 'It is a\ufffdb\ufffd'],
  ] as const) {
    const { body } = await call('POST', `/${id}/run`, { inputs: { text } });
    expect(body).toMatchObject({ status: 'completed', output: text });
    const shown = await call('GET', `/${id}/runs/${body.run_id}`);
    expect(shown.body.blocks[0]).toMatchObject({ status: 'completed', output: kept });
  }
});

test('the types of blocks are listed with the schema of their arguments', async () => {
  const { status, body } = await api.call('GET', '/v1/workflow_blocks', { key });
  expect(status).toBe(200);
  const upload = body.find(({ type }: { type: string }) => type === 'upload_document');
  expect(upload.has_side_effect).toBe(true);
  expect(upload.args_schema.required).toContain('bucket');
  expect(Object.keys(upload.args_schema.properties)).toEqual(expect.arrayContaining(['bucket', 'filename', 'text']));
  const runner = await api.key({ scopes: ['workflows:run'] });
  expect((await api.call('GET', '/v1/workflow_blocks', { key: runner })).status).toBe(403);
});
