import { constants, setPriority } from 'node:os';

/**
 * Have requests and searches of other processes go before a process where they share its cores.
 *
 * @param pid process; 0 is this one
 * @returns whether its priority was lowered: not where the system does not allow it, or where the process has ended
 */
export function lowerPriority(pid = 0): boolean {
  try {
    setPriority(pid, constants.priority.PRIORITY_BELOW_NORMAL);
    return true;
  } catch {
    return false;
  }
}
