import { randomUUID } from 'node:crypto';
import { Client, type ClientCapabilities, type ElicitResult } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { openTestApi, type TestApi } from '../support/api.ts';
import { connect as connectBySignIn, TOOL_SERVER } from '../support/oauth.ts';
import { httpTransport, REVISIONS, type Revision, startToolServer, TOKEN, textOf } from './support.ts';

const SCOPES = ['search', 'workflows:manage', 'workflows:run', 'workflows:approve', 'documents:write'] as const;

let test: TestApi;
let key: string;
let workflow: string;

beforeAll(async () => {
  test = await openTestApi({ worker: false, settings: { tool_server: { urls: [TOOL_SERVER] } } });
  key = await test.key({ scopes: [...SCOPES] });
  const store = {
    ...{ id: 'store', type: 'upload_document' },
    with: { bucket: 'default', filename: 'note.txt', text: 'A note on {{inputs.topic}}.' },
  };
  const definition = { inputs: { topic: { type: 'string' } }, blocks: [store] };
  workflow = (await test.call('POST', '/v1/workflows', { key, json: { name: 'Note', definition } })).body.id;
  await test.call('POST', `/v1/workflows/${workflow}/publish`, { key });
});
afterAll(() => test.close());

interface Asked {
  readonly message: string;
  readonly mode?: string | undefined;
  readonly url?: string;
}

/** Connect a client whose person answers questions. */
async function connect(
  url: string,
  revision: Revision,
  bearer: string,
  elicitation: ClientCapabilities['elicitation'] | null,
  answer: (asked: Asked) => Promise<ElicitResult> | ElicitResult = () => ({ action: 'cancel' }),
) {
  const mode = revision === '2026-07-28' ? { pin: revision } : 'legacy';
  const client = new Client(
    { name: 'test', version: '1' },
    {
      versionNegotiation: { mode },
      capabilities: elicitation === null || elicitation === undefined ? {} : { elicitation },
    },
  );
  const asked: Asked[] = [];
  if (elicitation !== null) {
    client.setRequestHandler('elicitation/create', async ({ params }) => {
      asked.push(params as Asked);
      return answer(params as Asked);
    });
  }
  await client.connect(httpTransport(url, bearer));
  onTestFinished(() => client.close());
  // The same document again would only be linked.
  const topic = `pumps ${randomUUID()}`;
  const run = () =>
    client.callTool({
      name: 'service_workflow_run',
      arguments: { workflow_id: workflow, inputs: { topic }, mode: 'live' },
    });
  return { client, asked, run };
}

const documents = async () =>
  (await test.call('GET', '/v1/buckets/default/documents', { key })).body.data.length as number;

describe.each(REVISIONS)('a run that waits, in revision %s', (revision) => {
  const fixed = () => startToolServer({ SERVICE_API_BASE_URL: test.api.url, SERVICE_API_KEY: key });

  it('is shown with its exact arguments and the page where a person decides', async () => {
    const { run, client } = await connect((await fixed()).url, revision, TOKEN, null);
    const reply = await run();
    const { run_id: id, approval_url: url } = reply.structuredContent as Record<string, string>;
    expect(url).toBe(`${test.api.url}/console/workflows/${workflow}/runs/${id}`);
    expect(textOf(reply)).toContain('Block store would run upload_document with {');
    expect(textOf(reply)).toContain('A note on pumps');
    expect(textOf(reply)).toContain(`at ${url}`);
    const status = await client.callTool({
      name: 'service_workflow_status',
      arguments: { workflow_id: workflow, run_id: id },
    });
    expect(textOf(status)).toContain('Only a person can approve');
  });

  it('is asked about in a form where the client can, and goes on with the answer', async () => {
    const before = await documents();
    const accept = () => ({ action: 'accept' as const, content: { store: true } });
    const { run, asked } = await connect((await fixed()).url, revision, TOKEN, { form: {} }, accept);
    const reply = await run();
    expect(asked).toMatchObject([{ message: expect.stringContaining('A note on pumps') }]);
    expect(reply.structuredContent).toMatchObject({ status: 'completed' });
    expect(await documents()).toBe(before + 1);
    const declined = await connect((await fixed()).url, revision, TOKEN, { form: {} }, () => ({ action: 'decline' }));
    expect((await declined.run()).structuredContent).toMatchObject({ status: 'needs_approval' });
    const no = { action: 'accept' as const, content: { store: false } };
    const refused = await connect((await fixed()).url, revision, TOKEN, { form: {} }, () => no);
    expect((await refused.run()).structuredContent).toMatchObject({ blocks: [{ status: 'skipped' }] });
    expect(await documents()).toBe(before + 1);
  });

  it('of a client whose person signed in is decided on the page alone, whatever the client says', async () => {
    const scopes = ['search', 'workflows:run'];
    const { access, session } = await connectBySignIn(test, key, { approve: true, scopes });
    const env = { SERVICE_API_BASE_URL: test.api.url, SERVICE_MCP_AUTH_MODE: 'oauth', SERVICE_MCP_URL: TOOL_SERVER };
    const { url } = await startToolServer(env);
    const before = await documents();
    // The word of the model, and the answer of a form.
    const lies = { action: 'accept' as const, content: { store: true } };
    const liar = await connect(url, revision, access, { form: {} }, () => lies);
    const claimed = await liar.client.callTool({
      name: 'service_workflow_run',
      arguments: { workflow_id: workflow, inputs: { topic: 'x' }, mode: 'live', approvals: { store: true } },
    });
    expect([liar.asked, claimed.structuredContent]).toMatchObject([[], { status: 'needs_approval' }]);
    const { run_id: id } = claimed.structuredContent as { run_id: string };
    const path = `/v1/workflows/${workflow}/runs/${id}/approve`;
    const direct = await test.call('POST', path, { key: access, json: { approvals: { store: true } } });
    expect(direct.status).toBe(403);
    expect(await documents()).toBe(before);

    // The person opens the page, and approves there.
    const honest = await connect(url, revision, access, { url: {} }, async (question) => {
      const [run = ''] = /run_\w+$/.exec(question.url ?? '') ?? [];
      const json = { approvals: { store: true } };
      const to = `/v1/workflows/${workflow}/runs/${run}/approve`;
      expect((await test.call('POST', to, { headers: session.headers, json })).status).toBe(200);
      return { action: 'accept' };
    });
    const reply = await honest.run();
    expect(honest.asked).toMatchObject([{ mode: 'url', url: expect.stringContaining('/console/workflows/') }]);
    expect(textOf(reply)).toMatch(/key:\w+ decided; the run that goes on is completed/);
    expect(await documents()).toBe(before + 1);
  });
});
