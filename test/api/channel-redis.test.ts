import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openLogger } from '../../src/platform/logger.ts';
import { openTestApi, type TestApi } from '../support/api.ts';
import {
  createConfig,
  deliver,
  fillBucket,
  freshUser,
  PATIENT,
  signedDelivery,
  textOf,
  WEBHOOK,
} from '../support/channels.ts';
import { redisAvailable, startRedis, type TestRedis } from '../support/redis.ts';
import { until } from '../support/until.ts';

describe.skipIf(!redisAvailable())('two API processes with Redis', () => {
  let redis: TestRedis;
  let apis: readonly [TestApi, TestApi];
  let key: string;
  beforeAll(async () => {
    redis = await startRedis();
    const settings = { ...PATIENT, redis_url: redis.url };
    const logger = openLogger('silent');
    const first = await openTestApi({ settings, logger });
    apis = [first, await openTestApi({ settings, logger, beside: first, worker: false })];
    key = await first.key({ scopes: ['channels:manage'] });
    await fillBucket(first, 'default', [{ text: 'The pump is greased every three months.' }]);
    for (const { appliance } of apis) await until(async () => appliance.redis?.isReady);
  });
  afterAll(async () => {
    for (const api of apis.toReversed()) await api.close();
    await redis.drop();
  });

  const ask = async (n: number, bot_id: string) => {
    const answer = await deliver(apis[n % 2] as TestApi, {
      bot_id,
      user_id: freshUser(),
      utterance: 'is the pump greased?',
    });
    return textOf(answer).includes('three months') ? 'answered' : 'refused';
  };
  async function askMany(bot: string): Promise<string[]> {
    const outcomes: string[] = [];
    for (let n = 0; n < 60; n += 6) {
      outcomes.push(...(await Promise.all(Array.from({ length: 6 }, (_, each) => ask(n + each, bot)))));
    }
    return outcomes;
  }

  test('two processes with Redis together answer 30 calls a minute, not 60, and log them in Redis only', async () => {
    await createConfig(apis[0], key, { bot_id: 'shared' });
    const outcomes = await askMany('shared');
    expect(outcomes).toEqual([...new Array(30).fill('answered'), ...new Array(30).fill('refused')]);
    expect(await apis[0].appliance.sql`SELECT 1 FROM channel_calls`).toHaveLength(0);
  });

  test('two processes with Redis give one reply to a delivery that is sent to both 100 times at once', async () => {
    await createConfig(apis[0], key, { bot_id: 'once' });
    const delivery = signedDelivery({ bot_id: 'once', utterance: 'is the pump greased?' });
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, n) => (apis[n % 2] as TestApi).call('POST', WEBHOOK, delivery)),
    );
    for (const { status, body } of answers) expect({ status, body }).toEqual({ status: 200, body: answers[0]?.body });
    const kept = await apis[0].appliance.sql`SELECT 1 FROM channel_replies WHERE config_id IN
      (SELECT id FROM channel_configs WHERE bot_id = 'once')`;
    expect(kept).toHaveLength(1);
  });

  test('two processes share the log of calls in PostgreSQL while Redis is unavailable', async () => {
    await createConfig(apis[0], key, { bot_id: 'away' });
    await redis.stop();
    for (const { appliance } of apis) await until(async () => appliance.redis?.isReady === false);
    expect((await askMany('away')).filter((outcome) => outcome === 'answered')).toHaveLength(30);
  });
});
