import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openTestApi, type TestApi } from '../support/api.ts';
import { addSource, makeFolder } from '../support/memory.ts';
import { until } from '../support/until.ts';
import { connectHttp, startToolServer, textOf } from './support.ts';

let test: TestApi;
let env: Record<string, string>;
const root = makeFolder();

beforeAll(async () => {
  test = await openTestApi({ settings: { sources: { docs: { type: 'folder', root: root.folder } } } });
  const key = await test.key({ scopes: ['search', 'sources:manage', 'buckets:manage'] });
  env = { SERVICE_API_BASE_URL: test.api.url, SERVICE_API_KEY: key };
  writeFileSync(path.join(root.folder, 'ferry.txt'), 'The ferry leaves the harbour at seven.');
  await test.call('POST', '/v1/buckets', { key, json: { name: 'timetables' } });
  const request = { name: 'timetables', connection: 'docs', bucket: 'timetables', tags: ['kind:boat'], user_id: null };
  const { id } = await addSource(test, request);
  await test.call('POST', `/v1/memory/sources/${id}/sync`, { key });
  await until(
    async () => {
      const { body } = await test.call('GET', `/v1/memory/sources/${id}`, { key });
      return body.sync_state === 'idle' && body.indexed_document_count === 1;
    },
    { withinMs: 120_000, what: 'the end of the synchronisation' },
  );
});
afterAll(async () => {
  await test.close();
  root.remove();
});

it('the tool server offers the tools of memory, since the API has their routes', async () => {
  const client = await connectHttp((await startToolServer(env)).url, '2026-07-28');
  const names = (await client.listTools()).tools.map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining(['service_memory_search', 'service_list_memory_sources']));
});

it('service_memory_search finds documents of sources, with every filter, and the address of their page', async () => {
  const client = await connectHttp((await startToolServer(env)).url, '2026-07-28');
  const call = (args: Record<string, unknown>) =>
    client.callTool({ name: 'service_memory_search', arguments: { query: 'ferry harbour', ...args } });
  for (const args of [
    {},
    { bucket: 'timetables', sources: ['folder'], tags: ['kind:boat'], top_k: 5 },
    { temporal: 'latest' },
    { temporal: 'between', temporal_start: 0, temporal_end: 4_102_444_800 },
  ]) {
    const result = await call(args);
    expect([args, result.isError ?? false]).toEqual([args, false]);
    expect(result.structuredContent).toMatchObject({
      results: [
        {
          text: expect.stringContaining('ferry'),
          citation: { file_name: 'ferry.txt', source_path: 'ferry.txt', url: expect.stringMatching(/^http/) },
          source: { type: 'folder', name: 'timetables' },
        },
      ],
    });
  }
  const refused = await call({ temporal: 'before' });
  expect([refused.isError, textOf(refused)]).toEqual([true, expect.stringContaining('temporal_start')]);
});

it('service_memory_search shows short ids and places, and leaves out what the session has seen', async () => {
  const client = await connectHttp((await startToolServer(env)).url, '2026-07-28');
  const call = (args: Record<string, unknown>) =>
    client.callTool({ name: 'service_memory_search', arguments: { query: 'ferry harbour', ...args } });
  const first = await call({});
  expect(textOf(first)).toMatch(/^\[r1\] ferry\.txt \| passage 1 of 1 \|/m);
  expect(first.content).toMatchObject([{ type: 'text' }, { type: 'resource_link', name: 'ferry.txt' }]);
  const around = await client.callTool({ name: 'service_read_document', arguments: { id: 'r1' } });
  expect(textOf(around)).toContain('The ferry leaves the harbour at seven.');
  expect(textOf(await call({ exclude_seen: true }))).toBe(
    'Nothing new was found.\n\nNote: passages left out because you have seen them: 1',
  );
});

it('service_list_memory_sources lists sources with state and count, also with SERVICE_USER_ID', async () => {
  for (const SERVICE_USER_ID of [undefined, 'usr_nobody']) {
    const own = SERVICE_USER_ID === undefined ? env : { ...env, SERVICE_USER_ID };
    const client = await connectHttp((await startToolServer(own)).url, '2026-07-28');
    const result = await client.callTool({ name: 'service_list_memory_sources', arguments: {} });
    expect(textOf(result)).toBe('timetables (folder): idle, 1 documents');
  }
});
