import { type ChildProcess, fork, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import type { CommandCall } from '../support/command-child.ts';

const SERVICE = fileURLToPath(new URL('../../bin/service', import.meta.url));
const COMMAND_CHILD = fileURLToPath(new URL('../support/command-child.ts', import.meta.url));
/** Far beyond what any command of the tests takes, so that a hang fails as one. */
const COMMAND_MS_MAX = 50_000;
/** Commands never print it. */
const END_OF_COMMAND = '\0';

export interface Finished {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  /** stdout as the one JSON document that it must be. */
  // biome-ignore lint/suspicious/noExplicitAny: a test says itself what it expects in it
  json(): any;
}

export interface Running {
  readonly child: ChildProcess;
  /** What has come so far. */
  output(): { stdout: string; stderr: string };
  readonly finished: Promise<Finished>;
}

/** Starts `bin/service` as a shell does, with nothing of the test's own environment but `env` and the search path. */
export function startService(args: readonly string[], env: NodeJS.ProcessEnv, input = ''): Running {
  const { PATH, HOME } = process.env;
  const child = spawn(SERVICE, args, {
    env: { PATH, HOME, ...env },
    stdio: 'pipe',
    timeout: COMMAND_MS_MAX,
    killSignal: 'SIGKILL',
  });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (part) => {
    stdout += part;
  });
  child.stderr.setEncoding('utf8').on('data', (part) => {
    stderr += part;
  });
  child.stdin.on('error', () => undefined).end(input);
  const finished = once(child, 'close').then(([code]) => ({ code, stdout, stderr, json: () => JSON.parse(stdout) }));
  return { child, output: () => ({ stdout, stderr }), finished };
}

/** Runs `bin/service` as a shell does, to its end: about a second. `runCommand` is for what needs no process of its own. */
export async function runService(args: readonly string[], env: NodeJS.ProcessEnv, input?: string): Promise<Finished> {
  return startService(args, env, input).finished;
}

/** The process of `runCommand`, and the end of the last command that it was given. */
let commandChild: { readonly child: ChildProcess; readonly exited: Promise<null> } | null = null;
let lastCommand: Promise<unknown> = Promise.resolve();

/**
 * Runs a command line in a process that ran others before, with `env` as all of its environment and nothing on stdin:
 * the same code and the same streams as `runService` without the start of Node, which is nearly all of its time.
 * Commands run one after the other, in the order of the calls.
 */
export function runCommand(args: readonly string[], env: NodeJS.ProcessEnv): Promise<Finished> {
  const finished = lastCommand.then(() => runInChild(args, env));
  lastCommand = finished.catch(() => undefined);
  return finished;
}

async function runInChild(args: readonly string[], env: NodeJS.ProcessEnv): Promise<Finished> {
  commandChild ??= startCommandChild();
  const { child, exited } = commandChild;
  const { PATH, HOME } = process.env;
  const timer = setTimeout(() => child.kill('SIGKILL'), COMMAND_MS_MAX);
  const report = Promise.race([new Promise<{ code: number }>((resolve) => child.once('message', resolve)), exited]);
  const streams = Promise.all([readCommand(child.stdout as Readable), readCommand(child.stderr as Readable)]);
  child.send({ args, env: { PATH, HOME, ...env }, end: END_OF_COMMAND } satisfies CommandCall);
  const [ended, [stdout, stderr]] = await Promise.all([report, streams]);
  clearTimeout(timer);
  if (ended === null) {
    commandChild = null;
    throw new Error(`"service ${args.join(' ')}" ended its process: ${stdout}${stderr}`);
  }
  return { code: ended.code, stdout, stderr, json: () => JSON.parse(stdout) };
}

function startCommandChild() {
  const child = fork(COMMAND_CHILD, { env: {}, execArgv: [], stdio: ['ignore', 'pipe', 'pipe', 'ipc'] });
  return { child, exited: new Promise<null>((resolve) => child.once('exit', () => resolve(null))) };
}

/** What one command writes to a stream of a child, which stays open. */
function readCommand(stream: Readable): Promise<string> {
  let all = '';
  return new Promise((resolve) => {
    const onData = (part: string) => {
      all += part;
      if (all.includes(END_OF_COMMAND)) finish(all.slice(0, all.indexOf(END_OF_COMMAND)));
    };
    const onEnd = () => finish(all);
    const finish = (written: string) => {
      stream.off('data', onData).off('end', onEnd);
      resolve(written);
    };
    stream.setEncoding('utf8').on('data', onData).on('end', onEnd);
  });
}

/** Whether this host can make a terminal for a test (util-linux). */
export const CAN_MAKE_TERMINAL = spawnSync('script', ['--version'], { encoding: 'utf8' }).stdout?.includes(
  'util-linux',
);

/** The same on a terminal of 100 columns, as `script` makes one; stdout is what the terminal shows. */
export async function runOnTerminal(args: readonly string[], env: NodeJS.ProcessEnv, input = ''): Promise<Finished> {
  const { PATH, HOME } = process.env;
  const command = `stty cols 100 rows 30; exec ${[SERVICE, ...args].map((arg) => `'${arg}'`).join(' ')}`;
  const child = spawn('script', ['-qefc', command, '/dev/null'], {
    env: { PATH, HOME, SHELL: '/bin/sh', TERM: 'xterm-256color', ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
    timeout: COMMAND_MS_MAX,
    killSignal: 'SIGKILL',
  });
  child.stdin.end(input);
  const closed = once(child, 'close');
  const stdout = await text(child.stdout);
  const [code] = await closed;
  return { code, stdout, stderr: '', json: () => JSON.parse(stdout) };
}
