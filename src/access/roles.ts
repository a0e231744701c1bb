import { forbidden } from '../platform/errors.ts';
import { type Caller, hasScope, type Role, requireScope, SCOPES, type Scope } from './caller.ts';

const ALL: ReadonlySet<Scope> = new Set(SCOPES);
const ALL_OF_THE_ORGANIZATION: ReadonlySet<Scope> = new Set(SCOPES.filter((scope) => scope !== 'platform_admin'));

/** Scopes of a user, by role. A user's key never exceeds them. */
export const SCOPES_BY_ROLE: Readonly<Record<Role, ReadonlySet<Scope>>> = {
  member: new Set<Scope>(['embed', 'search', 'documents:write']),
  admin: ALL_OF_THE_ORGANIZATION,
  owner: ALL_OF_THE_ORGANIZATION,
  org_admin: ALL_OF_THE_ORGANIZATION,
  platform_admin: ALL,
};

export const DEFAULT_AUTH_LEVEL_BY_ROLE: Readonly<Record<Role, number>> = {
  member: 3,
  admin: 7,
  owner: 9,
  org_admin: 7,
  platform_admin: 10,
};

/** Return true if the role administers its organization. */
export function isOrgAdminRole(role: Role | null): boolean {
  return role !== null && role !== 'member';
}

/**
 * Require the session of an administrator: a user with an administrating role, or the operator, never an API key.
 *
 * @throws AppError `role_missing` (403)
 */
export function requireOrgAdmin(caller: Caller): void {
  if (caller.kind === 'api_key' || !isOrgAdminRole(caller.role)) {
    throw forbidden('this needs a user with role admin, owner, org_admin or platform_admin', 'role_missing');
  }
}

/**
 * Require a caller who may manage users of a role. Administrators have rights that no API key has, so only other
 * administrators and the operator may manage them.
 *
 * @throws AppError `scope_missing`, `role_missing` (403)
 */
export function requireUserManager(caller: Caller, role: Role): void {
  requireScope(caller, 'users:manage');
  if (isOrgAdminRole(role)) requireOrgAdmin(caller);
}

/**
 * Require that the caller may act for a department: its own, or any as an administrator. Otherwise a caller could read
 * another department's documents with the rights of a user there.
 *
 * @throws AppError `exceeds_own_rights` (403)
 */
export function requireDepartment(caller: Caller, department: string | null): void {
  const isAdmin = isOrgAdminRole(caller.role) || caller.scopes.has('platform_admin');
  if (department === null || department === caller.department || isAdmin) return;
  throw forbidden('you cannot give or change rights of a department that is not your own', 'exceeds_own_rights');
}

/**
 * Check that the caller may change metadata and make documents public (contract 5.4): an API key with
 * `buckets:manage`, a user with an administrator role, or the operator.
 *
 * @throws AppError `scope_missing`, `role_missing` (403)
 */
export function requireMetadataManager(caller: Caller): void {
  if (caller.kind === 'api_key') requireScope(caller, 'buckets:manage');
  else if (!isOrgAdminRole(caller.role)) {
    throw forbidden('this needs a user with role admin, owner, org_admin or platform_admin', 'role_missing');
  }
}

/**
 * Require that the caller has the scopes and auth level that it grants to others.
 * @throws AppError `exceeds_own_rights` (403), which names the missing rights
 */
export function requireAtLeast(caller: Caller, scopes: Iterable<Scope>, authLevel: number): void {
  const missing = [...scopes].filter((scope) => !hasScope(caller, scope));
  if (missing.length > 0) {
    throw forbidden(
      `you cannot give or change scopes that you do not have: ${missing.join(', ')}`,
      'exceeds_own_rights',
    );
  }
  if (authLevel > caller.authLevel) {
    throw forbidden(
      `you cannot give or change an auth level above your own: ${authLevel} > ${caller.authLevel}`,
      'exceeds_own_rights',
    );
  }
}
