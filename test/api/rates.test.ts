import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Answer } from '../support/api.ts';
import { openTestAppliance, type TestAppliance } from '../support/appliance.ts';
import { openTestGateway, type TestGateway } from '../support/gateway.ts';
import { redisAvailable, startRedis, type TestRedis } from '../support/redis.ts';
import { until } from '../support/until.ts';

const RATE = 5;
const plans = {
  free: { requests_per_minute: { embed: RATE, embed_batch: RATE, embed_image: RATE }, quotas: { embed_image: 0 } },
};
/** One pixel. Its axis is not in the plan, so that no image is ever decoded. */
const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==';

/** Every route that has an axis, with a request that counts on it and its status while the rate allows it. */
const ROUTES = [
  ['a string', 'embed', '/v1/embeddings', { input: 'one text' }, 200],
  ['a list of one', 'embed', '/v1/embeddings', { input: ['one text'] }, 200],
  ['a list of two', 'embed_batch', '/v1/embeddings', { input: ['two', 'texts'] }, 200],
  ['texts', 'embed_batch', '/v1/embed/batch', { texts: ['one text'] }, 200],
  ['images', 'embed_image', '/v1/embed/image', { images: [PNG] }, 403],
] as const;

interface Headers {
  readonly limit: number;
  readonly remaining: number;
  readonly reset: number;
}

function headersOf({ headers }: Answer): Headers {
  const number = (name: string) => Number(headers.get(name) ?? Number.NaN);
  return {
    limit: number('ratelimit-limit'),
    remaining: number('ratelimit-remaining'),
    reset: number('ratelimit-reset'),
  };
}

function expectLimited(answer: Answer, axis: string): void {
  const { status, body, headers } = answer;
  expect(status).toBe(429);
  expect(body.error).toMatchObject({
    type: 'rate_limit_error',
    code: 'rate_limited',
    message: expect.stringContaining(axis),
  });
  expect(body.request_id).toBe(headers.get('x-request-id'));
  const { limit, remaining, reset } = headersOf(answer);
  expect([limit, remaining]).toEqual([RATE, 0]);
  expect(Number(headers.get('retry-after'))).toBe(reset);
  expect(reset).toBeGreaterThanOrEqual(1);
  // The first request of a burst leaves the last minute after a minute.
  expect(reset).toBeLessThanOrEqual(60);
}

let serial = 0;
const organization = (test: TestGateway) => test.key({ org: `limited-${++serial}`, scopes: ['embed'] });

