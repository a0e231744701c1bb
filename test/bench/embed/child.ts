import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

/** USER_HZ, fixed by the kernel's interface. */
const CLOCK_TICKS_PER_SECOND = 100;

export interface Child {
  readonly pid: number;
  /** JSON object that the process printed first. */
  readonly ready: Readonly<Record<string, unknown>>;
  stop(): Promise<void>;
}

/** Start a script that prints one JSON object when it is ready. SIGTERM stops it. */
export async function startChild(
  program: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv = {},
): Promise<Child> {
  const child: ChildProcess = spawn(program, args, {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, ...env },
  });
  const exited = once(child, 'exit');
  const died = exited.then(([code]) => {
    throw new Error(`${args.find((arg) => !arg.startsWith('-'))} ended with ${code} before it was ready`);
  });
  if (!child.stdout || child.pid === undefined) throw new Error('the process has no standard output');
  const lines = createInterface({ input: child.stdout });
  const [line] = (await Promise.race([once(lines, 'line'), died])) as [string];
  died.catch(() => {});
  return {
    pid: child.pid,
    ready: JSON.parse(line) as Record<string, unknown>,
    async stop() {
      child.kill('SIGTERM');
      await exited;
    },
  };
}

/** Return the CPU time (user and system) of all threads of a process, in milliseconds with a resolution of 10. */
export function cpuMsOf(pid: number): number {
  // The command name, in brackets, may contain spaces.
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
  return ((Number(fields[11]) + Number(fields[12])) / CLOCK_TICKS_PER_SECOND) * 1000;
}
