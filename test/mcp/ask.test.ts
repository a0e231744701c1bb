import { afterAll, beforeAll, expect, it } from 'vitest';
import { openTestApi, type TestApi } from '../support/api.ts';
import { type FakeChat, startFakeChat } from '../support/fake-chat.ts';
import { ingestAll } from '../support/ingest-all.ts';
import { connectHttp, startToolServer, textOf } from './support.ts';

let chat: FakeChat;
let test: TestApi;
let plain: TestApi;

beforeAll(async () => {
  chat = await startFakeChat('openai');
  test = await openTestApi({ settings: { answers: { protocol: 'openai', base_url: chat.url, model: 'chat-1' } } });
  plain = await openTestApi({ worker: false });
  await ingestAll(test.appliance, test.operator, 'default', [
    { id: 'pump', fileName: 'pump.md', text: 'The pump needs 230 volts. It makes 40 decibels.' },
  ]);
});
afterAll(async () => {
  await test.close();
  await plain.close();
  await chat.close();
});

async function connect(to: TestApi) {
  const key = await to.key({ scopes: ['search'] });
  const env = { SERVICE_API_BASE_URL: to.api.url, SERVICE_MCP_AUTH_MODE: 'upstream-bearer' };
  return connectHttp((await startToolServer(env)).url, '2025-11-25', key);
}

it('service_ask answers with the passages that it cites, which later calls read', async () => {
  const client = await connect(test);
  const reply = await client.callTool({
    name: 'service_ask',
    arguments: { question: 'how many volts does the pump need?' },
  });
  expect(reply.structuredContent).toMatchObject({
    status: 'answered',
    answer: 'The pump needs 230 volts. [1]',
    sources: [{ id: 'r1', number: 1, citation: { file_name: 'pump.md' } }],
  });
  expect(textOf(reply)).toMatch(/^BEGIN UNTRUSTED \w+\nThe pump needs 230 volts\. \[1\]\n\n\[1\] is \[r1\] pump\.md/);
  const read = await client.callTool({ name: 'service_read_document', arguments: { id: 'r1' } });
  expect(textOf(read)).toContain('40 decibels');
  const both = await client.callTool({
    name: 'service_ask',
    arguments: { question: 'x', bucket: 'a', assistant: 'b' },
  });
  expect([both.isError, textOf(both)]).toEqual([true, expect.stringContaining('give only one of them')]);
});

it('service_ask is offered only where a chat model is set', async () => {
  const names = async (to: TestApi) => (await (await connect(to)).listTools()).tools.map(({ name }) => name);
  expect(await names(test)).toContain('service_ask');
  expect(await names(plain)).not.toContain('service_ask');
});
