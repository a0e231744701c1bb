import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openPostgresNotifier } from '../../src/jobs/notifier.ts';
import { openRedisNotifier } from '../../src/jobs/redis-notifier.ts';
import { openLogger } from '../../src/platform/logger.ts';
import { openPostgres } from '../../src/platform/postgres.ts';
import { openRedis, type RedisConnection } from '../../src/platform/redis.ts';
import { Secret } from '../../src/platform/secret.ts';
import { describeNotifier, type NotifiersUnderTest } from '../conformance/notifier.ts';
import { createTestDatabase, type TestDatabase } from '../support/postgres.ts';
import { redisAvailable, startRedis, type TestRedis } from '../support/redis.ts';
import { until } from '../support/until.ts';

const logger = openLogger('silent');

describe('the notifier over LISTEN / NOTIFY', () => {
  let db: TestDatabase;
  let under: NotifiersUnderTest;

  beforeAll(async () => {
    db = await createTestDatabase({ isEmpty: true });
    const other = openPostgres(db.connection, { poolMax: 2, applicationName: 'test' });
    under = {
      notifiers: [openPostgresNotifier(db.sql, db.sql), openPostgresNotifier(other, other)],
      async disrupt() {
        await db.sql`
          SELECT pg_terminate_backend(pid) FROM pg_stat_activity
          WHERE datname = current_database() AND pid <> pg_backend_pid()`;
      },
    };
    return () => other.end({ timeout: 1 });
  });
  afterAll(() => db.drop());

  describeNotifier(() => under);

  test('many jobs that are queued within a moment are told by few notifications, and the last one by one after it', async () => {
    const [here, there] = under.notifiers;
    const stop = new AbortController();
    const listener = { count: 0, sentAtLast: 0 };
    let sent = 0;
    await there.listen(
      'bulk',
      {
        onNotification() {
          listener.count++;
          listener.sentAtLast = sent;
          return true;
        },
        onLost: () => undefined,
      },
      stop.signal,
    );
    const notified: Promise<void>[] = [];
    const beganMs = performance.now();
    for (; sent < 200; sent++) {
      notified.push(here.notifyQueued('bulk'));
      if (sent % 20 === 0) await Promise.all(notified);
    }
    await Promise.all(notified);
    const tookMs = performance.now() - beganMs;
    await until(async () => listener.sentAtLast === 200);
    expect(listener.count).toBeLessThanOrEqual(3 + tookMs / 50);
    stop.abort();
  });
});

describe.skipIf(!redisAvailable())('the notifier over bee-queue', () => {
  let server: TestRedis;
  let connections: RedisConnection[];
  let under: NotifiersUnderTest;

  beforeAll(async () => {
    server = await startRedis({ password: 'notifier' });
    connections = [0, 1].map(() => openRedis({ url: new Secret(server.url) }, logger));
    for (const redis of connections) await redis.ping();
    const [here, there] = connections.map((redis) => openRedisNotifier({ redis, logger, stallMs: 500 }));
    under = { notifiers: [here, there] as never, disrupt: () => server.restart() };
  });
  afterAll(async () => {
    for (const redis of connections) await redis.close();
    await server.drop();
  });

  describeNotifier(() => under);

  test('a notification does nothing and returns soon while Redis is unavailable', async () => {
    const [here] = under.notifiers;
    await here.notifyQueued('ingest');
    server.pause();
    await here.notifyQueued('ingest'); // Redis does not answer
    await here.notifyLost('ingest', 'job_1');
    server.resume();
    await server.stop();
    await here.notifyQueued('ingest');
    await here.notifyLost('ingest', 'job_1');
    await server.restart();
    await until(async () => connections.every((redis) => redis.isReady));
  });

  test('notifications without a listener do not pile up', async () => {
    const [here] = under.notifiers;
    for (let i = 0; i < 500; i++) await here.notifyQueued('bulk');
    const { client } = connections[0] as RedisConnection;
    expect(await client.llen('service:bells:bulk:waiting')).toBeLessThanOrEqual(32);
    expect(await client.hlen('service:bells:bulk:jobs')).toBeLessThanOrEqual(32);
  });

  test('a notification that was lost with its listener is put back by the next listener', {
    timeout: 60_000,
  }, async () => {
    const { client } = connections[0] as RedisConnection;
    // The state that a listener leaves when it is killed between taking a notification and finishing it.
    await client.del('service:bells:bulk:waiting', 'service:bells:bulk:jobs');
    await client.hset('service:bells:bulk:jobs', 'bell-0', '{"data":{"passes":0},"options":{},"status":"created"}');
    await client.lpush('service:bells:bulk:active', 'bell-0');
    const stop = new AbortController();
    let received = 0;
    const listener = {
      onNotification: () => {
        received++;
        return true;
      },
      onLost: () => {},
    };
    await under.notifiers[1].listen('bulk', listener, stop.signal);
    await until(async () => received > 0, { withinMs: 30_000, what: 'the notification' });
    expect(await client.hlen('service:bells:bulk:jobs')).toBe(0);
    stop.abort();
  });

  test('a listener that starts while Redis is away listens once it is there', { timeout: 60_000 }, async () => {
    await server.stop();
    const stop = new AbortController();
    let received = 0;
    const listener = {
      onNotification: () => {
        received++;
        return true;
      },
      onLost: () => {},
    };
    await under.notifiers[0].listen('ingest', listener, stop.signal);
    await server.restart();
    await until(async () => received > 0, { what: 'the notification for what may have been missed' });
    stop.abort();
  });
});
