import { type AccessList, isTooLong, listOf } from '../documents/access-list.ts';
import type { Sql } from '../platform/postgres.ts';
import { selectReaders } from './entry-store.ts';
import type { EntryReaders, ReadEntry } from './readers/source-reader.ts';

/** Access list that matches nobody, so that only administrators may read the document. */
const NOBODY: AccessList = ['nobody'];

/** Access list of an entry; undefined if the entry doesn't name its readers. */
export type AccessOfEntry = (read: ReadEntry) => AccessList | null | undefined;

/**
 * Resolve the users and groups that entries name. Ignore people and groups unknown to the organization. If an entry
 * names nobody else, or too many for a list, only administrators may read it.
 */
export async function resolveEntryAccess(sql: Sql, orgId: string, reads: readonly ReadEntry[]): Promise<AccessOfEntry> {
  const given = reads.flatMap(({ readers }) => (readers === undefined || readers === 'everyone' ? [] : [readers]));
  if (given.length === 0) return ({ readers }) => (readers === 'everyone' ? null : undefined);
  const emails = given.flatMap((readers) => readers.emails).map((email) => email.toLowerCase());
  const groups = given.flatMap((readers) => readers.groups);
  const known = await selectReaders(sql, orgId, { emails, groups });
  return ({ readers }) => (readers === 'everyone' ? null : readers && toList(readers, known));
}

function toList(readers: EntryReaders, known: Awaited<ReturnType<typeof selectReaders>>): AccessList {
  const users = readers.emails.flatMap((email) => known.users.get(email.toLowerCase()) ?? []);
  const groups = readers.groups.flatMap((group) => known.groups.get(group) ?? []);
  const list = [...new Set(listOf({ users, groups }))];
  return list.length === 0 || isTooLong(list) ? NOBODY : list;
}
