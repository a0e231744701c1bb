import type { Sql } from '../../platform/postgres.ts';
import type { Role } from '../caller.ts';
import { selectUserFacts, type UserFacts } from '../credential-store.ts';

/** Account whose password is to be checked. */
export interface PasswordAccount {
  readonly id: string;
  /** Argon2id in the PHC string format. */
  readonly passwordHash: string;
}

/** Organization of an account, with its user there. */
export interface Membership {
  readonly orgId: string;
  readonly organization: string;
  readonly userId: string;
  readonly role: Role;
}

export async function insertAccount(
  tx: Sql,
  { id, email, passwordHash }: { id: string; email: string; passwordHash: string },
): Promise<void> {
  await tx`INSERT INTO accounts (id, email, password_hash) VALUES (${id}, ${email}, ${passwordHash})`;
}

/** Select the accounts with an email address. Nobody has confirmed the address, so there may be several. */
export async function selectAccountsByEmail(sql: Sql, email: string): Promise<PasswordAccount[]> {
  const rows = await sql<{ id: string; password_hash: string }[]>`
    SELECT id, password_hash FROM accounts WHERE email = ${email} ORDER BY created_at, id`;
  return rows.map((row) => ({ id: row.id, passwordHash: row.password_hash }));
}

export async function selectAccount(sql: Sql, id: string): Promise<(PasswordAccount & { email: string }) | null> {
  const [row] = await sql<{ id: string; email: string; password_hash: string }[]>`
    SELECT id, email, password_hash FROM accounts WHERE id = ${id}`;
  return row ? { id: row.id, email: row.email, passwordHash: row.password_hash } : null;
}

export async function updatePassword(tx: Sql, accountId: string, passwordHash: string): Promise<void> {
  await tx`UPDATE accounts SET password_hash = ${passwordHash} WHERE id = ${accountId}`;
}

/** Return true if the installation has any account. */
export async function hasAccounts(sql: Sql): Promise<boolean> {
  return (await sql`SELECT 1 FROM accounts LIMIT 1`).length > 0;
}

export async function selectAccountIdOfUser(sql: Sql, orgId: string, userId: string): Promise<string | null> {
  const [row] = await sql<{ account_id: string | null }[]>`
    SELECT account_id FROM users WHERE org_id = ${orgId} AND id = ${userId}`;
  return row?.account_id ?? null;
}

/**
 * Connect an account with a user who has neither an account nor an identity. Return false if the user has one by now
 * or is suspended.
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

/** List the organizations of an account by name, except those where the user or the organization is suspended. */
export async function selectMemberships(sql: Sql, accountId: string): Promise<Membership[]> {
  const rows = await sql<{ org_id: string; name: string; id: string; role: Role }[]>`
    SELECT u.org_id, o.name, u.id, u.role FROM users u JOIN organizations o ON o.id = u.org_id
    WHERE u.account_id = ${accountId} AND u.suspended_at IS NULL AND o.suspended_at IS NULL
    ORDER BY o.name`;
  return rows.map((row) => ({ orgId: row.org_id, organization: row.name, userId: row.id, role: row.role }));
}

/** Select the user of an account who was used last, except suspended ones; null if there is none. */
export async function selectUserOfAccount(sql: Sql, accountId: string): Promise<UserFacts | null> {
  const [row] = await sql<{ org_id: string; id: string }[]>`
    SELECT u.org_id, u.id FROM users u JOIN organizations o ON o.id = u.org_id
    WHERE u.account_id = ${accountId} AND u.suspended_at IS NULL AND o.suspended_at IS NULL
    ORDER BY (SELECT max(s.last_used_at) FROM sessions s WHERE s.org_id = u.org_id AND s.user_id = u.id)
               DESC NULLS LAST, u.created_at, u.id
    LIMIT 1`;
  return row ? selectCurrentUser(sql, row.org_id, row.id) : null;
}

/** Select a user of an account in one organization; null if there is none who is not suspended. */
export async function selectMember(sql: Sql, accountId: string, orgId: string): Promise<UserFacts | null> {
  const [row] = await sql<{ id: string }[]>`
    SELECT id FROM users WHERE account_id = ${accountId} AND org_id = ${orgId}`;
  const user = row ? await selectCurrentUser(sql, orgId, row.id) : null;
  return user === null || user.suspended ? null : user;
}

async function selectCurrentUser(sql: Sql, orgId: string, userId: string): Promise<UserFacts | null> {
  const [row] = await sql<{ token_generation: number }[]>`
    SELECT token_generation FROM users WHERE org_id = ${orgId} AND id = ${userId}`;
  return row ? selectUserFacts(sql, { orgId, userId, tokenId: '', generation: row.token_generation }) : null;
}

/** Delete the sessions of all users of an account, in all its organizations. */
export async function deleteSessionsOfAccount(tx: Sql, accountId: string): Promise<void> {
  await tx`
    DELETE FROM sessions s USING users u
    WHERE u.account_id = ${accountId} AND s.org_id = u.org_id AND s.user_id = u.id`;
}

/** Delete accounts that no longer have a user, of all organizations. */
export async function deleteUnusedAccounts(sql: Sql): Promise<void> {
  await sql`DELETE FROM accounts a WHERE NOT EXISTS (SELECT 1 FROM users u WHERE u.account_id = a.id)`;
  await sql`DELETE FROM password_resets WHERE expires_at <= now()`;
}

/** Store a link for a new password. It replaces earlier ones of the account. Return its end. */
export async function insertPasswordReset(
  tx: Sql,
  reset: { hash: Buffer; accountId: string; orgId: string; lifetimeMs: number },
): Promise<Date> {
  await tx`DELETE FROM password_resets WHERE account_id = ${reset.accountId}`;
  const [row] = await tx<[{ expires_at: Date }]>`
    INSERT INTO password_resets (hash, account_id, org_id, expires_at)
    VALUES (${reset.hash}, ${reset.accountId}, ${reset.orgId},
            now() + ${reset.lifetimeMs}::double precision * interval '1 millisecond')
    RETURNING expires_at`;
  return row.expires_at;
}

/** Consume a valid link for a new password. The first caller gets its account, and every later one null. */
export async function takePasswordReset(tx: Sql, hash: Buffer): Promise<string | null> {
  const [row] = await tx<{ account_id: string }[]>`
    DELETE FROM password_resets WHERE hash = ${hash} AND expires_at > now() RETURNING account_id`;
  return row?.account_id ?? null;
}
