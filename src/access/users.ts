import { conflict, notFound } from '../platform/errors.ts';
import { newId } from '../platform/ids.ts';
import { inTransaction, type Sql } from '../platform/postgres.ts';
import { recordAudit } from './audit.ts';
import type { Caller, Role } from './caller.ts';
import { parseInput } from './input.ts';
import { DEFAULT_AUTH_LEVEL_BY_ROLE, requireAtLeast, requireOrgAdmin, SCOPES_BY_ROLE } from './roles.ts';
import { NewUser, type User } from './schema.ts';
import { insertUser, lockUser, selectUser, selectUsers, updateRole, updateUserSuspension } from './user-store.ts';

/**
 * Add a user to the caller's organization. The default auth level is that of the role.
 *
 * @throws AppError `invalid_request` (400), `role_missing` or `exceeds_own_rights` (403), `user_exists` (409)
 */
export async function createUser(sql: Sql, by: Caller, input: NewUser): Promise<User> {
  const { email, role, department, oidc, ...given } = parseInput(NewUser, input);
  const authLevel = given.authLevel ?? DEFAULT_AUTH_LEVEL_BY_ROLE[role];
  requireOrgAdmin(by);
  requireAtLeast(by, SCOPES_BY_ROLE[role], authLevel);
  return inTransaction(sql, async (tx) => {
    const user = await insertUser(tx, {
      id: newId('usr'),
      org_id: by.orgId,
      email,
      role,
      auth_level: authLevel,
      department: department ?? null,
      oidc_issuer: oidc?.issuer ?? null,
      oidc_subject: oidc?.subject ?? null,
    });
    if (!user) throw conflict('there is already a user with this email or OIDC identity', 'user_exists');
    const detail = { email, role, auth_level: authLevel };
    await recordAudit(tx, { orgId: by.orgId, actor: by.actor, action: 'user.create', target: user.id, detail });
    return user;
  });
}

/** List the newest `LIST_ROWS_MAX` users of the caller's organization, newest first. */
export async function listUsers(sql: Sql, by: Caller): Promise<User[]> {
  return selectUsers(sql, by.orgId);
}

/** @throws AppError `user_not_found` (404) */
export async function findUser(sql: Sql, by: Caller, idOrEmail: string): Promise<User> {
  const user = await selectUser(sql, by.orgId, idOrEmail);
  if (!user) throw notFound('user', idOrEmail);
  return user;
}

/**
 * Change a user's role, effective within 1 s. The auth level becomes the default of the new role unless one is given,
 * so that a user who loses a role does not keep its level.
 *
 * @throws AppError `role_missing` or `exceeds_own_rights` (403), `user_not_found` (404)
 */
export async function setRole(
  sql: Sql,
  by: Caller,
  idOrEmail: string,
  role: Role,
  authLevel: number = DEFAULT_AUTH_LEVEL_BY_ROLE[role],
): Promise<User> {
  requireOrgAdmin(by);
  requireAtLeast(by, SCOPES_BY_ROLE[role], authLevel);
  return changeUser(sql, by, idOrEmail, 'user.set_role', async (tx, user) => updateRole(tx, user, role, authLevel));
}

/**
 * Suspend a user, whose tokens and keys are refused within 1 s.
 *
 * @throws AppError `role_missing` or `exceeds_own_rights` (403), `user_not_found` (404)
 */
export async function suspendUser(sql: Sql, by: Caller, idOrEmail: string): Promise<User> {
  requireOrgAdmin(by);
  return changeUser(sql, by, idOrEmail, 'user.suspend', async (tx, user) => updateUserSuspension(tx, user, true));
}

/** @throws AppError `role_missing` or `exceeds_own_rights` (403), `user_not_found` (404) */
export async function unsuspendUser(sql: Sql, by: Caller, idOrEmail: string): Promise<User> {
  requireOrgAdmin(by);
  return changeUser(sql, by, idOrEmail, 'user.unsuspend', async (tx, user) => updateUserSuspension(tx, user, false));
}

async function changeUser(
  sql: Sql,
  by: Caller,
  idOrEmail: string,
  action: string,
  change: (tx: Sql, user: User) => Promise<User>,
): Promise<User> {
  return inTransaction(sql, async (tx) => {
    const before = await lockUser(tx, by.orgId, idOrEmail);
    if (!before) throw notFound('user', idOrEmail);
    requireAtLeast(by, SCOPES_BY_ROLE[before.role], before.auth_level);
    const after = await change(tx, before);
    const detail = {
      before: { role: before.role, auth_level: before.auth_level, suspended: before.suspended_at !== null },
      after: { role: after.role, auth_level: after.auth_level, suspended: after.suspended_at !== null },
    };
    await recordAudit(tx, { orgId: by.orgId, actor: by.actor, action, target: before.id, detail });
    return after;
  });
}
