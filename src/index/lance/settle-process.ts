import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { lowerPriority } from '../../platform/lower-priority.ts';
import type { SettleOptions } from '../chunk-index.ts';
import { lanceEnvironment } from './lance-environment.ts';

/** Time after which the process counts as hung. 200,000 rows take half a minute. */
const SETTLE_MS_MAX = 30 * 60_000;
const ERROR_CHARS_MAX = 2_000;

/** Task for the process, sent as JSON on stdin, since the storage options may contain secrets. */
export const SettleTask = z.object({
  uri: z.string(),
  storageOptions: z.record(z.string(), z.string()),
  name: z.string(),
  step: z.enum(['merge', 'index_tokens', 'index_vectors']),
  cleanupOlderThanMs: z.number().describe('older versions of the table are removed; milliseconds since 1970'),
});
export type SettleTask = z.output<typeof SettleTask>;

/**
 * Run one step of settling a table in a child process, which ends with this process. Killing it at any moment is safe,
 * also by `signal`: LanceDB keeps what was committed and ignores the rest.
 *
 * @throws Error with the end of stderr, if the process can't start or fails
 */
export async function settleInChild(
  task: SettleTask,
  { signal: stop, isUrgent = false }: SettleOptions = {},
): Promise<void> {
  const module = fileURLToPath(new URL('./settle-child.ts', import.meta.url));
  const child = spawn(process.execPath, ['--no-warnings', module], {
    stdio: ['pipe', 'ignore', 'pipe'],
    env: lanceEnvironment(),
    // Use a separate process group, so that Ctrl-C at the terminal reaches only the worker, which waits for this
    // process.
    detached: process.platform !== 'win32',
    windowsHide: true,
  });
  await once(child, 'spawn'); // Without free file descriptors, spawning fails and there are no pipes.
  if (child.pid !== undefined && !isUrgent) lowerPriority(child.pid, { leadsSession: true });
  const closed = once(child, 'close') as Promise<[code: number | null, signal: NodeJS.Signals | null]>;
  child.stdin.on('error', () => {}); // If the child died before reading, its exit code and stderr give the reason.
  // Keep stdin open: it closes when this process ends, and the child then exits.
  child.stdin.write(`${JSON.stringify(task)}\n`);
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr = (stderr + text).slice(-ERROR_CHARS_MAX);
  });
  const kill = () => child.kill('SIGKILL');
  const timer = setTimeout(kill, SETTLE_MS_MAX);
  stop?.addEventListener('abort', kill, { once: true });
  const [code, signal] = await closed.finally(() => {
    clearTimeout(timer);
    stop?.removeEventListener('abort', kill);
  });
  if (code !== 0)
    throw new Error(
      `the process that merges the files of an index (${task.step}) ended with ${signal ?? code}: ${stderr}`,
    );
}
