import { createHmac, randomBytes } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { MESSENGERS } from '../../src/channels/messengers/messengers.ts';
import { signTestDelivery } from '../../src/operations/sign-test-delivery.ts';
import { openTestApi, type TestApi } from '../support/api.ts';
import { fillBucket, PATIENT } from '../support/channels.ts';
import { keepLogs } from '../support/logs.ts';

// Conformance of messengers whose platforms have a form of their own for deliveries and replies.

const QUESTION = 'how often is the pump greased?';
const TOKEN = randomBytes(32).toString('base64');

/** A platform as it sends deliveries, and what its form of replies says. */
interface Platform {
  readonly config: Record<string, unknown>;
  /** Delivery of a question. The number makes it another one. */
  body(text: string, number: number): object;
  /** Headers of a delivery, given the secret. */
  headers(secret: string, bytes: string): Record<string, string>;
  readonly path: RegExp;
  textOf(response: never): string;
  /** True if the platform sends a delivery again that was not answered. */
  readonly repeats: boolean;
  readonly charsMax: number;
  /** Deliveries that ask nothing. */
  readonly silent: readonly object[];
}

const kakaoBody = (utterance: string) => ({
  intent: { id: 'block-1', name: 'search' },
  userRequest: {
    timezone: 'Asia/Seoul',
    params: {},
    block: { id: 'block-1', name: 'search' },
    utterance,
    lang: 'ko',
    user: { id: '620678', type: 'botUserKey', properties: { plusfriendUserKey: 'BlGTEYoiNoSh' } },
  },
  contexts: [],
  bot: { id: '5a548e36', name: 'support' },
  action: { name: 'search', clientExtra: null, params: {}, id: '5a56ebaa', detailParams: {} },
});
const telegramBody = (text: string, number: number) => ({
  update_id: number,
  message: { message_id: 7, from: { id: 1, is_bot: false }, chat: { id: -42, type: 'group' }, date: 1, text },
});
const teamsBody = (text: string, number: number) => ({
  type: 'message',
  id: String(1_745_700_000_000 + number),
  text: `<p><at>support</at>&nbsp;${text}</p>`,
  from: { id: '29:1', name: 'A person' },
  conversation: { id: '19:channel' },
});

const PLATFORMS: Record<string, Platform> = {
  kakao: {
    config: {},
    body: kakaoBody,
    headers: () => ({}),
    path: /^\/v1\/channels\/kakao\/chn_\w+\/[\w-]{32}$/,
    textOf: ({ version, template }: { version: string; template: { outputs: { simpleText: { text: string } }[] } }) =>
      `${version === '2.0' ? '' : version}${template.outputs.map(({ simpleText }) => simpleText.text).join('\n\n')}`,
    repeats: false,
    charsMax: 3_004,
    silent: [{}, kakaoBody('')],
  },
  telegram: {
    config: { secret: 'a_secret_token-of-the-bot' },
    body: telegramBody,
    headers: (secret) => ({ 'X-Telegram-Bot-Api-Secret-Token': secret }),
    path: /^\/v1\/channels\/telegram\/chn_\w+$/,
    textOf: ({ text }: { text: string }) => text,
    repeats: true,
    charsMax: 4_096,
    silent: [
      { update_id: 1, edited_message: { message_id: 7 } },
      telegramBody('/start', 2),
      { update_id: 3, message: { ...telegramBody('a bot', 3).message, from: { id: 2, is_bot: true } } },
    ],
  },
  teams: {
    config: { secret: TOKEN },
    body: teamsBody,
    headers: (secret, bytes) => ({
      Authorization: `HMAC ${createHmac('sha256', Buffer.from(secret, 'base64')).update(bytes).digest('base64')}`,
    }),
    path: /^\/v1\/channels\/teams\/chn_\w+$/,
    textOf: ({ text }: { text: string }) => text,
    repeats: true,
    charsMax: 28_000,
    silent: [{ type: 'conversationUpdate', id: '1' }, teamsBody('', 2)],
  },
};

const { logger, lines } = keepLogs();
let test: TestApi;
let key: string;
beforeAll(async () => {
  test = await openTestApi({ logger, settings: PATIENT });
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
afterAll(() => test.close());
beforeEach(async () => {
  await test.appliance.sql`DELETE FROM channel_calls`;
});

it('every messenger is in this suite', () => {
  expect(Object.keys(PLATFORMS).sort()).toEqual([...MESSENGERS.keys()].sort());
});

let number = 100;

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

  async function post(body: object, more: { path?: string; headers?: Record<string, string>; secret?: string } = {}) {
    const bytes = JSON.stringify(body);
    const headers = more.headers ?? platform.headers(more.secret ?? secret, bytes);
    const all = { 'Content-Type': 'application/json', ...headers };
    return test.call('POST', more.path ?? path, { headers: all, body: bytes });
  }
  const ask = async (text: string) => {
    const { status, body } = await post(platform.body(text, ++number));
    expect(status).toBe(200);
    return platform.textOf(body as never);
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
    const body = platform.body(QUESTION, ++number);
    const [first, again] = [await post(body), await post(body)];
    expect(again.body).toEqual(first.body);
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
    ];
    for (const { status, body: reply } of refused) {
      expect([status, reply.detail]).toEqual([
        403,
        'the address is unknown, or the delivery does not come from the platform',
      ]);
    }
  });

  it('limits the questions of a minute, and says so', async () => {
    const asked = Array.from({ length: 31 }, () => post(platform.body(QUESTION, ++number)));
    const texts = (await Promise.all(asked)).map(({ body }) => platform.textOf(body as never));
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
    expect(JSON.stringify(lines)).not.toContain(secret);
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
  const config = { collection: 'default', secret: TOKEN };
  const { body } = await test.call('POST', '/v1/channels/configs', {
    key,
    json: { name: 't', provider: 'teams', config },
  });
  const bytes = JSON.stringify(teamsBody('crane', 1));
  const headers = { 'Content-Type': 'application/json', ...PLATFORMS['teams']?.headers(TOKEN, bytes) };
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
  ['teams', { collection: 'nowhere', secret: TOKEN }, 'config.collection'],
])('a configuration of %s with %j is refused with a reason', async (provider, config, reason) => {
  const json = { name: 'wrong', provider, config };
  const { status, body } = await test.call('POST', '/v1/channels/configs', { key, json });
  expect([status, body.detail]).toEqual([400, expect.stringContaining(reason)]);
});
