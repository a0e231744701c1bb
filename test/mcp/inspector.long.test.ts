import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { HttpToolService } from '../../src/mcp/http/http-service.ts';
import { openTestApi, type TestApi } from '../support/api.ts';
import { ingestAll } from '../support/ingest-all.ts';
import { inspector } from './conformance-scenarios.ts';
import { openToolServer, SERVICE_MCP, TOKEN } from './support.ts';

let test: TestApi;
let server: HttpToolService;
let env: Record<string, string>;

beforeAll(async () => {
  test = await openTestApi();
  const key = await test.key({ scopes: ['search', 'documents:write'], authLevel: 5 });
  env = { SERVICE_API_BASE_URL: test.api.url, SERVICE_API_KEY: key, SERVICE_LOG_LEVEL: 'silent' };
  await ingestAll(test.appliance, test.operator, 'default', [
    { id: 'ferry', fileName: 'ferry.txt', text: 'The ferry leaves the harbour at seven.' },
  ]);
  server = await openToolServer(env);
});
afterAll(async () => {
  await server.stop();
  await test.close();
});

const WAYS = ['stdio', 'http'].flatMap((way) => ['legacy', 'modern'].map((era) => [way, era] as const));

/** Make one call with the inspector, and return the result that it prints. */
async function ask(way: string, era: string, args: readonly string[]) {
  const variables = Object.entries(env).flatMap(([name, value]) => ['-e', `${name}=${value}`]);
  const target =
    way === 'stdio'
      ? [process.execPath, SERVICE_MCP, ...variables]
      : ['--transport', 'http', '--server-url', server.url, '--header', `Authorization: Bearer ${TOKEN}`];
  const { stdout, stderr } = await inspector([...target, '--protocol-era', era, ...args]);
  try {
    return JSON.parse(stdout);
  } catch {
    throw new Error(`the inspector printed no result: ${stdout}${stderr}`);
  }
}

describe.each(WAYS)('the official inspector over %s in the %s era', (way, era) => {
  it('lists the tools without an error in their schemas', async () => {
    const { tools } = await ask(way, era, ['--method', 'tools/list']);
    expect(tools.map(({ name }: { name: string }) => name)).toContain('service_search');
  });

  it.each([
    ['search', { query: 'ferry' }],
    ['service_search', { query: 'ferry', top_k: 1 }],
    ['service_list_buckets', {}],
    ['service_list_collections', { bucket: 'default' }],
    ['service_upload_document', { filename: 'note.txt', text: 'A note on ferries.' }],
  ])('calls %s', async (name, args) => {
    const call = ['--method', 'tools/call', '--tool-name', name, '--tool-args-json', JSON.stringify(args)];
    const result = await ask(way, era, call);
    expect([name, result.isError ?? false]).toEqual([name, false]);
    expect(result.structuredContent).toBeTypeOf('object');
  });

  it('calls fetch, which knows the results of earlier calls only where a session outlives them', async () => {
    const call = (name: string, args: object) =>
      ask(way, era, ['--method', 'tools/call', '--tool-name', name, '--tool-args-json', JSON.stringify(args)]);
    const { results } = (await call('search', { query: 'ferry' })).structuredContent;
    const fetched = await call('fetch', { id: results[0].id });
    if (way === 'http' && era === 'modern') expect(fetched.structuredContent).toMatchObject({ id: results[0].id });
    else expect(fetched).toMatchObject({ isError: true });
  });
});
