/**
 * Benchmark of a bulk job of 10,000 texts of 200 bytes with an upstream of 50 ms a call of 100 texts, 8 concurrent
 * calls, in a separate worker process: time from claim to ready relative to the same calls of the bare upstream, peak
 * memory of the worker, and result pages of 1,000 x 1,024 over HTTP. Then the time to accept 10,000 texts of 2 kB.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { Agent, request } from 'undici';
import { makeDataDir } from '../support/appliance.ts';
import { until } from '../support/until.ts';

const TEXTS = 10_000;
const CALL_TEXTS = 100;
const CONCURRENT_CALLS = 8;
const CALL_MS = 50;
const RUNS = 3;
const PAGES = 25;
const CLOCK_TICKS_PER_SECOND = 100; // USER_HZ, fixed by the kernel's interface
const command = fileURLToPath(new URL('../../bin/service', import.meta.url));
const fake = fileURLToPath(new URL('../support/fake-upstream/main.ts', import.meta.url));

const { dataDir, remove } = makeDataDir();
const children: ChildProcess[] = [];

/** Start a process that prints one JSON document when it is ready. */
async function start(
  program: string,
  args: readonly string[],
): Promise<{ child: ChildProcess; ready: Record<string, string> }> {
  const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  children.push(child);
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
  return { child, ready: JSON.parse(line) };
}

