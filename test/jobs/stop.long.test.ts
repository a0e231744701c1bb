import { type ChildProcess, spawn } from 'node:child_process';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createKey } from '../../src/access/keys.ts';
import { openTestAppliance, type TestAppliance } from '../support/appliance.ts';
import { type ServiceProcess, startServiceProcess } from '../support/service-process.ts';
import { until } from '../support/until.ts';

// A server that is stopped by SIGTERM in every phase of a job, while other processes keep the cores busy.

const EXIT_MS_MAX = 25_000;
const SPINNING = 4;
/** Time for which another organization's small document may take after the restart, on busy cores. */
const READY_MS_MAX = 15_000;
const PHASES = ['extracting', 'embedding', 'indexing'] as const;

let test: TestAppliance;
let keys: Record<'busy' | 'other', string>;
let server: ServiceProcess;
const spinning: ChildProcess[] = [];

beforeAll(async () => {
  test = await openTestAppliance();
  const { appliance } = test;
  const keyIn = async (name: string) => {
    await appliance.access.createOrganization({ name, plan: 'enterprise' });
    const operator = await appliance.access.operator(name);
    return (await createKey(appliance.sql, appliance.keyRing, operator, { name })).key.reveal();
  };
  keys = { busy: await keyIn('busy'), other: await keyIn('other') };
  for (let i = 0; i < SPINNING; i++) spinning.push(spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' }));
  server = await serve();
});
afterAll(async () => {
  for (const child of spinning) child.kill('SIGKILL');
  await server?.end('SIGTERM');
  await test?.close();
});

function serve(): Promise<ServiceProcess> {
  const env = { SERVICE_DATA_DIR: test.dataDir, DATABASE_URL: test.databaseUrl, SERVICE_LOG_LEVEL: 'error' };
  return startServiceProcess(['serve', '--port', '0'], env);
}

async function upload(key: string, filename: string, text: string): Promise<string> {
  const reply = await fetch(`${server.ready['url']}/v1/buckets/default/documents`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ filename, text }),
  });
  expect(reply.status).toBe(202);
  return ((await reply.json()) as { job_id: string }).job_id;
}

const statusOf = async (job: string) =>
  (await test.appliance.sql`SELECT status FROM jobs WHERE id = ${job}`)[0]?.['status'] as string;

it.each(PHASES)(
  'in the phase %s: it ends in time, counts no crash, and another organization goes on',
  async (phase) => {
    const long = (n: number) =>
      Array.from({ length: 8_000 }, (_, line) => `Line ${line} of text ${n} in ${phase} is about harbours.`).join(
        '\n\n',
      );
    const { sql } = test.appliance;
    let uploads = 0;
    const isMet = async () => {
      const jobs = await sql`SELECT status FROM jobs WHERE status NOT IN ('ready', 'failed')`;
      // A phase may be shorter than the pauses of a busy host, so that a job is seen before and after it only.
      for (let queued = jobs.length; queued < 3; queued++) {
        await upload(keys.busy, `${phase}-${uploads}.md`, long(uploads));
        uploads++;
      }
      return jobs.some(({ status }) => status === phase);
    };
    await until(isMet, { withinMs: 240_000, everyMs: 5, what: `a job in the phase ${phase}` });
    const exitMs = await server.end('SIGTERM');
    expect(server.ended(), server.stderr()).toEqual({ code: 0, signal: null });
    expect(exitMs).toBeLessThan(EXIT_MS_MAX);
    const held = await sql`SELECT id FROM jobs WHERE worker_id IS NOT NULL AND status NOT IN ('ready', 'failed')`;
    expect(held).toEqual([]);
    const [{ crashes } = { crashes: null }] = await sql`SELECT sum(crash_count)::int AS crashes FROM jobs`;
    expect(crashes).toBe(0);
    server = await serve();
    const job = await upload(keys.other, `${phase}.txt`, `A small document after ${phase}.`);
    await until(async () => (await statusOf(job)) === 'ready', { withinMs: READY_MS_MAX, what: 'the small document' });
  },
  400_000,
);

it('every document of the stopped jobs becomes ready in the end', async () => {
  for (const child of spinning.splice(0)) child.kill('SIGKILL');
  const { sql } = test.appliance;
  await until(async () => (await sql`SELECT 1 FROM jobs WHERE status <> 'ready' LIMIT 1`).length === 0, {
    withinMs: 180_000,
    everyMs: 200,
    what: 'the end of all jobs',
  });
  const [row] = await sql`SELECT sum(crash_count)::int AS crashes, sum(retry_count)::int AS retries FROM jobs`;
  expect(row).toEqual({ crashes: 0, retries: 0 });
}, 240_000);
