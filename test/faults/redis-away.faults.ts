import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { afterEach, describe, expect, it } from 'vitest';
import { redisAvailable, startRedis, type TestRedis } from '../support/redis.ts';
import { until } from '../support/until.ts';
import { type Fleet, openFleet, TINY } from './fleet.ts';
import { routeToUpstream } from './ingest-jobs.ts';
import { reportFigures } from './report-figures.ts';
import { scaled } from './scaled.ts';

const DOWN_MS = 30_000;
const SUBMIT_EVERY_MS = 100;
const TEXTS = 200;
/** Maximum time of the last jobs: the interval at which a worker polls by itself, and the work. */
const READY_MS_MAX = 15_000;

describe.skipIf(!redisAvailable())('failures of Redis', () => {
  let fleet: Fleet;
  let redis: TestRedis;
  afterEach(async () => {
    await fleet.close();
    await redis.drop();
  });

  it('every submit is accepted and every job finishes while Redis is flushed, restarted, paused and stopped', async () => {
    redis = await startRedis();
    fleet = await openFleet({ settings: { redis_url: redis.url } });
    await routeToUpstream(fleet);
    const { sql } = fleet.appliance;
    const processes = await Promise.all(
      [
        ['serve', '--port', '0', '--no-workers'],
        ['worker', 'embed'],
        ['worker', 'ingest'],
      ].map((args) => fleet.spawn(args, { redisUrl: redis.url })),
    );
    const url = processes[0]?.ready['url'] as string;
    const key = await fleet.key({ scopes: ['embed', 'documents:write'] });
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const jobs: string[] = [];
    const refused: string[] = [];
    let slowestSubmitMs = 0;
    const stop = new AbortController();
    const submitting = (async () => {
      for (let i = 0; !stop.signal.aborted; i++) {
        const isBulk = i % 2 === 0;
        const texts = Array.from({ length: TEXTS }, (_, k) => `job ${i} text ${k}`);
        const json = isBulk ? { texts, model: TINY.id } : { filename: `d-${i}.txt`, text: `Document ${i}.` };
        const path = isBulk ? '/v1/embed/jobs' : '/v1/buckets/default/documents';
        const beganMs = performance.now();
        const reply = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(json) });
        slowestSubmitMs = Math.max(slowestSubmitMs, performance.now() - beganMs);
        const body = (await reply.json()) as Record<string, string>;
        if (reply.ok) jobs.push(body['job_id'] ?? (body['id'] as string));
        else refused.push(`${reply.status} ${JSON.stringify(body)}`);
        await delay(SUBMIT_EVERY_MS, undefined, { signal: stop.signal }).catch(() => undefined);
      }
    })();
    const flush = async () => {
      const client = new Redis(redis.url);
      await client.flushall();
      client.disconnect();
    };
    let faults = 0;
    const rounds = Math.max(1, Math.round(scaled(20) / 10));
    for (let round = 0; round < rounds; round++) {
      await flush();
      await delay(1_500);
      await redis.restart();
      await delay(1_500);
      redis.pause();
      await delay(2_000);
      redis.resume();
      await delay(1_000);
      faults += 3;
    }
    await redis.stop();
    await delay(DOWN_MS);
    await redis.restart();
    faults++;
    await delay(1_000);
    stop.abort();
    await submitting;
    const open = () => sql`SELECT id FROM jobs WHERE status NOT IN ('ready', 'failed', 'cancelled')`;
    await until(async () => (await open()).length === 0, { withinMs: READY_MS_MAX }).catch(() => undefined);
    const rows = await sql`
      SELECT id, status, fence, retry_count, crash_count, extract(epoch FROM started_at - created_at)::float8 * 1000 AS waited_ms
      FROM jobs`;
    const ready = rows.filter((row) => row['status'] === 'ready').length;
    const worstMs = Math.max(...rows.map((row) => (row['waited_ms'] as number | null) ?? 0));
    const lost = jobs.length - ready;
    const doubled = rows.length - jobs.length;
    const stuck = (await open()).length;
    reportFigures({
      guarantee: `Redis flushed, restarted, paused, stopped for ${DOWN_MS / 1000} s`,
      ...{ n: faults, lost, doubled, stuck, worstRecoveryMs: worstMs },
      note: `${jobs.length} jobs, slowest submit ${Math.round(slowestSubmitMs)} ms`,
    });
    expect({ lost, doubled, stuck, refused, unexpectedExits: fleet.unexpectedExits() }).toEqual({
      ...{ lost: 0, doubled: 0, stuck: 0, refused: [], unexpectedExits: [] },
    });
    // No job needed a second attempt.
    expect(rows.filter((row) => (row['retry_count'] as number) + (row['crash_count'] as number) > 0)).toEqual([]);
  });
});
