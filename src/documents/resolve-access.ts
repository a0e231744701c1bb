import { resolveGroups, resolveUsers } from '../access/groups/resolve-members.ts';
import type { Sql } from '../platform/postgres.ts';
import type { AccessInput } from './access-list.ts';

/**
 * Resolve the users of a change by id or email, and its groups by name in any case, to the form of access lists.
 *
 * @throws AppError `user_unknown`, `group_unknown` (400)
 */
export async function resolveAccess<T extends AccessInput | undefined>(
  sql: Sql,
  orgId: string,
  access: T,
): Promise<AccessInput | T> {
  if (access === undefined || access === null) return access;
  const { users, groups } = access;
  return {
    ...(users === undefined ? {} : { users: users && (await resolveUsers(sql, orgId, users, 'access.users')) }),
    ...(groups === undefined ? {} : { groups: groups && (await resolveGroups(sql, orgId, groups, 'access.groups')) }),
  };
}
