import { writeFileSync } from 'node:fs';
import { constants, setPriority } from 'node:os';

/** Niceness of a process whose work can wait. */
export const LOWER_PRIORITY: number = constants.priority.PRIORITY_BELOW_NORMAL;

/**
 * Have requests and searches of other processes go before a process where they share its cores.
 *
 * @param pid process; 0 is this one
 * @param options.leadsSession the process has a session of its own. Linux may divide the cores among sessions
 *   (`sched_autogroup_enabled`), and the priority of a process then counts only within its session.
 * @returns whether its priority was lowered: not where the system does not allow it, or where the process has ended
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

/** Lower the priority of a session among the others. Nothing is done where the system does not tell them apart. */
function lowerSession(pid: number): void {
  try {
    writeFileSync(`/proc/${pid}/autogroup`, String(LOWER_PRIORITY));
  } catch {
    // There is no such file, or this user changed another session a moment ago.
  }
}
