import { afterAll, beforeAll, describe } from 'vitest';
import { openCallLog } from '../../src/channels/call-log.ts';
import { openLogger } from '../../src/platform/logger.ts';
import { openRedis, type RedisConnection } from '../../src/platform/redis.ts';
import { Secret } from '../../src/platform/secret.ts';
import { describeCallLog } from '../conformance/call-log.ts';
import { openTestAppliance, type TestAppliance } from '../support/appliance.ts';
import { redisAvailable, startRedis, type TestRedis } from '../support/redis.ts';

const logger = openLogger('silent');
let installation: TestAppliance;
beforeAll(async () => {
  installation = await openTestAppliance();
  const { sql } = installation.appliance;
  for (const id of ['org_1', 'org_2']) {
    await sql`INSERT INTO organizations (id, name, plan) VALUES (${id}, ${id}, 'free')`;
  }
});
afterAll(() => installation.close());

const openLog = (redis: RedisConnection | null, windowMs: number) =>
  openCallLog({ sql: installation.appliance.sql, redis, logger, limit: { callsMax: 5, windowMs } });

describe('the log in PostgreSQL', () => {
  describeCallLog((windowMs) => [openLog(null, windowMs), openLog(null, windowMs)]);
});

describe.skipIf(!redisAvailable())('the log in Redis', () => {
  let redis: TestRedis;
  let connections: [RedisConnection, RedisConnection];
  beforeAll(async () => {
    redis = await startRedis();
    const open = () => openRedis({ url: new Secret(redis.url) }, logger);
    connections = [open(), open()];
    for (const connection of connections) await connection.ping();
  });
  afterAll(async () => {
    for (const connection of connections) await connection.close();
    await redis.drop();
  });
  describeCallLog((windowMs) => [openLog(connections[0], windowMs), openLog(connections[1], windowMs)]);
});
