import { invalidRequest } from '../../platform/errors.ts';
import type { Sql } from '../../platform/postgres.ts';
import { selectGroupNames, selectKeyIds, selectUserIds } from './group-store.ts';

/** Maximum number of names that an error lists. */
const NAMED_MAX = 5;

/**
 * Find users by id or email. Return their ids.
 *
 * @param field request field, for errors
 * @throws AppError `user_unknown` (400), which lists unknown users
 */
export async function resolveUsers(sql: Sql, orgId: string, refs: readonly string[], field: string): Promise<string[]> {
  if (refs.length === 0) return [];
  const found = await selectUserIds(sql, orgId, refs);
  const idOf = new Map(found.flatMap(({ id, email }) => [[id, id] as const, [email, id] as const]));
  const ids = refs.map((ref) => idOf.get(ref) ?? idOf.get(ref.toLowerCase()));
  const missing = refs.filter((_, at) => ids[at] === undefined);
  if (missing.length > 0) throw unknown('user', missing, field);
  return ids as string[];
}

/**
 * Find groups by name, ignoring case. Return the stored names.
 * @param field request field, for errors
 * @throws AppError `group_unknown` (400), which lists unknown groups
 */
export async function resolveGroups(
  sql: Sql,
  orgId: string,
  names: readonly string[],
  field: string,
): Promise<string[]> {
  if (names.length === 0) return [];
  const found = new Map((await selectGroupNames(sql, orgId, names)).map((name) => [name.toLowerCase(), name]));
  const missing = names.filter((name) => !found.has(name.toLowerCase()));
  if (missing.length > 0) throw unknown('group', missing, field);
  return names.map((name) => found.get(name.toLowerCase()) as string);
}

/**
 * Find members of a group: `key:<id>`, `group:<name>`, or a user by id, email or `user:<id>`. Return them as stored.
 *
 * @throws AppError `user_unknown`, `key_unknown`, `group_unknown` (400)
 */
export async function resolveMembers(
  sql: Sql,
  orgId: string,
  refs: readonly string[],
  field: string,
): Promise<string[]> {
  const [users, keys, groups]: [string[], string[], string[]] = [[], [], []];
  for (const ref of refs) {
    if (ref.startsWith('key:')) keys.push(ref.slice('key:'.length));
    else if (ref.startsWith('group:')) groups.push(ref.slice('group:'.length));
    else users.push(ref.replace(/^user:/, ''));
  }
  const userIds = await resolveUsers(sql, orgId, users, field);
  const groupNames = await resolveGroups(sql, orgId, groups, field);
  const keyIds = new Set(await selectKeyIds(sql, orgId, keys));
  const missing = keys.filter((id) => !keyIds.has(id));
  if (missing.length > 0) throw unknown('key without a user', missing, field);
  return [
    ...userIds.map((id) => `user:${id}`),
    ...[...keyIds].map((id) => `key:${id}`),
    ...groupNames.map((name) => `group:${name}`),
  ];
}

function unknown(what: string, missing: readonly string[], field: string) {
  const listed = missing
    .slice(0, NAMED_MAX)
    .map((ref) => `"${ref}"`)
    .join(', ');
  const more = missing.length > NAMED_MAX ? ` and ${missing.length - NAMED_MAX} more` : '';
  const [code] = what.split(' ');
  return invalidRequest(`${field}: the organization has no ${what} ${listed}${more}`, field, `${code}_unknown`);
}
