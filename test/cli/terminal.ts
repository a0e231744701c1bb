import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { stripVTControlCharacters } from 'node:util';
import { until } from '../support/until.ts';

const SERVICE = fileURLToPath(new URL('../../bin/service', import.meta.url));
/** Time limit far beyond that of any command in the tests, so that a hang is reported as one. */
const COMMAND_MS_MAX = 50_000;

export interface TerminalRun {
  readonly pid: number;
  /** Return all output to the terminal so far, with control sequences. */
  raw(): string;
  /** Wait until this text appears after the text of the last wait; control sequences are ignored. */
  shows(text: string): Promise<void>;
  pressKeys(keys: string): void;
  readonly code: Promise<number | null>;
}

/** Start `bin/service` on a new terminal, made by `script` (see CAN_MAKE_TERMINAL). */
export function startOnTerminal(
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  { columns, rows }: { columns: number; rows: number },
): TerminalRun {
  const { PATH, HOME } = process.env;
  // The shell returns the exit code of the command, and prints the mode of the terminal after it.
  const service = [SERVICE, ...args].map((arg) => `'${arg}'`).join(' ');
  const command = `stty cols ${columns} rows ${rows}; ${service}; code=$?; stty -a | grep -o '.icanon'; exit $code`;
  const child = spawn('script', ['-qefc', command, '/dev/null'], {
    env: { PATH, HOME, SHELL: '/bin/sh', TERM: 'xterm-256color', ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
    timeout: COMMAND_MS_MAX,
    killSignal: 'SIGKILL',
  });
  let raw = '';
  let seen = 0;
  child.stdout.setEncoding('utf8').on('data', (part) => {
    raw += part;
  });
  child.stdin.on('error', () => undefined);
  return {
    pid: child.pid as number,
    raw: () => raw,
    async shows(text) {
      const find = async () => {
        const at = stripVTControlCharacters(raw).indexOf(text, seen);
        return at === -1 ? null : { end: at + text.length };
      };
      seen = (await until(find, { withinMs: COMMAND_MS_MAX, what: `"${text}" on the terminal` })).end;
    },
    pressKeys: (keys) => child.stdin.write(keys),
    code: once(child, 'close').then(([code]) => code),
  };
}
