import type { ListResponse } from 'imapflow';
import { compileGlobs } from '../globs.ts';
import { SourceFault } from '../source-reader.ts';

const FOLDERS_MAX = 10_000;
const NAMES_SHOWN = 20;

/** Flags of names that contain no messages (RFC 9051, section 7.3.1). */
const UNREADABLE = ['\\Noselect', '\\NonExistent'];

/**
 * Select folders by names or patterns, with "/" as the delimiter whatever the server uses. A name that starts with a
 * dot matches only a pattern with that dot.
 *
 * @returns folder names as known to the server
 * @throws SourceFault if a name or pattern matches no folder
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
  // INBOX is the only case-insensitive name (RFC 9051, section 5.1).
  if (folder.path === 'INBOX' && name.toUpperCase() === 'INBOX') return true;
  return folder.path === name || shownName(folder) === name.normalize('NFC');
}

/** Return a folder's name with "/" as the delimiter, in NFC. */
function shownName({ path, delimiter }: ListResponse): string {
  return (delimiter ? path.replaceAll(delimiter, '/') : path).normalize('NFC');
}
