import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openRedis, type RedisConnection } from '../../src/platform/redis.ts';
import { Secret } from '../../src/platform/secret.ts';
import type { PlanSettings } from '../../src/usage/quotas.ts';
import { openMemoryRateWindow, type RateState, toRateState } from '../../src/usage/rate-window.ts';
import { openRateLimiter } from '../../src/usage/rates.ts';
import { openRedisRateWindow } from '../../src/usage/redis-rate-window.ts';
import { openRedisRequestLog } from '../../src/usage/redis-request-log.ts';
import { LOGGED_LIMIT_MAX, logRateState, openMemoryRequestLog } from '../../src/usage/request-log.ts';
import { describeRateWindow } from '../conformance/rate-window.ts';
import { describeRequestLog } from '../conformance/request-log.ts';
import { keepLogs } from '../support/logs.ts';
import { createRandom } from '../support/random.ts';
import { redisAvailable, startRedis, type TestRedis } from '../support/redis.ts';
import { until } from '../support/until.ts';

const PLANS: PlanSettings = { free: { quotas: {}, requestsPerMinute: { embed: 10, embed_batch: 1, search: 1_000 } } };
const MINUTE = Date.parse('2026-08-15T12:00:00Z');

describe('the memory window', () => {
  describeRateWindow(() => {
    const window = openMemoryRateWindow();
    return [window, window];
  });

  test('the window slides: the previous minute counts by the share that the last minute still covers', () => {
    let now = MINUTE;
    const window = openMemoryRateWindow({ now: () => now });
    const takeAll = () => {
      let taken = 0;
      while (window.take('a', 10).allowed) taken++;
      return taken;
    };
    now = MINUTE + 59_999;
    expect(takeAll()).toBe(10);
    now = MINUTE + 60_000;
    expect(takeAll()).toBe(0);
    now = MINUTE + 66_000; // 10 * 0.9 are in the last minute
    expect(takeAll()).toBe(1);
    now = MINUTE + 90_000; // 10 * 0.5, and 1
    expect(takeAll()).toBe(4);
    now = MINUTE + 180_000; // a whole window without a request
    expect(takeAll()).toBe(10);
  });

  test('the memory window holds a bounded number of keys and evicts the least recently used one', () => {
    const window = openMemoryRateWindow({ now: () => MINUTE, keysMax: 2 });
    window.take('a', 1);
    window.take('b', 1);
    expect(window.take('a', 1).allowed).toBe(false);
    window.take('c', 1); // evicts b
    expect(window.take('a', 1).allowed).toBe(false);
    expect(window.take('b', 1).allowed).toBe(true);
  });
});

describe('the memory log', () => {
  describeRequestLog(() => {
    const log = openMemoryRequestLog();
    return [log, log];
  });

  test.each([1, 3, 7, LOGGED_LIMIT_MAX])('at a rate of %i the wait is exact to the millisecond', (limit) => {
    let now = MINUTE;
    const log = openMemoryRequestLog({ now: () => now });
    const random = createRandom(limit);
    const allowedAt: number[] = [];
    for (let n = 0; n < 40 * limit; n++) {
      now += random.int(Math.ceil(120_000 / limit));
      const { allowed, count, waitMs } = log.take('a', limit);
      const inLastMinute = allowedAt.filter((time) => time > now - 60_000);
      expect(allowed).toBe(inLastMinute.length < limit);
      if (allowed) allowedAt.push(now);
      expect(count).toBe(inLastMinute.length + (allowed ? 1 : 0));
      if (count < limit) continue;
      const state = logRateState({ allowed, count, waitMs }, limit);
      expect([state.remaining, state.resetSeconds]).toEqual([0, Math.max(1, Math.ceil(waitMs / 1000))]);
      const before = now;
      now = before + waitMs - 1;
      expect(log.take('a', limit).allowed).toBe(false);
      now = before + waitMs;
      expect(log.take('a', limit).allowed).toBe(true);
      allowedAt.push(now);
    }
  });

  test('the memory log holds a bounded number of keys and evicts the least recently used one', () => {
    const log = openMemoryRequestLog({ now: () => MINUTE, keysMax: 2 });
    for (const key of ['a', 'b', 'a', 'c']) log.take(key, 1);
    expect(log.take('a', 1).allowed).toBe(false);
    expect(log.take('b', 1).allowed).toBe(true);
  });

  test('a lowered limit waits until enough requests have left the last minute', () => {
    let now = MINUTE;
    const log = openMemoryRequestLog({ now: () => now });
    for (const seconds of [0, 10, 20]) {
      now = MINUTE + seconds * 1000;
      log.take('a', 3);
    }
    expect(logRateState(log.take('a', 1), 1)).toEqual({ limit: 1, remaining: 0, resetSeconds: 60, allowed: false });
  });
});

