/**
 * Runner of benchmarks, `npm run bench [-- NAME…]`: each runs in a separate process, one after the other. With
 * `--report` it also writes what they print to `docs/benchmarks.md`; then `faults` and `cluster` are names, too.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { fileURLToPath } from 'node:url';
import { stripVTControlCharacters } from 'node:util';
import { loadNow, REPORT_FILE, type Reportable, type Run, renderReport } from './report.ts';

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
  'scale',
];
/** Benchmarks of an hour or more, which run by their name or for the report only. */
const LONG = ['scale'];
/** Tests that print figures, by their scripts of package.json. */
const FAULTS = { faults: 'test:faults', cluster: 'test:cluster' } as const;

const isReport = process.argv.includes('--report');
const names = process.argv.slice(2).filter((argument) => argument !== '--report');
const known = isReport ? [...BENCHMARKS, ...Object.keys(FAULTS)] : BENCHMARKS;
const unknown = names.find((name) => !known.includes(name));
if (unknown !== undefined) {
  console.error(`There is no benchmark "${unknown}". Choose among: ${known.join(', ')}.`);
  process.exit(2);
}
console.log(`${cpus().length} x ${cpus()[0]?.model}, Node ${process.version}`);
const all: Reportable[] = known.map((name) =>
  isFault(name)
    ? { name, command: `npm run ${FAULTS[name]}`, file: null }
    : { name, command: `npm run bench -- ${name}`, file: `test/bench/${name}.bench.ts` },
);
const runs = new Map<string, Run>();
const chosen = names.length > 0 ? names : known.filter((name) => isReport || !LONG.includes(name));
for (const name of chosen) {
  const run = await runOne(name);
  if (run.exitCode !== 0) process.exitCode = 1;
  if (!isReport) continue;
  runs.set(name, run);
  // Written after each, so that an interrupted run keeps what is done.
  writeFileSync(REPORT_FILE, renderReport(all, runs, existsSync(REPORT_FILE) ? readFileSync(REPORT_FILE, 'utf8') : ''));
}

async function runOne(name: string): Promise<Run> {
  const [command, args] = isFault(name)
    ? (['npm', ['run', '--silent', FAULTS[name]]] as const)
    : ([process.execPath, [fileURLToPath(new URL(`${name}.bench.ts`, import.meta.url))]] as const);
  const [load, beganAt, beganMs] = [loadNow(), new Date(), performance.now()];
  const child = spawn(command, args, { stdio: ['inherit', 'pipe', 'inherit'] });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    process.stdout.write(text);
    output += stripVTControlCharacters(text);
  });
  const [exitCode] = (await once(child, 'close')) as [number | null];
  return { output, exitCode, load, beganAt, seconds: (performance.now() - beganMs) / 1_000 };
}

function isFault(name: string): name is keyof typeof FAULTS {
  return Object.hasOwn(FAULTS, name);
}
