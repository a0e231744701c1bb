/**
 * Benchmark of what other callers notice of an attack. One organization attacks a server with a heap of 1 GiB, in ways
 * that its rights allow; another searches meanwhile, one request at a time. Server, attacker and the other caller's
 * measurements are as real as on one machine: all share its cores. Each attack begins when the jobs of the one before
 * have ended.
 *
 * `alone`: p99 of the searches in the seconds before. `floor`: p99 while the same attack goes to a server that only reads
 * and drops the bodies, in a process of its own: what sharing the cores with the attacker costs. `meanwhile`: p99 until
 * the attack is over. The three are measured in turn, several times, and p99 is that of all searches: in a single attack
 * it would be the fourth worst of some 400. Goal: at most twice the larger of `alone` and `floor`, or 20 ms more.
 * `answers`: statuses that the attacker got. An argument selects attacks by parts of their names,
 * separated by commas: attack 11 reads what attack 2 has uploaded.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import type { Scope } from '../../src/access/caller.ts';
import { createKey } from '../../src/access/keys.ts';
import { openAppliance } from '../../src/appliance/open-appliance.ts';
import { loadConfig } from '../../src/platform/config.ts';
import { openLogger } from '../../src/platform/logger.ts';
import { startFakeIssuer } from '../access/fake-issuer.ts';
import { makeDataDir } from '../support/appliance.ts';
import { startServiceProcess } from '../support/service-process.ts';
import type { Attacked } from './attacks/attacker.ts';
import { ATTACKS, BUNDLE, ELSEWHERE, SEARCH, UPLOAD } from './attacks/attacks.ts';
import { LeanClient } from './lean-client.ts';

const ALONE_MS = 4_000;
const ROUNDS = 3;
/** Pause between the other caller's searches. */
const PAUSE_MS = 10;
const GOAL_MORE_MS = 20;
const HEAP_MIB = 1024;
const JOBS_END_WITHIN_MS = 300_000;
const ENDED = new Set(['ready', 'failed', 'cancelled']);

/** Times of searches, in milliseconds. */
interface Times {
  readonly p50: number;
  readonly p99: number;
}

