import { describe, expect, it } from 'vitest';
import { until } from '../support/until.ts';
import { FURTHER_ROUTES, RESULT, startFakeApi } from './fake-api.ts';
import { connectHttp, startToolServer, textOf } from './support.ts';

async function open(env: Record<string, string> = {}, routes: Record<string, string[]> = FURTHER_ROUTES) {
  const api = await startFakeApi(routes);
  const server = await startToolServer({ SERVICE_API_BASE_URL: api.url, SERVICE_API_KEY: 'svc_test', ...env });
  const client = await connectHttp(server.url, '2026-07-28');
  const call = (name: string, args: Record<string, unknown> = {}) => client.callTool({ name, arguments: args });
  const lastBody = (path: string) => api.calls.findLast((made) => made.path.startsWith(path))?.body;
  return { api, client, call, lastBody };
}

describe('tools over memory and workflows', () => {
  it('are offered where the API has their routes, and not elsewhere', async () => {
    const names = async (routes: Record<string, string[]>) =>
      (await (await open({}, routes)).client.listTools()).tools.map(({ name }) => name);
    expect(await names(FURTHER_ROUTES)).toHaveLength(13);
    expect(await names({})).toEqual([
      'search',
      'fetch',
      'service_search',
      'service_upload_document',
      'service_list_buckets',
      'service_list_collections',
    ]);
    expect(await names({ '/v1/memory/search': ['post'] })).toContain('service_memory_search');
  });

  it('service_memory_search passes its arguments on', async () => {
    const { call, lastBody } = await open();
    const args = { query: 'ferry', sources: ['folder'], tags: ['team:a'], temporal: 'between' };
    const result = await call('service_memory_search', { ...args, temporal_start: 1, temporal_end: 2.5 });
    expect(result.structuredContent).toMatchObject({ results: [{ id: 'r1', document_id: RESULT.document_id }] });
    expect(lastBody('/v1/memory/search')).toEqual({ ...args, top_k: 20, temporal_start: 1, temporal_end: 2.5 });
    await call('service_memory_search', { query: 'x', bucket: 'notes' });
    expect(lastBody('/v1/memory/search')).toEqual({ query: 'x', top_k: 20, bucket: 'notes' });
    const refused = await call('service_memory_search', { query: 'x', tags: ['team'] });
    expect([refused.isError, textOf(refused)]).toEqual([true, expect.stringContaining('"key:value"')]);
  });

  it('SERVICE_MEMORY_BUCKETS keeps memory searches to its buckets', async () => {
    const { call, lastBody } = await open({ SERVICE_MEMORY_BUCKETS: 'one, two' });
    await call('service_memory_search', { query: 'x' });
    expect(lastBody('/v1/memory/search')).toMatchObject({ buckets: ['one', 'two'] });
    await call('service_memory_search', { query: 'x', bucket: 'two' });
    expect(lastBody('/v1/memory/search')).toMatchObject({ bucket: 'two' });
    const refused = await call('service_memory_search', { query: 'x', bucket: 'three' });
    expect([refused.isError, textOf(refused)]).toEqual([true, expect.stringContaining('kept to one, two')]);
  });

  it('sources are listed for the user of the key, or for SERVICE_USER_ID, which shows less and never more', async () => {
    const source = (id: string, user_id: string | null) => ({
      ...{ id, name: id, type: 'folder', sync_state: 'idle', indexed_document_count: 3, user_id },
    });
    const all = [source('shared', null), source('mine', 'usr_1'), source('theirs', 'usr_2')];
    const list = async (env: Record<string, string>) => {
      const { api, call } = await open(env);
      api.answers.set('GET /v1/memory/sources', { body: all });
      const result = await call('service_list_memory_sources');
      const { sources } = result.structuredContent as { sources: { id: string }[] };
      const asked = api.calls.find(({ path }) => path.startsWith('/v1/memory/sources'))?.path;
      return [asked, sources.map(({ id }) => id)];
    };
    expect(await list({})).toEqual(['/v1/memory/sources?user_id=usr_1', ['shared', 'mine']]);
    expect(await list({ SERVICE_USER_ID: 'usr_2' })).toEqual([
      '/v1/memory/sources?user_id=usr_2',
      ['shared', 'theirs'],
    ]);
  });

  it('workflows are listed, tried and run, with simulate as the default', async () => {
    const { api, call, lastBody } = await open();
    const run = { run_id: 'run_1', status: 'simulated', blocks: [{ id: 'find', type: 'search', status: 'done' }] };
    api.answers.set('GET /v1/workflows', { body: [{ id: 'wf_1', name: 'Report', status: 'published' }] });
    api.answers.set('POST /v1/workflows/wf_1/dry-run', { body: run });
    api.answers.set('POST /v1/workflows/wf_1/run', { body: run });
    expect(textOf(await call('service_list_workflows'))).toBe('Report (wf_1): published');
    const tried = await call('service_workflow_dry_run', { workflow_id: 'wf_1' });
    expect([tried.structuredContent, textOf(tried)]).toEqual([run, 'Status: simulated\nBlock find: done']);
    await call('service_workflow_run', { workflow_id: 'wf_1' });
    expect(lastBody('/v1/workflows/wf_1/run')).toEqual({ inputs: {}, mode: 'simulate' });
    await call('service_workflow_run', {
      workflow_id: 'wf_1',
      mode: 'live',
      inputs: { a: 1 },
      approvals: { send: true },
    });
    expect(lastBody('/v1/workflows/wf_1/run')).toEqual({ mode: 'live', inputs: { a: 1 }, approvals: { send: true } });
    const wrong = await call('service_workflow_run', { workflow_id: 'wf_1', approvals: { send: 'yes' } });
    expect([wrong.isError, textOf(wrong)]).toEqual([true, expect.stringContaining('approvals.send')]);
    api.answers.set('POST /v1/workflows/wf_1/run', { body: { status: 'needs_review' } });
    expect(textOf(await call('service_workflow_run', { workflow_id: 'wf_1' }))).toContain('is a draft');
  });
});

