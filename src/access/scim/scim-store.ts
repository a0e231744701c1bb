import type { Sql, SqlFragment } from '../../platform/postgres.ts';

export interface UserRow {
  readonly id: string;
  readonly email: string;
  readonly externalId: string | null;
  readonly isActive: boolean;
  readonly createdAt: Date;
  readonly groups: readonly { readonly name: string; readonly displayName: string }[];
}

export interface GroupRow {
  readonly name: string;
  readonly displayName: string;
  readonly externalId: string | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

export interface Page {
  readonly offset: number;
  readonly limit: number;
}

/** Build the condition for users of an organization that a directory sees. */
function userOf(sql: Sql, orgId: string): SqlFragment {
  return sql`users.org_id = ${orgId} AND users.deprovisioned_at IS NULL`;
}

function userColumns(sql: Sql): SqlFragment {
  return sql`
    id, email, external_id AS "externalId", suspended_at IS NULL AS "isActive", created_at AS "createdAt",
    (SELECT coalesce(jsonb_agg(jsonb_build_object('name', g.name, 'displayName', coalesce(g.display_name, g.name))
                               ORDER BY g.name), '[]')
     FROM group_members m JOIN groups g ON g.org_id = m.org_id AND g.name = m.group_name
     WHERE m.org_id = users.org_id AND m.member = 'user:' || users.id) AS groups`;
}

export async function selectUser(sql: Sql, orgId: string, id: string): Promise<UserRow | null> {
  const [user] = await sql<UserRow[]>`
    SELECT ${userColumns(sql)} FROM users WHERE ${userOf(sql, orgId)} AND id = ${id}`;
  return user ?? null;
}

/** Values to filter users or groups by. */
export interface UserFilter {
  readonly id?: string;
  readonly email?: string;
  readonly externalId?: string;
  readonly isActive?: boolean;
}

export async function selectUsers(
  sql: Sql,
  orgId: string,
  { id, email, externalId, isActive }: UserFilter,
  { offset, limit }: Page,
): Promise<{ total: number; rows: UserRow[] }> {
  const condition = sql`
    ${userOf(sql, orgId)} ${id === undefined ? sql`` : sql`AND id = ${id}`}
    ${email === undefined ? sql`` : sql`AND email = ${email.toLowerCase()}`}
    ${externalId === undefined ? sql`` : sql`AND external_id = ${externalId}`}
    ${isActive === undefined ? sql`` : sql`AND (suspended_at IS NULL) = ${isActive}`}`;
  const [count] = await sql`SELECT count(*)::int AS total FROM users WHERE ${condition}`;
  const rows = await sql<UserRow[]>`
    SELECT ${userColumns(sql)} FROM users WHERE ${condition} ORDER BY id OFFSET ${offset} LIMIT ${limit}`;
  return { total: count?.['total'] as number, rows };
}

/** Set a user's id and email address at its directory. Return false if another user has the address. */
export async function updateIdentity(
  sql: Sql,
  orgId: string,
  id: string,
  { email, externalId }: { readonly email: string; readonly externalId: string | null },
): Promise<boolean> {
  const { count } = await sql`
    UPDATE users SET email = ${email}, external_id = ${externalId}
    WHERE org_id = ${orgId} AND id = ${id}
      AND NOT EXISTS (SELECT 1 FROM users other WHERE other.org_id = ${orgId} AND other.email = ${email} AND other.id <> ${id})`;
  return count === 1;
}

/** Mark a user as deleted by its directory, or as restored. */
export async function markDeprovisioned(sql: Sql, orgId: string, id: string, isGone: boolean): Promise<void> {
  await sql`
    UPDATE users SET deprovisioned_at = CASE WHEN ${isGone} THEN now() END
    WHERE org_id = ${orgId} AND id = ${id}`;
}

/** Find a user deleted by its directory, by email address. */
export async function findDeprovisioned(sql: Sql, orgId: string, email: string): Promise<string | null> {
  const [row] = await sql`
    SELECT id FROM users WHERE org_id = ${orgId} AND email = ${email.toLowerCase()} AND deprovisioned_at IS NOT NULL`;
  return (row?.['id'] as string | undefined) ?? null;
}

export interface GroupFilter {
  readonly name?: string;
  readonly displayName?: string;
  readonly externalId?: string;
  /** `user:<id>` or `group:<name>` */
  readonly member?: string;
}

export async function selectGroups(
  sql: Sql,
  orgId: string,
  { name, displayName, externalId, member }: GroupFilter,
  { offset, limit }: Page,
): Promise<{ total: number; rows: GroupRow[] }> {
  const condition = sql`
    org_id = ${orgId} ${name === undefined ? sql`` : sql`AND name = ${name}`}
    ${displayName === undefined ? sql`` : sql`AND lower(coalesce(display_name, name)) = lower(${displayName})`}
    ${externalId === undefined ? sql`` : sql`AND external_id = ${externalId}`}
    ${
      member === undefined
        ? sql``
        : sql`AND EXISTS (SELECT 1 FROM group_members m
                          WHERE m.org_id = groups.org_id AND m.group_name = groups.name AND m.member = ${member})`
    }`;
  const [count] = await sql`SELECT count(*)::int AS total FROM groups WHERE ${condition}`;
  const rows = await sql<GroupRow[]>`
    SELECT name, coalesce(display_name, name) AS "displayName", external_id AS "externalId", created_at AS "createdAt",
           updated_at AS "updatedAt"
    FROM groups WHERE ${condition} ORDER BY name OFFSET ${offset} LIMIT ${limit}`;
  return { total: count?.['total'] as number, rows };
}

/** Select the users and groups in these groups, by group. */
export async function selectScimMembers(
  sql: Sql,
  orgId: string,
  names: readonly string[],
): Promise<Map<string, { member: string; display: string }[]>> {
  const rows = await sql`
    SELECT m.group_name, m.member, coalesce(u.email, g.display_name, g.name) AS display FROM group_members m
    LEFT JOIN users u ON u.org_id = m.org_id AND 'user:' || u.id = m.member
    LEFT JOIN groups g ON g.org_id = m.org_id AND 'group:' || g.name = m.member
    WHERE m.org_id = ${orgId} AND m.group_name = ANY(${sql.array([...names])}::text[]) AND m.member NOT LIKE 'key:%'
    ORDER BY m.group_name, m.member`;
  const members = new Map<string, { member: string; display: string }[]>();
  for (const row of rows) {
    const name = row['group_name'] as string;
    const known = members.get(name) ?? [];
    known.push({ member: row['member'] as string, display: (row['display'] as string | null) ?? '' });
    members.set(name, known);
  }
  return members;
}
