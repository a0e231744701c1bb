import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { openTestApi, type TestApi } from '../support/api.ts';
import { fillBucket } from '../support/channels.ts';
import type { FakeMessenger } from '../support/fake-messenger.ts';
import { freePort } from '../support/free-port.ts';
import { keepLogs } from '../support/logs.ts';
import {
  callOf,
  kakaoBody,
  lineBody,
  lineEvent,
  PLATFORMS,
  slackBody,
  startPlatforms,
  takeReply,
} from '../support/platforms.ts';
import { until } from '../support/until.ts';

// Replies by a call to the platform, in two API processes of one installation, with a driven clock of the database.

const QUESTION = 'how often is the pump greased?';
const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;

const { logger, lines } = keepLogs();
let test: TestApi;
let second: TestApi;
let key: string;
let fake: FakeMessenger;
let closedPort: number;
const paths = new Map<string, { id: string; path: string }>();

beforeAll(async () => {
  const platforms = await startPlatforms();
  fake = platforms.fake;
  closedPort = await freePort();
  const callback_origins = [fake.origin, `http://127.0.0.1:${closedPort}`];
  const channels = { reply_deadline_seconds: 4, ...platforms.settings, kakao: { callback_origins } };
  test = await openTestApi({ logger, settings: { channels } });
  second = await openTestApi({ logger, worker: false, settings: { channels }, beside: test });
  key = await test.key({ scopes: ['channels:manage'] });
  await fillBucket(test, 'default', [{ fileName: 'pump.txt', text: 'The pump is greased every three months.' }]);
  for (const [provider, { config }] of Object.entries(PLATFORMS)) await create(provider, config);
});
afterAll(async () => {
  await second.close();
  await test.close();
  await fake.close();
});
beforeEach(async () => {
  await test.appliance.sql`DELETE FROM channel_calls`;
  fake.seen.length = 0;
  fake.answer = takeReply;
});

async function create(provider: string, config: object, name = provider): Promise<void> {
  const json = { name, provider, config: { collection: 'default', ...config } };
  const { body } = await test.call('POST', '/v1/channels/configs', { key, json });
  paths.set(name, { id: body.id, path: body.webhook_path });
}

let number = 1_000;
const callback = () => `${fake.origin}/callback/C-${++number}-`;

async function post(name: string, body: object, api = test) {
  const { path } = paths.get(name) as { path: string };
  const [provider = ''] = name.split('-');
  const platform = PLATFORMS[provider] as (typeof PLATFORMS)[string];
  const bytes = JSON.stringify(body);
  const headers = platform.headers(platform.config['secret'] as string, bytes);
  const answer = await api.call('POST', path, {
    headers: { 'Content-Type': 'application/json', ...headers },
    body: bytes,
  });
  expect(answer.status).toBe(200);
  return answer.body;
}

const sentTo = (nth: number) =>
  fake.seen.filter(({ path, body }) => `${path}${JSON.stringify(body)}`.includes(`C-${nth}-`));

/** Return the newest delivery of a channel once its reply is over. */
async function over(name: string) {
  const { id } = paths.get(name) as { id: string };
  return until(
    async () => {
      const { body } = await test.call('GET', `/v1/channels/deliveries?config=${id}&limit=1`, { key });
      return ['sent', 'failed', 'uncertain'].includes(body.data[0]?.later_status) && body.data[0];
    },
    { withinMs: 30_000, what: 'the end of a reply' },
  );
}

/** Move the clock forward, and remove what is old. */
async function pass(ms: number): Promise<void> {
  await age(ms);
  for (const chore of test.appliance.channels.chores(1_000)) await chore.run(new AbortController().signal);
}

/** Make everything that channels have stored older. */
async function age(ms: number): Promise<void> {
  const { sql } = test.appliance;
  const by = sql`${ms}::float8 * interval '1 millisecond'`;
  await sql`
    UPDATE channel_later_replies SET received_at = received_at - ${by}, expires_at = expires_at - ${by},
                                     due_at = due_at - ${by}`;
  await sql`UPDATE channel_replies SET claimed_until = claimed_until - ${by}, expires_at = expires_at - ${by}`;
  await sql`UPDATE channel_deliveries SET received_at = received_at - ${by}, answered_at = answered_at - ${by}`;
}

/** Hold every answer back until the function that is returned is called: the log of calls is locked. */
async function holdAnswers(): Promise<() => Promise<void>> {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const { promise: held, resolve: hold } = Promise.withResolvers<void>();
  const locking = test.appliance.sql.begin(async (tx) => {
    await tx`LOCK TABLE channel_calls IN ACCESS EXCLUSIVE MODE`;
    hold();
    await released;
  });
  await held;
  return async () => {
    release();
    await locking;
  };
}

