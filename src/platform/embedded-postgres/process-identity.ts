import { execFile } from 'node:child_process';
import { readFile, readlink } from 'node:fs/promises';
import { promisify } from 'node:util';
import { z } from 'zod';
import { isPidInUse } from '../pid-in-use.ts';

/**
 * Identity of a process. The start time distinguishes it from a later process with the same pid. The namespace
 * distinguishes it from a process with the same pid in another container that shares the data directory.
 */
export const ProcessIdentity = z.object({
  pid: z.number().int().positive(),
  /** Opaque start time, equal for two readings of one process. Null if the platform does not report it. */
  startTime: z.string().nullable(),
  /** Boot of the machine and pid namespace; empty if the platform has no such thing. */
  bootId: z.string(),
  pidNamespace: z.string(),
});
export type ProcessIdentity = z.infer<typeof ProcessIdentity>;

/** State of a process; `unknown` if it is or was in another pid namespace of this machine, which we can't inspect. */
export type Liveness = 'alive' | 'dead' | 'unknown';

let own: Promise<ProcessIdentity> | undefined;

/** Return the identity of this process. */
export function ownIdentity(): Promise<ProcessIdentity> {
  own ??= (async () => ({
    pid: process.pid,
    startTime: await processStartTime(process.pid),
    bootId: await readFile('/proc/sys/kernel/random/boot_id', 'utf8').then(
      (text) => text.trim(),
      () => '',
    ),
    pidNamespace: await readlink('/proc/self/ns/pid').catch(() => ''),
  }))();
  return own;
}

/** Check if the process with a recorded identity is still running. A zombie counts as dead. */
export async function livenessOf(identity: ProcessIdentity): Promise<Liveness> {
  const self = await ownIdentity();
  if (identity.bootId !== self.bootId) return 'dead';
  if (identity.pidNamespace !== self.pidNamespace) return 'unknown';
  if (!isPidInUse(identity.pid)) return 'dead';
  const startTime = await processStartTime(identity.pid);
  if (startTime === null) return self.startTime === null ? 'alive' : 'dead';
  return identity.startTime === null || identity.startTime === startTime ? 'alive' : 'dead';
}

/**
 * Read the start time of a living process: clock ticks since boot from /proc (proc_pid_stat(5), field 22), else from
 * `ps`.
 */
async function processStartTime(pid: number): Promise<string | null> {
  if (process.platform === 'linux') {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => null);
    if (stat === null) return null;
    // The command name in parentheses may itself hold spaces and parentheses.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const state = fields[0];
    return state === 'Z' || state === 'X' ? null : (fields[19] ?? null);
  }
  try {
    const { stdout } = await promisify(execFile)('ps', ['-o', 'stat=,lstart=', '-p', String(pid)]);
    const [state = 'Z', ...started] = stdout.trim().split(/\s+/);
    return state.startsWith('Z') ? null : started.join(' ');
  } catch {
    return null;
  }
}
