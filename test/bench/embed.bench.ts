/**
 * `POST /v1/embeddings` with the built-in model: CPU of the server process per request, read from the operating
 * system (/proc), beside the floor of the same server answering `GET /healthz` to the same client.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { makeDataDir } from '../support/appliance.ts';

const CLOCK_TICKS_PER_SECOND = 100; // USER_HZ, fixed by the kernel's interface
const CASE_MS = 4_000;
const WARM_UP_MS = 1_500;
const service = fileURLToPath(new URL('../../bin/service.js', import.meta.url));

const { dataDir, remove } = makeDataDir();
const child = spawn(
  process.execPath,
  [service, 'serve', '--port', '0', '--json', '--no-workers', '--data-dir', dataDir],
  {
    stdio: ['ignore', 'pipe', 'ignore'],
  },
);
const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
const { url, key_file: keyFile } = JSON.parse(line) as { url: string; key_file: string };
const key = readFileSync(keyFile, 'utf8').trim();

function cpuMs(): number {
  const fields = readFileSync(`/proc/${child.pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return ((Number(fields[11]) + Number(fields[12])) / CLOCK_TICKS_PER_SECOND) * 1000;
}

interface Case {
  readonly name: string;
  readonly path: string;
  readonly body: string | null;
  readonly inFlight: number;
}

function send({ path, body }: Case, agent: Agent): Promise<void> {
  const headers =
    body === null
      ? {}
      : {
          Authorization: `Bearer ${key}`,
          'Content-Type': 'application/json',
          'Content-Length': Buffer.byteLength(body),
        };
  return new Promise((resolve, reject) => {
    const call = request(url + path, { method: body === null ? 'GET' : 'POST', agent, headers }, (reply) => {
      if (reply.statusCode !== 200) reject(new Error(`status ${reply.statusCode}`));
      reply.resume().on('end', resolve).on('error', reject);
    });
    call.on('error', reject);
    call.end(body ?? undefined);
  });
}

/** Requests for `ms`, `inFlight` at a time; resolves with their latencies. */
async function drive(one: Case, agent: Agent, ms: number): Promise<number[]> {
  const times: number[] = [];
  const endMs = performance.now() + ms;
  const client = async () => {
    while (performance.now() < endMs) {
      const beganMs = performance.now();
      await send(one, agent);
      times.push(performance.now() - beganMs);
    }
  };
  await Promise.all(Array.from({ length: one.inFlight }, client));
  return times.sort((a, b) => a - b);
}

const words = 'the ferry to jeju leaves at seven from the harbour pier while tide tables list high water at dawn'.split(
  ' ',
);
const text = (seed: number) => Array.from({ length: 30 }, (_, i) => words[(seed * 7 + i * 3) % words.length]).join(' ');
const embed = (name: string, count: number, inFlight: number, dimensions: number): Case => ({
  name,
  path: '/v1/embeddings',
  body: JSON.stringify({ input: Array.from({ length: count }, (_, i) => text(i)), dimensions }),
  inFlight,
});
const CASES: Case[] = [
  { name: 'floor: GET /healthz', path: '/healthz', body: null, inFlight: 16 },
  embed('1 text, 1,024 dimensions', 1, 16, 1024),
  embed('1 text, 1,024, one in flight', 1, 1, 1024),
  embed('100 texts, 1,024 dimensions', 100, 4, 1024),
  embed('100 texts, 1,536 dimensions', 100, 4, 1536),
];

try {
  console.log('embed    case                             requests/s   CPU ms a request   p50 ms   p99 ms');
  for (const one of CASES) {
    const agent = new Agent({ keepAlive: true, maxSockets: one.inFlight });
    await drive(one, agent, WARM_UP_MS);
    const cpuBefore = cpuMs();
    const times = await drive(one, agent, CASE_MS);
    const cpu = (cpuMs() - cpuBefore) / times.length;
    agent.destroy();
    const at = (share: number) => (times[Math.floor(times.length * share)] as number).toFixed(2).padStart(8);
    const rate = ((times.length / CASE_MS) * 1000).toFixed(0).padStart(12);
    console.log(`         ${one.name.padEnd(30)} ${rate} ${cpu.toFixed(3).padStart(18)} ${at(0.5)} ${at(0.99)}`);
  }
} finally {
  child.kill('SIGTERM');
  await once(child, 'exit');
  remove();
}
