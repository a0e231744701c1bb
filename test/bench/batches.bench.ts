/**
 * Benchmark of a batch of 50,000 requests of one text of 200 bytes with an upstream of 50 ms and of 250 ms a call of
 * 100 texts, with 8 concurrent calls, in a separate worker process: time from claim to end relative to the same calls
 * of the bare upstream, and peak memory of the worker.
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
import { peakMb } from './child-memory.ts';

const REQUESTS = 50_000;
const CALL_TEXTS = 100;
const CONCURRENT_CALLS = 8;
const CALL_MS = [50, 250];
const TEXT_BYTES = 200;
const command = fileURLToPath(new URL('../../bin/service', import.meta.url));
const fake = fileURLToPath(new URL('../support/fake-upstream/main.ts', import.meta.url));
const MODEL = 'vendor-a/text-embedding-3-small';

const { dataDir, remove } = makeDataDir();
const children: ChildProcess[] = [];
const agent = new Agent({ connections: CONCURRENT_CALLS });

/** Start a process that prints one JSON document when it is ready. */
async function start(program: string, args: readonly string[]) {
  const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  children.push(child);
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
  return { child, ready: JSON.parse(line) as Record<string, string> };
}

async function end(child: ChildProcess): Promise<void> {
  child.kill('SIGTERM');
  if (child.exitCode === null) await once(child, 'exit');
}

const textOf = (run: number, at: number) => `run ${run} text ${at} `.padEnd(TEXT_BYTES, 'the ferry leaves at seven ');

/** Measure the same calls with a client that does nothing else. */
async function floorMs(upstreamUrl: string, run: number): Promise<number> {
  const starts = Array.from({ length: REQUESTS / CALL_TEXTS }, (_, i) => i * CALL_TEXTS).values();
  const client = async () => {
    for (const at of starts) {
      const input = Array.from({ length: CALL_TEXTS }, (_, i) => textOf(run, at + i));
      const body = JSON.stringify({ input, model: 'text-embedding-3-small', encoding_format: 'base64' });
      const reply = await request(`${upstreamUrl}/embeddings`, { method: 'POST', body, dispatcher: agent });
      await reply.body.arrayBuffer();
    }
  };
  const beganMs = performance.now();
  await Promise.all(Array.from({ length: CONCURRENT_CALLS }, client));
  return performance.now() - beganMs;
}

try {
  for (const [run, delayMs] of CALL_MS.entries()) {
    const upstream = await start(process.execPath, [fake, '--delay-ms', String(delayMs)]);
    const { url: upstreamUrl = '' } = upstream.ready;
    const provider = { protocol: 'openai', base_url: upstreamUrl };
    const settings = { projections: { auto: 'off' }, providers: { 'vendor-a': provider } };
    writeFileSync(path.join(dataDir, 'service.yaml'), JSON.stringify(settings));
    const api = await start(command, ['serve', '--port', '0', '--json', '--no-workers', '--data-dir', dataDir]);
    const worker = await start(command, ['worker', 'embed', '--json', '--data-dir', dataDir]);
    const { url = '', key_file: keyFile = '' } = api.ready;
    const headers = { authorization: `Bearer ${readFileSync(keyFile, 'utf8').trim()}` };
    const call = async (method: string, at: string, body?: FormData | string) => {
      const type = typeof body === 'string' ? { 'content-type': 'application/json' } : {};
      const reply = await fetch(url + at, { method, headers: { ...headers, ...type }, ...(body ? { body } : {}) });
      if (!reply.ok) throw new Error(`${method} ${at}: ${reply.status} ${await reply.text()}`);
      // biome-ignore lint/suspicious/noExplicitAny: the benchmark reads answers of known shapes
      return (await reply.json()) as any;
    };
    const floor = await floorMs(upstreamUrl, run);
    const lines = Array.from({ length: REQUESTS }, (_, at) => {
      const body = { model: MODEL, input: textOf(run, at), dimensions: 1024 };
      return JSON.stringify({ custom_id: `request-${at}`, method: 'POST', url: '/v1/embeddings', body });
    });
    const form = new FormData();
    form.append('purpose', 'batch');
    form.append('file', new Blob([lines.join('\n')]), 'requests.jsonl');
    const { id: file } = await call('POST', '/v1/files', form);
    const made = { input_file_id: file, endpoint: '/v1/embeddings', completion_window: '24h' };
    const { id } = await call('POST', '/v1/batches', JSON.stringify(made));
    const batch = await until(
      async () => {
        const found = await call('GET', `/v1/batches/${id}`);
        if (found.status === 'failed') throw new Error(JSON.stringify(found.errors));
        return found.status === 'completed' && found;
      },
      { withinMs: 300_000, everyMs: 250, what: 'the batch' },
    );
    const [job] = await call('GET', '/v1/jobs?bucket_id=openai_batch&limit=1');
    const tookMs = Date.parse(job.completed_at) - Date.parse(job.started_at);
    const seconds = [
      batch.in_progress_at - batch.created_at,
      batch.finalizing_at - batch.in_progress_at,
      batch.completed_at - batch.finalizing_at,
    ];
    const output = await call('GET', `/v1/files/${batch.output_file_id}`);
    console.log(
      `batches  ${REQUESTS} requests, ${delayMs} ms a call: claim to end ${tookMs} ms, bare upstream ${floor.toFixed(0)} ms: ${(tookMs / floor).toFixed(2)}x (checked, embedded and finished in ${seconds.join(', ')} s); output ${(output.bytes / 1e6).toFixed(0)} MB, peak memory of the worker ${peakMb(worker.child.pid ?? 0).toFixed(0)} MB`,
    );
    await end(worker.child);
    await end(api.child);
    await end(upstream.child);
  }
  await agent.close();
} finally {
  for (const child of children) if (child.exitCode === null && child.signalCode === null) await end(child);
  remove();
}
