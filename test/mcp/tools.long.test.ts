import type { Client } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { HttpToolService } from '../../src/mcp/http/http-service.ts';
import { openTestApi, type TestApi } from '../support/api.ts';
import { ingestAll } from '../support/ingest-all.ts';
import { until } from '../support/until.ts';
import {
  connectHttp,
  httpTransport,
  openClient,
  openToolServer,
  REVISIONS,
  type Revision,
  startToolServer,
  stdioTransport,
  textOf,
} from './support.ts';

let test: TestApi;
let env: Record<string, string>;

beforeAll(async () => {
  test = await openTestApi();
  const key = await test.key({ scopes: ['search', 'documents:write', 'buckets:manage'], authLevel: 5 });
  env = { SERVICE_API_BASE_URL: test.api.url, SERVICE_API_KEY: key, SERVICE_DEFAULT_BUCKET: 'default' };
  await ingestAll(test.appliance, test.operator, 'default', [
    {
      id: 'ferry',
      fileName: 'ferry.md',
      text: '# Boats\n\nThe ferry leaves the harbour at seven.',
      metadata: { team: 'a' },
    },
    { id: 'train', fileName: 'train.txt', text: 'The train leaves the station at eight.', metadata: { team: 'b' } },
  ]);
  await test.call('POST', '/v1/buckets/default/collections', { key, json: { name: 'notes' } });
});
afterAll(() => test.close());

const WAYS: readonly (readonly [string, Revision])[] = ['HTTP', 'stdio'].flatMap((way) =>
  REVISIONS.map((revision) => [way, revision] as const),
);