describe('answers of the API', () => {
  const cases: [number, Record<string, string>, RegExp][] = [
    [402, {}, /quota of the organization is used up.*\(status 402\)/],
    [403, {}, /not allowed.*\(status 403\)/],
    [404, {}, /service_list_buckets.*\(status 404\)/],
    [429, { 'Retry-After': '7' }, /Wait 7 seconds.*\(status 429\)/],
    [503, { 'Retry-After': '2' }, /Wait 2 seconds.*\(status 503\)/],
    [500, {}, /on the side of the service.*\(status 500\)/],
  ];
  it.each(cases)('status %i keeps its meaning for the model', async (status, headers, wanted) => {
    const { api, call } = await open();
    api.answers.set('POST /v2/buckets/default/search', { status, headers, body: { detail: 'the own message' } });
    const result = await call('service_search', { query: 'x' });
    expect(result.isError).toBe(true);
    expect(textOf(result)).toMatch(/^the own message\. /);
    expect(textOf(result)).toMatch(wanted);
  });

  it('that are not those of this API are told apart, and redirects are not followed', async () => {
    const { api, call } = await open();
    for (const answer of [
      { body: '<html>' },
      { body: { results: 'none' } },
      { status: 302, headers: { Location: 'http://127.0.0.1:9/' } },
    ]) {
      api.answers.set('POST /v2/buckets/default/search', answer);
      const result = await call('service_search', { query: 'x' });
      expect([result.isError, textOf(result)]).toEqual([true, expect.stringContaining('check SERVICE_API_BASE_URL')]);
    }
  });

  it('an upload whose connection breaks is made again under the same Idempotency-Key', async () => {
    const { api, call } = await open();
    let tries = 0;
    const stored = { id: 'doc_1', job_id: 'job_1', bucket_id: 'bkt_1', status: 'queued', warnings: [] };
    api.answers.set('POST /v1/buckets/default/documents', () =>
      tries++ === 0 ? { breaks: true } : { status: 202, body: stored },
    );
    const result = await call('service_upload_document', { filename: 'a "b".txt', text: 'hello' });
    expect(result.structuredContent).toEqual(stored);
    const [first, second] = api.calls.filter(({ path }) => path.endsWith('/documents'));
    expect(first?.headers['idempotency-key']).toBe(second?.headers['idempotency-key']);
    expect(second?.body).toContain('filename="a %22b%22.txt"');
  });

  it('calls beyond the bound are refused in words, and the others are answered', async () => {
    const { api, client } = await open({ SERVICE_MCP_CALLS_MAX: '2' });
    const release = api.holdSearches();
    const refused: string[] = [];
    const calls = Array.from({ length: 14 }, async () => {
      const result = await client.callTool({ name: 'service_search', arguments: { query: 'x' } });
      if (result.isError) refused.push(textOf(result));
    });
    // Two run, eight wait.
    await until(async () => refused.length === 4);
    release();
    await Promise.all(calls);
    expect(refused).toEqual(
      Array(4).fill(expect.stringContaining('are waiting; send fewer at once. Wait a few seconds')),
    );
  });
});
