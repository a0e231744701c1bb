import { openTestApi, type TestApi } from './api.ts';
import { type FakeChat, startFakeChat } from './fake-chat.ts';
import { ingestAll } from './ingest-all.ts';

/** Credential for the chat model. It must never appear in any output. */
export const CHAT_KEY = 'canary-chat-4f10';

export const MANUAL = [
  { id: 'bearings', fileName: 'bearings.md', text: '# Bearings\n\nGrease the bearings every week. Use oil in winter.' },
  {
    id: 'filter',
    fileName: 'filter.md',
    text: '# Filter\n\nReplace the water filter after six months [7]. Keep it dry.',
  },
  { id: 'pump', fileName: 'pump.md', text: '# Pump\n\nThe pump needs 230 volts and makes 40 decibels.' },
];

/** Installation that answers questions about the bucket `manuals` through a quoting chat server. */
export interface AnsweringApi {
  readonly test: TestApi;
  readonly chat: FakeChat;
  /** Key that searches and manages buckets and documents. */
  readonly key: string;
  /** Clear the chat server's calls, and let it quote again. */
  reset(): void;
  close(): Promise<void>;
}

export async function openAnsweringApi(): Promise<AnsweringApi> {
  const chat = await startFakeChat('openai');
  const usual = { ...chat };
  const test = await openTestApi({
    settings: {
      base_url: 'https://docs.example.com',
      answers: {
        ...{ protocol: 'openai', base_url: chat.url, api_key: CHAT_KEY, model: 'chat-1' },
        ...{ keep_days: 1, timeout_seconds: 5, price_per_million_input: 2, price_per_million_output: 10 },
      },
    },
  });
  const key = await test.key({ scopes: ['search', 'buckets:manage', 'documents:write'] });
  await test.call('POST', '/v1/buckets', { key, json: { name: 'manuals' } });
  await ingestAll(test.appliance, test.operator, 'manuals', MANUAL);
  return {
    test,
    chat,
    key,
    reset() {
      const { calls } = chat;
      Object.assign(chat, usual);
      calls.length = 0;
    },
    async close() {
      await test.close();
      await chat.close();
    },
  };
}