/** Return the CPU time of all threads of a process, which varies less than elapsed time on a shared machine. */
function cpuMs(child: ChildProcess): number {
  const fields = readFileSync(`/proc/${child.pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return ((Number(fields[11]) + Number(fields[12])) / CLOCK_TICKS_PER_SECOND) * 1000;
}

function peakMib(child: ChildProcess): number {
  const peak = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1];
  return Number(peak) / 1024;
}

const words = 'the ferry to jeju leaves at seven from the harbour pier while tide tables list high water at dawn'.split(
  ' ',
);
function makeTexts(run: string, bytes: number): string[] {
  return Array.from({ length: TEXTS }, (_, i) => {
    let text = `${run} ${i}`;
    for (let at = i; text.length < bytes; at += 3) text += ` ${words[(at * 7) % words.length]}`;
    return text.slice(0, bytes);
  });
}

const median = (times: readonly number[]) => times.toSorted((a, b) => a - b)[times.length >> 1] as number;

try {
  const upstream = await start(process.execPath, [fake, '--delay-ms', String(CALL_MS)]);
  const { url: upstreamUrl = '' } = upstream.ready;
  const provider = { protocol: 'openai', base_url: upstreamUrl };
  writeFileSync(
    path.join(dataDir, 'service.yaml'),
    JSON.stringify({ projections: { auto: 'off' }, providers: { 'vendor-a': provider } }),
  );
  const api = await start(command, ['serve', '--port', '0', '--json', '--no-workers', '--data-dir', dataDir]);
  const { url = '', key_file: keyFile = '' } = api.ready;
  const worker = await start(command, ['worker', 'embed', '--json', '--data-dir', dataDir]);
  const headers = {
    authorization: `Bearer ${readFileSync(keyFile, 'utf8').trim()}`,
    'content-type': 'application/json',
  };
  const agent = new Agent({ connections: CONCURRENT_CALLS });

  async function call(method: 'GET' | 'POST', at: string, json?: unknown): Promise<Buffer> {
    const body = json === undefined ? {} : { body: JSON.stringify(json) };
    const reply = await request(url + at, { method, headers, dispatcher: agent, ...body });
    const bytes = Buffer.from(await reply.body.arrayBuffer());
    if (reply.statusCode !== 200) throw new Error(`${method} ${at}: ${reply.statusCode} ${bytes.subarray(0, 300)}`);
    return bytes;
  }

  /** Read a body without keeping it, so that the client's memory has no effect. @returns number of bytes */
  async function countBytes(at: string): Promise<number> {
    const reply = await request(url + at, { headers, dispatcher: agent });
    let bytes = 0;
    for await (const part of reply.body) bytes += (part as Buffer).length;
    if (reply.statusCode !== 200) throw new Error(`GET ${at}: ${reply.statusCode}`);
    return bytes;
  }

  /** Measure the same calls with a client that does nothing else. */
  async function floorMs(texts: readonly string[]): Promise<number> {
    const starts = Array.from({ length: TEXTS / CALL_TEXTS }, (_, i) => i * CALL_TEXTS).values();
    const client = async () => {
      for (const at of starts) {
        const input = texts.slice(at, at + CALL_TEXTS);
        const body = JSON.stringify({ input, model: 'text-embedding-3-small', encoding_format: 'base64' });
        const reply = await request(`${upstreamUrl}/embeddings`, { method: 'POST', body, dispatcher: agent });
        await reply.body.arrayBuffer();
      }
    };
    const beganMs = performance.now();
    await Promise.all(Array.from({ length: CONCURRENT_CALLS }, client));
    return performance.now() - beganMs;
  }

  let id = '';
  for (let run = 0; run < RUNS; run++) {
    const texts = makeTexts(`run ${run}`, 200);
    const floor = await floorMs(texts);
    const json = { texts, model: 'vendor-a/text-embedding-3-small', dimensions: 1024 };
    const cpuBefore = cpuMs(worker.child);
    id = JSON.parse(String(await call('POST', '/v1/embed/jobs', json))).id;
    const job = await until(
      async () => {
        const found = JSON.parse(String(await call('GET', `/v1/jobs/${id}`)));
        if (found.status === 'failed') throw new Error(found.error_message);
        return found.status === 'ready' && found;
      },
      { withinMs: 120_000, everyMs: 50, what: 'the job' },
    );
    const tookMs = Date.parse(job.completed_at) - Date.parse(job.started_at);
    const line = `claim to ready ${tookMs} ms, bare upstream ${floor.toFixed(0)} ms: ${(tookMs / floor).toFixed(2)}x`;
    console.log(
      `bulk     ${TEXTS} texts of 200 bytes: ${line}; CPU of the worker ${(cpuMs(worker.child) - cpuBefore).toFixed(0)} ms, its peak memory ${peakMib(worker.child).toFixed(0)} MiB`,
    );
  }
  for (let i = 0; i < PAGES; i++) await countBytes(`/v1/embed/jobs/${id}/result?limit=1000`); // Warm-up of the server.
  for (const offset of [0, 4_500, 9_000]) {
    const times: number[] = [];
    let bytes = 0;
    for (let i = 0; i < PAGES; i++) {
      const beganMs = performance.now();
      bytes = await countBytes(`/v1/embed/jobs/${id}/result?offset=${offset}&limit=1000`);
      times.push(performance.now() - beganMs);
    }
    const figures = `p50 ${median(times).toFixed(1)} ms, best ${Math.min(...times).toFixed(1)} ms`;
    console.log(`bulk     result page of 1,000 x 1,024 at ${offset}: ${figures} (${(bytes / 1e6).toFixed(1)} MB)`);
  }
  const long = { texts: makeTexts('long', 2_000), model: 'vendor-a/text-embedding-3-small' };
  const health: number[] = [];
  const stop = new AbortController();
  const healthProbe = (async () => {
    while (!stop.signal.aborted) {
      const beganMs = performance.now();
      await call('GET', '/healthz');
      health.push(performance.now() - beganMs);
    }
  })();
  const beganMs = performance.now();
  await call('POST', '/v1/embed/jobs', long);
  const acceptedMs = performance.now() - beganMs;
  stop.abort();
  await healthProbe;
  health.sort((a, b) => a - b);
  const p99 = health[Math.floor(health.length * 0.99)] as number;
  console.log(
    `bulk     ${TEXTS} texts of 2 kB accepted in ${acceptedMs.toFixed(0)} ms; GET /healthz meanwhile: p99 ${p99.toFixed(1)} ms, worst ${health.at(-1)?.toFixed(1)} ms`,
  );
  await agent.close();
} finally {
  for (const child of children.toReversed()) {
    child.kill('SIGTERM');
    if (child.exitCode === null) await once(child, 'exit');
  }
  remove();
}
