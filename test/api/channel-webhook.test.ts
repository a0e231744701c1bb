import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { seal } from '../../src/platform/seal.ts';
import { openTestApi, type TestApi } from '../support/api.ts';
import {
  createConfig,
  deliver,
  fillBucket,
  freshUser,
  messengerConfig,
  nowSeconds,
  PATIENT,
  signedDelivery,
  textOf,
  WEBHOOK,
} from '../support/channels.ts';

let api: TestApi;
let second: TestApi;
let key: string;
let configId: string;
beforeAll(async () => {
  api = await openTestApi({ settings: PATIENT });
  second = await openTestApi({ settings: PATIENT, beside: api, worker: false });
  key = await api.key({ scopes: ['channels:manage'] });
  configId = await createConfig(api, key);
  await fillBucket(api, 'default', [{ fileName: 'pump.txt', text: 'The pump is greased every three months.' }]);
});
afterAll(async () => {
  await second.close();
  await api.close();
});
beforeEach(async () => {
  await api.appliance.sql`DELETE FROM channel_calls`;
});

const question = (part: Record<string, unknown> = {}) => ({
  utterance: 'how often is the pump greased?',
  user_id: freshUser(),
  ...part,
});

test('a signed delivery is answered from the bucket', async () => {
  const answer = await deliver(api, question());
  expect(answer).toMatchObject({ status: 200, body: { version: '2.0' } });
  expect(textOf(answer)).toBe('1. [1.00] The pump is greased every three months.\n(pump.txt)');
});

describe('deliveries that are refused with 403', () => {
  const refused = { status: 403, body: { detail: expect.any(String) } };
  const send = (headers: Record<string, string>, body: string) => api.call('POST', WEBHOOK, { headers, body });
  const without = (name: string) => {
    const { headers, body } = signedDelivery(question());
    return send(Object.fromEntries(Object.entries(headers).filter(([each]) => each !== name)), body);
  };
  const sendAt = (seconds: number) => deliver(api, question(), { timestamp: String(Number(nowSeconds()) + seconds) });

  test('a delivery without a timestamp is 403', async () =>
    expect(await without('X-Messenger-Timestamp')).toMatchObject(refused));
  test('a delivery without a signature is 403', async () =>
    expect(await without('X-Messenger-Signature')).toMatchObject(refused));
  test('a delivery with a timestamp 302 seconds ago is 403', async () =>
    expect(await sendAt(-302)).toMatchObject(refused));
  test('a delivery with a timestamp 302 seconds ahead is 403', async () =>
    expect(await sendAt(302)).toMatchObject(refused));
  test.each(['', 'now', '1e9', '-5', '12.5', '0x10', '99999999999999', '1 2'])(
    'a delivery with the timestamp "%s" is 403',
    async (timestamp) => {
      expect(await deliver(api, question(), { timestamp })).toMatchObject(refused);
    },
  );
  test('a delivery signed with a wrong secret is 403', async () => {
    expect(await deliver(api, question(), { secret: 'another' })).toMatchObject(refused);
  });
  test('a delivery for an unknown bot is 403', async () => {
    expect(await deliver(api, question({ bot_id: 'nobody' }))).toMatchObject(refused);
  });
  test.each([undefined, null, '', 7, ['bot-1']])('a delivery with the bot_id %j is 403', async (botId) => {
    expect(await deliver(api, question({ bot_id: botId }))).toMatchObject(refused);
  });
  test('a delivery for a configuration without a secret is 403', async () => {
    const id = await createConfig(api, key, { bot_id: 'no-secret' });
    const { secret: _secret, ...config } = messengerConfig({ bot_id: 'no-secret' });
    const context = `channel_configs/${api.operator.orgId}/${id}`;
    const sealed = seal(api.appliance.keyRing.encryption, JSON.stringify(config), context);
    await api.appliance.sql`UPDATE channel_configs SET sealed_config = ${sealed} WHERE id = ${id}`;
    for (const secret of ['', 'undefined', 'signing-secret-canary-0123456789']) {
      expect(await deliver(api, question({ bot_id: 'no-secret' }), { secret })).toMatchObject(refused);
    }
  });
  test('a delivery for a bot of a suspended organization is 403', async () => {
    const foreign = await api.key({ scopes: ['channels:manage'], org: 'late-payer' });
    await createConfig(api, foreign, { bot_id: 'suspended' });
    expect((await deliver(api, question({ bot_id: 'suspended' }))).status).toBe(200);
    await api.appliance.sql`UPDATE organizations SET suspended_at = now() WHERE name = 'late-payer'`;
    expect(await deliver(api, question({ bot_id: 'suspended' }))).toMatchObject(refused);
  });
  test('an unknown bot is refused with the same message as a wrong signature', async () => {
    const unknown = await deliver(api, question({ bot_id: 'nobody' }));
    expect((await deliver(api, question(), { secret: 'wrong' })).body).toEqual(unknown.body);
  });
});

