import { afterEach, describe, expect, test } from 'vitest';
import { openRedisNotifier } from '../../src/jobs/redis-notifier.ts';
import { openRedis, type RedisConnection } from '../../src/platform/redis.ts';
import { Secret } from '../../src/platform/secret.ts';
import { keepLogs } from '../support/logs.ts';
import { redisAvailable } from '../support/redis.ts';
import { PRIMARY_NAME, type SentinelGroup, startSentinelGroup } from '../support/sentinel.ts';
import { until } from '../support/until.ts';

const FAILOVER_MS_MAX = 60_000;
const URL = new Secret('redis://sentinel');

function settingsOf(addresses: readonly string[], primary = PRIMARY_NAME) {
  const places = addresses.map((address) => ({ host: '127.0.0.1', port: Number(address.split(':')[1]) }));
  return { url: URL, sentinel: { addresses: places, primary, username: null, password: null, hasTls: false } };
}

test('Sentinels of which none answers are named with the cause', async () => {
  const { logger, lines } = keepLogs();
  const redis = openRedis(settingsOf(['127.0.0.1:1', '127.0.0.1:2']), logger);
  try {
    await expect(redis.ping()).rejects.toMatchObject({
      code: 'redis_unavailable',
      message: `Redis at ${PRIMARY_NAME} of the Sentinels 127.0.0.1:1, 127.0.0.1:2 (REDIS_URL) cannot be used: no Sentinel answers with a primary of this name`,
    });
    expect(lines).toHaveLength(1);
  } finally {
    await redis.close();
  }
});

describe.skipIf(!redisAvailable())('a Redis with a replica and three Sentinels', () => {
  let group: SentinelGroup;
  const opened: RedisConnection[] = [];
  afterEach(async () => {
    for (const redis of opened.splice(0)) await redis.close();
    await group?.drop();
  });

  test('commands and notifications of jobs go to the new primary after a fail-over', async () => {
    group = await startSentinelGroup();
    const { logger, messages } = keepLogs();
    const open = () => {
      const redis = openRedis(settingsOf(group.addresses), logger);
      opened.push(redis);
      return redis;
    };
    const [sending, listening] = [open(), open()];
    await Promise.all([sending.ping(), listening.ping()]);
    await sending.client.set('key', '1');
    const stop = new AbortController();
    let notified = 0;
    const listener = {
      onNotification: () => {
        notified++;
        return true;
      },
      onLost: () => undefined,
    };
    const notifier = openRedisNotifier({ redis: sending, logger });
    await openRedisNotifier({ redis: listening, logger }).listen('ingest', listener, stop.signal);
    await notifier.notifyQueued('ingest');
    await until(async () => notified > 0);

    const old = await group.primary();
    await old.kill();
    const isMoved = async () => (await group.primary().catch(() => old)) !== old;
    await until(isMoved, { withinMs: FAILOVER_MS_MAX, everyMs: 100, what: 'another primary' });
    await until(async () => sending.isReady && listening.isReady, { withinMs: FAILOVER_MS_MAX });
    const isWritten = async () => (await sending.client.set('after', '1').catch(() => null)) === 'OK';
    await until(isWritten, { withinMs: FAILOVER_MS_MAX, everyMs: 100, what: 'a write to the new primary' });
    const isNotified = async () => {
      const before = notified;
      await notifier.notifyQueued('ingest');
      return until(async () => notified > before, { withinMs: 1_000 }).catch(() => false);
    };
    await until(isNotified, { withinMs: FAILOVER_MS_MAX, everyMs: 100, what: 'a notification over the new primary' });
    expect(messages()).toContain('Redis is reachable again');

    // The old one comes back as a replica, which refuses writes.
    await old.start();
    await until(isWritten, { withinMs: FAILOVER_MS_MAX, everyMs: 100 });
    expect((await group.primary()).name).not.toBe(old.name);
    stop.abort();
  });

  test('a name that the Sentinels do not know is a fault that says so', async () => {
    group = await startSentinelGroup();
    const redis = openRedis(settingsOf(group.addresses, 'another'), keepLogs().logger);
    opened.push(redis);
    await expect(redis.ping()).rejects.toMatchObject({ message: expect.stringContaining('no Sentinel answers') });
  });
});
