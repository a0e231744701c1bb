import { conflict, invalidRequest } from '../platform/errors.ts';
import { inTransaction, type Sql } from '../platform/postgres.ts';
import type { Secret } from '../platform/secret.ts';
import type { KeyRing } from '../platform/secret-key.ts';
import { recordAudit } from './audit.ts';
import type { Caller, Role } from './caller.ts';
import { signOwnToken } from './own-token.ts';
import { requireAtLeast, requireOrgAdmin, SCOPES_BY_ROLE } from './roles.ts';
import type { User } from './schema.ts';
import { selectUser } from './user-store.ts';
import { createUser } from './users.ts';

/** Maximum lifetime of a token, which cannot be revoked by itself (suspending its user refuses it). */
const TTL_DAYS_MAX = 30;

export interface CreatedToken {
  readonly token: Secret;
  /** Time in ISO 8601. */
  readonly expires_at: string;
}

/**
 * Sign a token for a user of the caller's organization. Its rights are read from the user's record at each request.
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
  const token = await signOwnToken(keyRing, { orgId: by.orgId, userId: user.id, expiresAtMs });
  const detail = { expires_at };
  await recordAudit(sql, { orgId: by.orgId, actor: by.actor, action: 'token.create', target: user.id, detail });
  return { token, expires_at };
}

/**
 * Sign a token for the user with this email, who is created (role: `member` unless given) if there is none.
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
