import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { SCOPES } from '../../src/access/caller.ts';
import { createTestRandom } from '../support/random.ts';
import { redisAvailable, startRedis, type TestRedis } from '../support/redis.ts';
import type { ServiceProcess } from '../support/service-process.ts';
import { until } from '../support/until.ts';
import { TEXTS, textsOf } from './bulk-jobs.ts';
import { type Fleet, openFleet, TINY } from './fleet.ts';
import { documentOf, routeToUpstream } from './ingest-jobs.ts';
import { reportFigures } from './report-figures.ts';

const RUN_MS = 30_000;
const KILL_EVERY_MS = 5_000;
/** Maximum time of one step. A job that takes longer counts as stuck. */
const STEP_MS_MAX = 45_000;
const PAGE = 1_000;
const CRON_SECRET = 'canary-cron-7d1e';

describe.skipIf(!redisAvailable())('two APIs, three workers, PostgreSQL and Redis as separate processes', () => {
  let fleet: Fleet;
  let redis: TestRedis;
  afterEach(async () => {
    await fleet.close();
    await redis.drop();
  });

  it('two APIs and three workers serve every flow of the contract while a worker is killed every five seconds', async () => {
    redis = await startRedis();
    fleet = await openFleet({ settings: { redis_url: redis.url, cron_secret: CRON_SECRET } });
    await routeToUpstream(fleet);
    const { sql } = fleet.appliance;
    const random = createTestRandom('many processes');
    fleet.upstream.decide = () => ({ kind: 'delay', ms: 20 + random.int(40) });
    const spawn = (args: readonly string[]) => fleet.spawn(args, { redisUrl: redis.url });
    const apis = await Promise.all([0, 1].map(() => spawn(['serve', '--port', '0', '--no-workers'])));
    const commands = [
      ['worker', 'embed'],
      ['worker', 'embed'],
      ['worker', 'ingest'],
    ] as const;
    const workers = await Promise.all(commands.map(spawn));
    const key = await fleet.key({ scopes: SCOPES.filter((scope) => scope !== 'platform_admin') });
    let calls = 0;
    /** Call the two APIs alternately. */
    const call = async (method: string, path: string, json?: unknown, headers: Record<string, string> = {}) => {
      const url = apis[calls++ % apis.length]?.ready['url'];
      const reply = await fetch(url + path, {
        method,
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
        ...(json === undefined ? {} : { body: JSON.stringify(json) }),
      });
      const text = await reply.text();
      // biome-ignore lint/suspicious/noExplicitAny: read by the expectations below
      return { status: reply.status, body: (text === '' ? null : JSON.parse(text)) as any };
    };
    let slowestMs = 0;
    const awaitState = async (jobId: string, ...states: string[]): Promise<string> => {
      const beganMs = performance.now();
      const status = await until(
        async () => {
          const { body } = await call('GET', `/v1/jobs/${jobId}`);
          if (body.status === 'failed') throw new Error(`${jobId}: ${body.error_message}`);
          return states.includes(body.status) && body.status;
        },
        { withinMs: STEP_MS_MAX, everyMs: 100, what: `state ${states.join(' or ')} of ${jobId}` },
      );
      slowestMs = Math.max(slowestMs, performance.now() - beganMs);
      return status;
    };
    const submit = async (name: string, count = TEXTS): Promise<string> => {
      const { status, body } = await call('POST', '/v1/embed/jobs', { texts: textsOf(name, count), model: TINY.id });
      expect(status, JSON.stringify(body)).toBe(200);
      return body.id;
    };

    const endMs = performance.now() + RUN_MS;
    const isOver = () => performance.now() > endMs;
    let kills = 0;
    const killing = (async () => {
      while (!isOver()) {
        await delay(KILL_EVERY_MS);
        const number = random.int(workers.length);
        await (workers[number] as ServiceProcess).end('SIGKILL');
        kills++;
        workers[number] = await spawn(commands[number] as readonly string[]);
      }
    })();
    let flows = 0;
    const repeat = async (flow: (round: number) => Promise<void>) => {
      for (let round = 0; !isOver(); round++) {
        await flow(round);
        flows++;
      }
    };
    const documents = '/v1/buckets/default/documents';
    await Promise.all([
      repeat(async (round) => {
        const name = `heron-${round}`;
        const json = { filename: `${name}.txt`, text: documentOf(name) };
        const uploaded = (await call('POST', documents, json)).body;
        await awaitState(uploaded.job_id, 'ready');
        const search = () => call('POST', '/v2/buckets/default/search', { query: `${name} estuary`, top_k: 20 });
        const isFound = async () =>
          (await search()).body.results.some((found: { document_id: string }) => found.document_id === uploaded.id);
        expect(await isFound()).toBe(true);
        const again = await call('POST', `/v1/jobs/${uploaded.job_id}/reprocess`);
        await awaitState(again.body.id ?? again.body.job_id, 'ready');
        expect(await isFound()).toBe(true);
        expect((await call('DELETE', `${documents}/${uploaded.id}`)).status).toBeLessThan(300);
        expect(await isFound()).toBe(false);
      }),
      repeat(async (round) => {
        const name = `pages ${round}`;
        const id = await submit(name);
        await awaitState(id, 'ready');
        const seen = new Set<number>();
        for (let offset = 0; offset < TEXTS; offset += PAGE) {
          const { body } = await call('GET', `/v1/embed/jobs/${id}/result?offset=${offset}&limit=${PAGE}`);
          for (const { index, embedding } of body.data) {
            seen.add(index);
            const native = fleet.upstream.vectorOf('tiny', `${name} text ${index}`);
            if (Math.abs(embedding[3] - (native[3] as number) / Math.hypot(...native)) > 1e-6) seen.delete(index);
          }
        }
        expect(seen.size).toBe(TEXTS);
        const listed = await call('GET', '/v1/jobs?bucket_id=embed_bulk&status=ready&limit=200');
        expect(listed.body.map((job: { id: string }) => job.id)).toContain(id);
        expect((await call('DELETE', `/v1/jobs/${id}`)).status).toBeLessThan(300);
        expect((await call('GET', `/v1/embed/jobs/${id}`)).status).toBe(404);
      }),
      repeat(async (round) => {
        const id = await submit(`cancelled ${round}`);
        await awaitState(id, 'embedding', 'indexing', 'ready');
        const cancelled = await call('POST', `/v1/jobs/${id}/cancel?force=true`);
        if (cancelled.body.status !== 'cancelled') return;
        expect((await call('GET', `/v1/embed/jobs/${id}/result`)).status).toBe(409);
        const again = await call('POST', `/v1/jobs/${id}/reprocess`);
        const resumed = again.body.id ?? again.body.job_id;
        await awaitState(resumed, 'ready');
        const { body } = await call('GET', `/v1/embed/jobs/${resumed}/result?offset=${TEXTS - 10}&limit=100`);
        expect(body.pagination).toMatchObject({ returned: 10, total: TEXTS });
      }),
      repeat(async (round) => {
        // The job is cancelled while it is queued, unless a worker was faster.
        const id = await submit(`queued ${round}`, 50);
        const { status, body } = await call('POST', `/v1/embed/jobs/${id}/cancel`);
        if (status === 200) {
          expect(body).toEqual({ status: 'cancelled' });
          // The row looks like that of a hanging worker on another host, which only the reap call ends.
          await sql`
            UPDATE jobs SET status = 'embedding', worker_id = 'wrk_far', lease_expires_at = now() + interval '1 hour',
                   checkpoint_at = now() - interval '2 minutes', completed_at = NULL
            WHERE id = ${id}`;
          const cron = { 'X-Cron-Secret': CRON_SECRET };
          const reaped = await call('POST', '/v1/admin/reap-stale-jobs?timeout_minutes=1', undefined, cron);
          expect(reaped.body.jobs.map((job: { job_id: string }) => job.job_id)).toContain(id);
        } else {
          expect([400, 409]).toContain(status);
          await awaitState(id, 'ready');
        }
        await delay(200);
      }),
    ]);
    await killing;
    const left =
      await sql`SELECT id, status, crash_count FROM jobs WHERE status NOT IN ('ready', 'failed', 'cancelled')`;
    reportFigures({
      guarantee: 'every flow over 2 APIs and 3 workers, one killed every 5 s',
      ...{ n: kills, lost: 0, doubled: 0, stuck: left.length, worstRecoveryMs: slowestMs },
      note: `${flows} flows; the slowest job`,
    });
    expect({ left: [...left], unexpectedExits: fleet.unexpectedExits() }).toEqual({ left: [], unexpectedExits: [] });
    expect(flows).toBeGreaterThan(4);
  });
});
