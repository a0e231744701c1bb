import { type ChildProcess, fork, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import type { CommandCall } from '../support/command-child.ts';

const SERVICE = fileURLToPath(new URL('../../bin/service', import.meta.url));
const COMMAND_CHILD = fileURLToPath(new URL('../support/command-child.ts', import.meta.url));
/** Time limit far beyond that of any command in the tests, so that a hang is reported as one. */
const COMMAND_MS_MAX = 50_000;
/** Marker of the end of a command's output; commands never print it. */
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
  /** Return the output so far. */
  output(): { stdout: string; stderr: string };
  readonly finished: Promise<Finished>;
}

/** Start `bin/service` as a shell does, with only `env`, the search path, HOME and the tests' built-in model. */
export function startService(args: readonly string[], env: NodeJS.ProcessEnv, input = ''): Running {
  const { PATH, HOME, SERVICE_BUILT_IN_MODEL } = process.env;
  const child = spawn(SERVICE, args, {
    env: { PATH, HOME, SERVICE_BUILT_IN_MODEL, ...env },
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

/** Run `bin/service` as a shell does, which takes about a second. Use `runCommand` unless a new process is needed. */
export async function runService(args: readonly string[], env: NodeJS.ProcessEnv, input?: string): Promise<Finished> {
  return startService(args, env, input).finished;
}

/** Process of `runCommand`, and the end of the last command that it was given. */
let commandChild: { readonly child: ChildProcess; readonly exited: Promise<null> } | null = null;
let lastCommand: Promise<unknown> = Promise.resolve();

/**
 * Run a command line in a process that is reused, with `env` as its whole environment and nothing on stdin. Code and
 * streams are those of `runService`, without the start of Node, which takes nearly all of the time.
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
  const { PATH, HOME, SERVICE_BUILT_IN_MODEL } = process.env;
  const timer = setTimeout(() => child.kill('SIGKILL'), COMMAND_MS_MAX);
  const report = Promise.race([new Promise<{ code: number }>((resolve) => child.once('message', resolve)), exited]);
  const streams = Promise.all([readCommand(child.stdout as Readable), readCommand(child.stderr as Readable)]);
  child.send({ args, env: { PATH, HOME, SERVICE_BUILT_IN_MODEL, ...env }, end: END_OF_COMMAND } satisfies CommandCall);
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

/** Read the output of one command from a stream of a child, which stays open. */
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

/** True if this host can make a terminal for a test (util-linux). */
export const CAN_MAKE_TERMINAL = spawnSync('script', ['--version'], { encoding: 'utf8' }).stdout?.includes(
  'util-linux',
);

/** Run `bin/service` on a terminal of 100 columns, made by `script`; stdout is the content of the terminal. */
export async function runOnTerminal(args: readonly string[], env: NodeJS.ProcessEnv, input = ''): Promise<Finished> {
  const { PATH, HOME, SERVICE_BUILT_IN_MODEL } = process.env;
  const command = `stty cols 100 rows 30; exec ${[SERVICE, ...args].map((arg) => `'${arg}'`).join(' ')}`;
  const child = spawn('script', ['-qefc', command, '/dev/null'], {
    env: { PATH, HOME, SERVICE_BUILT_IN_MODEL, SHELL: '/bin/sh', TERM: 'xterm-256color', ...env },
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
