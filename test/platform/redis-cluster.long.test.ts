import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { CachedVector } from '../../src/embedding/cache/cache-key.ts';
import { openRedisCache } from '../../src/embedding/cache/redis-cache.ts';
import { openRedisNotifier } from '../../src/jobs/redis-notifier.ts';
import { openRedis, type RedisConnection } from '../../src/platform/redis.ts';
import { Secret } from '../../src/platform/secret.ts';
import { openRedisRateWindow } from '../../src/usage/redis-rate-window.ts';
import { openRedisRequestLog } from '../../src/usage/redis-request-log.ts';
import { keepLogs } from '../support/logs.ts';
import { redisAvailable } from '../support/redis.ts';
import { type RedisCluster, startRedisCluster } from '../support/redis-cluster.ts';
import { until } from '../support/until.ts';

const PASSWORD = 'canary-cluster-81';
const FAILOVER_MS_MAX = 60_000;

test('a cluster of which no server answers is named with the cause', async () => {
  const { logger, lines } = keepLogs();
  const cluster = [
    { host: '127.0.0.1', port: 1 },
    { host: '127.0.0.1', port: 2 },
  ];
  const redis = openRedis({ url: new Secret('redis://cluster'), cluster }, logger);
  try {
    await expect(redis.ping()).rejects.toMatchObject({
      code: 'redis_unavailable',
      message:
        'Redis at the cluster of 127.0.0.1:1, 127.0.0.1:2 (REDIS_URL) cannot be used: no server of the cluster answers',
    });
    expect(lines).toHaveLength(1);
  } finally {
    await redis.close();
  }
});

describe.skipIf(!redisAvailable())('a Redis Cluster of three primaries and three replicas', () => {
  let cluster: RedisCluster;
  const opened: RedisConnection[] = [];
  const logs = keepLogs();
  beforeAll(async () => {
    cluster = await startRedisCluster({ password: PASSWORD });
  }, 120_000);
  afterEach(async () => {
    for (const redis of opened.splice(0)) await redis.close();
  });
  afterAll(() => cluster?.drop());

  const open = async () => {
    const url = new Secret(`redis://:${PASSWORD}@cluster`);
    const redis = openRedis({ url, cluster: cluster.addresses.slice(0, 2) }, logs.logger);
    opened.push(redis);
    await redis.ping();
    return redis;
  };
  const vector = (tokens: number): CachedVector => ({ vector: Float32Array.from([1, 0, 0, 0]), tokens });

  test('a wrong password is a fault that says so, and is not logged', async () => {
    const redis = openRedis(
      { url: new Secret('redis://:canary-wrong@cluster'), cluster: cluster.addresses },
      logs.logger,
    );
    opened.push(redis);
    await expect(redis.ping()).rejects.toMatchObject({
      message: expect.stringContaining('refuses this user and password'),
    });
    expect(JSON.stringify(logs.lines)).not.toContain('canary-wrong');
  });

  test('vectors whose keys are of several servers are written and found', async () => {
    const entries = Array.from({ length: 60 }, (_, n) => [`key-${n}`, vector(n)] as const);
    const writer = openRedisCache({ redis: await open(), logger: logs.logger, timeoutMs: 10_000 });
    writer.set(new Map(entries));
    await writer.close();
    const reader = openRedisCache({ redis: await open(), logger: logs.logger, timeoutMs: 10_000 });
    const found = await reader.get([...entries.map(([key]) => key), 'missing'], 4);
    expect(found.map((entry) => entry?.tokens)).toEqual([...entries.keys(), undefined]);
    const owners = new Set(await Promise.all(entries.slice(0, 20).map(([key]) => cluster.ownerOf(`emb:1:${key}`))));
    expect(owners.size).toBe(3);
  });

  test('processes share request rates, whatever server holds a key', async () => {
    const [one, other] = [await open(), await open()];
    for (const open of [openRedisRateWindow, openRedisRequestLog]) {
      const [first, second] = [open(one.client), open(other.client)];
      for (let n = 0; n < 12; n++) {
        const key = `org-${n}`;
        const taken = [];
        for (const window of [first, second, first, second]) taken.push((await window.take(key, 3)).allowed);
        expect(taken).toEqual([true, true, true, false]);
      }
    }
  });

  test('notifications of jobs arrive, also after the primary of their queue was killed', async () => {
    const [sending, listening] = [await open(), await open()];
    const stop = new AbortController();
    const notified: string[] = [];
    const lost: (string | null)[] = [];
    for (const kind of ['ingest', 'bulk'] as const) {
      const listener = {
        onNotification: () => {
          notified.push(kind);
          return true;
        },
        onLost: (id: string | null) => void lost.push(id),
      };
      await openRedisNotifier({ redis: listening, logger: logs.logger }).listen(kind, listener, stop.signal);
    }
    const notifier = openRedisNotifier({ redis: sending, logger: logs.logger });
    await notifier.notifyQueued('ingest');
    await notifier.notifyQueued('bulk');
    await until(async () => notified.includes('ingest') && notified.includes('bulk'), { what: 'notifications' });
    await notifier.notifyLost('ingest', 'job_1');
    await until(async () => lost.includes('job_1'), { what: 'a lost job' });

    const key = 'service:bells:{ingest}:';
    const killed = await cluster.killOwner(key);
    const isMoved = async () => (await cluster.ownerOf(key).catch(() => killed)) !== killed;
    await until(isMoved, { withinMs: FAILOVER_MS_MAX, everyMs: 100, what: 'another primary' });
    const isNotified = async () => {
      const before = notified.filter((kind) => kind === 'ingest').length;
      await notifier.notifyQueued('ingest');
      const arrived = async () => notified.filter((kind) => kind === 'ingest').length > before;
      return until(arrived, { withinMs: 1_000 }).catch(() => false);
    };
    await until(isNotified, { withinMs: FAILOVER_MS_MAX, everyMs: 100, what: 'a notification over the new primary' });
    // The other servers were never down, and neither are the rates and the cache of their keys.
    const window = openRedisRateWindow(sending.client);
    const isTaken = async () => {
      const answer = await Promise.resolve(window.take('after', 100)).catch(() => null);
      return answer?.allowed === true;
    };
    await until(isTaken, { withinMs: FAILOVER_MS_MAX, everyMs: 100, what: 'a rate after the fail-over' });
    expect(JSON.stringify(logs.lines)).not.toContain(PASSWORD);
    stop.abort();
  }, 180_000);
});
