/**
 * Benchmark of the command line, from exec to exit: 20 commands while a server runs (asked at its socket), the same
 * commands without one (each opens the installation), `--version` and `--help`. `RUNS` sets the runs of each command, and
 * `COMMANDS` the number of commands.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { makeDataDir } from '../support/appliance.ts';
import { startServiceProcess } from '../support/service-process.ts';

const RUNS = Number(process.env['RUNS'] ?? 5);
const LIMITS_MS = { withServer: 400, withoutServer: 1000, help: 200 };
const service = fileURLToPath(new URL('../../bin/service', import.meta.url));

const ALL = [
  ['buckets', 'list'],
  ['buckets', 'show', 'default'],
  ['orgs', 'list'],
  ['users', 'list'],
  ['keys', 'list'],
  ['jobs', 'list'],
  ['routing', 'get'],
  ['models', 'list'],
  ['projections', 'list'],
  ['index', 'stats'],
  ['channels', 'list'],
  ['channels', 'outbox'],
  ['sources', 'list'],
  ['workflows', 'list'],
  ['usage'],
  ['metadata', 'keys'],
  ['metadata', 'exec', "SELECT documents WHERE team = 'a'"],
  ['search', 'how long is the warranty'],
  ['embed', 'a sunny day'],
  ['jobs', 'reap', '--dry-run'],
];

const COMMANDS = ALL.slice(0, Number(process.env['COMMANDS'] ?? ALL.length));
const { dataDir, remove } = makeDataDir();
const env = { PATH: process.env['PATH'], HOME: process.env['HOME'], SERVICE_DATA_DIR: dataDir };

async function timeOnce(args: readonly string[]): Promise<number> {
  const beganMs = performance.now();
  const child = spawn(service, args, { env, stdio: 'ignore' });
  const [code] = await once(child, 'exit');
  if (code !== 0) throw new Error(`service ${args.join(' ')} ended with ${code}`);
  return performance.now() - beganMs;
}

async function timesOf(commands: readonly (readonly string[])[]): Promise<number[]> {
  const times: number[] = [];
  for (let run = 0; run < RUNS; run++) for (const args of commands) times.push(await timeOnce(args));
  return times.sort((a, b) => a - b);
}

function report(name: string, times: readonly number[], limitMs: number): void {
  const [p50, p95, max] = [0.5, 0.95, 1].map((share) => times[Math.ceil(share * times.length) - 1] as number);
  const verdict = (p50 as number) <= limitMs ? 'holds' : 'MISSED';
  console.log(
    `${name.padEnd(34)} p50 ${p50?.toFixed(0)} ms, p95 ${p95?.toFixed(0)} ms, max ${max?.toFixed(0)} ms; limit of p50 ${limitMs} ms: ${verdict}`,
  );
  if (verdict === 'MISSED') process.exitCode = 1;
}

try {
  const server = await startServiceProcess(['serve', '--port', '0'], env);
  const file = path.join(dataDir, 'note.txt');
  writeFileSync(file, 'The warranty of the pump is two years.\n');
  await timeOnce(['documents', 'upload', file]);
  await timesOf(COMMANDS.slice(0, 1)); // fills the compile cache
  report(`${COMMANDS.length} commands with a server`, await timesOf(COMMANDS), LIMITS_MS.withServer);
  report('--version', await timesOf([['--version']]), LIMITS_MS.help);
  report('--help', await timesOf([['--help'], ['jobs', '--help'], ['jobs', 'list', '--help']]), LIMITS_MS.help);
  await server.end('SIGTERM');
  report(`${COMMANDS.length} commands without a server`, await timesOf(COMMANDS), LIMITS_MS.withoutServer);
} finally {
  remove();
}
