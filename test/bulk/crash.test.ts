import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { getBulkJob } from '../../src/bulk/bulk-jobs.ts';
import { chunkKey } from '../../src/bulk/object-keys.ts';
import { CANARY_KEY, openTestGateway, type TestGateway } from '../support/gateway.ts';
import { until } from '../support/until.ts';

const service = fileURLToPath(new URL('../../bin/service.js', import.meta.url));
const TEXTS = 2_000;
const JOBS = 2;
/** Little work for the fake upstream, which shares this process. */
const TINY = { id: 'vendor-a/tiny', vendor: 'vendor-a', dimensions: 16, max_tokens: 8_000 };
/** As many without progress would end the job as one that kills its worker. */
const KILLS_A_JOB = 3;

let test: TestGateway;
let key: string;
let worker: ChildProcess | null = null;

beforeAll(async () => {
  test = await openTestGateway({ models: [TINY] }, { dimensions: { tiny: 16 } });
  key = await test.key({ scopes: ['embed'] });
  const provider = { protocol: 'openai', base_url: test.upstream.baseUrl('openai'), api_key: CANARY_KEY };
  writeFileSync(
    path.join(test.dataDir, 'service.yaml'),
    JSON.stringify({ providers: { 'vendor-a': provider }, models: [TINY] }),
  );
});
afterAll(async () => {
  worker?.kill('SIGKILL');
  await test.close();
});

async function startWorker(): Promise<void> {
  const args = ['worker', 'embed', '--json', '--data-dir', test.dataDir];
  const child = spawn(process.execPath, [service, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { PATH: process.env['PATH'], DATABASE_URL: test.databaseUrl, SERVICE_LOG_LEVEL: 'error' },
  });
  worker = child;
  await once(createInterface({ input: child.stdout }), 'line');
}

async function kill(): Promise<void> {
  const child = worker as ChildProcess;
  child.kill('SIGKILL');
  await once(child, 'exit');
}

it('after kill -9 of its worker in the middle the next one takes the job up, and no stored chunk is embedded again', {
  timeout: 240_000,
}, async () => {
  const { sql } = test.appliance;
  const late: string[] = [];
  const ids: string[] = [];
  test.upstream.decide = ({ texts }) => {
    const [, nth = '', , first = ''] = (texts[0] as string).split(' ');
    const object = path.join(
      test.dataDir,
      'objects',
      chunkKey(test.operator.orgId, ids[Number(nth)] ?? 'new', Number(first) / 100),
    );
    if (existsSync(object)) late.push(object);
    return { kind: 'delay', ms: 50 + Math.random() * 150 };
  };
  await startWorker();
  for (let nth = 0; nth < JOBS; nth++) {
    const texts = Array.from({ length: TEXTS }, (_, i) => `job ${nth} text ${i}`);
    const submitted = await test.call('POST', '/v1/embed/jobs', { key, json: { texts, model: TINY.id } });
    const { id } = submitted.body;
    ids.push(id);
    const job = () => getBulkJob(sql, test.operator, id);
    for (let kills = 0; kills < KILLS_A_JOB; kills++) {
      const from = (await job()).metadata.completed_count;
      const atLeast = Math.floor(Math.random() * 500) + kills * 500;
      const isDue = async () => {
        const done = (await job()).metadata.completed_count;
        return done === TEXTS || (done > from && done >= atLeast);
      };
      await until(isDue, { withinMs: 60_000 });
      await kill();
      await startWorker();
    }
    await until(async () => (await job()).status === 'ready', { withinMs: 60_000, what: 'the end of the job' });
    expect((await job()).metadata.completed_count).toBe(TEXTS);
    for (const offset of [0, 1_000]) {
      const page = await test.call('GET', `/v1/embed/jobs/${id}/result?offset=${offset}&limit=1000`, { key });
      expect(page.body.data).toHaveLength(1_000);
      for (const { index, embedding } of page.body.data) {
        const native = test.upstream.vectorOf('tiny', texts[index] as string);
        const norm = Math.hypot(...native);
        expect(Math.abs(embedding[0] - (native[0] as number) / norm)).toBeLessThan(1e-6);
        expect(Math.abs(embedding[15] - (native[15] as number) / norm)).toBeLessThan(1e-6);
      }
    }
  }
  expect(late).toEqual([]);
  const usage = await test.call('GET', '/v1/usage/summary', { key });
  expect(usage.body.axes.embed_batch).toMatchObject({ requests: JOBS, texts: JOBS * TEXTS });
  const claims = (await sql`SELECT fence FROM jobs`).map((row) => row['fence'] as number);
  expect(claims).toHaveLength(JOBS);
  expect(Math.max(...claims)).toBeGreaterThan(1);
});