describe.each(WAYS)('the official client over %s in revision %s', (way, revision) => {
  let client: Client;
  let server: HttpToolService | null = null;

  beforeAll(async () => {
    server = way === 'HTTP' ? await openToolServer(env) : null;
    client = await openClient(server === null ? stdioTransport(env) : httpTransport(server.url), revision);
  });
  afterAll(async () => {
    await client.close();
    await server?.stop();
  });

  it('lists the tools that the API has routes for, with schemas, titles and annotations', async () => {
    const { tools } = await client.listTools();
    const names = tools.map(({ name }) => name);
    expect(names).toEqual(
      expect.arrayContaining([
        'search',
        'fetch',
        'service_search',
        'service_upload_document',
        'service_list_buckets',
        'service_list_collections',
      ]),
    );
    for (const tool of tools) {
      expect([tool.name, tool.title, tool.description]).toEqual([tool.name, expect.any(String), expect.any(String)]);
      expect(tool.inputSchema).toMatchObject({ type: 'object' });
      expect(tool.outputSchema).toMatchObject({ type: 'object' });
      const changes = ['service_upload_document', 'service_workflow_run'].includes(tool.name);
      expect([tool.name, tool.annotations?.readOnlyHint]).toEqual([tool.name, !changes]);
    }
    const schemaOf = (name: string) => tools.find((tool) => tool.name === name)?.inputSchema;
    expect(Object.keys(schemaOf('search')?.properties ?? {})).toEqual(['query']);
    expect(Object.keys(schemaOf('fetch')?.properties ?? {})).toEqual(['id']);
    expect(schemaOf('service_search')).toMatchObject({
      required: ['query'],
      properties: { top_k: { type: 'integer', default: 10 }, collection: { deprecated: true } },
    });
  });

  it('searches a bucket', async () => {
    const result = await client.callTool({
      name: 'service_search',
      arguments: { query: 'ferry harbour', top_k: 1, filter: { team: 'a' }, task: 'question_answering' },
    });
    expect(result.isError).toBeFalsy();
    expect(result.structuredContent).toMatchObject({
      results: [{ text: expect.stringContaining('ferry'), citation: { file_name: 'ferry.md' } }],
    });
    expect(textOf(result)).toMatch(
      /^BEGIN UNTRUSTED \w+\n\[r1\] ferry\.md \| Boats \| passage 1 of 1 \| relevance \d\.\d\d \((?:high|medium)\) \| http/,
    );
  });

  it('search and fetch answer exactly as ChatGPT reads them', async () => {
    const found = await client.callTool({ name: 'search', arguments: { query: 'ferry harbour' } });
    expect(found.content).toHaveLength(1);
    const { results } = JSON.parse(textOf(found));
    expect(Object.keys(results[0]).sort()).toEqual(['id', 'title', 'url']);
    expect(found.structuredContent).toEqual({ results });
    const fetched = await client.callTool({ name: 'fetch', arguments: { id: results[0].id } });
    expect(fetched.content).toHaveLength(1);
    const document = JSON.parse(textOf(fetched));
    expect(Object.keys(document).sort()).toEqual(['id', 'metadata', 'text', 'title', 'url']);
    expect(document).toMatchObject({ id: results[0].id, title: results[0].title, url: results[0].url });
    expect(document.text).toContain('The ferry leaves the harbour at seven.');
    expect(document.metadata).toMatchObject({ team: 'a', file_name: 'ferry.md', heading_path: 'Boats' });
    expect(Object.values(document.metadata).every((value) => typeof value === 'string')).toBe(true);
    expect((await fetch(results[0].url)).status).toBe(200);
  });

  it('fetch refuses an id that no search of the session has listed', async () => {
    const result = await client.callTool({ name: 'fetch', arguments: { id: 'doc_x_1_0' } });
    expect(result.isError).toBe(true);
    expect(textOf(result)).toContain('call the tool search first');
  });

  it('uploads a document as text and as base64, and tells its progress', async () => {
    const name = `${way}-${revision}`;
    const progress: { progress: number; total?: number | undefined }[] = [];
    const text = `The lighthouse ${name} stands on the cliff. `.repeat(60_000);
    const uploaded = await client.callTool(
      { name: 'service_upload_document', arguments: { filename: `${name}.txt`, text, metadata: { way } } },
      { onprogress: (step) => progress.push(step) },
    );
    expect(textOf(uploaded)).toContain('is stored in the bucket "default"');
    const steps = progress.map((step) => step.progress);
    expect(steps.length).toBeGreaterThan(1);
    expect(steps).toEqual([...steps].sort((one, other) => one - other));
    expect(progress.every(({ progress: done, total = 0 }) => done <= total)).toBe(true);
    const again = await client.callTool({
      name: 'service_upload_document',
      arguments: {
        filename: `${name}.txt`,
        content_base64: Buffer.from(text).toString('base64'),
        content_type: 'text/plain',
      },
    });
    const { id } = uploaded.structuredContent as { id: string };
    expect(again.structuredContent).toMatchObject({ duplicate_of: id });
    const { sql } = test.appliance;
    const [row] = await sql`SELECT metadata FROM documents WHERE id = ${id}`;
    expect(row?.['metadata']).toEqual({ way });
  });

  it('lists buckets and collections', async () => {
    const buckets = await client.callTool({ name: 'service_list_buckets' });
    expect(buckets.structuredContent).toMatchObject({ buckets: [{ name: 'default' }] });
    const collections = await client.callTool({ name: 'service_list_collections', arguments: { bucket: 'default' } });
    expect(collections.structuredContent).toMatchObject({ collections: [{ name: 'notes' }] });
  });
});

