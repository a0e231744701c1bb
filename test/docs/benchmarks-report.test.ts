import { expect, it } from 'vitest';
import { type Reportable, type Run, renderReport } from '../bench/report.ts';

const ALL: Reportable[] = [
  { name: 'print', command: 'npm run bench -- print', file: 'test/bench/print.bench.ts' },
  { name: 'faults', command: 'npm run test:faults', file: null },
];
const run = (output: string, exitCode: number | null = 0): Run => ({
  ...{ output, exitCode, seconds: 12.4, load: 0.25 },
  beganAt: new Date('2026-01-02T03:04:05Z'),
});
const render = (runs: Record<string, Run>, present = '') =>
  renderReport(ALL, new Map(Object.entries(runs)), present, 'a machine');

it('the report has what a benchmark printed, with command, date, duration, load and machine', () => {
  const report = render({ print: run('print    1.6 ms\n') });
  expect(report).toContain(
    '`npm run bench -- print` · 2026-01-02 03:04 UTC · 12 s · load 0.3 when it began · a machine.',
  );
  expect(report).toContain('```text\nprint    1.6 ms\n```');
  expect(report).toContain('`npm run test:faults` · not run for this report yet.');
});

it('sections of benchmarks that are not run again stay as they are, and others are replaced', () => {
  const first = render({ print: run('old line'), faults: run('figures') });
  const second = render({ print: run('new line', 1) }, first);
  expect(second).toContain('figures');
  expect(second).toContain('new line');
  expect(second).not.toContain('old line');
  expect(second).toContain('It ended with 1: a goal was missed, or it failed.');
  expect(render({}, second)).toBe(second);
});

it('output with a fence of Markdown does not end its block', () => {
  expect(render({ print: run('```\n# heading') })).not.toContain('```\n# heading');
});

it('every test of faults is listed with its title', () => {
  const report = render({});
  expect(report).toContain('every submit is accepted and every job finishes while Redis is flushed');
  expect(report).toContain('partition of each process from each store; partition of stores from each other');
});
