import type { ListResponse } from 'imapflow';
import { compileGlobs } from '../globs.ts';
import { SourceFault } from '../source-reader.ts';

const FOLDERS_MAX = 10_000;
const NAMES_SHOWN = 20;

/** Marks of names that hold no messages (RFC 9051, section 7.3.1). */
const UNREADABLE = ['\\Noselect', '\\NonExistent'];

/**
 * Choose the folders that names or patterns stand for, with "/" between the parts of a name whatever the server uses.
 * A name that begins with a dot needs a pattern that names it.
 *
 * @returns names of the folders, as the server has them
 * @throws SourceFault if no folder has a given name, or fits a pattern
 */
export function chooseFolders(listed: readonly ListResponse[], wanted: readonly string[]): string[] {
  if (listed.length > FOLDERS_MAX) {
    throw new SourceFault('source_too_large', `the mailbox has more than ${FOLDERS_MAX} folders; use another account`);
  }
  const readable = listed.filter(({ flags }) => !UNREADABLE.some((flag) => flags.has(flag)));
  const chosen = new Set<string>();
  for (const name of wanted) {
    const glob = compileGlobs({ include: [name] });
    const fitting = readable.filter((folder) => isNamed(folder, name) || glob.matches(shownName(folder)));
    if (fitting.length === 0) {
      const names = readable.map(shownName).toSorted().slice(0, NAMES_SHOWN).join(', ');
      throw new SourceFault('source_missing', `there is no folder "${name}"; the mailbox has: ${names}`);
    }
    for (const { path } of fitting) chosen.add(path);
  }
  return [...chosen];
}

function isNamed(folder: ListResponse, name: string): boolean {
  // INBOX is the only name without regard to case (RFC 9051, section 5.1).
  if (folder.path === 'INBOX' && name.toUpperCase() === 'INBOX') return true;
  return folder.path === name || shownName(folder) === name.normalize('NFC');
}

/** Return the name of a folder with "/" between its parts, in NFC. */
function shownName({ path, delimiter }: ListResponse): string {
  return (delimiter ? path.replaceAll(delimiter, '/') : path).normalize('NFC');
}