describe('bad arguments', () => {
  const cases: [string, Record<string, unknown>, RegExp][] = [
    ['service_search', { query: 'x', top_k: 'ten' }, /top_k/],
    ['service_search', { query: 5 }, /query/],
    ['service_search', {}, /query/],
    ['service_search', { query: 'x', bucket: 'a', collection: 'b' }, /"collection" is the old name of "bucket"/],
    ['service_search', { query: 'x', bucket: 'missing' }, /bucket not found: missing.*service_list_buckets/],
    ['service_search', { query: 'x', task: 'guess' }, /task/],
    ['service_search', { query: 'x', filter: [] }, /filter/],
    ['service_list_collections', {}, /bucket/],
    ['service_upload_document', { filename: 'a.txt' }, /content is missing/],
    ['service_upload_document', { filename: 'a.txt', text: 'a', content_base64: 'YQ==' }, /text and content_base64/],
    ['service_upload_document', { filename: 'a.txt', text: 'a', content: 'b' }, /text and content/],
    ['service_upload_document', { filename: 'a.txt', content_base64: '!!!' }, /content_base64: is not standard base64/],
    ['service_upload_document', { filename: '../a.txt', text: 'a' }, /filename|name without a path/],
    ['service_upload_document', { filename: 'a.txt', text: 'a', chunk_size: 8 }, /chunk_size/],
    ['service_upload_document', { filename: 'a.txt', text: 'a', metadata: { doc_id: 'x' } }, /doc_id/],
  ];

  it.each(cases)('%s with %j is a tool error that names the field', async (name, args, wanted) => {
    const client = await connectHttp((await startToolServer(env)).url, '2026-07-28');
    const result = await client.callTool({ name, arguments: args });
    expect(result.isError).toBe(true);
    expect(textOf(result)).toMatch(wanted);
    expect(textOf(result)).not.toMatch(/at .*\.ts|Error:|node_modules/);
  });

  it('takes "collection" for the bucket where it is alone or the same', async () => {
    const client = await connectHttp((await startToolServer(env)).url, '2025-11-25');
    for (const args of [{ collection: 'default' }, { collection: 'default', bucket: 'default' }]) {
      const result = await client.callTool({ name: 'service_search', arguments: { query: 'ferry', ...args } });
      expect(result.isError).toBeFalsy();
    }
  });

  it.each(REVISIONS)('refuses an unknown tool in revision %s', async (revision) => {
    const client = await connectHttp((await startToolServer(env)).url, revision);
    await expect(client.callTool({ name: 'service_guess', arguments: {} })).rejects.toThrow(/service_guess/);
  });
});

describe('errors of the API', () => {
  it('keep their meaning for a key without the scope, over the quota, and over the rate', async () => {
    const { sql } = test.appliance;
    const key = await test.key({ scopes: ['embed'] });
    const client = await connectHttp((await startToolServer({ ...env, SERVICE_API_KEY: key })).url, '2026-07-28');
    const search = () => client.callTool({ name: 'service_search', arguments: { query: 'x' } });
    const forbidden = await search();
    expect(textOf(forbidden)).toMatch(/needs the scope "search".*not allowed.*\(status 403\)/);
    await sql`UPDATE api_keys SET revoked_at = now() WHERE id = ${key.split('_')[1] as string}`;
    const revoked = await until(async () => {
      const result = await search();
      return textOf(result).includes('status 401') && result;
    });
    expect(textOf(revoked)).toContain('ask the person to renew it');
  });

  it('say that the API cannot be reached', async () => {
    const down = { ...env, SERVICE_API_BASE_URL: 'http://127.0.0.1:9' };
    const client = await connectHttp((await startToolServer(down)).url, '2026-07-28');
    // Nobody knows what the API has: every tool is offered.
    expect((await client.listTools()).tools).toHaveLength(14);
    for (const [name, args] of [
      ['service_search', { query: 'x' }],
      ['search', { query: 'x' }],
      ['service_list_buckets', {}],
      ['service_upload_document', { filename: 'a.txt', text: 'x' }],
      ['service_memory_search', { query: 'x' }],
      ['service_workflow_run', { workflow_id: 'x' }],
    ] as const) {
      const result = await client.callTool({ name, arguments: args });
      expect([name, result.isError]).toEqual([name, true]);
      expect(textOf(result)).toContain('the API at http://127.0.0.1:9 cannot be reached');
    }
  });
});
