import { expect, test } from 'vitest';
import { openTestApi } from '../support/api.ts';
import { connectHttp, startToolServer, textOf } from './support.ts';

test('the tools of workflows are offered and work with the API of an installation', async ({ onTestFinished }) => {
  const api = await openTestApi({ worker: false });
  onTestFinished(() => api.close());
  const key = await api.key({ scopes: ['workflows:manage', 'workflows:run', 'workflows:approve', 'documents:write'] });
  const upload = {
    ...{ id: 'store', type: 'upload_document' },
    with: { bucket: 'default', filename: 'note.txt', text: 'A note on {{inputs.topic}}.' },
  };
  const definition = { inputs: { topic: { type: 'string' } }, blocks: [upload], output: 'on {{inputs.topic}}' };
  const created = await api.call('POST', '/v1/workflows', { key, json: { name: 'Note', definition } });
  const { id } = created.body;

  const server = await startToolServer({ SERVICE_API_BASE_URL: api.api.url, SERVICE_API_KEY: key });
  const client = await connectHttp(server.url, '2026-07-28');
  const call = (name: string, args: Record<string, unknown> = {}) => client.callTool({ name, arguments: args });
  const names = (await client.listTools()).tools.map(({ name }) => name);
  expect(names).toEqual(
    expect.arrayContaining(['service_list_workflows', 'service_workflow_dry_run', 'service_workflow_run']),
  );
  expect(textOf(await call('service_list_workflows'))).toBe(`Note (${id}): draft`);
  const inputs = { topic: 'pumps' };
  const draft = await call('service_workflow_run', {
    workflow_id: id,
    inputs,
    mode: 'live',
    approvals: { store: true },
  });
  expect(draft.structuredContent).toMatchObject({ status: 'needs_review' });
  const tried = await call('service_workflow_dry_run', { workflow_id: id, inputs });
  expect(textOf(tried)).toMatch(
    /^Status: completed\nBlock store: simulated\nBEGIN UNTRUSTED (\w+)\nOutput: "on pumps"\nEND UNTRUSTED \1$/,
  );
  expect(tried.structuredContent).toMatchObject({ blocks: [{ would: { text: 'A note on pumps.' } }] });

  await api.call('POST', `/v1/workflows/${id}/publish`, { key });
  const simulated = await call('service_workflow_run', { workflow_id: id, inputs });
  expect(simulated.structuredContent).toMatchObject({ mode: 'simulate', blocks: [{ status: 'simulated' }] });
  const waiting = await call('service_workflow_run', { workflow_id: id, inputs, mode: 'live' });
  expect(textOf(waiting)).toContain('Error of block store: "approvals.store is not true"');
  const live = await call('service_workflow_run', {
    workflow_id: id,
    inputs,
    mode: 'live',
    approvals: { store: true },
  });
  expect(live.structuredContent).toMatchObject({
    status: 'completed',
    blocks: [{ output: { id: expect.any(String) } }],
  });
  const wrong = await call('service_workflow_run', { workflow_id: id });
  expect([wrong.isError, textOf(wrong)]).toEqual([true, expect.stringContaining('inputs.topic: is required')]);
});