const { dataDir, remove } = makeDataDir();
const issuer = await startFakeIssuer();
const oidc = { issuer: issuer.url, audience: issuer.audience, client_id: 'console', client_secret: 'its-secret' };
writeFileSync(path.join(dataDir, 'service.yaml'), JSON.stringify({ oidc }));
const { attacker, other } = await makeKeys();
const server = await startServiceProcess(['serve', '--port', '0', '--data-dir', dataDir], {
  NODE_OPTIONS: `--max-old-space-size=${HEAP_MIB}`,
  SERVICE_LOG_LEVEL: 'silent',
});
const sink = fork(new URL('./attacks/sink.ts', import.meta.url));
const [sinkUrl] = (await once(sink, 'message')) as [string];
try {
  const url = server.ready['url'] as string;
  await fetch(url + UPLOAD, {
    method: 'POST',
    headers: { Authorization: `Bearer ${other}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ filename: 'a.txt', text: 'The merger of the harbour offices was announced.' }),
  });
  await fetch(`${url}/v1/buckets`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${other}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ name: ELSEWHERE }),
  });
  const bundle = await fetch(url + BUNDLE);
  await bundle.body?.cancel();
  if (!bundle.ok)
    throw new Error(
      `${BUNDLE}: ${bundle.status}; build the pages by 'npm run build:console', since attack 7 asks for it`,
    );
  await measureSearches(url, AbortSignal.timeout(ALONE_MS));
  const wanted = (process.argv[2] ?? '').split(',');
  for (const name of Object.keys(ATTACKS)) if (wanted.some((part) => name.includes(part))) await measure(name, url);
} finally {
  sink.kill();
  await issuer.close();
  await server.end('SIGTERM');
  remove();
}

async function makeKeys(): Promise<{ attacker: string; other: string }> {
  const appliance = await openAppliance(loadConfig({ env: {}, overrides: { data_dir: dataDir } }), {
    logger: openLogger('warn'),
  });
  const { access, sql, keyRing } = appliance;
  const scopes = [
    ...['embed', 'search', 'documents:write', 'buckets:manage', 'workflows:manage', 'workflows:run', 'sources:manage'],
  ] as Scope[];
  const keys: string[] = [];
  for (const name of ['attacker', 'other']) {
    await access.createOrganization({ name, plan: 'free' });
    const operator = await access.operator(name);
    keys.push((await createKey(sql, keyRing, operator, { name, scopes: [...scopes], authLevel: 3 })).key.reveal());
  }
  await appliance.close();
  return { attacker: keys[0] as string, other: keys[1] as string };
}

async function measure(name: string, url: string): Promise<void> {
  const [alone, floor, meanwhile]: [number[], number[], number[]] = [[], [], []];
  const answers: Record<string, number> = {};
  for (let round = 0; round < ROUNDS; round++) {
    await jobsEnd(url);
    alone.push(...(await measureSearches(url, AbortSignal.timeout(ALONE_MS))));
    floor.push(...(await attackMeanwhile(name, url, sinkUrl)).times);
    await jobsEnd(url);
    const attack = await attackMeanwhile(name, url, url);
    meanwhile.push(...attack.times);
    for (const [status, count] of Object.entries(attack.answers)) answers[status] = (answers[status] ?? 0) + count;
  }
  report(name, { alone: summarise(alone), floor: summarise(floor), meanwhile: summarise(meanwhile) }, answers);
}

function report(
  name: string,
  { alone, floor, meanwhile }: Readonly<Record<'alone' | 'floor' | 'meanwhile', Times>>,
  answers: Readonly<Record<string, number>>,
): void {
  const base = Math.max(alone.p99, floor.p99);
  const goal = Math.max(base * 2, base + GOAL_MORE_MS);
  const isGood = meanwhile.p99 <= goal;
  const statuses = Object.entries(answers)
    .map(([status, times]) => `${times} x ${status === '0' ? 'closed' : status}`)
    .join(', ');
  const show = ({ p50, p99 }: Times) => `${p99.toFixed(1)} ms (p50 ${p50.toFixed(1)})`;
  console.log(
    `${name.padEnd(40)} alone ${show(alone)}  floor ${show(floor)}  meanwhile ${show(meanwhile)} of ${goal.toFixed(1)}` +
      `  memory at most ${peakMib()} MiB  answers ${statuses}  ${isGood ? 'ok' : 'MISSED'}`,
  );
  if (!isGood || server.ended() !== null) process.exitCode = 1;
}

/** Attack a server from a separate thread, and measure searches of the service until the attack is over. */
async function attackMeanwhile(name: string, url: string, attacked: string) {
  const workerData: Attacked = { name, url: attacked, key: attacker, other };
  const thread = new Worker(new URL('./attacks/attacker.ts', import.meta.url), { workerData });
  await once(thread, 'message');
  const ended = new AbortController();
  const answers: Record<string, number> = {};
  thread.once('message', (counts) => {
    Object.assign(answers, counts);
    ended.abort();
  });
  thread.postMessage('begin');
  return { times: await measureSearches(url, ended.signal), answers };
}

/**
 * Wait until neither organization has unfinished jobs, so that one attack isn't measured together with the work of
 * another.
 */
async function jobsEnd(url: string): Promise<void> {
  const deadlineMs = performance.now() + JOBS_END_WITHIN_MS;
  const isBusy = async (key: string) => {
    const reply = await fetch(`${url}/v1/jobs?limit=100`, { headers: { Authorization: `Bearer ${key}` } });
    const jobs = (await reply.json()) as { status: string }[];
    return jobs.some(({ status }) => !ENDED.has(status));
  };
  while ((await isBusy(attacker)) || (await isBusy(other))) {
    if (performance.now() > deadlineMs) throw new Error('jobs of the attack before have not ended');
    await delay(500);
  }
}

/** Search sequentially until the signal aborts, and return the times in milliseconds. */
async function measureSearches(url: string, signal: AbortSignal): Promise<number[]> {
  const client = await LeanClient.open(url + SEARCH, { authorization: `Bearer ${other}` });
  const times: number[] = [];
  while (!signal.aborted) {
    const beganMs = performance.now();
    await client.post(JSON.stringify({ query: 'merger of the offices' }));
    times.push(performance.now() - beganMs);
    await delay(PAUSE_MS);
  }
  client.close();
  return times;
}

function summarise(times: number[]): Times {
  times.sort((a, b) => a - b);
  const at = (share: number) => times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? Number.NaN;
  return { p50: at(0.5), p99: at(0.99) };
}

/** Largest resident memory of the server's process so far. */
function peakMib(): number {
  const status = readFileSync(`/proc/${server.pid}/status`, 'utf8');
  return Math.round(Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]) / 1024);
}
