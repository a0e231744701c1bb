/** Benchmark of the start of `service serve` on an existing data directory, from exec to the first answered request. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { makeDataDir } from '../support/appliance.ts';

const RUNS = 5;
const service = fileURLToPath(new URL('../../bin/service', import.meta.url));
const { dataDir, remove } = makeDataDir();

async function startOnce(): Promise<number> {
  const beganMs = performance.now();
  const child = spawn(service, ['serve', '--port', '0', '--json', '--data-dir', dataDir], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
  const reply = await fetch(`${(JSON.parse(line) as { url: string }).url}/readyz`);
  if (!reply.ok) throw new Error(`not ready: ${reply.status}`);
  const tookMs = performance.now() - beganMs;
  child.kill('SIGTERM');
  await once(child, 'exit');
  return tookMs;
}

try {
  const firstMs = await startOnce();
  const times: number[] = [];
  for (let run = 0; run < RUNS; run++) times.push(await startOnce());
  times.sort((a, b) => a - b);
  const [min, median, max] = [times[0], times[RUNS >> 1], times[RUNS - 1]].map((time) => (time as number).toFixed(0));
  console.log(
    `start    first ${firstMs.toFixed(0)} ms; existing data directory ${median} ms (${min} to ${max}, ${RUNS} runs)`,
  );
} finally {
  remove();
}
