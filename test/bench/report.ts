import { readdirSync, readFileSync } from 'node:fs';
import { cpus, loadavg, release, totalmem, type } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** File of the raw output, which is attached to releases. Its figures are copied into `docs/benchmarks.md` by hand. */
export const REPORT_FILE = path.join(ROOT, 'bench-report.md');
/** Folders of the fault tests, with the endings of their files. */
const FAULT_TESTS = [
  ['test/faults', '.faults.ts'],
  ['test/cluster', '.cluster.ts'],
] as const;
const OUTPUT_CHARS_MAX = 20_000;

/** Program whose output is in the report. */
export interface Reportable {
  readonly name: string;
  readonly command: string;
  /** File whose first comment describes it, relative to the project; null without such a comment. */
  readonly file: string | null;
}

/** One run of a program. */
export interface Run {
  readonly output: string;
  readonly exitCode: number | null;
  readonly seconds: number;
  readonly beganAt: Date;
  /** Load average of the machine over the last minute before it began. */
  readonly load: number;
}

/**
 * Render the report. Replace the sections of the programs run now, and keep the other sections of the existing report.
 * @param present text of the existing report; empty if there is none
 */
export function renderReport(
  all: readonly Reportable[],
  runs: ReadonlyMap<string, Run>,
  present: string,
  machine = describeMachine(),
): string {
  const sections = all.map((each) => {
    const run = runs.get(each.name);
    return run ? renderSection(each, run, machine) : (presentSection(present, each.name) ?? renderEmpty(each));
  });
  return [
    '# Benchmarks and faults',
    '`npm run bench -- --report` runs all benchmarks and writes this file. `npm run bench -- --report NAME…` runs some of them\nand keeps the sections of the others. Do not edit the file: it has the lines that the programs printed. Times depend on\nthe machine and its load, which each section names. Most benchmarks print a floor to compare with.',
    ...sections,
    '## Tests of faults\n\nEach row is one test. `npm run test:faults` and `npm run test:cluster` run them. They print how much was lost, doubled and\nstuck, and the longest recovery. The sections `faults` and `cluster` above have the output of the last run.',
    faultTable(),
  ]
    .join('\n\n')
    .concat('\n');
}

export function loadNow(): number {
  return loadavg()[0] as number;
}

function renderSection(each: Reportable, run: Run, machine: string): string {
  const { exitCode, seconds, beganAt, load } = run;
  const ended = exitCode === 0 ? '' : ` It ended with ${exitCode ?? 'a signal'}: a goal was missed, or it failed.`;
  const facts = `\`${each.command}\` · ${beganAt.toISOString().slice(0, 16).replace('T', ' ')} UTC · ${Math.round(seconds)} s · load ${load.toFixed(1)} when it began · ${machine}.${ended}`;
  // The first line of vitest names the folder. A fence within the output would end the block.
  const shown = run.output.slice(-OUTPUT_CHARS_MAX).replace(/^ *RUN +v[\d.]+ .*\n+/m, '');
  const output = shown.trim().replaceAll('```', "'''");
  return marked(each.name, [...headOf(each), facts, `\`\`\`text\n${output}\n\`\`\``]);
}

function renderEmpty(each: Reportable): string {
  return marked(each.name, [...headOf(each), `\`${each.command}\` · not run for this report yet.`]);
}

function headOf({ name, file }: Reportable): string[] {
  const about = file === null ? null : aboutOf(path.join(ROOT, file));
  return [`## ${name}`, ...(about === null ? [] : [about])];
}

function marked(name: string, parts: readonly string[]): string {
  return `<!-- run:${name} -->\n${parts.join('\n\n')}\n<!-- /run:${name} -->`;
}

function presentSection(report: string, name: string): string | null {
  const [begin, end] = [`<!-- run:${name} -->`, `<!-- /run:${name} -->`];
  const from = report.indexOf(begin);
  const to = report.indexOf(end, from);
  return from === -1 || to === -1 ? null : report.slice(from, to + end.length);
}

/** Read the comment at the head of a file as one paragraph; null without one. */
function aboutOf(file: string): string | null {
  const [, comment] = /^\/\*\*([\s\S]*?)\*\//.exec(readFileSync(file, 'utf8')) ?? [];
  return (
    comment
      ?.split('\n')
      .map((line) => line.replace(/^\s*\*?\s?/, ''))
      .join(' ')
      .trim() ?? null
  );
}

function faultTable(): string {
  const rows = FAULT_TESTS.flatMap(([folder, ending]) =>
    readdirSync(path.join(ROOT, folder))
      .filter((name) => name.endsWith(ending))
      .sort()
      .flatMap((name) =>
        titlesOf(path.join(ROOT, folder, name)).map((title) => `| \`${folder}/${name}\` | ${title} |`),
      ),
  );
  return ['| test | what it shows |', '|---|---|', ...rows].join('\n');
}

/** Find the titles of a file's tests. A title for several cases ends in a list of their names. */
function titlesOf(file: string): string[] {
  const text = readFileSync(file, 'utf8');
  return [
    ...text.matchAll(/\b(?:it|test)(?:\.skipIf\([^)]*\))?(?:\.each\((\[[\s\S]*?\n {2}\])\))?\(\s*(['"`])(.*?)\2,/g),
  ].map(([, cases, , title]) => {
    const names = [...(cases ?? '').matchAll(/\[\s*'([^']+)'/g)].map(([, name]) => name);
    return names.length === 0 ? (title as string) : (title as string).replace('%s', names.join('; '));
  });
}

function describeMachine(): string {
  const memoryGb = totalmem() / 2 ** 30;
  return `${cpus().length} x ${cpus()[0]?.model.trim()}, ${memoryGb.toFixed(0)} GB, ${type()} ${release()}, Node ${process.version}`;
}
