import { forbidden } from '../../platform/errors.ts';
import type { Sql } from '../../platform/postgres.ts';
import type { Caller } from '../caller.ts';
import { isOrgAdminRole } from '../roles.ts';
import { isNamedByDocuments, selectGroupsOf } from './group-store.ts';

/**
 * Require that the caller may read every document whose access policy names a user or key, or could gain that access by
 * changing groups. Otherwise, a credential of that user or key would let the caller read more.
 *
 * @param member `user:<id>` or `key:<id>`
 * @throws AppError `exceeds_own_rights` (403)
 */
export async function requireReadersOf(sql: Sql, by: Caller, member: string): Promise<void> {
  if (isOrgAdminRole(by.role) || by.scopes.has('platform_admin')) return;
  if (member === `user:${by.userId}` || member === by.actor) return;
  const groups = by.scopes.has('groups:manage') ? [] : await selectGroupsOf(sql, by.orgId, member);
  const isBeyond = groups.some((group) => !by.groups?.includes(group));
  if (!isBeyond && !(await isNamedByDocuments(sql, by.orgId, member))) return;
  throw forbidden(
    'you cannot create credentials for somebody who may read documents that you may not read',
    'exceeds_own_rights',
  );
}
