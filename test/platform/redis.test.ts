import { afterEach, describe, expect, test } from 'vitest';
import { openRedis, type RedisConnection } from '../../src/platform/redis.ts';
import { Secret } from '../../src/platform/secret.ts';
import { keepLogs } from '../support/logs.ts';
import { redisAvailable, startRedis, type TestRedis } from '../support/redis.ts';
import { until } from '../support/until.ts';

const PASSWORD = 'canary-4d1f0c';

test('a URL that is not one of Redis is refused, and the error does not show it', () => {
  for (const url of ['localhost:6379', 'http://:canary@localhost', '//:canary@localhost', 'redis://[canary', '']) {
    let thrown: unknown;
    try {
      openRedis({ url: new Secret(url) }, keepLogs().logger);
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toMatchObject({ code: 'config_invalid' });
    expect(String(thrown)).not.toContain('canary');
  }
});

test.each([
  ['redis://127.0.0.1:1', '127.0.0.1:1', 'nothing listens there'],
  ['redis://nowhere.invalid:6379', 'nowhere.invalid:6379', 'this host name'],
])('a Redis that cannot be reached at %s is named with its setting and the cause', async (url, address, cause) => {
  const redis = openRedis({ url: new Secret(url) }, keepLogs().logger);
  try {
    const message = expect.stringContaining(`Redis at ${address} (REDIS_URL) cannot be used: ${cause}`);
    await expect(redis.ping()).rejects.toMatchObject({ code: 'redis_unavailable', message });
  } finally {
    await redis.close();
  }
});

describe.skipIf(!redisAvailable())('with a server', () => {
  let server: TestRedis;
  let redis: RedisConnection;
  afterEach(async () => {
    await redis?.close();
    await server?.drop();
  });

  test('the first ping waits for the connection', async () => {
    server = await startRedis({ password: PASSWORD });
    const { logger, lines } = keepLogs();
    redis = openRedis({ url: new Secret(server.url) }, logger);
    await redis.ping();
    expect(redis.isReady).toBe(true);
    await redis.client.set('a', '1');
    expect(await redis.client.get('a')).toBe('1');
    expect(lines).toEqual([]);
  });

  test('an outage logs one warning and its end one line; commands fail meanwhile, and none is sent later', async () => {
    server = await startRedis({ password: PASSWORD });
    const { logger, lines, messages } = keepLogs();
    redis = openRedis({ url: new Secret(server.url) }, logger);
    await redis.ping();
    let attempts = 0;
    redis.client.on('reconnecting', () => attempts++);
    await server.stop();
    await until(async () => !redis.isReady);
    await expect(redis.client.set('late', '1')).rejects.toThrow();
    await expect(redis.ping()).rejects.toMatchObject({ code: 'redis_unavailable', status: 503 });
    await until(async () => attempts >= 3); // at least two of them failed
    await server.restart();
    await until(async () => redis.isReady);
    expect(await redis.client.get('late')).toBeNull();
    expect(messages()).toEqual([
      'Redis is not reachable; the service continues without it',
      'Redis is reachable again',
    ]);
    expect(JSON.stringify(lines)).not.toContain(PASSWORD);
  });

  test('a server that is not there at the start is found later', async () => {
    server = await startRedis();
    await server.stop();
    const { logger, messages } = keepLogs();
    redis = openRedis({ url: new Secret(server.url) }, logger);
    await expect(redis.ping()).rejects.toMatchObject({ code: 'redis_unavailable' });
    await server.restart();
    await until(async () => redis.isReady);
    expect(messages()).toEqual([
      'Redis is not reachable; the service continues without it',
      'Redis is reachable again',
    ]);
  });

  test('a wrong password is an outage that shows neither password', async () => {
    server = await startRedis({ password: PASSWORD });
    const { logger, lines } = keepLogs();
    redis = openRedis({ url: new Secret(server.url.replace(PASSWORD, 'canary-wrong')) }, logger);
    await expect(redis.ping()).rejects.toMatchObject({
      code: 'redis_unavailable',
      message: `Redis at 127.0.0.1:${new URL(server.url).port} (REDIS_URL) cannot be used: it refuses this user and password (WRONGPASS)`,
    });
    expect(lines).toMatchObject([{ level: 40, setting: 'REDIS_URL', reason: expect.stringContaining('WRONGPASS') }]);
    expect(JSON.stringify(lines)).not.toContain('canary');
  });

  test('a server that hangs fails a command instead of holding it', async () => {
    server = await startRedis();
    redis = openRedis({ url: new Secret(server.url) }, keepLogs().logger);
    await redis.ping();
    server.pause();
    try {
      await expect(redis.ping()).rejects.toMatchObject({ code: 'redis_unavailable' });
    } finally {
      server.resume();
    }
  });

  test('a connection may be closed early and twice, and stays closed', async () => {
    server = await startRedis();
    const { logger, lines } = keepLogs();
    redis = openRedis({ url: new Secret(server.url) }, logger);
    await redis.close();
    await redis.close();
    await expect(redis.ping()).rejects.toMatchObject({ code: 'redis_unavailable' });
    expect(redis.isReady).toBe(false);
    expect(lines).toEqual([]);
  });
});
