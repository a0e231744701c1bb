import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { lanceEnvironment } from './lance-environment.ts';

/** A process that takes longer hangs: a table of 200,000 rows takes half a minute. */
const SETTLE_MS_MAX = 30 * 60_000;
const ERROR_CHARS_MAX = 2_000;

/** What the process is told, as a line of JSON on stdin: the storage options may hold secrets. */
export const SettleTask = z.object({
  uri: z.string(),
  storageOptions: z.record(z.string(), z.string()),
  name: z.string(),
  step: z.enum(['merge', 'index_vectors']),
  cleanupOlderThanMs: z.number().describe('older versions of the table are removed; milliseconds since 1970'),
});
export type SettleTask = z.output<typeof SettleTask>;

/**
 * One step of settling a table, in a process of its own, which ends when this one does. It may be killed at any moment: what it had
 * committed stays, what it had not is as if it had never begun.
 *
 * @throws Error where it did not end well, with the last of what it said
 */
export async function settleInProcess(task: SettleTask): Promise<void> {
  const module = fileURLToPath(new URL('./settle-child.ts', import.meta.url));
  const child = spawn(process.execPath, ['--no-warnings', module], {
    stdio: ['pipe', 'ignore', 'pipe'],
    env: lanceEnvironment(),
    // Its own process group: a Ctrl-C at the terminal is for the worker, which waits for this.
    detached: process.platform !== 'win32',
    windowsHide: true,
  });
  const closed = once(child, 'close') as Promise<[code: number | null, signal: NodeJS.Signals | null]>;
  child.stdin.on('error', () => {}); // It died before it read; its exit tells why.
  // Left open: its end tells the child that we are gone.
  child.stdin.write(`${JSON.stringify(task)}\n`);
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said = (said + text).slice(-ERROR_CHARS_MAX);
  });
  const timer = setTimeout(() => child.kill('SIGKILL'), SETTLE_MS_MAX);
  const [code, signal] = await closed.finally(() => clearTimeout(timer));
  if (code !== 0)
    throw new Error(`the process that merges an index's files (${task.step}) ended with ${signal ?? code}: ${said}`);
}
