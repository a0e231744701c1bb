import { writeFileSync } from 'node:fs';
import { constants, setPriority } from 'node:os';

/** Niceness of a process whose work can wait. */
export const LOWER_PRIORITY: number = constants.priority.PRIORITY_BELOW_NORMAL;

/**
 * Lower the priority of a process, so that other processes' requests and searches on the same cores take precedence.
 * @param pid process id; 0 for this process
 * @param options.leadsSession the process has its own session. Linux may divide the cores among sessions
 *   (`sched_autogroup_enabled`), and the priority of a process then counts only within its session.
 * @returns true if its priority was lowered; false if the system does not allow it, or if the process has ended
 */
export function lowerPriority(pid = 0, { leadsSession = false } = {}): boolean {
  try {
    setPriority(pid, LOWER_PRIORITY);
    if (leadsSession) lowerSession(pid);
    return true;
  } catch {
    return false;
  }
}

/** Lower a session's priority. Do nothing if the system doesn't distinguish sessions. */
function lowerSession(pid: number): void {
  try {
    writeFileSync(`/proc/${pid}/autogroup`, String(LOWER_PRIORITY));
  } catch {
    // The file is missing, or this user has just changed another session.
  }
}
