import { withIsoTimes } from '../platform/postgres/views.ts';
import type { Sql } from '../platform/postgres.ts';
import { LIST_ROWS_MAX, type User } from './schema.ts';

function columns(sql: Sql) {
  return sql`
    id, org_id, email, role, auth_level, department, oidc_issuer, oidc_subject, account_id IS NOT NULL AS has_account,
    suspended_at, created_at`;
}

const toUser = withIsoTimes<User>;

/** Insert a user. Return null if the organization has a user with this email, or if any user has the OIDC identity. */
export async function insertUser(
  sql: Sql,
  user: Omit<User, 'has_account' | 'suspended_at' | 'created_at'>,
): Promise<User | null> {
  const [row] = await sql`
    INSERT INTO users (id, org_id, email, role, auth_level, department, oidc_issuer, oidc_subject)
    VALUES (${user.id}, ${user.org_id}, ${user.email}, ${user.role}, ${user.auth_level}, ${user.department},
            ${user.oidc_issuer}, ${user.oidc_subject})
    ON CONFLICT DO NOTHING
    RETURNING ${columns(sql)}`;
  return row ? toUser(row) : null;
}

export async function selectUser(sql: Sql, orgId: string, idOrEmail: string): Promise<User | null> {
  const [row] = await sql`
    SELECT ${columns(sql)} FROM users
    WHERE org_id = ${orgId} AND (id = ${idOrEmail} OR email = ${idOrEmail.toLowerCase()})`;
  return row ? toUser(row) : null;
}

/** Select a user and lock the row until the transaction ends. */
export async function lockUser(sql: Sql, orgId: string, idOrEmail: string): Promise<User | null> {
  const [row] = await sql`
    SELECT ${columns(sql)} FROM users
    WHERE org_id = ${orgId} AND (id = ${idOrEmail} OR email = ${idOrEmail.toLowerCase()})
    FOR UPDATE`;
  return row ? toUser(row) : null;
}

/** Return true if the organization of a user has another active owner. */
export async function hasOtherOwner(sql: Sql, user: User): Promise<boolean> {
  const rows = await sql`
    SELECT 1 FROM users
    WHERE org_id = ${user.org_id} AND id <> ${user.id} AND role = 'owner' AND suspended_at IS NULL LIMIT 1`;
  return rows.length > 0;
}

/** Select users, newest first. @param page.after id of the user that precedes the page */
export async function selectUsers(
  sql: Sql,
  orgId: string,
  { limit, after }: { limit: number; after?: string | undefined } = { limit: LIST_ROWS_MAX },
): Promise<User[]> {
  const rows = await sql`
    SELECT ${columns(sql)} FROM users
    WHERE org_id = ${orgId} ${after === undefined ? sql`` : sql`AND id < ${after}`}
    ORDER BY id DESC LIMIT ${limit}`;
  return rows.map(toUser);
}

/** Change a user. Call this on a locked row. A repeated suspension keeps the first time. */
export async function updateUser(
  sql: Sql,
  user: User,
  changes: Pick<User, 'role' | 'auth_level' | 'department'> & { readonly suspended: boolean },
): Promise<User> {
  const { role, auth_level, department, suspended } = changes;
  const [row] = await sql<[object]>`
    UPDATE users SET role = ${role}, auth_level = ${auth_level}, department = ${department},
      suspended_at = CASE WHEN ${suspended} THEN coalesce(suspended_at, now()) END
    WHERE org_id = ${user.org_id} AND id = ${user.id}
    RETURNING ${columns(sql)}`;
  return toUser(row);
}
