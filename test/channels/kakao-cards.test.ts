import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { toSkillResponse } from '../../src/channels/messengers/kakao-response.ts';
import { openTestApi, type TestApi } from '../support/api.ts';
import { fillBucket, PATIENT } from '../support/channels.ts';
import { freePort } from '../support/free-port.ts';
import { callOf, kakaoBody, PLATFORMS, slackBody, slackHeaders, startPlatforms } from '../support/platforms.ts';

// Cards of Kakao skills and links of Slack, whose limits and names of fields are those of "answer_json_format"
// (kakaobusiness.gitbook.io, skill guide) and of "Formatting message text" (docs.slack.dev).

const LONG = 'The valve of the boiler is cleaned with a brush, a cloth and a little oil. '.repeat(20);

describe('with the address of the service and signed links', () => {
  let test: TestApi;
  let key: string;
  let platforms: Awaited<ReturnType<typeof startPlatforms>>;
  const paths: Record<string, { id: string; path: string }> = {};

  beforeAll(async () => {
    platforms = await startPlatforms();
    const port = await freePort();
    test = await openTestApi({
      settings: {
        base_url: `http://127.0.0.1:${port}/`,
        search: { result_links: 'signed' },
        channels: { ...PATIENT.channels, ...platforms.settings },
      },
    });
    key = await test.key({ scopes: ['channels:manage', 'documents:write', 'search'], authLevel: 10 });
    await fillBucket(test, 'default', [
      { fileName: `${'boiler-'.repeat(20)}.txt`, text: LONG },
      { fileName: 'valve.txt', text: 'A valve of brass lasts longer than a valve of steel.' },
      { fileName: 'pipe.txt', text: 'A pipe is connected to the valve by a flange.' },
    ]);
    for (const [provider, config] of [
      ['kakao', { quick_replies: ['영업시간', '위치'] }],
      ['slack', PLATFORMS['slack']?.config],
    ] as const) {
      const json = { name: provider, provider, config: { collection: 'default', ...config } };
      const { body } = await test.call('POST', '/v1/channels/configs', { key, json });
      paths[provider] = { id: body.id, path: body.webhook_path };
    }
  });
  afterAll(async () => {
    await test.close();
    await platforms.fake.close();
  });

  const askKakao = async (text: string) =>
    (await test.call('POST', paths['kakao']?.path as string, { json: kakaoBody(text) })).body;
  const open = (url: string) => {
    const { pathname, search } = new URL(url);
    return test.call('GET', pathname + search);
  };

  it('a Kakao reply is a text card with a button and a list card with links, within their limits', async () => {
    const { version, template } = await askKakao('how is the valve of the boiler cleaned?');
    expect(version).toBe('2.0');
    const [best, others] = template.outputs;
    expect(template.outputs).toHaveLength(2);
    const { title, description, buttons } = best.textCard;
    expect([title.length <= 50, title.length + description.length <= 400]).toEqual([true, true]);
    expect(description).toMatch(/^1\. \[\d\.\d\d\] /);
    expect(buttons).toEqual([{ action: 'webLink', label: '원문 보기', webLinkUrl: expect.stringMatching(/^http/) }]);
    expect(buttons[0].label.length).toBeLessThanOrEqual(14);
    expect(others.listCard.header).toEqual({ title: '다른 결과' });
    expect(others.listCard.items.length).toBeLessThanOrEqual(5);
    expect(others.listCard.items[0]).toEqual({
      title: expect.stringMatching(/^2\. /),
      description: expect.any(String),
      link: { web: expect.stringMatching(/^http/) },
    });
    expect(template.quickReplies).toEqual([
      { label: '영업시간', action: 'message', messageText: '영업시간' },
      { label: '위치', action: 'message', messageText: '위치' },
    ]);
  });

  it('a reply without passages is a simple text', async () => {
    const { template } = await askKakao('   ');
    expect(template.outputs).toEqual([{ simpleText: { text: 'Please write your question.' } }]);
  });

  it('the button opens the passage without sign-in, by the rights of the channel', async () => {
    const { template } = await askKakao('brass or steel?');
    const url = template.outputs[0].textCard.buttons[0].webLinkUrl;
    const page = await open(url);
    expect([page.status, String(page.body)]).toEqual([200, expect.stringContaining('brass')]);
    const { sql } = test.appliance;
    await sql`UPDATE documents SET classification = 'restricted' WHERE file_name = 'valve.txt'`;
    expect((await open(url)).status).toBe(404);
    await sql`UPDATE documents SET classification = 'internal' WHERE file_name = 'valve.txt'`;
    expect((await open(url)).status).toBe(200);
  });

  it('passages in Slack link to their pages', async () => {
    const body = JSON.stringify(slackBody('how is the valve of the boiler cleaned?', 77));
    const headers = slackHeaders(PLATFORMS['slack']?.config['secret'] as string, body);
    await test.call('POST', paths['slack']?.path as string, {
      headers: { 'Content-Type': 'application/json', ...headers },
      body,
    });
    const { text } = (await callOf(platforms.fake, 77)).body as { text: string };
    expect(text).toMatch(/^1\. \[\d\.\d\d\] .*\n<http:\/\/127\.0\.0\.1:\d+\/documents\/[^|]+\|boiler-/);
    expect(text.length).toBeLessThanOrEqual(4_000);
  });

  it('no link is stored, and links end with the channel', async () => {
    const { template } = await askKakao('flange');
    const url = template.outputs[0].textCard.buttons[0].webLinkUrl;
    const [row] = await test.appliance.sql`SELECT string_agg(reply, '') AS replies FROM channel_replies`;
    expect(row?.['replies']).not.toContain('link=');
    await test.call('DELETE', `/v1/channels/configs/${paths['kakao']?.id}`, { key });
    expect((await open(url)).status).toBe(403);
  });
});

it('without the address of the service, a reply has simple texts', () => {
  const passage = { score: 1, text: 'x', source: 'a.txt', documentId: 'd', chunkIndex: 0, url: null };
  const template = { outputs: [{ simpleText: { text: '1. [1.00] x' } }] };
  expect(toSkillResponse({ version: '2.0', template, passages: [passage] }, [])).toEqual({ version: '2.0', template });
});
