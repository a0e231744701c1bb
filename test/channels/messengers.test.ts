import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { MESSENGERS } from '../../src/channels/messengers/messengers.ts';
import { signTestDelivery } from '../../src/operations/sign-test-delivery.ts';
import { openTestApi, type TestApi } from '../support/api.ts';
import { fillBucket, messengerConfig, PATIENT } from '../support/channels.ts';
import type { FakeMessenger } from '../support/fake-messenger.ts';
import { keepLogs } from '../support/logs.ts';
import {
  callOf,
  kakaoBody,
  LINE_TOKEN,
  PLATFORMS,
  SLACK_TOKEN,
  startPlatforms,
  TEAMS_TOKEN,
  takeReply,
  teamsBody,
} from '../support/platforms.ts';
import { until } from '../support/until.ts';

// Conformance of messengers whose platforms have a form of their own for deliveries and replies.

const QUESTION = 'how often is the pump greased?';

const { logger, lines } = keepLogs();
let test: TestApi;
let key: string;
let fake: FakeMessenger;
beforeAll(async () => {
  const platforms = await startPlatforms();
  fake = platforms.fake;
  test = await openTestApi({ logger, settings: { channels: { ...PATIENT.channels, ...platforms.settings } } });
  key = await test.key({ scopes: ['channels:manage'] });
  await fillBucket(test, 'default', [
    { fileName: 'pump.txt', text: 'The pump is greased every three months. The grease is of type K.' },
    {
      fileName: 'hostile.txt',
      text: 'Crane: <b>[click](https://evil.example)</b> & ![x](https://evil.example/x.png).',
    },
    { fileName: 'hidden.txt', text: 'Turbine: restricted.', fields: { classification: 'restricted' } },
    ...Array.from({ length: 8 }, (_, n) => ({
      fileName: `valve-${n}.txt`,
      text: `Valve ${n}: ${`part ${n} of the valve is cleaned with brush number ${n}. `.repeat(30)}`,
    })),
  ]);
});
afterAll(async () => {
  await test.close();
  await fake.close();
});
beforeEach(async () => {
  await test.appliance.sql`DELETE FROM channel_calls`;
});

it('every messenger is in this suite', () => {
  expect(Object.keys(PLATFORMS).sort()).toEqual([...MESSENGERS.keys()].sort());
});

let number = 100;

/** Wait until the reply to a delivery is recorded as sent, and check that there was one call. */
async function expectSent(configId: string, nth: number): Promise<void> {
  const listed = async () => (await test.call('GET', `/v1/channels/deliveries?config=${configId}`, { key })).body.data;
  await until(async () => (await listed())[0].later_status === 'sent', { withinMs: 10_000, what: 'the record' });
  expect(fake.seen.filter(({ body }) => JSON.stringify(body).includes(`C-${nth}-`))).toHaveLength(1);
}

