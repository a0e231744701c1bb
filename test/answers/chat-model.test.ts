import { afterAll, beforeAll, expect, it } from 'vitest';
import { VendorChatModel } from '../../src/answers/models/vendor-chat-model.ts';
import { loadConfig } from '../../src/platform/config.ts';
import { openLogger } from '../../src/platform/logger.ts';
import { type FakeChat, startFakeChat } from '../support/fake-chat.ts';

let chat: FakeChat;
let model: VendorChatModel;

beforeAll(async () => {
  chat = await startFakeChat('anthropic');
  const answers = { protocol: 'anthropic', base_url: chat.url, model: 'chat-2' };
  const { answers: settings } = loadConfig({ env: {}, overrides: { answers } });
  if (settings === null) throw new TypeError('the settings have a chat model');
  model = new VendorChatModel(settings, openLogger('silent'), { attempted: () => {} });
});
afterAll(async () => {
  await model?.close();
  await chat?.close();
});

it('a conversation begins with the user for Anthropic, also if its history begins with the assistant', async () => {
  const messages = [
    { role: 'system', text: 'Rules.' },
    { role: 'assistant', text: 'How can I help?' },
    { role: 'user', text: 'tell me about bearings' },
    { role: 'assistant', text: 'They turn.' },
    { role: 'user', text: 'Passage 1 (a):\nGrease them weekly.\n\nQuestion: how often?' },
  ] as const;
  let text = '';
  for await (const part of model.ask({ messages, outputTokensMax: 50 }, new AbortController().signal)) {
    if (part.kind === 'text') text += part.text;
  }
  expect(text).toBe('Yes.');
  expect(chat.calls[0]?.system).toBe('Rules.');
  expect(chat.calls[0]?.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user']);
});
