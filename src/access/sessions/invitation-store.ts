import type { Sql } from '../../platform/postgres.ts';

/** Invitation of a user who cannot sign in yet. */
export interface Invitation {
  readonly orgId: string;
  readonly userId: string;
  readonly organization: string;
  readonly email: string;
  readonly invitedBy: string;
}

/** Store an invitation, replacing earlier ones of the same user. Return its expiry. */
export async function insertInvitation(
  tx: Sql,
  invitation: { hash: Buffer; orgId: string; userId: string; invitedBy: string; lifetimeMs: number },
): Promise<Date> {
  const { hash, orgId, userId, invitedBy, lifetimeMs } = invitation;
  await tx`DELETE FROM invitations WHERE org_id = ${orgId} AND user_id = ${userId}`;
  const [row] = await tx<[{ expires_at: Date }]>`
    INSERT INTO invitations (hash, org_id, user_id, invited_by, expires_at)
    VALUES (${hash}, ${orgId}, ${userId}, ${invitedBy},
            now() + ${lifetimeMs}::double precision * interval '1 millisecond')
    RETURNING expires_at`;
  return row.expires_at;
}

/** Select a valid invitation of an unsuspended user who can't sign in yet; null if there is none. */
export async function selectInvitation(sql: Sql, hash: Buffer): Promise<Invitation | null> {
  const [invitation] = await sql<Invitation[]>`
    SELECT i.org_id AS "orgId", i.user_id AS "userId", o.name AS organization, u.email, i.invited_by AS "invitedBy"
    FROM invitations i JOIN users u ON u.org_id = i.org_id AND u.id = i.user_id
    JOIN organizations o ON o.id = i.org_id
    WHERE i.hash = ${hash} AND i.expires_at > now() AND u.suspended_at IS NULL AND o.suspended_at IS NULL
      AND u.oidc_subject IS NULL AND u.account_id IS NULL`;
  return invitation ?? null;
}

export async function deleteInvitation(tx: Sql, hash: Buffer): Promise<void> {
  await tx`DELETE FROM invitations WHERE hash = ${hash}`;
}

/** Find an unsuspended user of an organization by email who has no identity yet. */
export async function selectUnboundUser(
  sql: Sql,
  organization: string,
  email: string,
): Promise<{ orgId: string; userId: string } | null> {
  const [user] = await sql<{ orgId: string; userId: string }[]>`
    SELECT u.org_id AS "orgId", u.id AS "userId" FROM users u JOIN organizations o ON o.id = u.org_id
    WHERE o.name = ${organization} AND u.email = ${email} AND u.oidc_subject IS NULL AND u.account_id IS NULL
      AND u.suspended_at IS NULL`;
  return user ?? null;
}

/** Insert a member of an unsuspended organization. Return null if it already has a user with this email address. */
export async function insertProvisionedUser(
  tx: Sql,
  organization: string,
  { id, email, authLevel }: { readonly id: string; readonly email: string; readonly authLevel: number },
): Promise<{ orgId: string; userId: string } | null> {
  const [user] = await tx<{ orgId: string; userId: string }[]>`
    INSERT INTO users (id, org_id, email, role, auth_level)
    SELECT ${id}, o.id, ${email}, 'member', ${authLevel} FROM organizations o
    WHERE o.name = ${organization} AND o.suspended_at IS NULL
    ON CONFLICT DO NOTHING RETURNING org_id AS "orgId", id AS "userId"`;
  return user ?? null;
}

/**
 * Connect an identity with a user who has none. Return false if the user now has one or is suspended.
 *
 * @throws PostgresError unique_violation if another user has the identity
 */
export async function bindIdentity(
  tx: Sql,
  { orgId, userId }: { orgId: string; userId: string },
  { issuer, subject }: { issuer: string; subject: string },
): Promise<boolean> {
  const { count } = await tx`
    UPDATE users SET oidc_issuer = ${issuer}, oidc_subject = ${subject}
    WHERE org_id = ${orgId} AND id = ${userId} AND oidc_subject IS NULL AND account_id IS NULL
      AND suspended_at IS NULL`;
  return count === 1;
}

/** Mark the state of a sign-in as used. Return false if it was used before. */
export async function takeSignInState(sql: Sql, hash: Buffer, expiresAt: Date): Promise<boolean> {
  const { count } = await sql`
    INSERT INTO used_sign_ins (hash, expires_at) VALUES (${hash}, ${expiresAt}) ON CONFLICT DO NOTHING`;
  return count === 1;
}

/** Delete expired invitations and states, of all organizations. */
export async function deleteExpiredSignIns(sql: Sql): Promise<void> {
  await sql`DELETE FROM invitations WHERE expires_at <= now()`;
  await sql`DELETE FROM used_sign_ins WHERE expires_at <= now()`;
}
