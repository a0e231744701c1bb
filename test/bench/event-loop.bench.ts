/**
 * Benchmark of the delay of the server's event loop while 8 clients send 100 texts each. Server, upstream and clients
 * are separate processes. The upstream answers with 3,072 native dimensions, as base64 and as numbers. Nothing is
 * cached.
 *
 * `late`: delay of a timer of 10 ms in the server. `own`: the part of it in which the server's thread itself worked,
 * which is the figure of the goal, since there are fewer cores than processes. `idle`: p99 of the delay in a process
 * that does nothing. `exported`: `service_nodejs_eventloop_lag_p99_seconds`, which includes the 10 ms.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import path from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { makeDataDir } from '../support/appliance.ts';

const MODEL = 'vendor-a/text-embedding-3-large';
const CLIENTS = 8;
const TEXTS = 100;
const WARM_UP_MS = 3_000;
const CASE_MS = 10_000;
const IDLE_MS = 3_000;
const GOAL_MS = 20;
const service = fileURLToPath(new URL('../../bin/service', import.meta.url));
const probe = new URL('event-loop-probe.ts', import.meta.url).href;
const fakeUpstream = fileURLToPath(new URL('../support/fake-upstream/main.ts', import.meta.url));

const IDLE_SCRIPT = `console.log('{"url":""}'); process.stdin.resume().on('end', () => process.exit())`;

const running: ChildProcess[] = [];

/** Start a child process that prints one line of JSON when it is ready. */
async function start(program: string, args: readonly string[], env: NodeJS.ProcessEnv = {}) {
  const child = spawn(program, args, {
    stdio: ['pipe', 'pipe', 'inherit', 'ipc'],
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'], ...env },
  });
  running.push(child);
  const [line] = (await once(createInterface({ input: child.stdout as Readable }), 'line')) as [string];
  const ready = JSON.parse(line) as Record<string, string>;
  if (ready['url'] === undefined) throw new Error(line);
  return { child, url: ready['url'], keyFile: ready['key_file'] ?? '' };
}

async function stopAll(): Promise<void> {
  for (const child of running.splice(0).toReversed()) {
    const exit = once(child, 'exit');
    child.kill('SIGTERM');
    await exit;
  }
}

interface Delays {
  readonly late: number[];
  readonly own: number[];
}

/** Read the delays since the last call, sorted. */
async function delaysOf(child: ChildProcess): Promise<Delays> {
  const answer = once(child, 'message') as Promise<[Delays]>;
  child.send('report');
  const [{ late, own }] = await answer;
  return { late: late.sort((a, b) => a - b), own: own.sort((a, b) => a - b) };
}

const agent = new Agent({ keepAlive: true, maxSockets: CLIENTS });

function send(url: string, key: string, body: string | null): Promise<string> {
  const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' };
  return new Promise((resolve, reject) => {
    const call = request(url, { method: body === null ? 'GET' : 'POST', agent, headers }, (reply) => {
      let text = '';
      // Don't parse the vectors, which would cost the clients more than the server.
      if (body === null) reply.setEncoding('utf8').on('data', (part: string) => (text += part));
      else reply.resume();
      reply.on('error', reject).on('end', () => {
        if (reply.statusCode === 200) resolve(text);
        else reject(new Error(`status ${reply.statusCode}`));
      });
    });
    call.on('error', reject).end(body ?? undefined);
  });
}

/** Read the exported p99 lag since the last read, in milliseconds. Reading resets it. */
async function exported(url: string, key: string): Promise<number> {
  const metrics = await send(`${url}/metrics`, key, null);
  return Number(/^service_nodejs_eventloop_lag_p99_seconds (\S+)$/m.exec(metrics)?.[1]) * 1000;
}

