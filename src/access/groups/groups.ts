import { conflict, invalidRequest, notFound } from '../../platform/errors.ts';
import { inTransaction, isUniqueViolation, type Sql } from '../../platform/postgres.ts';
import { recordAudit } from '../audit.ts';
import type { Caller } from '../caller.ts';
import { parseInput } from '../input.ts';
import { checkRowLimit } from '../row-limits-store.ts';
import * as store from './group-store.ts';
import { resolveMembers } from './resolve-members.ts';
import { type Group, GroupChanges, type GroupWithMembers, NewGroup } from './schema.ts';

/** Maximum number of direct members of a group. */
const MEMBERS_MAX = 50_000;
/** Maximum number of groups that contain a group, directly or indirectly. */
const OUTER_GROUPS_MAX = 1_000;

/**
 * Add a group to the caller's organization. Its members may read the documents whose access policy names it.
 *
 * @throws AppError `invalid_request`, `user_unknown`, `key_unknown` or `group_unknown` (400), `group_exists` or
 *   `too_many_groups` (409)
 */
export async function createGroup(sql: Sql, by: Caller, input: NewGroup): Promise<GroupWithMembers> {
  const { name, display_name: displayName = null, claim = null, members = [] } = parseInput(NewGroup, input);
  return inTransaction(sql, async (tx) => {
    await addGroup(tx, by, { name, displayName, claim });
    await changeMembers(tx, by, name, { add: members, remove: [] });
    return withMembers(tx, by, name);
  });
}

/**
 * Add a group without members.
 *
 * @param code code of the 409 for a name or claim of another group
 * @throws AppError `group_exists` or `too_many_groups` (409)
 */
export async function addGroup(
  tx: Sql,
  by: Caller,
  { name, ...fields }: { readonly name: string } & Partial<store.GroupFields>,
  code = 'group_exists',
): Promise<void> {
  await store.lockGroup(tx, by.orgId, name);
  const all = { displayName: null, claim: null, externalId: null, ...fields };
  if (!(await store.insertGroup(tx, by.orgId, name, all))) {
    throw conflict(`a group named "${name}" or with this claim exists already`, code);
  }
  await checkRowLimit(tx, by.orgId, 'groups');
  await audit(tx, by, 'group.create', name, { claim: all.claim });
}

/** List groups of the caller's organization by name. */
export function listGroups(
  sql: Sql,
  by: Caller,
  page: { readonly limit: number; readonly after?: string | undefined },
): Promise<Group[]> {
  return store.selectGroups(sql, by.orgId, page);
}

/** @throws AppError `group_not_found` (404) */
export function findGroup(sql: Sql, by: Caller, name: string): Promise<GroupWithMembers> {
  return withMembers(sql, by, name);
}

/**
 * Change a group and its members, effective within 1 s.
 *
 * @throws AppError `invalid_request`, `user_unknown`, `key_unknown`, `group_unknown` or `group_in_itself` (400),
 *   `group_not_found` (404), `group_exists` or `too_many_members` (409)
 */
export async function editGroup(sql: Sql, by: Caller, name: string, input: GroupChanges): Promise<GroupWithMembers> {
  const { display_name: displayName, claim, add = [], remove = [] } = parseInput(GroupChanges, input);
  try {
    return await inTransaction(sql, async (tx) => {
      const group = await setFields(tx, by, name, {
        ...(displayName === undefined ? {} : { displayName }),
        ...(claim === undefined ? {} : { claim }),
      });
      await changeMembers(tx, by, group.name, { add, remove });
      return withMembers(tx, by, group.name);
    });
  } catch (error) {
    if (!isUniqueViolation(error)) throw error;
    throw conflict(`another group already has the claim "${claim}"`, 'group_exists');
  }
}

/**
 * Change fields of a group.
 *
 * @throws AppError `group_not_found` (404), or PostgreSQL's unique violation if another group has the claim
 */