describe('the state of a rate', () => {
  test.each([
    ['requests remain: until the window ends', 10, { previous: 0, current: 4, elapsedMs: 20_000 }, 6, 40],
    [
      'exhausted in this window: until the next one allows a request',
      10,
      { previous: 0, current: 10, elapsedMs: 20_000 },
      0,
      46,
    ],
    ['exhausted by the window before', 10, { previous: 10, current: 0, elapsedMs: 1000 }, 0, 5],
    ['exhausted by both windows', 10, { previous: 10, current: 5, elapsedMs: 30_000 }, 0, 6],
    ['a limit of one', 1, { previous: 0, current: 1, elapsedMs: 30_000 }, 0, 90],
    ['the limit was lowered', 2, { previous: 0, current: 10, elapsedMs: 0 }, 0, 114],
    ['never less than a second', 10, { previous: 0, current: 1, elapsedMs: 59_999 }, 9, 1],
  ])('the reset is computed in the case "%s"', (_, limit, counts, remaining, resetSeconds) => {
    expect(toRateState({ allowed: true, ...counts }, limit)).toEqual({ limit, remaining, resetSeconds, allowed: true });
  });

  test('the next request is allowed at the reset, and not earlier', () => {
    let now = MINUTE;
    const window = openMemoryRateWindow({ now: () => now });
    for (const [limit, startMs] of [
      [1, 100],
      [7, 12_345],
      [60, 59_999],
      [1000, 31_000],
    ] as const) {
      const key = `reset-${limit}`;
      now = MINUTE + startMs;
      let state: RateState;
      for (let half = 0; half < limit / 2; half++) window.take(key, limit);
      now += 45_000;
      do state = toRateState(window.take(key, limit), limit);
      while (state.allowed);
      expect(state.remaining).toBe(0);
      now += (state.resetSeconds - 1) * 1000 - 1;
      expect(window.take(key, limit).allowed).toBe(false);
      now += 1001;
      expect(window.take(key, limit).allowed).toBe(true);
    }
  });
});

describe('without Redis', () => {
  test('a large rate is counted by a sliding window', () => {
    const rates = openRateLimiter({ plans: PLANS, redis: null, logger: keepLogs().logger, now: () => MINUTE });
    const free = { orgId: 'org_1', plan: 'free' } as const;
    for (let n = 0; n < 1_000; n++) rates.take(free, 'search');
    expect(rates.take(free, 'search')).toEqual({ limit: 1_000, remaining: 0, resetSeconds: 61, allowed: false });
  });

  test('rates are counted by plan, organization and axis; a plan without a limit gives null', () => {
    const rates = openRateLimiter({ plans: PLANS, redis: null, logger: keepLogs().logger, now: () => MINUTE });
    const free = { orgId: 'org_1', plan: 'free' } as const;
    expect(rates.take({ orgId: 'org_1', plan: 'enterprise' }, 'embed')).toBeNull();
    expect(rates.take(free, 'embed_image')).toBeNull();
    for (let left = 9; left >= 0; left--) {
      expect(rates.take(free, 'embed')).toMatchObject({ limit: 10, remaining: left, allowed: true });
    }
    expect(rates.take(free, 'embed')).toEqual({ limit: 10, remaining: 0, resetSeconds: 60, allowed: false });
    expect(rates.take(free, 'embed_batch')).toMatchObject({ allowed: true });
    expect(rates.take({ ...free, orgId: 'org_2' }, 'embed')).toMatchObject({ allowed: true });
  });
});

