import { z } from 'zod';
import type { Caller } from '../access/caller.ts';

/** Entries of those who may read a document, in order: `user:<id>` and `group:<name>`. */
export type AccessList = readonly string[];

/** Maximum number of users, and of groups, of a document. More people need a group. */
export const ACCESS_ENTRIES_MAX = 50;
/** Maximum length of a list in bytes, since indexes hold it. */
const ACCESS_BYTES_MAX = 1_500;

const USER = 'user:';
const GROUP = 'group:';

/** Users, by id, and groups, by name, that may read a document. */
export const AccessView = z.object({
  users: z.array(z.string()).describe('ids'),
  groups: z.array(z.string()).describe('names'),
});
export type AccessView = z.output<typeof AccessView>;

const names = z.array(z.string().normalize('NFC').trim().min(1).max(254)).max(ACCESS_ENTRIES_MAX).nullable();

/**
 * Change of the users and groups that may read a document. An omitted part stays. Null in place of a part, or of the
 * whole, removes it. Without users and groups, the other rules alone decide. An empty list never opens a document.
 */
export const AccessInput = z
  .object({
    users: names.optional().describe('ids or email addresses; null: none'),
    groups: names.optional().describe('names; null: none'),
  })
  .nullable();
export type AccessInput = z.output<typeof AccessInput>;

/** List the entries that name a caller, in the order of the caller's groups. */
export function accessEntriesOf({ userId, groups = [] }: Pick<Caller, 'userId' | 'groups'>): string[] {
  return [...groups.map((name) => GROUP + name), ...(userId === null ? [] : [USER + userId])];
}

/** Split an access list into its users and groups. */
export function accessOf(list: AccessList): AccessView;
export function accessOf(list: AccessList | null): AccessView | null;
export function accessOf(list: AccessList | null): AccessView | null {
  return list && { users: entriesOf(list, USER), groups: entriesOf(list, GROUP) };
}

/** Make an access list of its users and groups. */
export function listOf({ users, groups }: AccessView): AccessList {
  return [...users.map((id) => USER + id), ...groups.map((name) => GROUP + name)].sort();
}

/** An access list after a change, or the reason why the change is refused. */
export type ChangedList = { readonly list: AccessList | null } | { readonly fault: string };

/**
 * Change an access list.
 *
 * @param wanted users by id and groups by name
 */
export function changeAccessList(current: AccessList | null, wanted: AccessInput): ChangedList {
  if (wanted === null) return { list: null };
  if (wanted.users === undefined && wanted.groups === undefined) return { list: current };
  const { users = entriesOf(current ?? [], USER), groups = entriesOf(current ?? [], GROUP) } = wanted;
  const list = [...new Set(listOf({ users: users ?? [], groups: groups ?? [] }))];
  if (isTooLong(list)) {
    return { fault: 'names too many users and groups; put people into a group' };
  }
  if (list.length > 0) return { list };
  if (wanted.users === null || wanted.groups === null) return { list: null };
  return { fault: 'names nobody; send null to let everyone read who otherwise may' };
}

/** Return true if a list has more entries or bytes than a document holds. */
export function isTooLong(list: AccessList): boolean {
  return list.length > ACCESS_ENTRIES_MAX || Buffer.byteLength(list.join('')) > ACCESS_BYTES_MAX;
}

function entriesOf(list: AccessList, prefix: string): string[] {
  return list.filter((entry) => entry.startsWith(prefix)).map((entry) => entry.slice(prefix.length));
}
