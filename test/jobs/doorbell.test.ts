import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openPostgresDoorbell } from '../../src/jobs/doorbell.ts';
import { openRedisDoorbell } from '../../src/jobs/redis-doorbell.ts';
import { openLogger } from '../../src/platform/logger.ts';
import { openPostgres } from '../../src/platform/postgres.ts';
import { openRedis, type RedisConnection } from '../../src/platform/redis.ts';
import { Secret } from '../../src/platform/secret.ts';
import { type DoorbellsUnderTest, describeDoorbell } from '../conformance/doorbell.ts';
import { createTestDatabase, type TestDatabase } from '../support/postgres.ts';
import { redisAvailable, startRedis, type TestRedis } from '../support/redis.ts';
import { until } from '../support/until.ts';

const logger = openLogger('silent');

describe('the doorbell over LISTEN / NOTIFY', () => {
  let db: TestDatabase;
  let under: DoorbellsUnderTest;

  beforeAll(async () => {
    db = await createTestDatabase({ isEmpty: true });
    const other = openPostgres(db.connection, { poolMax: 2, applicationName: 'test' });
    under = {
      doorbells: [openPostgresDoorbell(db.sql, db.sql), openPostgresDoorbell(other, other)],
      async disrupt() {
        await db.sql`
          SELECT pg_terminate_backend(pid) FROM pg_stat_activity
          WHERE datname = current_database() AND pid <> pg_backend_pid()`;
      },
    };
    return () => other.end({ timeout: 1 });
  });
  afterAll(() => db.drop());

  describeDoorbell(() => under);
});

describe.skipIf(!redisAvailable())('the doorbell over bee-queue', () => {
  let server: TestRedis;
  let connections: RedisConnection[];
  let under: DoorbellsUnderTest;

  beforeAll(async () => {
    server = await startRedis({ password: 'doorbell' });
    connections = [0, 1].map(() => openRedis({ url: new Secret(server.url) }, logger));
    for (const redis of connections) await redis.ping();
    const [here, there] = connections.map((redis) => openRedisDoorbell({ redis, logger, stallMs: 500 }));
    under = { doorbells: [here, there] as never, disrupt: () => server.restart() };
  });
  afterAll(async () => {
    for (const redis of connections) await redis.close();
    await server.drop();
  });

  describeDoorbell(() => under);

  test('while Redis is away a ring does nothing, and no longer than a moment', async () => {
    const [here] = under.doorbells;
    await here.ring('ingest');
    server.pause();
    await here.ring('ingest'); // answered by nobody
    await here.recall('ingest', 'job_1');
    server.resume();
    await server.stop();
    await here.ring('ingest');
    await here.recall('ingest', 'job_1');
    await server.restart();
    await until(async () => connections.every((redis) => redis.isReady));
  });

  test('bells that nobody hears do not pile up', async () => {
    const [here] = under.doorbells;
    for (let i = 0; i < 500; i++) await here.ring('bulk');
    const { client } = connections[0] as RedisConnection;
    expect(await client.llen('service:bells:bulk:waiting')).toBeLessThanOrEqual(32);
    expect(await client.hlen('service:bells:bulk:jobs')).toBeLessThanOrEqual(32);
  });

  test('a bell that was lost with its listener is put back by the next one', { timeout: 60_000 }, async () => {
    const { client } = connections[0] as RedisConnection;
    // As a listener leaves it that is killed between taking a bell and finishing it.
    await client.del('service:bells:bulk:waiting', 'service:bells:bulk:jobs');
    await client.hset('service:bells:bulk:jobs', 'bell-0', '{"data":{"passes":0},"options":{},"status":"created"}');
    await client.lpush('service:bells:bulk:active', 'bell-0');
    const stop = new AbortController();
    let heard = 0;
    const listener = {
      onBell: () => {
        heard++;
        return true;
      },
      onRecall: () => {},
    };
    await under.doorbells[1].listen('bulk', listener, stop.signal);
    await until(async () => heard > 0, { withinMs: 30_000, what: 'the bell' });
    expect(await client.hlen('service:bells:bulk:jobs')).toBe(0);
    stop.abort();
  });

  test('a listener that starts while Redis is away listens once it is there', { timeout: 60_000 }, async () => {
    await server.stop();
    const stop = new AbortController();
    let heard = 0;
    const listener = {
      onBell: () => {
        heard++;
        return true;
      },
      onRecall: () => {},
    };
    await under.doorbells[0].listen('ingest', listener, stop.signal);
    await server.restart();
    await until(async () => heard > 0, { what: 'the bell for what may have been missed' });
    stop.abort();
  });
});
