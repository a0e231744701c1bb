/**
 * Runner of benchmarks, `npm run bench [-- NAME [ARGUMENT…]…]`: each runs in a separate process, one after the other.
 * Numbers, options and their values are arguments of the benchmark before them: `-- search 1000000`. With `--report` it
 * also writes what they print to `bench-report.md`; then `faults` and `cluster` are names, too.
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
  'groups',
  'peers',
  'milvus',
  'fresh',
  'answers',
  'channels',
  'jobs',
  'bulk',
  'batches',
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
  'console',
  'local',
  'scale',
];
/** Benchmarks of an hour or more, which run only by name or for the report. */
const LONG = ['scale'];
/** Tests that print figures, with their package.json scripts. */
const FAULTS = { faults: 'test:faults', cluster: 'test:cluster' } as const;

const isReport = process.argv.includes('--report');
const words = process.argv.slice(2).filter((argument) => argument !== '--report');
const isArgument = (nth: number) => /^[-\d]/.test(words[nth] ?? '') || /^-/.test(words[nth - 1] ?? '');
const starts = words.flatMap((_, nth) => (nth === 0 || !isArgument(nth) ? [nth] : []));
const named = starts.map((start, nth) => words.slice(start, starts[nth + 1]) as [string, ...string[]]);
const known = isReport ? [...BENCHMARKS, ...Object.keys(FAULTS)] : BENCHMARKS;
const unknown = named.find(([name]) => !known.includes(name));
if (unknown !== undefined) {
  console.error(`There is no benchmark "${unknown[0]}". Choose among: ${known.join(', ')}.`);
  process.exit(2);
}
console.log(`${cpus().length} x ${cpus()[0]?.model}, Node ${process.version}`);
const all: Reportable[] = known.map((name) =>
  isFault(name)
    ? { name, command: `npm run ${FAULTS[name]}`, file: null }
    : { name, command: `npm run bench -- ${name}`, file: `test/bench/${name}.bench.ts` },
);
const runs = new Map<string, Run>();
const unnamed = known.filter((name) => isReport || !LONG.includes(name)).map((name) => [name] as [string]);
for (const [name, ...args] of named.length > 0 ? named : unnamed) {
  const run = await runOne(name, args);
  if (run.exitCode !== 0) process.exitCode = 1;
  if (!isReport) continue;
  runs.set(name, run);
  // Write this after each program, so that an interrupted run keeps finished results.
  writeFileSync(REPORT_FILE, renderReport(all, runs, existsSync(REPORT_FILE) ? readFileSync(REPORT_FILE, 'utf8') : ''));
}

async function runOne(name: string, own: readonly string[]): Promise<Run> {
  const [command, args] = isFault(name)
    ? (['npm', ['run', '--silent', FAULTS[name]]] as const)
    : ([process.execPath, [fileURLToPath(new URL(`${name}.bench.ts`, import.meta.url)), ...own]] as const);
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