let serial = 0;
/** Return a body with new texts of about 30 words. */
function bodyOf(dimensions: number | undefined): string {
  const input = Array.from(
    { length: TEXTS },
    () => `${++serial} ${'the ferry leaves the harbour at seven '.repeat(4)}`,
  );
  return JSON.stringify({ input, model: MODEL, dimensions });
}

async function drive(url: string, key: string, dimensions: number | undefined, ms: number): Promise<number[]> {
  const times: number[] = [];
  const endMs = performance.now() + ms;
  const client = async () => {
    while (performance.now() < endMs) {
      const body = bodyOf(dimensions);
      const beganMs = performance.now();
      await send(`${url}/v1/embeddings`, key, body);
      times.push(performance.now() - beganMs);
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
  return times.sort((a, b) => a - b);
}

const columns = ['answer', 'dimensions', 'requests/s', 'wait p50', 'p99', 'late p50', 'p99', 'own p50', 'p99', 'max'];
const widths = [10, 12, 12, 10, 8, 10, 8, 9, 8, 8, 8, 10];
const line = (cells: readonly string[]) => cells.map((cell, n) => cell.padStart(widths[n] as number)).join('');
const at = (sorted: readonly number[], share: number) =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;

console.log(`event loop: ${CLIENTS} clients, ${TEXTS} texts a request, ${MODEL}; ms`);
console.log(line([...columns, 'idle', 'exported']));
let worst = 0;
for (const format of ['base64', 'float']) {
  const { dataDir, remove } = makeDataDir();
  try {
    const upstream = await start(process.execPath, [fakeUpstream, '--dimensions', '3072', '--format', format]);
    const settings = path.join(dataDir, 'settings.yaml');
    const provider = { protocol: 'openai', base_url: upstream.url, concurrency_max: 16 };
    writeFileSync(
      settings,
      JSON.stringify({
        ...{ projections: { auto: 'off' }, providers: { 'vendor-a': provider }, embeddings: { cache_bytes: 0 } },
      }),
    );
    const args = ['serve', '--port', '0', '--json', '--no-workers', '--data-dir', dataDir];
    const server = await start(service, args, {
      NODE_OPTIONS: `--import=${probe}`,
      SERVICE_CONFIG: settings,
      SERVICE_LOG_LEVEL: 'error',
    });
    const idle = await start(process.execPath, ['--import', probe, '-e', IDLE_SCRIPT]);
    const key = readFileSync(server.keyFile, 'utf8').trim();
    const measure = async (names: readonly string[], load: () => Promise<number[]>): Promise<number> => {
      await Promise.all([exported(server.url, key), delaysOf(server.child), delaysOf(idle.child)]);
      const times = await load();
      const { late, own } = await delaysOf(server.child);
      const idleLate = at((await delaysOf(idle.child)).late, 0.99);
      const rate = times.length === 0 ? '' : ((times.length / CASE_MS) * 1000).toFixed(1);
      const waits = [0.5, 0.99].map((share) => (times.length === 0 ? '' : at(times, share).toFixed(0)));
      const delays = [at(late, 0.5), at(late, 0.99), at(own, 0.5), at(own, 0.99), at(own, 1), idleLate];
      const cells = [...delays, await exported(server.url, key)].map((ms) => ms.toFixed(1));
      console.log(line([...names, rate, ...waits, ...cells]));
      return at(own, 0.99);
    };
    await drive(server.url, key, undefined, WARM_UP_MS);
    await measure(['idle', ''], () => delay(IDLE_MS, []));
    for (const dimensions of [undefined, 1024]) {
      await drive(server.url, key, dimensions, WARM_UP_MS);
      const names = [format, String(dimensions ?? 3072)];
      worst = Math.max(worst, await measure(names, () => drive(server.url, key, dimensions, CASE_MS)));
    }
  } finally {
    await stopAll();
    remove();
  }
}
agent.destroy();
console.log(`goal: own p99 < ${GOAL_MS} ms; ${worst < GOAL_MS ? 'met' : 'missed'} with ${worst.toFixed(1)} ms`);