it('a Kakao answer in time is the response, and its callback is not called', async () => {
  const body = await post('kakao', kakaoBody(QUESTION, callback()));
  expect(body.template.outputs[0].simpleText.text).toContain('greased every three months');
  expect(fake.seen).toEqual([]);
});

it('a late Kakao answer is announced, and sent to the callback once', async () => {
  const release = await holdAnswers();
  const body = await post('kakao', kakaoBody(QUESTION, callback()));
  expect(body).toEqual({
    version: '2.0',
    useCallback: true,
    data: { text: 'One moment, I am looking for the answer.' },
  });
  await release();
  expect(await over('kakao')).toMatchObject({ status: 'answered', outcome: 'answered', later_status: 'sent' });
  const [call] = sentTo(number);
  expect(call).toMatchObject({ path: `/callback/C-${number}-`, authorization: undefined });
  expect(JSON.stringify(call?.body)).toContain('greased every three months');
  expect(fake.seen).toHaveLength(1);
});

it.each(['telegram', 'teams'])('%s, which takes no later call, gets an apology at the deadline', async (provider) => {
  const release = await holdAnswers();
  const platform = PLATFORMS[provider] as (typeof PLATFORMS)[string];
  const body = await post(provider, platform.body(QUESTION, ++number));
  await release();
  expect(platform.textOf(body as never)).toMatch(/^Sorry, finding an answer takes too long/);
  expect(fake.seen).toEqual([]);
});

it('a Kakao skill announces every answer if its configuration asks for it, with its own text', async () => {
  await create(
    'kakao',
    { use_callback: 'always', waiting_text: '잠시만요', quick_replies: ['영업시간'] },
    'kakao-always',
  );
  const body = await post('kakao-always', kakaoBody(QUESTION, callback()));
  expect(body).toMatchObject({ useCallback: true, data: { text: '잠시만요' } });
  await over('kakao-always');
  expect(sentTo(number)[0]?.body).toMatchObject({
    template: { quickReplies: [{ label: '영업시간', action: 'message', messageText: '영업시간' }] },
  });
  const direct = await post('kakao-always', kakaoBody(QUESTION));
  expect(direct.template.outputs).toHaveLength(1);
});

it.each([
  'http://169.254.169.254/latest/meta-data',
  'https://kakao.com.evil.example/callback',
  'https://user@bot-api.kakao.com/callback',
  'file:///etc/passwd',
  'no address',
])('a callback address that the settings do not list is not called: %s', async (url) => {
  const body = await post('kakao', kakaoBody(QUESTION, url));
  expect(body.template.outputs[0].simpleText.text).toContain('greased every three months');
  expect(lines.some(({ msg }) => String(msg).includes('at an origin that the settings do not list'))).toBe(true);
  expect(fake.seen).toEqual([]);
});

it('what people write is stored encrypted until the reply is sent, and then removed', async () => {
  const release = await holdAnswers();
  await post('slack', slackBody('heron-otter-kelp', ++number));
  const rows = async () =>
    JSON.stringify(await test.appliance.sql`SELECT row_to_json(l)::text FROM channel_later_replies l`);
  expect(await rows()).not.toMatch(/heron|C-\d+-/);
  await release();
  await over('slack');
  const open = await test.appliance.sql`SELECT 1 FROM channel_later_replies WHERE sealed IS NOT NULL`;
  expect(open).toHaveLength(0);
});

it('a call that the platform did not take is repeated after the time that it asks for', async () => {
  fake.answer = (response, seen) => {
    if (fake.seen.length > 1) return takeReply(response, seen);
    response.writeHead(429, { 'retry-after': '1' }).end('{"ok":false,"error":"ratelimited"}');
  };
  await post('slack', slackBody(QUESTION, ++number));
  expect(await over('slack')).toMatchObject({ later_status: 'sent', later_reason: null });
  expect(sentTo(number)).toHaveLength(2);
});

it('a call without a connection is repeated until the platform listens', async () => {
  await post('kakao-always', kakaoBody(QUESTION, `http://127.0.0.1:${closedPort}/callback/C-${++number}-`));
  const { sql } = test.appliance;
  await until(async () => (await sql`SELECT 1 FROM channel_later_replies WHERE reason = 'connection'`).length > 0);
  const { FakeMessenger: Fake } = await import('../support/fake-messenger.ts');
  const late = await Fake.start(closedPort);
  late.answer = takeReply;
  expect(await over('kakao-always')).toMatchObject({ later_status: 'sent' });
  expect(late.seen).toHaveLength(1);
  await late.close();
});

