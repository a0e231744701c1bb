import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

const SERVICE = fileURLToPath(new URL('../../bin/service', import.meta.url));
/** Far beyond what any command of the tests takes, so that a hang fails as one. */
const COMMAND_MS_MAX = 25_000;

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

export async function runService(args: readonly string[], env: NodeJS.ProcessEnv, input?: string): Promise<Finished> {
  return startService(args, env, input).finished;
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
