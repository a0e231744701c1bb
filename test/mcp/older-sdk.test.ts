import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { expect, it, onTestFinished } from 'vitest';
import { startFakeApi } from './fake-api.ts';
import { startToolServer, TOKEN } from './support.ts';

it('clients on the SDK before the split packages list and call tools in a session', async () => {
  const api = await startFakeApi();
  const server = await startToolServer({ SERVICE_API_BASE_URL: api.url, SERVICE_API_KEY: 'svc_x' });
  const client = new Client({ name: 'older', version: '1' });
  const transport = new StreamableHTTPClientTransport(new URL(server.url), {
    requestInit: { headers: { Authorization: `Bearer ${TOKEN}` } },
  });
  // biome-ignore lint/suspicious/noExplicitAny: the transport of that SDK does not fit exactOptionalPropertyTypes
  await client.connect(transport as any);
  onTestFinished(() => client.close());
  expect((await client.listTools()).tools.length).toBeGreaterThan(5);
  const found = await client.callTool({ name: 'search', arguments: { query: 'ferry' } });
  const [content] = found.content as { text: string }[];
  const { results } = JSON.parse(content?.text ?? '');
  const fetched = await client.callTool({ name: 'fetch', arguments: { id: results[0].id } });
  expect(fetched.structuredContent).toMatchObject({ id: 'doc_1_1_0', text: 'The ferry leaves at seven.' });
  await transport.terminateSession();
  expect(server.held).toMatchObject({ sessions: 0, results: 0 });
});
