import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { CachedVector } from '../../../src/embedding/cache/cache-key.ts';
import { openRedisCache } from '../../../src/embedding/cache/redis-cache.ts';
import { openNativeVectors } from '../../../src/embedding/native-vectors.ts';
import { openRedis, type RedisConnection } from '../../../src/platform/redis.ts';
import { Secret } from '../../../src/platform/secret.ts';
import { keepLogs } from '../../support/logs.ts';
import { redisAvailable, startRedis, type TestRedis } from '../../support/redis.ts';
import { until } from '../../support/until.ts';
import { scriptedProvider, testModel, tokensOf, vectorOf } from '../scripted-provider.ts';

const COOLDOWN_MS = 5000;
/** Timeout for tests in which Redis must answer, long enough for a busy machine. */
const PATIENT_MS = 10_000;

describe.skipIf(!redisAvailable())('the cache in Redis', () => {
  let server: TestRedis;
  let connection: RedisConnection;
  let logs: ReturnType<typeof keepLogs>;
  let clockMs = 0;

  beforeAll(async () => {
    server = await startRedis();
  });
  afterAll(async () => {
    await server?.drop();
  });
  beforeEach(async () => {
    logs = keepLogs();
    connection = openRedis({ url: new Secret(server.url) }, logs.logger);
    await connection.ping();
    await connection.client.flushall();
  });
  afterEach(async () => {
    server.resume();
    await connection.close();
  });

  const open = (timeoutMs = PATIENT_MS) =>
    openRedisCache({ redis: connection, logger: logs.logger, timeoutMs, cooldownMs: COOLDOWN_MS, now: () => clockMs });
  const warnings = () => logs.lines.filter(({ level }) => level >= 40);

  test('vectors that one process writes to Redis are found by another, in the order of the keys', async () => {
    const writer = open();
    writer.set(new Map([entryOf('a', 3), entryOf('b', 70_000)]));
    await writer.close();
    const found = await open().get(['b', 'missing', 'a'], 4);
    expect(found).toEqual([entryOf('b', 70_000)[1], undefined, entryOf('a', 3)[1]]);
  });

  test('keys in Redis contain a version and expire after seven days', async () => {
    const cache = open();
    cache.set(new Map([entryOf('a', 3)]));
    await cache.close();
    expect(await connection.client.keys('*')).toEqual(['emb:1:a']);
    const days = (await connection.client.pttl('emb:1:a')) / 86_400_000;
    expect(days).toBeGreaterThan(6.9);
    expect(days).toBeLessThanOrEqual(7);
    expect(await connection.client.strlen('emb:1:a')).toBe(4 + 4 * 4);
  });

  test('a value in Redis of another length, or that is no unit vector, is not found', async () => {
    const cache = open();
    cache.set(new Map([entryOf('long', 3)]));
    await cache.close();
    await connection.client.set('emb:1:empty', '');
    await connection.client.set('emb:1:zeros', Buffer.alloc(20));
    await connection.client.set('emb:1:nan', Buffer.alloc(20, 0xff));
    await connection.client.hset('emb:1:hash', 'field', 'value');
    expect(await cache.get(['long'], 3)).toEqual([undefined]);
    expect(await cache.get(['empty', 'zeros', 'nan', 'hash'], 4)).toEqual(Array(4).fill(undefined));
  });

  test('while Redis hangs nothing is found, one warning is logged, and Redis is asked again after the cooldown', async () => {
    const cache = open(20);
    server.pause();
    expect(await cache.get(['a'], 4)).toEqual([undefined]);
    const asked = countLookups();
    for (let i = 0; i < 5; i++) expect(await cache.get(['a'], 4)).toEqual([undefined]);
    expect(asked.lookups).toBe(0);
    clockMs += COOLDOWN_MS;
    // One caller tries again; the others meanwhile do without the cache.
    const lookups = [cache.get(['a'], 4), cache.get(['a'], 4), cache.get(['a'], 4)];
    expect(asked.lookups).toBe(1);
    expect(await Promise.all(lookups)).toEqual([[undefined], [undefined], [undefined]]);
    expect(warnings()).toHaveLength(1);
  });

  test('the cache in Redis is used again after an outage', async () => {
    const cache = open(200);
    server.pause();
    await cache.get(['a'], 4);
    cache.set(new Map([entryOf('a', 1)]));
    server.resume();
    await until(
      async () => {
        clockMs += COOLDOWN_MS;
        cache.set(new Map([entryOf('b', 2)]));
        return (await cache.get(['b'], 4))[0];
      },
      { what: 'a value from Redis' },
    );
    expect(await cache.get(['a'], 4)).toEqual([undefined]);
    expect(logs.messages()).toContain('the embedding cache in Redis works again');
  });

  test('a Redis that is down causes one warning and no errors', async () => {
    const cache = open();
    await server.stop();
    await until(async () => !connection.isReady, { what: 'the end of the connection' });
    for (let i = 0; i < 3; i++) {
      expect(await cache.get(['a'], 4)).toEqual([undefined]);
      cache.set(new Map([entryOf('a', 1)]));
    }
    expect(warnings()).toHaveLength(1);
    await server.restart();
    await until(async () => connection.isReady, { what: 'a new connection' });
    cache.set(new Map([entryOf('a', 1)]));
    await cache.close();
    expect(await cache.get(['a'], 4)).toEqual([entryOf('a', 1)[1]]);
  });

  test('a Redis that refuses writes is still read, and one warning is logged', async () => {
    const cache = open();
    cache.set(new Map([entryOf('a', 1)]));
    await cache.close();
    await connection.client.config('SET', 'maxmemory', '1');
    for (let i = 0; i < 3; i++) {
      cache.set(new Map([entryOf('b', 2)]));
      await cache.close();
    }
    expect(await cache.get(['a', 'b'], 4)).toEqual([entryOf('a', 1)[1], undefined]);
    expect(warnings()).toHaveLength(1);
    await connection.client.config('SET', 'maxmemory', '0');
  });

  test('writes that Redis has not acknowledged are bounded', async () => {
    const cache = open(20);
    server.pause();
    let writes = 0;
    const { client } = connection;
    const pipeline = client.pipeline.bind(client);
    client.pipeline = () => {
      writes++;
      return pipeline();
    };
    const megabyte = new Float32Array(262_144).fill(1 / 512);
    for (let i = 0; i < 100; i++) cache.set(new Map([[`big ${i}`, { vector: megabyte, tokens: 1 }]]));
    expect(writes).toBe(15);
  });

  test('a text that another process has embedded is not sent again in a batch with new texts', async () => {
    const model = testModel('my/model');
    const { provider, calls } = scriptedProvider();
    const embed = async (texts: string[]) => {
      const vectors = openNativeVectors({ cacheBytes: 0, redis: open() });
      const { signal } = new AbortController();
      const count = (counted: readonly string[]) => counted.map(tokensOf);
      const reply = vectors.embed({ model, provider, texts, taskType: null, signal, count });
      reply.catch(() => {});
      const before = calls.length;
      const call = await Promise.race([reply, until(async () => calls[before], { everyMs: 1 })]);
      if ('answer' in call) call.answer();
      const answer = await reply;
      await vectors.close();
      return answer;
    };
    await embed(['b', 'd']);
    const mixed = await embed(['a', 'b', 'c', 'd']);
    const cached = await embed(['d', 'a', 'c', 'b', 'a']);
    expect(calls.map((call) => call.texts)).toEqual([
      ['b', 'd'],
      ['a', 'c'],
    ]);
    expect([...mixed.vectors]).toEqual(['a', 'b', 'c', 'd'].flatMap((text) => vectorOf(model, null, text)));
    expect(mixed.hits).toBe(2);
    expect([...cached.vectors]).toEqual(['d', 'a', 'c', 'b', 'a'].flatMap((text) => vectorOf(model, null, text)));
    expect(cached.tokens).toEqual([2, 2, 2, 2, 2]);
    expect(cached.hits).toBe(5);
  });

  function countLookups(): { lookups: number } {
    const counted = { lookups: 0 };
    const { client } = connection;
    const mget = client.mgetBuffer.bind(client);
    client.mgetBuffer = ((keys: string[]) => {
      counted.lookups++;
      return mget(keys);
    }) as typeof client.mgetBuffer;
    return counted;
  }
});

function entryOf(key: string, tokens: number): [key: string, entry: CachedVector] {
  return [key, { vector: Float32Array.from(vectorOf(testModel('my/model'), null, key)), tokens }];
}
