import { invalidRequest, notFound } from '../../platform/errors.ts';
import { inTransaction, type Sql } from '../../platform/postgres.ts';
import type { Caller } from '../caller.ts';
import * as groups from '../groups/groups.ts';
import { GroupName } from '../groups/schema.ts';
import { invalidFilter, readFilter } from './filter.ts';
import { type Assigned, assign, pathOf } from './patch.ts';
import { groupIdOf, groupNameOf, pageOf, toList } from './resources.ts';
import { type ScimGroup, type ScimGroupInput, type ScimListQuery, type ScimPatch, URN } from './schema.ts';
import * as store from './scim-store.ts';

/**
 * Add a group with the display name as its name.
 *
 * @throws AppError `invalidValue` (400), `uniqueness` (409)
 */
export async function createScimGroup(sql: Sql, by: Caller, input: ScimGroupInput): Promise<ScimGroup> {
  const name = GroupName.safeParse(input.displayName.replaceAll(',', ' ').slice(0, 100));
  if (!name.success) {
    const message = `displayName: ${name.error.issues[0]?.message}`;
    throw invalidRequest(message, 'displayName', 'invalidValue');
  }
  return inTransaction(sql, async (tx) => {
    await groups.addGroup(tx, by, { name: name.data, ...fieldsOf(input) }, 'uniqueness');
    await groups.changeMembers(tx, by, name.data, { add: input.members.map(memberOf), remove: [] });
    return getScimGroup(tx, by, groupIdOf(name.data));
  });
}

/** @throws AppError `group_not_found` (404) */
export async function getScimGroup(sql: Sql, by: Caller, id: string, withoutMembers = false): Promise<ScimGroup> {
  const { rows } = await store.selectGroups(sql, by.orgId, { name: groupNameOf(id) }, { offset: 0, limit: 1 });
  const [group] = await toResources(sql, by, rows, withoutMembers);
  if (!group) throw notFound('group', id);
  return group;
}

/** List groups by name. @throws AppError `invalidFilter` (400) */
export async function listScimGroups(sql: Sql, by: Caller, query: ScimListQuery) {
  const filter: Record<string, string> = {};
  for (const { attribute, value } of readFilter(query.filter)) {
    if (attribute === 'id') filter['name'] = groupNameOf(value);
    else if (attribute === 'displayname') filter['displayName'] = value;
    else if (attribute === 'externalid') filter['externalId'] = value;
    else if (attribute === 'members' || attribute === 'members.value') filter['member'] = memberOf({ value });
    else throw invalidFilter();
  }
  const { total, rows } = await store.selectGroups(sql, by.orgId, filter, pageOf(query));
  return toList(await toResources(sql, by, rows, excludesMembers(query)), total, query);
}

/** Replace a group and its members. @throws as `patchScimGroup` */
export async function replaceScimGroup(sql: Sql, by: Caller, id: string, input: ScimGroupInput): Promise<ScimGroup> {
  return inTransaction(sql, async (tx) => {
    const { members = [] } = await getScimGroup(tx, by, id);
    const name = groupNameOf(id);
    await groups.setFields(tx, by, name, fieldsOf(input));
    const wanted = input.members.map(memberOf);
    const remove = members.map(memberOf).filter((member) => !wanted.includes(member));
    await groups.changeMembers(tx, by, name, { add: wanted, remove });
    return getScimGroup(tx, by, id);
  });
}

/**
 * Change the display name, directory id or members of a group.
 *
 * @throws AppError `invalidValue` or `invalidPath` (400), `group_not_found` (404), and those of `editGroup`
 */
export async function patchScimGroup(sql: Sql, by: Caller, id: string, patch: ScimPatch): Promise<ScimGroup> {
  return inTransaction(sql, async (tx) => {
    const group = await getScimGroup(tx, by, id, true);
    const name = groupNameOf(id);
    const values: Assigned = { displayName: group.displayName, externalId: group.externalId ?? null };
    for (const operation of patch.Operations) {
      const change = memberChangeOf(operation);
      if (change === null) assign(values, operation);
      else await applyMembers(tx, by, name, change);
    }
    const { displayName, externalId } = values;
    if (typeof displayName !== 'string' || displayName.trim() === '') {
      throw invalidRequest('displayName: must be a text', 'displayName', 'invalidValue');
    }
    await groups.setFields(tx, by, name, {
      displayName,
      externalId: typeof externalId === 'string' ? externalId : null,
    });
    return getScimGroup(tx, by, id);
  });
}

