import { expect, it } from 'vitest';
import { isAtOrigin } from '../../src/channels/later/call-platform.ts';
import { line } from '../../src/channels/messengers/line.ts';
import { slack } from '../../src/channels/messengers/slack.ts';

// Signatures that the platforms publish, and origins of calls.

const common = { collection: 'manuals', public_only: false, score_min: 0.1 };

// docs.slack.dev/authentication/verifying-requests-from-slack, "Step-by-step walk-through".
const SLACK = {
  secret: '8f742231b10e8888abcd99yyyzzz85a5',
  timestamp: '1531420618',
  body:
    'token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar' +
    '&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com' +
    '%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN' +
    '&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c',
  signature: 'v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503',
};

const isFromSlack = (part: Partial<typeof SLACK> = {}, afterSeconds = 0) => {
  const { secret, timestamp, body, signature } = { ...SLACK, ...part };
  const headers = { 'x-slack-request-timestamp': timestamp, 'x-slack-signature': signature };
  const config = slack.config.parse({ ...common, secret, bot_token: 'xoxb-0123456789' });
  const nowMs = (Number(SLACK.timestamp) + afterSeconds) * 1000;
  return slack.isGenuine({ headers, bytes: Buffer.from(body), pathSecret: null }, config, nowMs);
};

it('the example of Slack is genuine for five minutes, with each of its parts', () => {
  expect([isFromSlack(), isFromSlack({}, 300), isFromSlack({}, -300)]).toEqual([true, true, true]);
  expect([isFromSlack({}, 301), isFromSlack({}, -301)]).toEqual([false, false]);
  for (const part of [
    { secret: '8f742231b10e8888abcd99yyyzzz85a6' },
    { timestamp: '1531420619' },
    { timestamp: '' },
    { timestamp: '1531420618.0' },
    { body: `${SLACK.body}x` },
    { signature: SLACK.signature.toUpperCase() },
    { signature: SLACK.signature.slice(3) },
    { signature: '' },
  ]) {
    expect([part, isFromSlack(part)]).toEqual([part, false]);
  }
});

it('the example of LINE is genuine, and a changed body is not', () => {
  // developers.line.biz/en/docs/messaging-api/verify-webhook-signature
  const config = line.config.parse({
    ...common,
    secret: '8c570fa6dd201bb328f1c1eac23a96d8',
    access_token: 'x'.repeat(40),
  });
  const headers = { 'x-line-signature': 'GhRKmvmHys4Pi8DxkF4+EayaH0OqtJtaZxgTD9fMDLs=' };
  const body = '{"destination":"U8e742f61d673b39c7fff3cecb7536ef0","events":[]}';
  const isGenuine = (text: string) =>
    line.isGenuine({ headers, bytes: Buffer.from(text), pathSecret: null }, config, Date.now());
  expect([isGenuine(body), isGenuine(`${body} `)]).toEqual([true, false]);
  expect(line.readQuestions(JSON.parse(body))).toEqual([]);
});

it.each([
  ['https://bot-api.kakao.com/callback/x', ['https://*.kakao.com'], true],
  ['https://a.b.kakao.com/x', ['https://*.kakao.com'], true],
  ['https://kakao.com/x', ['https://*.kakao.com'], false],
  ['https://evilkakao.com/x', ['https://*.kakao.com'], false],
  ['https://bot.kakao.com.evil.example/x', ['https://*.kakao.com'], false],
  ['http://bot.kakao.com/x', ['https://*.kakao.com'], false],
  ['https://bot.kakao.com:8443/x', ['https://*.kakao.com'], false],
  ['https://user:pass@bot.kakao.com/x', ['https://*.kakao.com'], false],
  ['https://127.0.0.1/x', ['https://*.kakao.com'], false],
  ['https://bot.example.com:443/x', ['https://bot.example.com'], true],
  ['http://127.0.0.1:4000/x', ['http://127.0.0.1:4000'], true],
  ['http://127.0.0.1:4001/x', ['http://127.0.0.1:4000'], false],
  ['//bot.kakao.com/x', ['https://*.kakao.com'], false],
  ['https://bot.kakao.com/x', [], false],
])('%s may be called with the origins %j: %s', (url, origins, isAllowed) => {
  expect(isAtOrigin(url, origins)).toBe(isAllowed);
});
