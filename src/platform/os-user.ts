import { userInfo } from 'node:os';

/**
 * Return the name of the user that this process runs as; `uid-<number>` if the system has no name for it, as in
 * containers.
 */
export function osUserName(): string {
  try {
    return userInfo().username;
  } catch {
    return `uid-${process.getuid?.() ?? 0}`;
  }
}