describe('deliveries that are refused with 400', () => {
  test.each(['{', '[1]', '"text"', 'null', '{"bot_id":"bot-1"'])('a delivery with the body %s is 400', async (body) => {
    expect(await deliver(api, body)).toMatchObject({ status: 400, body: { detail: expect.any(String) } });
  });
  test('a delivery with an empty body or bytes that are not UTF-8 is 400', async () => {
    const { headers } = signedDelivery('');
    expect((await api.call('POST', WEBHOOK, { headers, body: '' })).status).toBe(400);
    const body = Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]);
    expect((await api.call('POST', WEBHOOK, { headers, body })).status).toBe(400);
  });
  test.each([
    ['no user_id', { user_id: undefined }, 'user_id: is required'],
    ['an empty user_id', { user_id: '' }, 'user_id: must not be empty'],
    ['a user_id that is a number', { user_id: 1 }, 'user_id: must be a string'],
    ['no utterance', { utterance: undefined }, 'utterance: is required'],
    ['an utterance of no characters', { utterance: '' }, 'utterance: must not be empty'],
    ['an utterance that is a list', { utterance: [] }, 'utterance: must be a string'],
  ])('a signed delivery with %s is 400', async (_fault, part, fault) => {
    const answer = await deliver(api, question(part));
    expect(answer).toMatchObject({ status: 400, body: { detail: expect.stringContaining(fault) } });
  });
  test('a delivery with a missing field and a wrong signature is 403', async () => {
    const answer = await deliver(api, question({ utterance: undefined }), { secret: 'wrong' });
    expect(answer.status).toBe(403);
  });
  test('contract 7.4: a delivery in the form of Kakao is 403, and a signed one learns what to send', async () => {
    const body = JSON.stringify({
      intent: { id: 'i', name: 'block' },
      userRequest: { timezone: 'Asia/Seoul', utterance: '영업시간', lang: 'ko', user: { id: 'u', type: 'botUserKey' } },
      bot: { id: 'b', name: 'shop' },
      action: { id: 'a', name: 'skill', params: {}, detailParams: {}, clientExtra: {} },
    });
    const unsigned = await api.call('POST', WEBHOOK, { headers: { 'Content-Type': 'application/json' }, body });
    expect(unsigned).toMatchObject({ status: 403, body: { detail: expect.stringContaining('a relay, must sign') } });
    const signed = await deliver(api, body);
    expect(signed).toMatchObject({
      status: 403,
      body: { detail: expect.stringContaining('a configuration of the provider kakao') },
    });
  });
  test.each([
    ['no body', undefined, 'application/json'],
    ['an empty body', '', 'application/json'],
    ['a body that is not JSON', '{', 'application/json'],
    ['a list', '[]', 'application/json'],
    ['another content type', 'bot_id=bot-1', 'text/plain'],
    ['a form', 'bot_id=bot-1', 'application/x-www-form-urlencoded'],
    ['a body beyond the limit', 'x'.repeat(1_400_000), 'application/json'],
  ])('contract 7.4: an unsigned delivery is 403 whatever its form: %s', async (_form, body, type) => {
    const request = { headers: { 'Content-Type': type }, ...(body === undefined ? {} : { body }) };
    expect(await api.call('POST', WEBHOOK, request)).toMatchObject({
      status: 403,
      body: { detail: expect.any(String) },
    });
    const stale = { ...request.headers, 'X-Messenger-Timestamp': '1', 'X-Messenger-Signature': 'a'.repeat(64) };
    expect((await api.call('POST', WEBHOOK, { ...request, headers: stale })).status).toBe(403);
  });
});