/** @throws AppError `group_not_found` (404) */
export async function deleteScimGroup(sql: Sql, by: Caller, id: string): Promise<void> {
  await groups.deleteGroup(sql, by, groupNameOf(id));
}

/** Membership change in an operation. `set` replaces all users and groups in the group. */
interface MemberChange {
  readonly kind: 'add' | 'remove' | 'set';
  readonly members: readonly string[];
}

const ONE_MEMBER = /^members\[\s*value\s+eq\s+"([^"]+)"\s*\]$/i;

/** Read the membership change of an operation; null if it changes other attributes. */
function memberChangeOf({ op, path, value }: ScimPatch['Operations'][number]): MemberChange | null {
  if (path === undefined) {
    const own = typeof value === 'object' && value !== null ? (value as { members?: unknown }).members : undefined;
    return own === undefined ? null : memberChangeOf({ op, path: 'members', value: own });
  }
  const one = ONE_MEMBER.exec(path.replace(/^urn:[\w:.]+:(?=members)/i, ''))?.[1];
  if (one !== undefined) return { kind: op === 'remove' ? 'remove' : 'add', members: [memberOf({ value: one })] };
  if (pathOf(path) !== 'members') return null;
  const members = [value ?? []].flat().map((each) => memberOf(each));
  if (op === 'replace') return { kind: 'set', members };
  // Without a value, `remove` removes all members.
  return op === 'remove' && value === undefined ? { kind: 'set', members: [] } : { kind: op, members };
}

async function applyMembers(tx: Sql, by: Caller, name: string, { kind, members }: MemberChange): Promise<void> {
  if (kind !== 'set') {
    const [add, remove] = kind === 'add' ? [members, []] : [[], members];
    return groups.changeMembers(tx, by, name, { add, remove });
  }
  const known = (await store.selectScimMembers(tx, by.orgId, [name])).get(name) ?? [];
  const remove = known.map(({ member }) => member).filter((member) => !members.includes(member));
  await groups.changeMembers(tx, by, name, { add: members, remove });
}

/** Convert a member to its form in groups. User ids start with `usr_`; other ids are those of groups. */
function memberOf(given: unknown): string {
  const value = typeof given === 'string' ? given : (given as { value?: unknown } | null)?.value;
  if (typeof value !== 'string' || value === '') {
    throw invalidRequest('members: each needs a value, the id of a user or a group', 'members', 'invalidValue');
  }
  return value.startsWith('usr_') ? `user:${value}` : `group:${groupNameOf(value)}`;
}

function fieldsOf({ displayName, externalId }: ScimGroupInput) {
  return { displayName, externalId: externalId ?? null };
}

export function excludesMembers({ excludedAttributes = '' }: Pick<ScimListQuery, 'excludedAttributes'>): boolean {
  return excludedAttributes.split(',').some((name) => name.trim().toLowerCase() === 'members');
}

async function toResources(
  sql: Sql,
  by: Caller,
  rows: readonly store.GroupRow[],
  withoutMembers: boolean,
): Promise<ScimGroup[]> {
  const names = rows.map(({ name }) => name);
  const members = withoutMembers ? null : await store.selectScimMembers(sql, by.orgId, names);
  return rows.map(({ name, displayName, externalId, createdAt, updatedAt }) => ({
    schemas: [URN.group],
    id: groupIdOf(name),
    ...(externalId === null ? {} : { externalId }),
    displayName,
    ...(members === null ? {} : { members: (members.get(name) ?? []).map(toReference) }),
    meta: {
      resourceType: 'Group',
      created: createdAt.toISOString(),
      lastModified: updatedAt.toISOString(),
      location: `/scim/v2/Groups/${groupIdOf(name)}`,
    },
  }));
}

function toReference({ member, display }: { readonly member: string; readonly display: string }) {
  if (member.startsWith('user:')) return { value: member.slice('user:'.length), display, type: 'User' as const };
  return { value: groupIdOf(member.slice('group:'.length)), display, type: 'Group' as const };
}
