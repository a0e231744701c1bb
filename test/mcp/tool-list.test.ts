import { countTokens as countO200k } from 'gpt-tokenizer/encoding/o200k_base';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { loadTokenizer } from '../../src/models/tokenizers.ts';
import { openTestApi, type TestApi } from '../support/api.ts';
import { connectHttp, post, REVISIONS, startToolServer } from './support.ts';

/** Tokens of the list of tools, which each client loads into the context of its model. */
const LIST_TOKENS_MAX = 2_500;

let test: TestApi;
let env: Record<string, string>;

beforeAll(async () => {
  test = await openTestApi({ worker: false });
  env = { SERVICE_API_BASE_URL: test.api.url, SERVICE_API_KEY: await test.key({ scopes: ['search'] }) };
});
afterAll(() => test.close());

it.each(REVISIONS)(
  'the list of all tools has at most 2,500 tokens of two vocabularies in revision %s',
  async (revision) => {
    const count = await loadTokenizer({ kind: 'cl100k' });
    const list = await (await connectHttp((await startToolServer(env)).url, revision)).listTools();
    expect(list.tools).toHaveLength(14);
    const json = JSON.stringify(list);
    expect(Math.max(count(json, 1e6), countO200k(json))).toBeLessThanOrEqual(LIST_TOKENS_MAX);
  },
);

it('the list of tools has the same bytes in each session and after a restart', async () => {
  const envelope = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const message = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: { _meta: envelope } };
  const headers = { 'Mcp-Protocol-Version': '2026-07-28', 'Mcp-Method': 'tools/list', Accept: 'application/json' };
  const lists: string[] = [];
  for (let n = 0; n < 2; n++) {
    const { url } = await startToolServer(env);
    for (let m = 0; m < 2; m++) lists.push(await (await post(url, message, { headers })).text());
  }
  expect(new Set(lists).size).toBe(1);
  expect(lists[0]).toContain('service_read_document');
});

it.each(REVISIONS)('every tool has an output schema and its annotations in revision %s', async (revision) => {
  const { tools } = await (await connectHttp((await startToolServer(env)).url, revision)).listTools();
  for (const { name, outputSchema, inputSchema, annotations, title } of tools) {
    expect([name, outputSchema?.type, inputSchema.type]).toEqual([name, 'object', 'object']);
    expect([name, outputSchema?.properties]).not.toEqual([name, {}]);
    expect([name, typeof title, typeof annotations?.readOnlyHint]).toEqual([name, 'string', 'boolean']);
  }
});
