import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const SERVICE = fileURLToPath(new URL('../../bin/service', import.meta.url));
const READY_MS_MAX = 60_000;
const STDERR_CHARS_MAX = 20_000;

/** Long-running command of the service in a separate process. */
export interface ServiceProcess {
  readonly pid: number;
  /** JSON document that the process printed when it was ready. */
  readonly ready: Readonly<Record<string, string>>;
  /** Return the exit code and signal, or null while the process runs. */
  ended(): { code: number | null; signal: NodeJS.Signals | null } | null;
  /** Return the last part of stderr. */
  stderr(): string;
  /** Send a signal to this process only. It has no effect after the exit. */
  signal(name: NodeJS.Signals): void;
  /** Wait for the exit. @returns milliseconds since this call */
  waitForEnd(): Promise<number>;
  /** Send a signal and wait for the exit. @returns milliseconds since this call */
  end(name: NodeJS.Signals): Promise<number>;
}

/**
 * Start `service …` with `--json` and wait until it is ready. Its environment contains only `env`, `PATH`, `HOME` and
 * the setting of the built-in model.
 */
export async function startServiceProcess(
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  readyMsMax = READY_MS_MAX,
): Promise<ServiceProcess> {
  const { PATH, HOME, SERVICE_BUILT_IN_MODEL } = process.env;
  const child: ChildProcess = spawn(SERVICE, [...args, '--json'], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH, HOME, SERVICE_BUILT_IN_MODEL, ...env },
  });
  let stderr = '';
  child.stderr?.setEncoding('utf8').on('data', (part: string) => {
    stderr = (stderr + part).slice(-STDERR_CHARS_MAX);
  });
  const exited = once(child, 'exit');
  const lines = createInterface({ input: child.stdout as NodeJS.ReadableStream });
  const timer = setTimeout(() => child.kill('SIGKILL'), readyMsMax);
  const first = await Promise.race([once(lines, 'line'), exited.then(() => null)]);
  clearTimeout(timer);
  if (first === null || String(first[0]).startsWith('{"error"')) {
    await exited;
    throw new Error(
      `service ${args[0]} ended with ${child.exitCode ?? child.signalCode} before it was ready: ${first?.[0] ?? stderr}`,
    );
  }
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null;
  const waitForEnd = async () => {
    const beganMs = performance.now();
    await exited;
    return performance.now() - beganMs;
  };
  return {
    pid: child.pid as number,
    ready: JSON.parse(String(first[0])),
    ended: () => (hasEnded() ? { code: child.exitCode, signal: child.signalCode } : null),
    stderr: () => stderr,
    signal: (name) => {
      if (!hasEnded()) child.kill(name);
    },
    waitForEnd,
    end: (name) => {
      if (!hasEnded()) child.kill(name);
      return waitForEnd();
    },
  };
}