it.each([
  ['slack', 200, { ok: false, error: 'channel_not_found' }, 'failed', 'channel_not_found'],
  ['slack', 200, { ok: false, error: 'internal_error' }, 'uncertain', 'internal_error'],
  ['slack', 200, { ok: false, error: 'xoxb-secret in a text' }, 'uncertain', 'invalid_answer'],
  ['slack', 500, {}, 'uncertain', 'http_500'],
  ['line', 400, { message: 'Invalid reply token' }, 'failed', 'http_400'],
  ['line', 401, { message: 'Authentication failed' }, 'failed', 'http_401'],
  ['kakao-always', 200, { status: 'FAIL', message: 'Invalid callback token.' }, 'failed', 'callback_refused'],
  ['kakao-always', 200, { status: 'ERROR' }, 'uncertain', 'callback_error'],
  ['kakao-always', 302, {}, 'failed', 'http_302'],
] as const)('%s: an answer %d with %j is not repeated, and is listed', async (name, status, body, state, reason) => {
  fake.answer = (response) => response.writeHead(status, { location: '/elsewhere' }).end(JSON.stringify(body));
  const nth = ++number;
  const bodies = {
    slack: slackBody(QUESTION, nth),
    line: lineBody(lineEvent(QUESTION, nth)),
    'kakao-always': kakaoBody(QUESTION, `${fake.origin}/callback/C-${nth}-`),
  };
  await post(name, bodies[name]);
  expect(await over(name)).toMatchObject({ later_status: state, later_reason: reason, outcome: 'answered' });
  expect(sentTo(nth)).toHaveLength(1);
});

it('a connection that is cut after the call leaves the reply uncertain, and it is never sent again', async () => {
  fake.answer = (response) => response.destroy();
  const body = lineBody(lineEvent(QUESTION, ++number));
  await post('line', body);
  expect(await over('line')).toMatchObject({ later_status: 'uncertain', later_reason: 'connection' });
  fake.answer = takeReply;
  await post('line', body);
  await post('line', body, second);
  expect(sentTo(number)).toHaveLength(1);
});

it('a reply that a process was sending when it died is given up as uncertain, and not sent again', async () => {
  const { promise: reached, resolve: reach } = Promise.withResolvers<void>();
  let end = () => {};
  fake.answer = (response, seen) => {
    end = () => takeReply(response, seen);
    reach();
  };
  const body = slackBody(QUESTION, ++number);
  await post('slack', body);
  await reached;
  await pass(30_000);
  expect(await over('slack')).toMatchObject({ later_status: 'uncertain', later_reason: 'interrupted' });
  await post('slack', body, second);
  end();
  expect(sentTo(number)).toHaveLength(1);
});

it('a webhook of LINE with several events gets a reply to each question', async () => {
  const nths = [++number, ++number, ++number];
  const [asked, mentioned, unasked] = nths as [number, number, number];
  const mention = { mentionees: [{ index: 0, length: 4, type: 'user', isSelf: true }] };
  const message = { type: 'text', id: '2', text: `@Bot ${QUESTION}`, mention };
  await post(
    'line',
    lineBody(
      lineEvent(QUESTION, asked),
      lineEvent('', mentioned, { source: { type: 'group', groupId: 'C1' }, message }),
      lineEvent(QUESTION, unasked, { source: { type: 'group', groupId: 'C1' } }),
      { type: 'unsend', webhookEventId: '4', source: { type: 'user' } },
    ),
  );
  for (const nth of [asked, mentioned]) {
    const { body } = await callOf(fake, nth);
    expect(body).toMatchObject({ messages: [{ type: 'text', text: expect.stringContaining('every three months') }] });
  }
  expect(sentTo(unasked)).toEqual([]);
});

it('an event that LINE delivers again is answered with the new reply token if the first certainly failed', async () => {
  fake.answer = (response) => response.writeHead(400).end('{"message":"Invalid reply token"}');
  const event = lineEvent(QUESTION, ++number);
  await post('line', lineBody(event));
  await over('line');
  fake.answer = takeReply;
  await pass(2 * MINUTE_MS);
  const again = { ...event, deliveryContext: { isRedelivery: true }, replyToken: `C-${number}-again` };
  await post('line', lineBody(again));
  expect(await over('line')).toMatchObject({ later_status: 'sent' });
  expect(sentTo(number).map(({ body }) => (body as { replyToken: string }).replyToken)).toEqual([
    `C-${number}-`,
    `C-${number}-again`,
  ]);
});