describe('request rates of one process', () => {
  let test: TestGateway;
  beforeAll(async () => {
    test = await openTestGateway({ plans });
  });
  afterAll(() => test.close());

  it.each(ROUTES)(
    'requests with %s count down the rate of axis %s at %s, and then get a 429',
    async (_label, axis, path, json, status) => {
      const key = await organization(test);
      const answers: Answer[] = [];
      for (let n = 0; n <= RATE; n++) answers.push(await test.call('POST', path, { key, json }));
      const passed = answers.filter((answer) => answer.status !== 429);
      for (const answer of passed) expect([answer.status, headersOf(answer).limit]).toEqual([status, RATE]);
      expectLimited(answers.at(-1) as Answer, axis);
      const remaining = passed.map((answer) => headersOf(answer).remaining);
      expect(remaining[0]).toBe(RATE - 1);
      expect(remaining.at(-1)).toBe(0);
    },
  );

  it('rates are counted by axis and organization, with all keys of an organization together', async () => {
    const [org, other] = [`limited-${++serial}`, `limited-${++serial}`];
    const [one, two] = [await test.key({ org, scopes: ['embed'] }), await test.key({ org, scopes: ['embed'] })];
    const stranger = await test.key({ org: other, scopes: ['embed'] });
    const embed = (key: string, input: unknown) => test.call('POST', '/v1/embeddings', { key, json: { input } });
    for (let n = 0; n < RATE; n++) await embed(n % 2 === 0 ? one : two, 'one text');
    expect((await embed(one, 'one text')).status).toBe(429);
    expect((await embed(two, 'one text')).status).toBe(429);
    expect((await embed(two, ['two', 'texts'])).status).toBe(200);
    expect((await embed(stranger, 'one text')).status).toBe(200);
  });

  it('answers have no rate headers for a plan without a rate and for a route without an axis', async () => {
    const free = await organization(test);
    const enterprise = await test.key({ scopes: ['embed'] });
    for (let n = 0; n < 2 * RATE; n++) {
      const answer = await test.call('POST', '/v1/embeddings', { key: enterprise, json: { input: 'x' } });
      expect([answer.status, answer.headers.get('ratelimit-limit')]).toEqual([200, null]);
    }
    const models = await test.call('GET', '/v1/models', { key: free });
    expect([models.status, models.headers.get('ratelimit-limit')]).toEqual([200, null]);
  });

  it('a request refused for its body or its key does not count', async () => {
    const key = await organization(test);
    for (let n = 0; n < 2 * RATE; n++) {
      expect((await test.call('POST', '/v1/embeddings', { key, json: { input: [] } })).status).toBe(400);
      expect((await test.call('POST', '/v1/embeddings', { key: `${key}x`, json: { input: 'x' } })).status).toBe(401);
    }
    expect(headersOf(await test.call('POST', '/v1/embeddings', { key, json: { input: 'x' } })).remaining).toBe(
      RATE - 1,
    );
  });

  it('a request over the rate does not count against the quota of the month', async () => {
    const key = await organization(test);
    const answers = await Promise.all(
      Array.from({ length: 40 }, () => test.call('POST', '/v1/embeddings', { key, json: { input: 'x' } })),
    );
    const passed = answers.filter(({ status }) => status === 200);
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(40 - passed.length);
    const { body } = await test.call('GET', '/v1/usage/summary', { key });
    expect(body.axes.embed).toMatchObject({ requests: passed.length, texts: passed.length });
  });
});

describe.skipIf(!redisAvailable())('request rates of two processes with one Redis', () => {
  const password = 'canary-of-redis';
  let redis: TestRedis;
  let installation: TestAppliance;
  let gates: [TestGateway, TestGateway];

  beforeAll(async () => {
    redis = await startRedis({ password });
    installation = await openTestAppliance();
    const settings = { plans, redis_url: redis.url };
    gates = [
      await openTestGateway(settings, {}, { beside: installation }),
      await openTestGateway(settings, {}, { beside: installation }),
    ];
    for (const gate of gates) await until(() => isShared(gate), { what: 'Redis' });
  });
  afterAll(async () => {
    for (const gate of gates) await gate.close();
    await installation.close();
    await redis.drop();
  });

  /** Return true once the gate counts in Redis: the other process then sees its count. */
  async function isShared(gate: TestGateway): Promise<boolean> {
    const key = await organization(gate);
    const other = gates.find((each) => each !== gate) as TestGateway;
    await gate.call('POST', '/v1/embeddings', { key, json: { input: 'x' } });
    const answer = await other.call('POST', '/v1/embeddings', { key, json: { input: 'x' } });
    return headersOf(answer).remaining === RATE - 2;
  }

  it('two processes with one Redis share the limit', async () => {
    const key = await organization(gates[0]);
    const answers = await Promise.all(
      Array.from({ length: 30 }, (_, n) =>
        (gates[n % 2] as TestGateway).call('POST', '/v1/embeddings', { key, json: { input: 'x' } }),
      ),
    );
    const passed = answers.filter(({ status }) => status === 200);
    expect([RATE, RATE + 1]).toContain(passed.length);
    for (const answer of answers) if (answer.status !== 200) expectLimited(answer, 'embed');
  });

  it('each process serves and counts requests by itself without Redis', async () => {
    await redis.stop();
    const key = await organization(gates[0]);
    for (const gate of gates) {
      const answers: Answer[] = [];
      for (let n = 0; n <= RATE; n++)
        answers.push(await gate.call('POST', '/v1/embeddings', { key, json: { input: 'x' } }));
      expect(answers.slice(0, RATE).map(({ status }) => status)).toEqual(new Array(RATE).fill(200));
      expectLimited(answers.at(-1) as Answer, 'embed');
    }
  });
});
