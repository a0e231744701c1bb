/**
 * Benchmark of what other callers notice of an attack. One organization attacks a server with a heap of 1 GiB, in ways
 * that its rights allow; another searches meanwhile, one request at a time. Server, attacker and the other caller's
 * measurements are as real as on one machine: all share its cores.
 *
 * `alone`: p99 of the searches in the seconds before. `meanwhile`: p99 until the attack is over. Goal: at most twice as
 * much, or 20 ms more. `answers`: statuses that the attacker got. An argument selects attacks by a part of their names.
 */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { createKey } from '../../src/access/keys.ts';
import { openAppliance } from '../../src/appliance/open-appliance.ts';
import { loadConfig } from '../../src/platform/config.ts';
import { openLogger } from '../../src/platform/logger.ts';
import { makeDataDir } from '../support/appliance.ts';
import { startServiceProcess } from '../support/service-process.ts';
import type { Attacked } from './attacks/attacker.ts';
import { ATTACKS, SEARCH, UPLOAD } from './attacks/attacks.ts';
import { LeanClient } from './lean-client.ts';

const ALONE_MS = 4_000;
/** Pause between two searches of the other caller. */
const PAUSE_MS = 10;
const GOAL_MORE_MS = 20;
const HEAP_MIB = 1024;

const { dataDir, remove } = makeDataDir();
const { attacker, other } = await makeKeys();
const server = await startServiceProcess(['serve', '--port', '0', '--data-dir', dataDir], {
  NODE_OPTIONS: `--max-old-space-size=${HEAP_MIB}`,
  SERVICE_LOG_LEVEL: 'silent',
});
try {
  const url = server.ready['url'] as string;
  await fetch(url + UPLOAD, {
    method: 'POST',
    headers: { Authorization: `Bearer ${other}`, 'Content-Type': 'application/json' },
    body: JSON.stringify({ filename: 'a.txt', text: 'The merger of the harbour offices was announced.' }),
  });
  await measureSearches(url, AbortSignal.timeout(ALONE_MS));
  const wanted = process.argv[2] ?? '';
  for (const name of Object.keys(ATTACKS)) if (name.includes(wanted)) await measure(name, url);
} finally {
  await server.end('SIGTERM');
  remove();
}

async function makeKeys(): Promise<{ attacker: string; other: string }> {
  const appliance = await openAppliance(loadConfig({ env: {}, overrides: { data_dir: dataDir } }), {
    logger: openLogger('warn'),
  });
  const { access, sql, keyRing } = appliance;
  const scopes = ['search', 'documents:write', 'buckets:manage'] as const;
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
  const workerData: Attacked = { name, url, key: attacker, other };
  const thread = new Worker(new URL('./attacks/attacker.ts', import.meta.url), { workerData });
  await once(thread, 'message');
  const alone = await measureSearches(url, AbortSignal.timeout(ALONE_MS));
  const ended = new AbortController();
  const answers: Record<string, number> = {};
  thread.once('message', (counts) => {
    Object.assign(answers, counts);
    ended.abort();
  });
  thread.postMessage('begin');
  const meanwhile = await measureSearches(url, ended.signal);
  const isGood = meanwhile.p99 <= Math.max(alone.p99 * 2, alone.p99 + GOAL_MORE_MS);
  const statuses = Object.entries(answers)
    .map(([status, times]) => `${times} x ${status === '0' ? 'closed' : status}`)
    .join(', ');
  console.log(
    `${name.padEnd(40)} alone ${alone.p99.toFixed(1)} ms  meanwhile ${meanwhile.p99.toFixed(1)} ms (p50 ${meanwhile.p50.toFixed(1)})` +
      `  memory at most ${peakMib()} MiB  answers ${statuses}  ${isGood ? 'ok' : 'MISSED'}`,
  );
  if (!isGood || server.ended() !== null) process.exitCode = 1;
}

/** Search one after the other until the signal aborts. Returns times in milliseconds. */
async function measureSearches(url: string, signal: AbortSignal): Promise<{ p50: number; p99: number }> {
  const client = await LeanClient.open(url + SEARCH, { authorization: `Bearer ${other}` });
  const times: number[] = [];
  while (!signal.aborted) {
    const beganMs = performance.now();
    await client.post(JSON.stringify({ query: 'merger of the offices' }));
    times.push(performance.now() - beganMs);
    await delay(PAUSE_MS);
  }
  client.close();
  times.sort((a, b) => a - b);
  const at = (share: number) => times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? Number.NaN;
  return { p50: at(0.5), p99: at(0.99) };
}

/** Largest resident memory of the server's process so far. */
function peakMib(): number {
  const status = readFileSync(`/proc/${server.pid}/status`, 'utf8');
  return Math.round(Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]) / 1024);
}
