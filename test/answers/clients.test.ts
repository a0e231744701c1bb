import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type AnsweringApi, openAnsweringApi } from '../support/answers.ts';
import type { TestApi } from '../support/api.ts';
import type { FakeChat } from '../support/fake-chat.ts';

let opened: AnsweringApi;
let chat: FakeChat;
let test: TestApi;
let key: string;

beforeAll(async () => {
  opened = await openAnsweringApi();
  ({ chat, test, key } = opened);
});
afterAll(() => opened.close());
afterEach(() => opened.reset());

const ask = (more: object = {}, as = key) =>
  test.call('POST', '/v1/answers', {
    key: as,
    json: { buckets: ['manuals'], query: 'how often should the bearings be greased?', ...more },
  });

describe('POST /v1/chat/completions', () => {
  const complete = (json: object) =>
    test.call('POST', '/v1/chat/completions', {
      key,
      json: {
        model: 'bucket/manuals',
        messages: [{ role: 'user', content: 'how often are bearings greased?' }],
        ...json,
      },
    });

  it('answers from a bucket as from a model, with the sources as text and as annotations', async () => {
    const { status, body } = await complete({ temperature: 1, max_tokens: 50 });
    expect(status).toBe(200);
    const [choice] = body.choices;
    expect(choice.finish_reason).toBe('stop');
    expect(choice.message.content).toMatch(/\[1\][\s\S]*\n\nSources:\n- \[1\] \[bearings\.md\]\(https:/);
    const { url_citation: cited } = choice.message.annotations[0];
    expect(cited).toMatchObject({ title: 'bearings.md', url: expect.stringContaining('/console/documents/') });
    expect(choice.message.content.slice(cited.start_index, cited.end_index)).toBe('[1]');
    expect(body.usage).toEqual({ prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 });
  });

  it('takes parts of content, instructions of the client, and earlier messages', async () => {
    await complete({
      messages: [
        { role: 'system', content: 'Speak like a pirate.' },
        { role: 'user', content: 'hello' },
        { role: 'assistant', content: 'hi' },
        { role: 'user', content: [{ type: 'text', text: 'how often are bearings greased?' }] },
      ],
    });
    const answering = chat.calls.at(-1);
    expect(answering?.system).toContain('Further instructions:\nSpeak like a pirate.');
    expect(answering?.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user']);
  });

  // Bodies as backend/open_webui/routers/openai.py of Open WebUI passes them on, and as LibreChat's client makes them.
  it.each([
    [
      'a chat of Open WebUI with a picture',
      {
        stream: true,
        messages: [
          { role: 'system', content: 'Be brief.' },
          {
            role: 'user',
            content: [
              { type: 'text', text: 'how often are bearings greased?' },
              { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
            ],
          },
        ],
        stream_options: { include_usage: true },
      },
    ],
    ['a title of Open WebUI', { stream: false, max_completion_tokens: 1000 }],
    [
      'a message of LibreChat',
      {
        stream: true,
        stream_options: { include_usage: true },
        user: '65f0c0ffee',
        ...{ temperature: 1, top_p: 1, presence_penalty: 0, frequency_penalty: 0, stop: [], tools: [] },
      },
    ],
  ])('%s is answered', async (_name, sent) => {
    const { status, body } = await complete(sent);
    expect(status).toBe(200);
    if (!sent.stream) return expect(body.choices[0].message.content).toContain('every week');
    const chunks = (body as string).split('\n\n').filter((line) => line.startsWith('data: {'));
    const parsed = chunks.map((line) => JSON.parse(line.slice('data: '.length)));
    const text = parsed.map(({ choices }) => choices[0]?.delta.content ?? '').join('');
    expect(text).toContain('Grease the bearings every week. [1]');
    expect(parsed.at(-1)).toMatchObject({ choices: [], usage: { total_tokens: 120 } });
    expect(body.trim().endsWith('data: [DONE]')).toBe(true);
  });

  it('refuses other models, tools and conversations without a question', async () => {
    const unknown = await complete({ model: 'gpt-5' });
    expect(unknown.status).toBe(404);
    expect(unknown.body.error).toMatchObject({ code: 'model_not_found', param: 'model' });
    expect((await complete({ model: 'bucket/nothing' })).body.error.code).toBe('model_not_found');
    expect((await complete({ model: 'assistant/nothing' })).body.error.code).toBe('model_not_found');
    expect((await complete({ tools: [{}] })).body.error.message).toContain('tools are not supported');
    expect((await complete({ messages: [{ role: 'system', content: 'x' }] })).status).toBe(400);
  });

  it('answers 502 in the shape of OpenAI while the model is down, also for a stream', async () => {
    chat.misbehave = (response) => response.writeHead(403).end();
    for (const stream of [false, true]) {
      const { status, body } = await complete({ stream });
      expect(status).toBe(502);
      expect(body.error).toMatchObject({ code: 'provider_unavailable', type: 'api_error' });
    }
  });
});

describe('assistants', () => {
  it('answer with their own buckets, conditions and instructions', async () => {
    const definition = { buckets: ['manuals'], prompt: 'Be kind.', language: 'ko', top_k: 1 };
    const made = await test.call('POST', '/v1/assistants', { key, json: { name: 'helper', ...definition } });
    expect(made.status).toBe(201);
    const { body } = await ask({ buckets: undefined, assistant: 'helper' });
    expect(body.passages).toHaveLength(1);
    expect(chat.calls[0]?.system).toMatch(/Answer in Korean\.\n\nFurther instructions:\nBe kind\.$/);
    const other = await test.key({ scopes: ['search'], org: 'other' });
    expect((await ask({ buckets: undefined, assistant: 'helper' }, other)).status).toBe(404);
    const again = await test.call('POST', '/v1/assistants', { key, json: { name: 'helper', ...definition } });
    expect(again.status).toBe(409);
    expect((await test.call('GET', '/v1/assistants', { key })).body.data).toEqual([made.body]);
    expect((await test.call('DELETE', '/v1/assistants/helper', { key })).status).toBe(204);
    expect((await test.call('GET', `/v1/assistants/${made.body.id}`, { key })).status).toBe(404);
  });

  it('need buckets that exist, and no unknown fields', async () => {
    const make = (json: object) => test.call('POST', '/v1/assistants', { key, json });
    expect((await make({ name: 'x', buckets: ['nothing'] })).status).toBe(404);
    expect((await make({ name: 'x', buckets: ['manuals'], promt: 'y' })).status).toBe(400);
    expect((await make({ name: 'X', buckets: ['manuals'] })).status).toBe(400);
  });
});

describe('GET /v1/models', () => {
  it('lists the buckets and assistants that a caller can ask', async () => {
    const idsOf = async (as: string) => {
      const { body } = await test.call('GET', '/v1/models', { key: as });
      return body.data.filter(({ kind }: { kind: string }) => kind === 'answers').map(({ id }: { id: string }) => id);
    };
    expect(await idsOf(key)).toContain('bucket/manuals');
    expect((await test.call('GET', '/v1/models/bucket/manuals', { key })).body.owned_by).toBe('service');
    expect(await idsOf(await test.key({ scopes: ['embed'] }))).toEqual([]);
    expect(await idsOf(await test.key({ scopes: ['search'], org: 'other' }))).toEqual(['bucket/default']);
  });

  it('a key with limits asks only its own buckets, and only by its models', async () => {
    const limited = async (limits: object) => {
      const json = { name: 'limited', scopes: ['search'], limits };
      return (await test.call('POST', '/v1/keys', { key: await test.key({ scopes: ['keys:manage', 'search'] }), json }))
        .body.key;
    };
    const ofBucket = await limited({ buckets: ['default'] });
    expect((await ask({}, ofBucket)).status).toBe(404);
    const ofModel = await limited({ models: ['local/lexical-1'] });
    expect((await ask({}, ofModel)).body.detail).toContain('this key may use local/lexical-1, not chat-1');
    const ofChat = await limited({ models: ['chat-1'], quotas: { answers: 1 } });
    expect((await ask({}, ofChat)).status).toBe(200);
    expect((await ask({}, ofChat)).body.detail).toContain('1 answers a month on the axis "answers"');
  });
});

it('a workflow answers a question in one of its blocks', async () => {
  const all = await test.key({ scopes: ['search', 'workflows:manage', 'workflows:run'] });
  const definition = {
    inputs: { question: { type: 'string' } },
    blocks: [
      { id: 'ask', type: 'answer', with: { buckets: ['manuals'], query: '{{inputs.question}}', style: 'short' } },
    ],
    output: '{{blocks.ask.output.answer}}',
  };
  const { id } = (await test.call('POST', '/v1/workflows', { key: all, json: { name: 'helpdesk', definition } })).body;
  await test.call('POST', `/v1/workflows/${id}/publish`, { key: all, json: {} });
  const inputs = { question: 'how often are the bearings greased?' };
  const run = await test.call('POST', `/v1/workflows/${id}/run`, { key: all, json: { inputs, mode: 'live' } });
  expect(run.body).toMatchObject({
    status: 'completed',
    output: expect.stringContaining('Grease the bearings every week'),
  });
  expect(chat.calls[0]?.system).toContain('one or two sentences');
  const faulty = { ...definition, blocks: [{ id: 'ask', type: 'answer', with: { query: 'x' } }] };
  const refused = await test.call('POST', '/v1/workflows', { key: all, json: { name: 'faulty', definition: faulty } });
  expect(refused.body.detail).toContain('give either buckets or assistant');
});
