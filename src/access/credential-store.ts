import type { Sql, SqlFragment } from '../platform/postgres.ts';
import type { Plan, Role, Scope } from './caller.ts';
import { followGroupsClaim } from './groups/claimed-groups.ts';
import type { KeyLimits } from './key-limits.ts';
import type { OidcClaims } from './oidc.ts';
import type { OwnTokenClaims } from './own-token.ts';

/** User fields that the resolver needs. */
export interface UserFacts {
  readonly id: string;
  readonly orgId: string;
  readonly plan: Plan;
  readonly role: Role;
  readonly authLevel: number;
  readonly department: string | null;
  /** Sorted names of the user's groups. */
  readonly groups: readonly string[];
  /** True if the user or the organization is suspended. */
  readonly suspended: boolean;
  /** Current generation of the user's tokens. */
  readonly generation: number;
}

/** Stored key with its organization and user, read in one snapshot. */
export interface ApiKeyFacts {
  readonly id: string;
  readonly orgId: string;
  readonly plan: Plan;
  readonly hash: Uint8Array;
  /** Sealed pepper of the hash, for a key created by another installation; null for a key of this one. */
  readonly sealedPepper: Buffer | null;
  /** True if another installation serves the organization, or if it hasn't arrived here yet. */
  readonly isElsewhere: boolean;
  readonly scopes: readonly Scope[];
  readonly authLevel: number;
  readonly limits: KeyLimits | null;
  readonly user: Pick<UserFacts, 'id' | 'role' | 'authLevel' | 'department'> | null;
  /** Sorted names of the groups of the user, or of a key without a user. */
  readonly groups: readonly string[];
  /** True if the key is revoked, or its organization, user or creator is suspended. */
  readonly refused: boolean;
  /** Milliseconds until the key expires or is revoked, by the database clock; null for never. */
  readonly endsInMs: number | null;
  readonly expired: boolean;
  /** True if its last use was never recorded, or more than a minute ago. */
  readonly lastUsedIsOld: boolean;
}

interface ApiKeyFactsRow extends Omit<ApiKeyFacts, 'user'> {
  readonly userId: string | null;
  readonly role: Role;
  readonly userAuthLevel: number;
  readonly department: string | null;
}

/** Select a key by public id alone, since its organization isn't known yet. */
export async function selectApiKeyFacts(sql: Sql, keyId: string): Promise<ApiKeyFacts | null> {
  const [row] = await sql<ApiKeyFactsRow[]>`
    SELECT k.id, k.org_id AS "orgId", o.plan, k.hash, k.sealed_pepper AS "sealedPepper", k.scopes,
           k.auth_level AS "authLevel", k.limits,
           k.user_id AS "userId", u.role, u.auth_level AS "userAuthLevel", u.department,
           groups_of(k.org_id, coalesce('user:' || k.user_id, 'key:' || k.id)) AS groups,
           coalesce(o.move_state IN ('moved', 'arriving'), false) AS "isElsewhere",
           o.suspended_at IS NOT NULL OR u.suspended_at IS NOT NULL OR c.suspended_at IS NOT NULL
             OR (k.revoked_at IS NOT NULL AND k.revoked_at <= now())
             OR (k.user_id IS NOT NULL AND u.id IS NULL) AS refused,
           (extract(epoch FROM least(k.expires_at, k.revoked_at) - now()) * 1000)::double precision AS "endsInMs",
           k.expires_at IS NOT NULL AND k.expires_at <= now() AS expired,
           k.last_used_at IS NULL OR k.last_used_at <= now() - interval '1 minute' AS "lastUsedIsOld"
    FROM api_keys k
    JOIN organizations o ON o.id = k.org_id
    LEFT JOIN users u ON u.org_id = k.org_id AND u.id = k.user_id
    LEFT JOIN users c ON c.org_id = k.org_id AND c.id = k.creator_id
    WHERE k.id = ${keyId}`;
  if (!row) return null;
  const { userId, role, userAuthLevel, department, ...key } = row;
  return { ...key, user: userId === null ? null : { id: userId, role, authLevel: userAuthLevel, department } };
}

/** Build the user query, without its conditions. */
function userFacts(sql: Sql): SqlFragment {
  return sql`
    SELECT u.id, u.org_id AS "orgId", o.plan, u.role, u.auth_level AS "authLevel", u.department,
           u.token_generation AS generation, groups_of(u.org_id, 'user:' || u.id) AS groups,
           u.suspended_at IS NOT NULL OR o.suspended_at IS NOT NULL AS suspended
    FROM users u JOIN organizations o ON o.id = u.org_id`;
}

/** Select a user by our own id. */
export async function selectUserFactsById(sql: Sql, orgId: string, userId: string): Promise<UserFacts | null> {
  const [user] = await sql<UserFacts[]>`${userFacts(sql)} WHERE u.org_id = ${orgId} AND u.id = ${userId}`;
  return user ?? null;
}

/** Select the user of one of our own tokens. Return null if the token was revoked. */
export async function selectUserFacts(
  sql: Sql,
  { orgId, userId, tokenId, generation }: Pick<OwnTokenClaims, 'orgId' | 'userId' | 'tokenId' | 'generation'>,
): Promise<UserFacts | null> {
  const [user] = await sql<UserFacts[]>`
    ${userFacts(sql)}
    WHERE u.org_id = ${orgId} AND u.id = ${userId} AND u.token_generation = ${generation}
      AND NOT EXISTS (SELECT 1 FROM revoked_tokens r WHERE r.id = ${tokenId})`;
  return user ?? null;
}

/**
 * Select a user by identity at the issuer alone. The organization comes from our record, never from the token. Return
 * null if all tokens of the user were revoked after this one was issued. Update the user's groups to those that the
 * token names.
 */
export async function selectUserFactsByOidc(
  sql: Sql,
  claims: Pick<OidcClaims, 'issuer' | 'subject' | 'issuedAtMs'> & { readonly groups?: OidcClaims['groups'] },
): Promise<UserFacts | null> {
  const { issuer, subject, issuedAtMs, groups = null } = claims;
  const [user] = await sql<UserFacts[]>`
    ${userFacts(sql)}
    WHERE u.oidc_issuer = ${issuer} AND u.oidc_subject = ${subject}
      AND (u.tokens_revoked_at IS NULL OR u.tokens_revoked_at < ${new Date(issuedAtMs)})`;
  if (user === undefined) return null;
  if (groups === null || user.suspended) return user;
  const isNew = await followGroupsClaim(sql, user, { groups, issuedAtMs });
  return isNew ? selectUserFactsById(sql, user.orgId, user.id) : user;
}

/** Return the sorted names of the groups of a channel; null if it, or its organization, is gone or suspended. */
export async function selectChannelGroups(sql: Sql, orgId: string, id: string): Promise<readonly string[] | null> {
  const [row] = await sql<{ groups: string[] }[]>`
    SELECT groups_of(o.id, 'channel:' || h.id) AS groups
    FROM channel_configs h JOIN organizations o ON o.id = h.org_id
    WHERE h.org_id = ${orgId} AND h.id = ${id} AND o.suspended_at IS NULL`;
  return row?.groups ?? null;
}