test('a delivery of another content type is 415, and one beyond the limit of the body is 413', async () => {
  const { body, headers } = signedDelivery(question());
  const typed = { ...headers, 'Content-Type': 'text/plain' };
  expect((await api.call('POST', WEBHOOK, { body, headers: typed })).status).toBe(415);
  expect((await deliver(api, question({ utterance: 'x'.repeat(1_400_000) }))).status).toBe(413);
});

test('the signature selects the channel if organizations share a bot_id', async () => {
  const foreign = await api.key({ scopes: ['channels:manage'], org: 'twin' });
  await createConfig(api, foreign, { bot_id: 'bot-1', secret: 'secret-of-the-twin-0123456789' });
  const theirs = await deliver(api, question(), { secret: 'secret-of-the-twin-0123456789' });
  expect(textOf(theirs)).toContain('I found nothing');
  expect(textOf(await deliver(api, question()))).toContain('three months');
});

describe('a repeated delivery', () => {
  const usage = async () => {
    await api.appliance.usage.meter.flush();
    await second.appliance.usage.meter.flush();
    const { orgId, plan } = api.operator;
    return (await api.appliance.usage.summarize({ orgId, plan }, {})).axes.embed;
  };

  test('a delivery sent 100 times at once to two processes has one effect', async () => {
    const before = await usage();
    const delivery = signedDelivery(question());
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, n) => (n % 2 === 0 ? api : second).call('POST', WEBHOOK, delivery)),
    );
    for (const answer of answers) expect(answer).toMatchObject({ status: 200, body: answers[0]?.body });
    expect(textOf(answers[0] as (typeof answers)[number])).toContain('three months');
    expect((await usage()).requests).toBe(before.requests + 1);
    const [row] = await api.appliance.sql`SELECT cardinality(calls) AS calls FROM channel_calls`;
    expect(row).toEqual({ calls: 1 });
  });

  test('a repeated delivery gets the stored reply after the bucket has changed', async () => {
    const delivery = signedDelivery(question());
    const first = await api.call('POST', WEBHOOK, delivery);
    await api.appliance.sql`UPDATE documents SET searchable = false`;
    expect((await second.call('POST', WEBHOOK, delivery)).body).toEqual(first.body);
    expect(textOf(await deliver(api, question()))).toContain('I found nothing');
    await api.appliance.sql`UPDATE documents SET searchable = true`;
  });

  test('a repeated delivery is answered again after the process that claimed it died', async () => {
    const delivery = signedDelivery(question());
    await api.call('POST', WEBHOOK, delivery);
    await api.appliance.sql`UPDATE channel_replies SET reply = NULL, claimed_until = now()`;
    expect(textOf(await second.call('POST', WEBHOOK, delivery))).toContain('three months');
  });

  test('a repeated delivery that another process does not finish gets an apology, which is not stored', async () => {
    const delivery = signedDelivery(question());
    await api.call('POST', WEBHOOK, delivery);
    await api.appliance.sql`UPDATE channel_replies SET reply = NULL, claimed_until = now() + interval '1 hour'`;
    const settings = { channels: { reply_deadline_seconds: 0.5 } };
    const hasty = await openTestApi({ settings, beside: api, worker: false });
    expect(textOf(await hasty.call('POST', WEBHOOK, delivery))).toContain('takes too long');
    await hasty.close();
    const stored = await api.appliance.sql`SELECT 1 FROM channel_replies WHERE reply LIKE '%takes too long%'`;
    expect(stored).toHaveLength(0);
  });

  test('a repeated delivery is refused after its configuration is deleted', async () => {
    const id = await createConfig(api, key, { bot_id: 'leaving' });
    const delivery = signedDelivery(question({ bot_id: 'leaving' }));
    expect((await api.call('POST', WEBHOOK, delivery)).status).toBe(200);
    await api.call('DELETE', `/v1/channels/configs/${id}`, { key });
    expect((await api.call('POST', WEBHOOK, delivery)).status).toBe(403);
  });
});