it('a reply in a thread of Slack stays there, and its text cannot notify or link', async () => {
  await fillBucket(test, 'default', [
    { fileName: 'crane.txt', text: 'Crane: <!channel> <https://evil.example|x> & more.' },
  ]);
  await post('slack', slackBody('crane', ++number, { thread_ts: '1.5', channel: `C-${number}-` }));
  const { body } = await callOf(fake, number);
  expect(body).toMatchObject({ thread_ts: '1.5', unfurl_links: false, unfurl_media: false });
  expect((body as { text: string }).text).toContain('&lt;!channel&gt; &lt;https://evil.example|x&gt; &amp; more.');
});

it('every question of 24 hours of retries and duplicates gets one reply, from two processes', async () => {
  const asked = Array.from({ length: 4 }, () => ++number);
  const deliver = (nth: number, api: TestApi) =>
    nth % 2 === 0
      ? post('slack', slackBody(QUESTION, nth), api)
      : post('line', lineBody(lineEvent(QUESTION, nth)), api);
  // The first deliveries meet a platform that takes nothing at first. All are repeated at once, to both processes.
  let refusals = 3;
  fake.answer = (response, seen) => (refusals-- > 0 ? response.writeHead(429).end('{}') : takeReply(response, seen));
  await Promise.all(asked.flatMap((nth) => [deliver(nth, test), deliver(nth, second), deliver(nth, test)]));
  const taken = () => asked.filter((nth) => sentTo(nth).length > 0).length;
  await until(async () => taken() === asked.length && (await openReplies()) === 0, {
    withinMs: 30_000,
    what: 'replies',
  });
  const calls = fake.seen.length;
  expect(calls).toBe(asked.length + 3);
  // Slack repeats after one and five minutes, and delayed events every hour for a day. LINE does so at its own times.
  for (const ms of [MINUTE_MS, 4 * MINUTE_MS, ...Array.from({ length: 24 }, () => HOUR_MS)]) {
    await pass(ms);
    for (const nth of asked) await deliver(nth, nth % 3 === 0 ? test : second);
  }
  expect(await openReplies()).toBe(0);
  expect(fake.seen).toHaveLength(calls);
  await pass(48 * HOUR_MS);
  expect((await test.appliance.sql`SELECT 1 FROM channel_later_replies`).length).toBe(0);
});

async function openReplies(): Promise<number> {
  const rows = await test.appliance.sql`SELECT 1 FROM channel_later_replies WHERE status IN ('waiting', 'sending')`;
  return rows.length;
}

it('a reply that no process could make in time is given up with a reason', async () => {
  const release = await holdAnswers();
  await post('line', lineBody(lineEvent(QUESTION, ++number)));
  await age(2 * MINUTE_MS);
  expect(await over('line')).toMatchObject({ later_status: 'failed', later_reason: 'too_late' });
  await release();
  expect(sentTo(number)).toEqual([]);
});

it('a question that was stored under another key is given up, and others are answered', async () => {
  const release = await holdAnswers();
  const lost = lineEvent(QUESTION, ++number);
  await post('line', lineBody(lost));
  const { sql } = test.appliance;
  await sql`UPDATE channel_later_replies SET sealed = 'x', claim = NULL, due_at = now() WHERE status = 'waiting'`;
  expect(await over('line')).toMatchObject({ later_status: 'failed', later_reason: 'unreadable' });
  await release();
  await post('line', lineBody(lineEvent(QUESTION, ++number)));
  expect(await over('line')).toMatchObject({ later_status: 'sent' });
  const metrics = await test.call('GET', '/metrics', { key: await test.key({ scopes: ['platform_admin'] }) });
  expect(metrics.body).toMatch(/service_channel_later_replies_total\{channel="chn_\w+",outcome="failed"\} \d/);
});

it('a channel that is deleted or suspended while a reply waits sends nothing', async () => {
  const { sql } = test.appliance;
  await create('slack', PLATFORMS['slack']?.config ?? {}, 'slack-gone');
  const release = await holdAnswers();
  await post('slack-gone', slackBody(QUESTION, ++number));
  await post('slack', slackBody(QUESTION, ++number));
  await test.call('DELETE', `/v1/channels/configs/${paths.get('slack-gone')?.id}`, { key });
  await sql`UPDATE organizations SET suspended_at = now() WHERE id = ${test.operator.orgId}`;
  await release();
  await until(async () => (await openReplies()) === 0, { withinMs: 20_000, what: 'the end of the replies' });
  await sql`UPDATE organizations SET suspended_at = NULL WHERE id = ${test.operator.orgId}`;
  expect(await over('slack')).toMatchObject({ later_status: 'failed', later_reason: 'channel_unavailable' });
  expect(fake.seen).toEqual([]);
});
