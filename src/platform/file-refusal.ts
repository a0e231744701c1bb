import { existsSync, statSync } from 'node:fs';
import path from 'node:path';
import { osUserName } from './os-user.ts';

/** Return true if the system denied access, as opposed to a missing file or a full disk. */
export function isRefusal(error: unknown): boolean {
  const { code } = (error ?? {}) as NodeJS.ErrnoException;
  return code === 'EACCES' || code === 'EPERM';
}

/** Explain which user may not read a file or folder, and what to do. */
export function describeReadRefusal(file: string): string {
  const closed = closedFolderAbove(file);
  const refused = closed === null ? 'may not read it' : `may not enter ${closed}`;
  return `the user "${osUserName()}" ${refused}; copy it to where this user can read it, or change its permissions`;
}

/** Explain which user may not write into a folder, and what to do. */
export function describeWriteRefusal(folder: string): string {
  const user = osUserName();
  const closed = closedFolderAbove(folder);
  if (closed !== null) return `the user "${user}" may not enter ${closed}; choose another folder`;
  const give = existsSync(folder) ? `chown -R ${user} ${folder}` : `install -d -o ${user} ${folder}`;
  return `the user "${user}" may not write there; choose another folder, or give it to this user as root: ${give}`;
}

/** Find the topmost folder above a path that this process may not enter. */
function closedFolderAbove(file: string): string | null {
  const names = path.dirname(path.resolve(file)).split(path.sep);
  for (const [at] of names.entries()) {
    const folder = names.slice(0, at + 1).join(path.sep) || path.sep;
    try {
      statSync(`${folder}${path.sep}.`);
    } catch (error) {
      return isRefusal(error) ? folder : null;
    }
  }
  return null;
}
