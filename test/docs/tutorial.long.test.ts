import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { freePort } from '../support/free-port.ts';

const ROOT = path.join(import.meta.dirname, '../..');
const PAGE = path.join(ROOT, 'docs/tutorial.md');
/** Fence of a block with its language, its lines, and its end. */
const BLOCK = /^```(sh|text|json)\n(.*?)^```$/gms;
const START = 'npm ci && npm start\n';
/** Numbers with a fraction, and the difference between those of two processors. */
const DECIMAL = /-?\d+\.\d+/g;
const DIFFERENCE_MAX = 0.03;
/** Line that divides the outputs of the blocks of one shell. */
const MARK = '--- end of block ---';

interface Step {
  readonly commands: string;
  /** Output that the page shows; null if it shows none. */
  readonly shown: { readonly language: string; readonly output: string } | null;
}

const page = readFileSync(PAGE, 'utf8');
const steps = readSteps(page);
let home: string;
let server: ChildProcess;
let startLines: string[];
let outputs: string[];

beforeAll(async () => {
  home = mkdtempSync(path.join(tmpdir(), 'tutorial-'));
  // As root, PostgreSQL runs as another user, which must be able to enter.
  chmodSync(home, 0o711);
  const port = await freePort();
  const env = {
    ...{ PATH: process.env['PATH'], HOME: home, LC_ALL: 'C.UTF-8', OLDPWD: ROOT },
    ...{ SERVICE_DATA_DIR: path.join(home, 'service-tutorial'), SERVICE_PORT: String(port) },
  };
  server = spawn('npm', ['start', '--silent'], { cwd: ROOT, env, stdio: ['ignore', 'pipe', 'ignore'], detached: true });
  startLines = await readLines(server, 4);
  const beforeDeletion = steps.filter(({ commands }) => commands !== START && !commands.startsWith('rm '));
  const script = beforeDeletion.map(({ commands }) => `${commands}echo '${MARK}'\n${waitAfter(commands)}`).join('');
  const shell = spawn('bash', ['-e', '-s'], { cwd: ROOT, env, stdio: ['pipe', 'pipe', 'pipe'] });
  let [output, errors] = ['', ''];
  shell.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  shell.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors += text;
  });
  shell.stdin.end(`exec 2>&1\n${script.replaceAll('127.0.0.1:8080', `127.0.0.1:${port}`)}`);
  const [exitCode] = await once(shell, 'close');
  expect([exitCode, errors, exitCode === 0 ? '' : output]).toEqual([0, '', '']);
  outputs = output.replaceAll(`127.0.0.1:${port}`, '127.0.0.1:8080').split(`${MARK}\n`);
  startLines = startLines.map((line) => line.replaceAll(`127.0.0.1:${port}`, '127.0.0.1:8080'));
});
afterAll(async () => {
  if (server?.pid !== undefined && server.exitCode === null) {
    process.kill(-server.pid, 'SIGTERM');
    await once(server, 'exit');
  }
  rmSync(home, { recursive: true, force: true });
});

test('the tutorial has the steps of a first visit', () => {
  expect(steps.length).toBeGreaterThanOrEqual(10);
  expect(steps.filter(({ shown }) => shown !== null).length).toBeGreaterThanOrEqual(6);
});

test('the server prints the lines that the tutorial shows', () => {
  const shown = steps.find(({ commands }) => commands === START)?.shown?.output ?? '';
  // Without a terminal, the line about Ctrl-C is left out.
  const lines = shown.trimEnd().split('\n').slice(0, -1);
  expect(startLines.map((line) => withoutIds(line.replaceAll(home, '/home/you')))).toEqual(lines.map(withoutIds));
});

test('each command of the tutorial has the output that the page shows', () => {
  const executed = steps.filter(({ commands }) => commands !== START && !commands.startsWith('rm '));
  for (const [nth, { commands, shown }] of executed.entries()) {
    const output = outputs[nth] ?? '';
    if (shown === null) continue;
    const pair = [output, shown.output].map((text) =>
      withoutIds(shown.language === 'json' ? compact(text) : sort(text)),
    );
    const [own = '', wanted = ''] = pair;
    expect([commands, alignNumbers(own, wanted)]).toEqual([commands, wanted]);
  }
});

/** Take over the numbers of the page that are close to those of the output: the model rounds by the processor. */
function alignNumbers(output: string, page: string): string {
  const wanted = page.match(DECIMAL) ?? [];
  let nth = 0;
  return output.replaceAll(DECIMAL, (own) => {
    const shown = wanted[nth++];
    return shown !== undefined && Math.abs(Number(own) - Number(shown)) <= DIFFERENCE_MAX ? shown : own;
  });
}

/** Return the command that waits until the vectors of an upload are made, as a reader does without noticing. */
function waitAfter(commands: string): string {
  if (!commands.includes('documents upload')) return '';
  const isDone = `bin/service index stats --json | tr -d ' \\n' | grep -q '"words_only_chunks":0'`;
  return `until ${isDone}; do sleep 0.1; done\n`;
}

/** Pair each block of commands with the block of output that follows it before the next one. */
function readSteps(text: string): Step[] {
  const blocks = [...text.matchAll(BLOCK)].map(([, language = '', body = '']) => ({ language, body }));
  return blocks.flatMap(({ language, body }, nth) => {
    if (language !== 'sh') return [];
    const next = blocks[nth + 1];
    const shown = next === undefined || next.language === 'sh' ? null : { language: next.language, output: next.body };
    return [{ commands: body, shown }];
  });
}

async function readLines(child: ChildProcess, count: number): Promise<string[]> {
  const lines: string[] = [];
  for await (const line of createInterface({ input: child.stdout as NodeJS.ReadableStream })) {
    lines.push(line);
    if (lines.length === count) break;
  }
  return lines;
}

/** Files are read at the same time, so that lines of progress come in any order. */
function sort(text: string): string {
  return text
    .replaceAll(/^\[\d+\/(\d+)\]/gm, '[#/$1]')
    .split('\n')
    .filter((line) => line.trim() !== '')
    .toSorted()
    .join('\n');
}

function compact(text: string): string {
  return JSON.stringify(JSON.parse(text));
}

function withoutIds(text: string): string {
  return text
    .replaceAll(/\b(doc|bkt|job)_[0-9a-z]{26}(?:_\d+)?/g, '$1_ID')
    .replaceAll(/#link=[\w-]+/g, '#link=LINK')
    .replaceAll(/\d{4}-\d{2}-\d{2}T[\d:.]+Z/g, 'TIME')
    .replaceAll(/(\d\.\d{6})\d+/g, '$1');
}