describe.skipIf(!redisAvailable())('with Redis', () => {
  let server: TestRedis;
  let clients: Redis[];
  beforeAll(async () => {
    server = await startRedis();
  });
  afterAll(async () => {
    await server.drop();
  });
  beforeEach(async () => {
    clients = [new Redis(server.url), new Redis(server.url)];
    await clients[0]?.flushall();
  });
  afterEach(() => {
    for (const client of clients) client.disconnect();
  });

  describeRateWindow(() => [openRedisRateWindow(clients[0] as Redis), openRedisRateWindow(clients[1] as Redis)]);

  describeRequestLog(() => [openRedisRequestLog(clients[0] as Redis), openRedisRequestLog(clients[1] as Redis)]);

  test('the log in Redis forgets requests that are older than a minute, and itself', async () => {
    const [client] = clients as [Redis];
    const log = openRedisRequestLog(client);
    await log.take('clock', 2);
    const key = 'service:rate-log:clock';
    const first = Number(await client.lindex(key, 0));
    await client.lset(key, 0, first - 30_000);
    expect(await log.take('clock', 2)).toMatchObject({ allowed: true, count: 2 });
    const { allowed, waitMs } = await log.take('clock', 2);
    expect([allowed, waitMs <= 30_000, waitMs > 0]).toEqual([false, true, true]);
    await client.lset(key, 0, first - 60_000);
    expect(await log.take('clock', 2)).toMatchObject({ allowed: true, count: 2 });
    expect(await client.pttl(key)).toBeLessThanOrEqual(60_000);
  });

  test('the window slides on the clock of Redis, as the memory window does on its own', async () => {
    const [client] = clients as [Redis];
    const window = openRedisRateWindow(client);
    // Counts of this window and the one before, written as if time had passed.
    for (const [age, previous, current] of [
      [0, 3, 5],
      [1, 3, 5],
      [2, 3, 5],
    ] as const) {
      const first = await window.take('clock', 1_000_000);
      const number = Number(await client.hget('service:rate:clock', 'number'));
      await client.hset('service:rate:clock', { number: number - age, previous, current });
      const { allowed, ...counts } = await window.take('clock', 1_000_000);
      const expected = [
        { previous, current: current + 1 },
        { previous: current, current: 1 },
        { previous: 0, current: 1 },
      ][age];
      if (counts.elapsedMs < first.elapsedMs) continue; // a window ended in between
      expect({ allowed, ...counts }).toMatchObject({ allowed: true, ...expected });
      const exact = Math.ceil(counts.current + counts.previous); // the upper bound of the requests in the last minute
      expect(await window.take('clock', exact + 1)).toMatchObject({ allowed: true });
    }
    expect(await client.pttl('service:rate:clock')).toBeGreaterThan(60_000);
  });

  test('the script is sent again after Redis lost it', async () => {
    const [client] = clients as [Redis];
    const window = openRedisRateWindow(client);
    await window.take('script', 5);
    await client.script('FLUSH');
    expect(await window.take('script', 5)).toMatchObject({ allowed: true });
  });

  describe('that fails', () => {
    let redis: RedisConnection;
    let logs: ReturnType<typeof keepLogs>;
    const free = { orgId: 'org_1', plan: 'free' } as const;
    beforeEach(async () => {
      logs = keepLogs();
      redis = openRedis({ url: new Secret(server.url) }, keepLogs().logger);
      await redis.ping();
    });
    afterEach(async () => {
      await redis.close();
    });

    test('each process counts for itself while Redis is down, with one warning, and shares again afterwards', async () => {
      const rates = openRateLimiter({ plans: PLANS, redis, logger: logs.logger });
      expect(await rates.take(free, 'embed_batch')).toMatchObject({ allowed: true });
      expect(await rates.take(free, 'embed_batch')).toMatchObject({ allowed: false });
      await server.stop();
      await until(async () => !redis.isReady);
      expect(rates.take(free, 'embed_batch')).toMatchObject({ allowed: true });
      expect(rates.take(free, 'embed_batch')).toMatchObject({ allowed: false });
      await server.restart();
      await until(async () => redis.isReady);
      expect(await rates.take(free, 'embed')).toMatchObject({ allowed: true });
      expect(await redis.client.exists('service:rate-log:org_1:embed')).toBe(1);
      expect(logs.messages()).toEqual([
        'request rates are counted per process until Redis answers again',
        'request rates are shared through Redis again',
      ]);
    });

    test('a Redis that hangs delays one request, and is then not used for a while', async () => {
      const rates = openRateLimiter({ plans: PLANS, redis, logger: logs.logger });
      expect(await rates.take(free, 'embed')).toMatchObject({ remaining: 9 });
      server.pause();
      try {
        expect(await rates.take(free, 'embed')).toMatchObject({ allowed: true });
        expect(rates.take(free, 'embed')).not.toBeInstanceOf(Promise);
        expect(logs.messages()).toHaveLength(1);
      } finally {
        server.resume();
      }
      await until(async () => (await rates.take(free, 'embed')) && logs.messages().length === 2);
    });

    test('a Redis with invalid answers counts as not reachable', async () => {
      const rates = openRateLimiter({ plans: PLANS, redis, logger: logs.logger });
      await redis.client.set('service:rate-log:org_1:embed', 'not a list');
      expect(await rates.take(free, 'embed')).toMatchObject({ allowed: true, remaining: 9 });
      expect(logs.messages()).toHaveLength(1);
    });
  });
});