export async function setFields(tx: Sql, by: Caller, name: string, fields: Partial<store.GroupFields>): Promise<Group> {
  const group = await lock(tx, by, name);
  const { display_name: displayName, claim, external_id: externalId } = group;
  if (Object.keys(fields).length === 0) return group;
  await store.updateGroup(tx, by.orgId, group.name, { displayName, claim, externalId, ...fields });
  await audit(tx, by, 'group.edit', group.name, { before: { displayName, claim, externalId }, after: fields });
  return group;
}

/**
 * Add members to a group and remove others, effective within 1 s.
 *
 * @throws AppError of `editGroup`
 */
export async function changeMembers(
  tx: Sql,
  by: Caller,
  name: string,
  change: { readonly add: readonly string[]; readonly remove: readonly string[] },
): Promise<void> {
  if (change.add.length + change.remove.length === 0) return;
  const group = await lock(tx, by, name);
  const removed = await resolveMembers(tx, by.orgId, change.remove, 'remove');
  await store.removeMembers(tx, by.orgId, group.name, removed);
  const added = await addAll(tx, by, group.name, change.add);
  await audit(tx, by, 'group.members', group.name, { added, removed });
}

/**
 * Delete a group. Documents whose access policy names it keep the name. Only administrators can then read those that
 * name nobody else.
 *
 * @throws AppError `group_not_found` (404)
 */
export async function deleteGroup(sql: Sql, by: Caller, name: string): Promise<Group> {
  return inTransaction(sql, async (tx) => {
    const group = await lock(tx, by, name);
    await store.deleteGroup(tx, by.orgId, group.name);
    await audit(tx, by, 'group.delete', group.name, {});
    return group;
  });
}

async function lock(tx: Sql, by: Caller, name: string): Promise<Group> {
  const group = await store.lockGroup(tx, by.orgId, name);
  if (!group) throw notFound('group', name);
  return group;
}

async function withMembers(sql: Sql, by: Caller, name: string): Promise<GroupWithMembers> {
  const group = await store.selectGroup(sql, by.orgId, name);
  if (!group) throw notFound('group', name);
  return { ...group, members: await store.selectMembers(sql, by.orgId, group.name) };
}

/** Add members to a locked group. Return them as stored. */
async function addAll(tx: Sql, by: Caller, name: string, refs: readonly string[]): Promise<string[]> {
  if (refs.length === 0) return [];
  const members = await resolveMembers(tx, by.orgId, refs, 'members');
  await requireNoCircle(tx, by.orgId, name, members);
  await store.addMembers(tx, by.orgId, name, members);
  if ((await store.countMembers(tx, by.orgId, name)) > MEMBERS_MAX) {
    throw conflict(
      `a group has at most ${MEMBERS_MAX} members; put some into a group of their own`,
      'too_many_members',
    );
  }
  return members;
}

/** @throws AppError `group_in_itself` (400) */
async function requireNoCircle(tx: Sql, orgId: string, name: string, members: readonly string[]): Promise<void> {
  const groups = members.filter((member) => member.startsWith('group:'));
  if (groups.length === 0) return;
  const outer = await store.selectGroupsOf(tx, orgId, `group:${name}`);
  const circle = groups.find((member) => member === `group:${name}` || outer.includes(member.slice('group:'.length)));
  if (circle !== undefined) {
    const inner = circle.slice('group:'.length);
    const message = `members: "${inner}" contains "${name}", so it cannot be a member of "${name}"`;
    throw invalidRequest(message, 'members', 'group_in_itself');
  }
  if (outer.length > OUTER_GROUPS_MAX) {
    throw invalidRequest(`members: more than ${OUTER_GROUPS_MAX} groups would contain each other`, 'members');
  }
}

function audit(tx: Sql, by: Caller, action: string, target: string, detail: Record<string, unknown>): Promise<void> {
  return recordAudit(tx, { orgId: by.orgId, actor: by.actor, action, target, detail });
}
