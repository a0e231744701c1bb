import { z } from 'zod';
import type { Caller } from '../access/caller.ts';

/** Sorted entries for the readers of a document: `user:<id>` and `group:<name>`. */
export type AccessList = readonly string[];

/** Maximum number of users, and of groups, per document. More people need a group. */
export const ACCESS_ENTRIES_MAX = 50;
/** Maximum length of a list in bytes, since it is indexed. */
const ACCESS_BYTES_MAX = 1_500;

const USER = 'user:';
const GROUP = 'group:';

/** Readers of a document: users by id, and groups by name. */
export const AccessView = z.object({
  users: z.array(z.string()).describe('ids'),
  groups: z.array(z.string()).describe('names'),
});
export type AccessView = z.output<typeof AccessView>;

const names = z.array(z.string().normalize('NFC').trim().min(1).max(254)).max(ACCESS_ENTRIES_MAX).nullable();

/**
 * Change of a document's readers. An omitted part stays unchanged. Null removes a part or the whole list. Without users
 * and groups, only the other rules apply. An empty list never opens a document.
 */
export const AccessInput = z
  .object({
    users: names.optional().describe('ids or email addresses; null: none'),
    groups: names.optional().describe('names; null: none'),
  })
  .nullable();
export type AccessInput = z.output<typeof AccessInput>;

/** List the access list entries that match a caller, with groups in the caller's order. */
export function accessEntriesOf({ userId, groups = [] }: Pick<Caller, 'userId' | 'groups'>): string[] {
  return [...groups.map((name) => GROUP + name), ...(userId === null ? [] : [USER + userId])];
}

/** Split an access list into its users and groups. */
export function accessOf(list: AccessList): AccessView;
export function accessOf(list: AccessList | null): AccessView | null;
export function accessOf(list: AccessList | null): AccessView | null {
  return list && { users: entriesOf(list, USER), groups: entriesOf(list, GROUP) };
}

/** Build an access list from its users and groups. */
export function listOf({ users, groups }: AccessView): AccessList {
  return [...users.map((id) => USER + id), ...groups.map((name) => GROUP + name)].sort();
}

/** Changed access list, or the reason why the change is refused. */
export type ChangedList = { readonly list: AccessList | null } | { readonly fault: string };

/**
 * Apply a change to an access list.
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
  return { fault: 'names nobody; send null to remove this limit' };
}

/** Return true if a list exceeds the entries or bytes allowed for a document. */
export function isTooLong(list: AccessList): boolean {
  return list.length > ACCESS_ENTRIES_MAX || Buffer.byteLength(list.join('')) > ACCESS_BYTES_MAX;
}

function entriesOf(list: AccessList, prefix: string): string[] {
  return list.filter((entry) => entry.startsWith(prefix)).map((entry) => entry.slice(prefix.length));
}