describe.each(Object.entries(PLATFORMS))('%s', (provider, platform) => {
  let path: string;
  let secret: string;
  let id: string;
  beforeAll(async () => {
    const config = { collection: 'default', ...platform.config };
    const json = { name: `support ${provider}`, provider, config };
    const { body } = await test.call('POST', '/v1/channels/configs', { key, json });
    ({ id, webhook_path: path } = body);
    expect(path).toMatch(platform.path);
    const { keyRing, sql } = test.appliance;
    const { readConfig } = await import('../../src/channels/configs.ts');
    const { selectConfig } = await import('../../src/channels/config-store.ts');
    const row = await selectConfig(sql, test.operator.orgId, id);
    secret = readConfig(keyRing, row as NonNullable<typeof row>)['secret'] as string;
  });

  async function post(
    body: object,
    more: { path?: string; headers?: Record<string, string>; secret?: string; at?: number } = {},
  ) {
    const bytes = JSON.stringify(body);
    const at = Math.floor(Date.now() / 1000) + (more.at ?? 0);
    const headers = more.headers ?? platform.headers(more.secret ?? secret, bytes, at);
    const all = { 'Content-Type': 'application/json', ...headers };
    return test.call('POST', more.path ?? path, { headers: all, body: bytes });
  }
  const ask = async (text: string) => {
    const nth = ++number;
    const { status, body } = await post(platform.body(text, nth));
    expect(status).toBe(200);
    if (platform.calls === undefined) return platform.textOf(body as never);
    expect(body).toEqual({});
    const call = await callOf(fake, nth);
    expect([call.path, call.authorization]).toEqual([
      platform.calls,
      `Bearer ${provider === 'slack' ? SLACK_TOKEN : LINE_TOKEN}`,
    ]);
    return platform.textOf(call.body as never);
  };

  it('answers a question in the form of the platform', async () => {
    expect(await ask(QUESTION)).toMatch(/^1\. \[\d\.\d\d\] The pump is greased every three months/);
    expect(await ask('펌프')).not.toContain('undefined');
  });

  it('keeps to the length that the platform takes', async () => {
    const text = await ask('how is the valve cleaned with a brush?');
    expect(text.length).toBeGreaterThan(1_000);
    expect(text.length).toBeLessThanOrEqual(platform.charsMax);
  });

  it('shows no document that people outside may not see', async () => {
    expect(await ask('turbine restricted')).not.toContain('Turbine');
  });

  it('answers a delivery that asks nothing without a search, and without a fault', async () => {
    for (const body of platform.silent) expect((await post(body)).status).toBe(200);
    const rows = await test.appliance.sql`SELECT 1 FROM channel_calls WHERE bot_id = ${id}`;
    expect(rows).toHaveLength(0);
  });

  const onceTest = async () => {
    const nth = ++number;
    const body = platform.body(QUESTION, nth);
    const [first, again] = [await post(body), await post(body)];
    expect(again.body).toEqual(first.body);
    if (platform.calls !== undefined) {
      await callOf(fake, nth);
      expect((await post(body)).body).toEqual(first.body);
      await expectSent(id, nth);
    }
    const [row] = await test.appliance.sql`SELECT cardinality(calls) AS calls FROM channel_calls WHERE bot_id = ${id}`;
    expect(row?.['calls']).toBe(1);
  };
  if (platform.repeats) it('answers a repeated delivery once', onceTest);

  it('refuses wrong secrets, unknown addresses and missing credentials alike', async () => {
    const body = platform.body(QUESTION, ++number);
    const wrong = Buffer.from('another secret, as long as the right one').toString('base64');
    const refused = [
      await post(body, { path: path.replace(id, 'chn_00000000000000000000000000') }),
      ...(provider === 'kakao'
        ? [await post(body, { path: path.replace(secret, 'x'.repeat(32)) })]
        : [await post(body, { secret: wrong }), await post(body, { headers: {} })]),
      ...(provider === 'slack' ? [await post(body, { at: -301 }), await post(body, { at: 301 })] : []),
    ];
    for (const { status, body: reply } of refused) {
      expect([status, reply.detail]).toEqual([
        403,
        'the address is unknown, or the delivery does not come from the platform',
      ]);
    }
  });

  it('limits the questions of a minute, and says so', async () => {
    const texts = await Promise.all(Array.from({ length: 31 }, () => ask(QUESTION)));
    expect(texts.filter((text) => text.startsWith('You have asked many questions'))).toHaveLength(1);
  });

  it('answers the test delivery of the command line, and its text can be read', async () => {
    const context = { sql: test.appliance.sql, keyRing: test.appliance.keyRing };
    const delivery = { utterance: QUESTION, userId: 'operator:test' };
    const made = await signTestDelivery(context, test.operator.orgId, id, delivery);
    expect([made.provider, made.path]).toEqual([provider, path]);
    const { status, body } = await test.call('POST', made.path, made);
    expect(status).toBe(200);
    expect(MESSENGERS.get(provider)?.readText(body)).toMatch(/^1\. \[/);
  });

  it('masks the secret in lists, and keeps it out of every row and log line', async () => {
    const { body } = await test.call('GET', '/v1/channels/configs', { key });
    const listed = body.find((each: { id: string }) => each.id === id);
    expect(listed.config.collection).toBe('default');
    expect(JSON.stringify(listed)).not.toContain(secret);
    const [row] = await test.appliance.sql`
      SELECT row_to_json(c)::text AS row FROM channel_configs c WHERE id = ${id}`;
    expect(row?.['row']).not.toContain(secret);
    await post(platform.body(QUESTION, ++number), { headers: {}, path: `${path}x` });
    expect(lines.length).toBeGreaterThan(0);
    for (const credential of [secret, SLACK_TOKEN, LINE_TOKEN]) {
      expect(JSON.stringify([listed, row, lines])).not.toContain(credential);
    }
  });

  it('ends with its configuration and with the suspension of its organization', async () => {
    await test.appliance.sql`UPDATE organizations SET suspended_at = now() WHERE id = ${test.operator.orgId}`;
    const body = platform.body(QUESTION, ++number);
    expect((await post(body)).status).toBe(403);
    await test.appliance.sql`UPDATE organizations SET suspended_at = NULL WHERE id = ${test.operator.orgId}`;
    expect((await post(body)).status).toBe(200);
  });
});

it('a Kakao skill with a header is refused without it', async () => {
  const config = { collection: 'default', header_name: 'X-Skill-Key', header_value: 'a-value-of-the-skill' };
  const json = { name: 'with a header', provider: 'kakao', config };
  const { body } = await test.call('POST', '/v1/channels/configs', { key, json });
  const post = (headers: Record<string, string>) =>
    test.call('POST', body.webhook_path, { json: kakaoBody(QUESTION), headers });
  expect((await post({})).status).toBe(403);
  expect((await post({ 'X-Skill-Key': 'another-value-of-it' })).status).toBe(403);
  expect((await post({ 'X-Skill-Key': 'a-value-of-the-skill' })).status).toBe(200);
});

it.each([
  ['/channels/kakao', ''],
  ['//v1/channels/kakao', ''],
  ['/V1/channels/kakao', ''],
  ['/v1/channels/kakao', '/webhook'],
])('a mistyped address of a Kakao skill, %s…%s, does not bring its secret into logs and errors', async (start, end) => {
  const secret = randomBytes(24).toString('base64url');
  const { status, body } = await test.call('POST', `${start}/chn_1/${secret}${end}`, { json: kakaoBody(QUESTION) });
  expect([status, JSON.stringify(body).includes(secret)]).toEqual([404, false]);
  expect((await test.call('GET', `/v1/channels/kakao/chn_1/${secret}`)).status).toBe(405);
  expect(lines.length).toBeGreaterThan(0);
  expect(JSON.stringify(lines)).not.toContain(secret);
});

it('what Teams shows is plain text, so that a document brings no links', async () => {
  const config = { collection: 'default', secret: TEAMS_TOKEN };
  const { body } = await test.call('POST', '/v1/channels/configs', {
    key,
    json: { name: 't', provider: 'teams', config },
  });
  const bytes = JSON.stringify(teamsBody('crane', 1));
  const headers = { 'Content-Type': 'application/json', ...PLATFORMS['teams']?.headers(TEAMS_TOKEN, bytes) };
  const reply = await test.call('POST', body.webhook_path, { headers, body: bytes });
  expect(reply.body).toMatchObject({ type: 'message', textFormat: 'plain' });
});

it.each([
  ['kakao', {}, 'config.collection: is required'],
  ['kakao', { collection: 'default', secret: 'short' }, 'config.secret: must be 24 to 128'],
  ['kakao', { collection: 'default', header_name: 'X-Key' }, 'config.header_value: needs header_name and'],
  ['telegram', { collection: 'default', secret: 'with blanks in it, which is wrong' }, 'config.secret'],
  ['telegram', { collection: 'default' }, 'config.secret: is required: choose one'],
  ['teams', { collection: 'default' }, 'config.secret: is required: the security token'],
  ['kakao', { collection: 'default', use_callback: 'soon' }, 'config.use_callback: must be late, always or never'],
  ['kakao', { collection: 'default', quick_replies: ['x'.repeat(15)] }, 'config.quick_replies.0: must have at most 14'],
  ['slack', { collection: 'default' }, 'config.secret: is required: the signing secret'],
  [
    'slack',
    { collection: 'default', secret: 'x'.repeat(32), bot_token: 'xoxp-1234567890' },
    'config.bot_token: must be a bot',
  ],
  ['line', { collection: 'default', secret: 'x'.repeat(32) }, 'config.access_token: is required: the channel access'],
  ['line', { collection: 'default', secret: 'short' }, 'config.secret: must be the channel secret'],
  ['teams', { collection: 'nowhere', secret: TEAMS_TOKEN }, 'config.collection'],
])('a configuration of %s with %j is refused with a reason', async (provider, config, reason) => {
  const json = { name: 'wrong', provider, config };
  const { status, body } = await test.call('POST', '/v1/channels/configs', { key, json });
  expect([status, body.detail]).toEqual([400, expect.stringContaining(reason)]);
});

it.each(['slack', 'line'])(
  'a configuration of %s without a collection is stored, and answers nothing',
  async (provider) => {
    const config = { webhook_url: 'https://hooks.example.com/x', tokens: ['0123456789abcdef0123456789abcdef'] };
    const { status, body } = await test.call('POST', '/v1/channels/configs', {
      key,
      json: { name: 'own', provider, config },
    });
    expect([status, body]).toEqual([200, { id: body.id, name: 'own', provider }]);
    const platform = PLATFORMS[provider] as (typeof PLATFORMS)[string];
    const bytes = JSON.stringify(platform.body(QUESTION, ++number));
    const headers = { 'Content-Type': 'application/json', ...platform.headers('', bytes) };
    expect((await test.call('POST', `/v1/channels/${provider}/${body.id}`, { headers, body: bytes })).status).toBe(403);
    const tried = await test.call('POST', `/v1/channels/configs/${body.id}/test`, {
      key,
      json: { query: QUESTION },
    });
    expect([tried.status, tried.body.detail]).toEqual([409, expect.stringContaining('answers no questions')]);
  },
);

it('Slack gets its challenge back, if it is signed', async () => {
  const config = { collection: 'default', secret: '', ...PLATFORMS['slack']?.config };
  const { body } = await test.call('POST', '/v1/channels/configs', {
    key,
    json: { name: 's', provider: 'slack', config },
  });
  const bytes = JSON.stringify({
    token: 't',
    type: 'url_verification',
    challenge: '3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7',
  });
  const post = (secret: string) =>
    test.call('POST', body.webhook_path, {
      headers: { 'Content-Type': 'application/json', ...PLATFORMS['slack']?.headers(secret, bytes) },
      body: bytes,
    });
  expect((await post(String(config.secret))).body).toEqual({
    challenge: '3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7',
  });
  expect((await post('another secret of Slack')).status).toBe(403);
});

it.each([
  ['kakao', null, 200, {}],
  ['messenger', null, 200, {}],
  ['slack', { status: 'accepted', reason: null }, 200, { ok: true }],
  ['slack', { status: 'refused', reason: 'invalid_auth' }, 200, { ok: false, error: 'invalid_auth' }],
  ['line', { status: 'accepted', reason: null }, 200, { userId: 'U1' }],
  ['line', { status: 'refused', reason: 'http_401' }, 401, {}],
  ['line', { status: 'unknown', reason: 'http_503' }, 503, {}],
])('a channel of %s is tried without its platform, which tells %j', async (provider, credential, status, answer) => {
  fake.answer = (response) => response.writeHead(status).end(JSON.stringify(answer));
  const own = provider === 'messenger' ? messengerConfig({ bot_id: 'tried' }) : PLATFORMS[provider]?.config;
  const config = { collection: 'default', ...own };
  const { body } = await test.call('POST', '/v1/channels/configs', { key, json: { name: 'try', provider, config } });
  const tried = await test.call('POST', `/v1/channels/configs/${body.id}/test`, { key, json: { query: QUESTION } });
  expect([tried.status, tried.body]).toEqual([200, { text: expect.stringMatching(/^1\. \[/), credential }]);
  fake.answer = takeReply;
});
