import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openLogger } from '../../src/platform/logger.ts';
import { openTestApi, type TestApi } from '../support/api.ts';
import { redisAvailable, startRedis, type TestRedis } from '../support/redis.ts';
import { until } from '../support/until.ts';

describe.skipIf(!redisAvailable())('jobs with Redis as the notifier', () => {
  let redis: TestRedis;
  let api: TestApi;
  let key: string;

  beforeAll(async () => {
    redis = await startRedis({ password: 'canary-redis' });
    api = await openTestApi({ settings: { redis_url: redis.url }, logger: openLogger('silent') });
    key = await api.key({ scopes: ['documents:write', 'jobs:write'] });
  });
  afterAll(async () => {
    await api.close();
    await redis.drop();
  });

  let uploads = 0;
  async function submit(): Promise<string> {
    const json = { filename: 'a.txt', text: `Text ${++uploads}.` };
    const { status, body } = await api.call('POST', '/v1/buckets/default/documents', { key, json });
    expect(status).toBe(202);
    return body.job_id;
  }
  const ready = (id: string) =>
    until(async () => (await api.call('GET', `/v1/jobs/${id}`, { key })).body.status === 'ready', { what: 'ready' });

  test('every job is accepted and done while Redis runs, is flushed, paused, stopped and started again', {
    timeout: 120_000,
  }, async () => {
    await ready(await submit());
    const jobs = [await submit()];
    await redis.restart();
    jobs.push(await submit());
    redis.pause();
    jobs.push(await submit());
    redis.resume();
    await redis.stop();
    jobs.push(await submit());
    const cancelled = await submit();
    expect((await api.call('POST', `/v1/jobs/${cancelled}/cancel?force=true`, { key })).status).toBe(200);
    await Promise.all(jobs.map(ready));
    expect((await api.call('GET', '/readyz')).status).toBe(200);
    await redis.restart();
    await Promise.all([await submit(), await submit()].map(ready));
  });
});
