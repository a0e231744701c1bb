import { conflict, invalidRequest, notFound } from '../platform/errors.ts';
import { newId } from '../platform/ids.ts';
import { inTransaction, type Sql } from '../platform/postgres.ts';
import type { Secret } from '../platform/secret.ts';
import type { KeyRing } from '../platform/secret-key.ts';
import { recordAudit } from './audit.ts';
import { type Caller, type Role, requireScope } from './caller.ts';
import { signOwnToken } from './own-token.ts';
import { requireAtLeast, requireOrgAdmin, SCOPES_BY_ROLE } from './roles.ts';
import type { User } from './schema.ts';
import { insertRevokedToken, revokeTokensOf, selectTokenGeneration } from './token-store.ts';
import { lockUser, selectUser } from './user-store.ts';
import { createUser, requireManaged } from './users.ts';

/** Maximum lifetime of a token. */
const TTL_DAYS_MAX = 30;

export interface CreatedToken {
  readonly token: Secret;
  /** Id to revoke the token; not a secret. */
  readonly id: string;
  /** Time in ISO 8601. */
  readonly expires_at: string;
}

/**
 * Sign a token for a user of the caller's organization. Every request takes the rights from the user's record.
 *
 * @throws AppError `ttl_invalid` (400), `role_missing` or `exceeds_own_rights` (403), `user_suspended` (409)
 */
export async function createToken(
  sql: Sql,
  keyRing: KeyRing,
  by: Caller,
  { user, ttlMs }: { user: User; ttlMs: number },
): Promise<CreatedToken> {
  requireOrgAdmin(by);
  requireAtLeast(by, SCOPES_BY_ROLE[user.role], user.auth_level);
  if (!(ttlMs >= 1000 && ttlMs <= TTL_DAYS_MAX * 86_400_000)) {
    throw invalidRequest(`a token can live for 1s to ${TTL_DAYS_MAX}d`, 'ttl', 'ttl_invalid');
  }
  if (user.suspended_at !== null) throw conflict(`the user ${user.email} is suspended`, 'user_suspended');
  const expiresAtMs = Math.floor((Date.now() + ttlMs) / 1000) * 1000;
  const expires_at = new Date(expiresAtMs).toISOString();
  const generation = await selectTokenGeneration(sql, by.orgId, user.id);
  if (generation === null) throw notFound('user', user.id);
  const id = newId('tok');
  const claims = { orgId: by.orgId, userId: user.id, tokenId: id, generation, expiresAtMs };
  const token = await signOwnToken(keyRing, claims);
  const detail = { token_id: id, expires_at };
  await recordAudit(sql, { orgId: by.orgId, actor: by.actor, action: 'token.create', target: user.id, detail });
  return { token, id, expires_at };
}

/**
 * Sign a token for the user with this email. Create a missing user, with the role `member` by default.
 *
 * @throws AppError of `createUser` and `createToken`, and `user_has_other_role` (409)
 */
export async function issueToken(
  sql: Sql,
  keyRing: KeyRing,
  by: Caller,
  { email, role, ttlMs }: { email: string; role?: Role; ttlMs: number },
): Promise<CreatedToken> {
  return inTransaction(sql, async (tx) => {
    const known = await selectUser(tx, by.orgId, email);
    if (known && role !== undefined && known.role !== role) {
      throw conflict(`the user ${known.email} has the role ${known.role}; change it first`, 'user_has_other_role');
    }
    const user = known ?? (await createUser(tx, by, { email, role }));
    return createToken(tx, keyRing, by, { user, ttlMs });
  });
}

/**
 * Revoke one token by id. Every process refuses it within 1 s. Revoking it again has no effect.
 *
 * @throws AppError `role_missing` (403), `token_not_found` (404) for an id that no token can have
 */
export async function revokeToken(sql: Sql, by: Caller, id: string): Promise<void> {
  requireOrgAdmin(by);
  if (!/^tok_[0-9a-z]{26}$/.test(id)) throw notFound('token', id);
  await inTransaction(sql, async (tx) => {
    const expiresAtMs = Date.now() + TTL_DAYS_MAX * 86_400_000;
    if (!(await insertRevokedToken(tx, { id, orgId: by.orgId, expiresAtMs }))) return;
    await recordAudit(tx, { orgId: by.orgId, actor: by.actor, action: 'token.revoke', target: id });
  });
}

/**
 * Revoke all tokens of a user, including those of an OIDC issuer. Every process refuses them within 1 s. The user's
 * keys remain valid.
 *
 * @throws AppError `scope_missing`, `role_missing` or `exceeds_own_rights` (403), `user_not_found` (404)
 */
export async function revokeUserTokens(sql: Sql, by: Caller, idOrEmail: string): Promise<User> {
  requireScope(by, 'users:manage');
  return inTransaction(sql, async (tx) => {
    const user = await lockUser(tx, by.orgId, idOrEmail);
    if (!user) throw notFound('user', idOrEmail);
    if (user.id !== by.userId) requireManaged(by, user);
    await revokeTokensOf(tx, user);
    await recordAudit(tx, { orgId: by.orgId, actor: by.actor, action: 'token.revoke_all', target: user.id });
    return user;
  });
}
