import { conflict, forbidden, notFound } from '../platform/errors.ts';
import { newId } from '../platform/ids.ts';
import { inTransaction, type Sql } from '../platform/postgres.ts';
import { recordAudit } from './audit.ts';
import { type Caller, hasScope, type Role, requireScope } from './caller.ts';
import { parseInput } from './input.ts';
import { lockOrganization } from './organization-store.ts';
import {
  DEFAULT_AUTH_LEVEL_BY_ROLE,
  requireAtLeast,
  requireDepartment,
  requireUserManager,
  SCOPES_BY_ROLE,
} from './roles.ts';
import { checkRowLimit } from './row-limits-store.ts';
import { NewUser, type User, UserChanges } from './schema.ts';
import { hasOtherOwner, insertUser, lockUser, selectUser, selectUsers, updateUser } from './user-store.ts';

/**
 * Add a user to the caller's organization. The role sets the default auth level.
 *
 * @throws AppError `invalid_request` (400), `scope_missing`, `role_missing`, `exceeds_own_rights` or
 *   `identity_by_operator` (403), `user_exists` or `too_many_users` (409)
 */
export async function createUser(sql: Sql, by: Caller, input: NewUser): Promise<User> {
  const { email, role, department, oidc, ...given } = parseInput(NewUser, input);
  if (oidc !== undefined) requireOperator(by);
  const authLevel = given.authLevel ?? DEFAULT_AUTH_LEVEL_BY_ROLE[role];
  requireManaged(by, { role, auth_level: authLevel, department: department ?? null });
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
    if (!user) throw conflict('a user with this email or OIDC identity already exists', 'user_exists');
    await checkRowLimit(tx, by.orgId, 'users');
    const detail = { email, role, auth_level: authLevel };
    await recordAudit(tx, { orgId: by.orgId, actor: by.actor, action: 'user.create', target: user.id, detail });
    return user;
  });
}

/** Require the operator, because an OIDC identity may belong to a person of another organization. */
function requireOperator(by: Caller): void {
  if (hasScope(by, 'platform_admin')) return;
  const message =
    'oidc: only the operator can set an identity of the identity provider; leave it out, and invite the user';
  throw forbidden(message, 'identity_by_operator');
}

/** List users of the caller's organization, newest first: a page, or the newest `LIST_ROWS_MAX`. */
export async function listUsers(
  sql: Sql,
  by: Caller,
  page?: { limit: number; after?: string | undefined },
): Promise<User[]> {
  return selectUsers(sql, by.orgId, page);
}

/** @throws AppError `user_not_found` (404) */
export async function findUser(sql: Sql, by: Caller, idOrEmail: string): Promise<User> {
  const user = await selectUser(sql, by.orgId, idOrEmail);
  if (!user) throw notFound('user', idOrEmail);
  return user;
}

/**
 * Change a user, effective within 1 s. With a new role, the auth level becomes the role's default unless one is given,
 * so that a demoted user does not keep the old level. A suspended user's tokens and keys are refused. So are the keys
 * that this user created, since the user may still know them. Only the operator can demote or suspend the last active
 * owner, because the operator can appoint another one.
 *
 * @throws AppError `invalid_request` (400), `scope_missing`, `role_missing` or `exceeds_own_rights` (403),
 *   `user_not_found` (404), `own_account` or `last_owner` (409)
 */
export async function editUser(sql: Sql, by: Caller, idOrEmail: string, input: UserChanges): Promise<User> {
  return changeUser(sql, by, idOrEmail, 'user.edit', input);
}

/** Change a user's role. @throws AppError of `editUser` */
export async function setRole(sql: Sql, by: Caller, idOrEmail: string, role: Role, authLevel?: number): Promise<User> {
  return changeUser(sql, by, idOrEmail, 'user.set_role', { role, authLevel });
}

/** Suspend a user, whose tokens, keys and created keys are refused within 1 s. @throws AppError of `editUser` */
export async function suspendUser(sql: Sql, by: Caller, idOrEmail: string): Promise<User> {
  return changeUser(sql, by, idOrEmail, 'user.suspend', { suspended: true });
}

/** @throws AppError of `editUser` */
export async function unsuspendUser(sql: Sql, by: Caller, idOrEmail: string): Promise<User> {
  return changeUser(sql, by, idOrEmail, 'user.unsuspend', { suspended: false });
}

async function changeUser(sql: Sql, by: Caller, idOrEmail: string, action: string, input: UserChanges): Promise<User> {
  const { role, authLevel, department, suspended } = parseInput(UserChanges, input);
  requireScope(by, 'users:manage');
  const mayEndOwner = (role !== undefined && role !== 'owner') || suspended === true;
  return inTransaction(sql, async (tx) => {
    // Serialise two owners who demote each other at the same time.
    if (mayEndOwner) await lockOrganization(tx, by.orgId);
    const before = await lockUser(tx, by.orgId, idOrEmail);
    if (!before) throw notFound('user', idOrEmail);
    requireManaged(by, before);
    if (suspended === true && before.id === by.userId) {
      throw conflict('you cannot suspend yourself; another administrator can', 'own_account');
    }
    const wanted = {
      role: role ?? before.role,
      auth_level: authLevel ?? (role === undefined ? before.auth_level : DEFAULT_AUTH_LEVEL_BY_ROLE[role]),
      department: department === undefined ? before.department : department,
    };
    requireManaged(by, wanted);
    if (mayEndOwner && !hasScope(by, 'platform_admin')) await requireOtherOwner(tx, before);
    const after = await updateUser(tx, before, { ...wanted, suspended: suspended ?? before.suspended_at !== null });
    const detail = { before: auditedFields(before), after: auditedFields(after) };
    await recordAudit(tx, { orgId: by.orgId, actor: by.actor, action, target: before.id, detail });
    return after;
  });
}

/** Refuse to demote the last active owner of an organization, since nobody else could appoint another. */
async function requireOtherOwner(tx: Sql, user: User): Promise<void> {
  if (user.role !== 'owner' || user.suspended_at !== null || (await hasOtherOwner(tx, user))) return;
  const message = 'this user is the last owner of the organization; make another user an owner first';
  throw conflict(message, 'last_owner');
}

/** Require that the caller has these rights and may manage a user with them. */
export function requireManaged(by: Caller, user: Pick<User, 'role' | 'auth_level' | 'department'>): void {
  requireUserManager(by, user.role);
  requireAtLeast(by, SCOPES_BY_ROLE[user.role], user.auth_level);
  requireDepartment(by, user.department);
}

function auditedFields({ role, auth_level, department, suspended_at }: User) {
  return { role, auth_level, department, suspended: suspended_at !== null };
}
