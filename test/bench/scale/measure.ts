import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type ServiceProcess, startServiceProcess } from '../../support/service-process.ts';

const SERVICE = fileURLToPath(new URL('../../../bin/service', import.meta.url));

/** Return a quantile of the numbers; `part` 0.5 is the median. */
export function quantile(numbers: readonly number[], part: number): number {
  const sorted = [...numbers].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] as number;
}

/** Render median and 99th percentile in milliseconds. */
export function times(numbers: readonly number[]): string {
  return `${quantile(numbers, 0.5).toFixed(1)} ms p50, ${quantile(numbers, 0.99).toFixed(1)} p99`;
}

/** Start `service serve`. @returns the process, and milliseconds from exec to the first response */
export async function startServer(dataDir: string): Promise<{ server: ServiceProcess; startMs: number }> {
  const beganMs = performance.now();
  const server = await startServiceProcess(['serve', '--port', '0', '--data-dir', dataDir], {});
  const reply = await fetch(`${server.ready['url']}/readyz`);
  if (!reply.ok) throw new Error(`the server is not ready: ${reply.status}`);
  return { server, startMs: performance.now() - beganMs };
}

/** Search over HTTP. @returns milliseconds @throws Error if nothing is found */
export async function timedSearch(url: string, key: string, body: object): Promise<number> {
  const beganMs = performance.now();
  const reply = await fetch(url, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const { results } = (await reply.json()) as { results?: unknown[] };
  if (!reply.ok || results === undefined || results.length === 0)
    throw new Error(`${url} found nothing for ${JSON.stringify(body)}: ${reply.status}`);
  return performance.now() - beganMs;
}

/** Call `action` for each item, several at a time. @returns its results, and the calls per second */
export async function inFlight<I>(
  items: readonly I[],
  count: number,
  action: (item: I) => Promise<number>,
): Promise<{ ms: number[]; perSecond: number }> {
  const ms: number[] = [];
  let next = 0;
  const beganMs = performance.now();
  const run = async () => {
    while (next < items.length) ms.push(await action(items[next++] as I));
  };
  await Promise.all(Array.from({ length: count }, run));
  return { ms, perSecond: items.length / ((performance.now() - beganMs) / 1_000) };
}

/** Count the open files and the sockets of a process. */
export function openFiles(pid: number): { files: number; sockets: number } {
  const targets = readdirSync(`/proc/${pid}/fd`).map((fd) => {
    try {
      return readlinkSync(`/proc/${pid}/fd/${fd}`);
    } catch {
      return '';
    }
  });
  const sockets = targets.filter((target) => target.startsWith('socket:')).length;
  return { files: targets.filter((target) => target.startsWith('/')).length, sockets };
}

/** Return a process's current memory in MB (RSS), and its peak. */
export function memoryMb(pid: number): { now: number; peak: number } {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const mb = (name: string) => (Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1] ?? 0) * 1_024) / 1e6;
  return { now: mb('VmRSS'), peak: mb('VmHWM') };
}

/** Run a command of the service. @returns its milliseconds @throws Error if it fails */
export async function runCommand(
  args: readonly string[],
  onStart: (pid: number) => void = () => undefined,
): Promise<number> {
  const beganMs = performance.now();
  const child = spawn(SERVICE, args, { stdio: ['ignore', 'ignore', 'inherit'] });
  onStart(child.pid as number);
  const [code] = (await once(child, 'exit')) as [number | null];
  if (code !== 0) throw new Error(`service ${args.join(' ')} ended with ${code}`);
  return performance.now() - beganMs;
}
