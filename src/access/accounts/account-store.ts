import type { Sql, SqlFragment } from '../../platform/postgres.ts';
import type { Role } from '../caller.ts';
import { selectUserFactsById, type UserFacts } from '../credential-store.ts';

export interface Account {
  readonly id: string;
  readonly email: string;
  /** Argon2id in the PHC string format. */
  readonly passwordHash: string;
}

/** Columns of an `Account`; the table is `a`. */
function columns(sql: Sql): SqlFragment {
  return sql`a.id, a.email, a.password_hash AS "passwordHash"`;
}

/** Membership of an account in an organization, with its user there. */
export interface Membership {
  readonly orgId: string;
  readonly organization: string;
  readonly userId: string;
  readonly role: Role;
}

export async function insertAccount(tx: Sql, { id, email, passwordHash }: Account): Promise<void> {
  await tx`INSERT INTO accounts (id, email, password_hash) VALUES (${id}, ${email}, ${passwordHash})`;
}

/** Select the accounts with an email address. Addresses are unconfirmed, so there may be several. */
export async function selectAccountsByEmail(sql: Sql, email: string): Promise<Account[]> {
  return sql<Account[]>`SELECT ${columns(sql)} FROM accounts a WHERE email = ${email} ORDER BY created_at, id`;
}

/** Select the account of a user; null if the user has none. */
export async function selectAccountOfUser(sql: Sql, orgId: string, userId: string): Promise<Account | null> {
  const [account] = await sql<Account[]>`
    SELECT ${columns(sql)} FROM accounts a JOIN users u ON u.account_id = a.id
    WHERE u.org_id = ${orgId} AND u.id = ${userId}`;
  return account ?? null;
}

export async function updatePassword(tx: Sql, accountId: string, passwordHash: string): Promise<void> {
  await tx`UPDATE accounts SET password_hash = ${passwordHash} WHERE id = ${accountId}`;
}

/** Return true if the installation has any account. */
export async function hasAccounts(sql: Sql): Promise<boolean> {
  return (await sql`SELECT 1 FROM accounts LIMIT 1`).length > 0;
}

/** Return true if an account also belongs to another organization, even if suspended there. */
export async function belongsElsewhere(sql: Sql, accountId: string, orgId: string): Promise<boolean> {
  return (await sql`SELECT 1 FROM users WHERE account_id = ${accountId} AND org_id <> ${orgId} LIMIT 1`).length > 0;
}

/**
 * Connect an account with a user who has neither an account nor an identity. Return false if the user now has one or is
 * suspended.
 *
 * @throws PostgresError unique_violation if the account has another user in the organization
 */
export async function bindAccount(
  tx: Sql,
  { orgId, userId }: { orgId: string; userId: string },
  accountId: string,
): Promise<boolean> {
  const { count } = await tx`
    UPDATE users SET account_id = ${accountId}
    WHERE org_id = ${orgId} AND id = ${userId} AND account_id IS NULL AND oidc_subject IS NULL
      AND suspended_at IS NULL`;
  return count === 1;
}

/** List the organizations of an account by name, except where the user or the organization is suspended. */
export async function selectMemberships(sql: Sql, accountId: string): Promise<Membership[]> {
  return sql<Membership[]>`
    SELECT u.org_id AS "orgId", o.name AS organization, u.id AS "userId", u.role
    FROM users u JOIN organizations o ON o.id = u.org_id
    WHERE u.account_id = ${accountId} AND u.suspended_at IS NULL AND o.suspended_at IS NULL
    ORDER BY o.name`;
}

/** Select the most recently used user of an account, except suspended ones; null if there is none. */
export async function selectUserOfAccount(sql: Sql, accountId: string): Promise<UserFacts | null> {
  const [row] = await sql<{ org_id: string; id: string }[]>`
    SELECT u.org_id, u.id FROM users u JOIN organizations o ON o.id = u.org_id
    WHERE u.account_id = ${accountId} AND u.suspended_at IS NULL AND o.suspended_at IS NULL
    ORDER BY (SELECT max(s.last_used_at) FROM sessions s WHERE s.org_id = u.org_id AND s.user_id = u.id)
               DESC NULLS LAST, u.created_at, u.id
    LIMIT 1`;
  return row ? selectUserFactsById(sql, row.org_id, row.id) : null;
}

/** Select the user of an account in one organization; null if missing or suspended. */
export async function selectMember(sql: Sql, accountId: string, orgId: string): Promise<UserFacts | null> {
  const [row] = await sql<{ id: string }[]>`
    SELECT id FROM users WHERE account_id = ${accountId} AND org_id = ${orgId}`;
  const user = row ? await selectUserFactsById(sql, orgId, row.id) : null;
  return user === null || user.suspended ? null : user;
}

/** Delete the sessions of all users of an account, in every organization. */
export async function deleteSessionsOfAccount(tx: Sql, accountId: string): Promise<void> {
  await tx`
    DELETE FROM sessions s USING users u
    WHERE u.account_id = ${accountId} AND s.org_id = u.org_id AND s.user_id = u.id`;
}

/** Delete accounts without users, across all organizations. */
export async function deleteUnusedAccounts(sql: Sql): Promise<void> {
  await sql`DELETE FROM accounts a WHERE NOT EXISTS (SELECT 1 FROM users u WHERE u.account_id = a.id)`;
  await sql`DELETE FROM password_resets WHERE expires_at <= now()`;
}

/** Store a password reset link, replacing earlier ones of the account. Return its expiry. */
export async function insertPasswordReset(
  tx: Sql,
  reset: { hash: Buffer; accountId: string; orgId: string; lifetimeMs: number },
): Promise<Date> {
  await deletePasswordResets(tx, reset.accountId);
  const [row] = await tx<[{ expires_at: Date }]>`
    INSERT INTO password_resets (hash, account_id, org_id, expires_at)
    VALUES (${reset.hash}, ${reset.accountId}, ${reset.orgId},
            now() + ${reset.lifetimeMs}::double precision * interval '1 millisecond')
    RETURNING expires_at`;
  return row.expires_at;
}

/** Select the account of a valid password reset link; null if there is none. */
export async function selectPasswordReset(sql: Sql, hash: Buffer): Promise<Account | null> {
  const [account] = await sql<Account[]>`
    SELECT ${columns(sql)} FROM accounts a JOIN password_resets r ON r.account_id = a.id
    WHERE r.hash = ${hash} AND r.expires_at > now()`;
  return account ?? null;
}

/** Delete the password reset links of an account. */
export async function deletePasswordResets(sql: Sql, accountId: string): Promise<void> {
  await sql`DELETE FROM password_resets WHERE account_id = ${accountId}`;
}

/** Consume a valid password reset link. Return true for the first caller only. */
export async function takePasswordReset(tx: Sql, hash: Buffer): Promise<boolean> {
  return (await tx`DELETE FROM password_resets WHERE hash = ${hash} AND expires_at > now()`).count === 1;
}
