/** Runner of benchmarks, `npm run bench [-- NAME…]`: each runs in a separate process, one after the other. */
import { spawnSync } from 'node:child_process';
import { cpus } from 'node:os';
import { fileURLToPath } from 'node:url';

const BENCHMARKS = [
  'start',
  'cli',
  'print',
  'kernel',
  'embed',
  'event-loop',
  'ingest',
  'large',
  'large-pdf',
  'documents',
  'search',
  'fresh',
  'channels',
  'jobs',
  'bulk',
  'reproject',
  'reembed',
  'metadata',
  'edits',
  'index-race',
  'mcp',
  'sources',
  'memory',
  'attacks',
  'lists',
  'local',
];
const names = process.argv.slice(2);
const unknown = names.find((name) => !BENCHMARKS.includes(name));
if (unknown !== undefined) {
  console.error(`There is no benchmark "${unknown}". Choose among: ${BENCHMARKS.join(', ')}.`);
  process.exit(2);
}
console.log(`${cpus().length} x ${cpus()[0]?.model}, Node ${process.version}`);
for (const name of names.length > 0 ? names : BENCHMARKS) {
  const script = fileURLToPath(new URL(`${name}.bench.ts`, import.meta.url));
  const { status } = spawnSync(process.execPath, [script], { stdio: 'inherit' });
  if (status !== 0) process.exitCode = 1;
}
