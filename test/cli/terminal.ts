import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { stripVTControlCharacters } from 'node:util';
import { until } from '../support/until.ts';

const SERVICE = fileURLToPath(new URL('../../bin/service', import.meta.url));
/** Far beyond what any command of the tests takes, so that a hang fails as one. */
const COMMAND_MS_MAX = 50_000;

export interface TerminalRun {
  readonly pid: number;
  /** Everything that was written to the terminal so far, as it was. */
  raw(): string;
  /** Wait until this was written after the last thing that was waited for; control sequences do not count. */
  shows(text: string): Promise<void>;
  press(keys: string): void;
  readonly code: Promise<number | null>;
}

/** Starts `bin/service` on a terminal of its own, as `script` makes one (see CAN_MAKE_TERMINAL), for as long as it takes. */
export function startOnTerminal(
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  { columns, rows }: { columns: number; rows: number },
): TerminalRun {
  const { PATH, HOME } = process.env;
  // Its own exit code is what is asked for, and that the terminal is as it was after it.
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
    press: (keys) => child.stdin.write(keys),
    code: once(child, 'close').then(([code]) => code),
  };
}
