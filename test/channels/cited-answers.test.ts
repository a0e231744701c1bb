import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { openTestApi, type TestApi } from '../support/api.ts';
import { createConfig, fillBucket, signedDelivery, WEBHOOK } from '../support/channels.ts';
import { type FakeChat, startFakeChat } from '../support/fake-chat.ts';
import type { FakeMessenger } from '../support/fake-messenger.ts';
import { kakaoBody, PLATFORMS, slackBody, startPlatforms, takeReply } from '../support/platforms.ts';
import { until } from '../support/until.ts';

// Replies that a chat model writes, with the sources of its citations: within the deadline, else by the later reply, and
// the passages while the model fails.

const QUESTION = 'how often is the pump greased?';

let chat: FakeChat;
let usual: FakeChat;
let fake: FakeMessenger;
let test: TestApi;
let key: string;
const paths: Record<string, string> = {};

beforeAll(async () => {
  chat = await startFakeChat('openai');
  usual = { ...chat };
  const platforms = await startPlatforms();
  fake = platforms.fake;
  fake.answer = takeReply;
  test = await openTestApi({
    settings: {
      base_url: 'https://docs.example.com',
      answers: { protocol: 'openai', base_url: chat.url, model: 'chat-1', timeout_seconds: 60 },
      channels: { reply_deadline_seconds: 2, ...platforms.settings, kakao: { callback_origins: [fake.origin] } },
    },
  });
  key = await test.key({ scopes: ['channels:manage', 'search'] });
  await fillBucket(test, 'default', [
    { fileName: 'pump.txt', text: 'The pump is greased every three months.' },
    { fileName: 'secret.txt', text: 'The secret pump is greased with honey.', fields: { privacy_level: 5 } },
  ]);
  await createConfig(test, key, { bot_id: 'shop', collection: 'default', score_min: 0 });
  for (const provider of ['kakao', 'slack'] as const) {
    const json = { name: provider, provider, config: { collection: 'default', ...PLATFORMS[provider]?.config } };
    paths[provider] = (await test.call('POST', '/v1/channels/configs', { key, json })).body.webhook_path;
  }
});
afterAll(async () => {
  await test.close();
  await fake.close();
  await chat.close();
});
afterEach(() => {
  Object.assign(chat, usual);
  chat.calls.length = 0;
  fake.seen.length = 0;
});

let asked = 0;
/** Ask over the signed webhook, each time as another delivery. */
async function ask(question = QUESTION): Promise<string> {
  const delivery = signedDelivery({ bot_id: 'shop', user_id: `user-${++asked}`, utterance: question });
  const { body } = await test.call('POST', WEBHOOK, delivery);
  return body.template.outputs.map(({ simpleText }: { simpleText: { text: string } }) => simpleText.text).join('\n\n');
}

async function post(provider: string, json: object) {
  const bytes = JSON.stringify(json);
  const platform = PLATFORMS[provider] as (typeof PLATFORMS)[string];
  const headers = platform.headers(platform.config['secret'] as string, bytes);
  const sent = { headers: { 'Content-Type': 'application/json', ...headers }, body: bytes };
  return (await test.call('POST', paths[provider] as string, sent)).body;
}

/** Let the model write nothing until the returned function is called. */
function holdBack(): () => void {
  const { promise, resolve } = Promise.withResolvers<void>();
  chat.beforePart = () => promise;
  return resolve;
}

it('a reply is the answer of the model with its sources, from documents that the channel may show', async () => {
  expect(await ask()).toBe('The pump is greased every three months. [1]\n\n[1] pump.txt');
  expect(chat.calls).toHaveLength(1);
  expect(JSON.stringify(chat.calls[0]?.messages)).not.toContain('honey');
});

it('the passages are the reply while the model fails, is late, or cites nothing', async () => {
  chat.misbehave = (response) => response.writeHead(401).end();
  expect(await ask()).toMatch(/^1\. \[1\.00\] The pump is greased/);
  chat.misbehave = null;
  chat.answerOf = () => 'I think it is greased sometimes.';
  expect(await ask()).toMatch(/^1\. \[1\.00\] The pump is greased/);
  Object.assign(chat, usual);
  holdBack();
  expect(await ask()).toMatch(/^1\. \[1\.00\] The pump is greased/);
  await until(async () => chat.calls.at(-1)?.isAbandoned() === true, { what: 'the end of the call' });
});

it('a question that nothing answers costs no call of the model', async () => {
  await ask('who won the football world cup in 1998?');
  expect(chat.calls).toEqual([]);
});

it('KakaoTalk shows the answer above a list of its sources', async () => {
  const { template } = await post('kakao', kakaoBody(QUESTION));
  expect(template.outputs[0]).toEqual({ simpleText: { text: 'The pump is greased every three months. [1]' } });
  expect(template.outputs[1].listCard).toMatchObject({
    header: { title: '출처' },
    items: [{ title: '1. pump.txt', link: { web: expect.stringContaining('https://docs.example.com/') } }],
  });
});

it('an answer that takes longer than a response follows at the callback of KakaoTalk', async () => {
  const release = holdBack();
  const waiting = await post('kakao', kakaoBody(QUESTION, `${fake.origin}/callback/late`));
  expect(waiting).toMatchObject({ useCallback: true });
  release();
  await until(async () => fake.seen.length > 0, { withinMs: 20_000, what: 'the callback' });
  expect(JSON.stringify(fake.seen[0]?.body)).toContain('every three months. [1]');
});

it('Slack gets the answer with links to its sources', async () => {
  await post('slack', slackBody(QUESTION, 1));
  await until(async () => fake.seen.length > 0, { withinMs: 20_000, what: 'the message' });
  const [message] = fake.seen;
  expect(Object(message?.body)['text']).toMatch(
    /^The pump is greased every three months\. \[1\]\n\n\[1\] <https:\/\/docs\.example\.com\/[^|]+\|\(?pump\.txt\)?>$/,
  );
});