describe('more than 30 calls in a minute', () => {
  const TOO_MANY = 'try again in a minute';
  const ask = (n: number) => deliver(n % 2 === 0 ? api : second, question());

  test('calls beyond 30 in a minute get a message to retry later, counted exactly over two processes', async () => {
    const texts = (await Promise.all(Array.from({ length: 60 }, (_, n) => ask(n)))).map(textOf);
    expect(texts.filter((text) => text.includes('three months'))).toHaveLength(30);
    expect(texts.filter((text) => text.includes(TOO_MANY))).toHaveLength(30);
  });

  test('a call beyond the limit is answered for each earlier call that is a minute old', async () => {
    await Promise.all(Array.from({ length: 30 }, (_, n) => ask(n)));
    await api.appliance.sql`
      UPDATE channel_calls SET calls[1] = calls[1] - interval '1 minute', calls[2] = calls[2] - interval '1 minute'`;
    const texts = [textOf(await ask(0)), textOf(await ask(1)), textOf(await ask(0))];
    expect(texts.map((text) => text.includes(TOO_MANY))).toEqual([false, false, true]);
  });

  test('refused and repeated deliveries do not count towards the limit of calls', async () => {
    const delivery = signedDelivery(question());
    for (let n = 0; n < 31; n++) await deliver(api, question(), { secret: 'wrong' });
    for (let n = 0; n < 31; n++) await api.call('POST', WEBHOOK, delivery);
    expect(textOf(await ask(0))).toContain('three months');
  });

  test('the limit of one bot does not affect another, and its message is in the language of the utterance', async () => {
    await createConfig(api, key, { bot_id: 'calm' });
    await Promise.all(Array.from({ length: 30 }, (_, n) => ask(n)));
    expect(textOf(await deliver(api, question({ bot_id: 'calm' })))).toContain('three months');
    expect(textOf(await deliver(api, question({ utterance: '펌프는 언제 윤활합니까?' })))).toContain('1분 후에');
  });

  test('a delivery beyond the limit is answered when it is repeated later', async () => {
    await Promise.all(Array.from({ length: 30 }, (_, n) => ask(n)));
    const delivery = signedDelivery(question());
    expect(textOf(await api.call('POST', WEBHOOK, delivery))).toContain(TOO_MANY);
    await api.appliance.sql`DELETE FROM channel_calls`;
    expect(textOf(await api.call('POST', WEBHOOK, delivery))).toContain('three months');
  });
});

test('deliveries, refusals and faults are counted for each channel', async () => {
  await deliver(api, question());
  await deliver(api, question(), { secret: 'wrong' });
  await deliver(api, question({ bot_id: 'nobody' }));
  const { body } = await api.call('GET', '/metrics');
  const value = (name: string) =>
    Number(
      body
        .split('\n')
        .find((line: string) => line.startsWith(`${name} `))
        ?.split(' ')
        .at(-1),
    );
  expect(
    value(`service_channel_deliveries_total{channel="${configId}",bot="bot-1",outcome="answered"}`),
  ).toBeGreaterThan(0);
  expect(
    value(`service_channel_deliveries_total{channel="${configId}",bot="bot-1",outcome="rate_limited"}`),
  ).toBeGreaterThan(0);
  expect(
    value(`service_channel_deliveries_total{channel="${configId}",bot="bot-1",outcome="replayed"}`),
  ).toBeGreaterThan(0);
  expect(value(`service_channel_refusals_total{channel="${configId}",reason="signature_invalid"}`)).toBeGreaterThan(0);
  expect(value('service_channel_refusals_total{channel="",reason="bot_unknown"}')).toBeGreaterThan(0);
  expect(value(`service_channel_reply_seconds_count{channel="${configId}",bot="bot-1"}`)).toBeGreaterThan(0);
});

test('questions are metered on the axis embed, marked as internal', async () => {
  const metered = async () => {
    for (const { appliance } of [api, second]) await appliance.usage.meter.flush();
    const [row] = await api.appliance.sql`
      SELECT coalesce(sum(requests), 0)::int AS requests FROM usage_ledger WHERE axis = 'embed' AND internal`;
    return row?.['requests'] as number;
  };
  const before = await metered();
  await deliver(api, question());
  expect((await metered()) - before).toBe(1);
});
