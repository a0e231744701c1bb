import { withIsoTimes } from '../../platform/postgres/views.ts';
import type { Sql } from '../../platform/postgres.ts';
import type { Group } from './schema.ts';

function columns(sql: Sql) {
  return sql`
    groups.name, coalesce(display_name, groups.name) AS display_name, claim, external_id, created_at, updated_at,
    (SELECT count(*)::int FROM group_members m WHERE m.org_id = groups.org_id AND m.group_name = groups.name)
      AS member_count`;
}

const toGroup = withIsoTimes<Group>;

/** Editable fields of a group. */
export interface GroupFields {
  readonly displayName: string | null;
  readonly claim: string | null;
  readonly externalId: string | null;
}

/** Insert a group. Return false if another group of the organization has the name or the claim. */
export async function insertGroup(sql: Sql, orgId: string, name: string, fields: GroupFields): Promise<boolean> {
  const rows = await sql`
    INSERT INTO groups (org_id, name, display_name, claim, external_id)
    VALUES (${orgId}, ${name}, ${fields.displayName}, ${fields.claim}, ${fields.externalId})
    ON CONFLICT DO NOTHING RETURNING 1`;
  return rows.length > 0;
}

export async function selectGroup(sql: Sql, orgId: string, name: string): Promise<Group | null> {
  const [row] = await sql`
    SELECT ${columns(sql)} FROM groups WHERE org_id = ${orgId} AND lower(name) = lower(${name})`;
  return row ? toGroup(row) : null;
}

/** Select groups by name. @param page.after name of the group that precedes the page */
export async function selectGroups(
  sql: Sql,
  orgId: string,
  { limit, after }: { readonly limit: number; readonly after?: string | undefined },
): Promise<Group[]> {
  const rows = await sql`
    SELECT ${columns(sql)} FROM groups
    WHERE org_id = ${orgId} ${after === undefined ? sql`` : sql`AND groups.name > ${after}`}
    ORDER BY groups.name LIMIT ${limit}`;
  return rows.map(toGroup);
}

/**
 * Lock a group until the transaction ends. This serialises all membership changes of an organization, so that two of
 * them can't create a cycle together.
 */
export async function lockGroup(tx: Sql, orgId: string, name: string): Promise<Group | null> {
  await tx`SELECT pg_advisory_xact_lock(hashtextextended(${`${orgId}/groups`}, 0))`;
  return selectGroup(tx, orgId, name);
}

/** @throws a unique violation of PostgreSQL if the claim belongs to another group */
export async function updateGroup(sql: Sql, orgId: string, name: string, fields: GroupFields): Promise<void> {
  await sql`
    UPDATE groups SET display_name = ${fields.displayName}, claim = ${fields.claim},
      external_id = ${fields.externalId}, updated_at = now()
    WHERE org_id = ${orgId} AND name = ${name}`;
}

export async function deleteGroup(sql: Sql, orgId: string, name: string): Promise<void> {
  await sql`DELETE FROM group_members WHERE org_id = ${orgId} AND member = ${`group:${name}`}`;
  await sql`DELETE FROM groups WHERE org_id = ${orgId} AND name = ${name}`;
}

/** Select the direct members of a group as sorted `user:<id>`, `key:<id>` or `group:<name>`. */
export async function selectMembers(
  sql: Sql,
  orgId: string,
  name: string,
): Promise<{ member: string; email: string | null; from_claim: boolean }[]> {
  return sql<{ member: string; email: string | null; from_claim: boolean }[]>`
    SELECT m.member, u.email, m.from_claim FROM group_members m
    LEFT JOIN users u ON u.org_id = m.org_id AND 'user:' || u.id = m.member
    WHERE m.org_id = ${orgId} AND m.group_name = ${name} ORDER BY m.member`;
}

export async function addMembers(sql: Sql, orgId: string, name: string, members: readonly string[]): Promise<void> {
  await sql`
    INSERT INTO group_members (org_id, group_name, member)
    SELECT ${orgId}, ${name}, unnest(${sql.array([...members])}::text[])
    ON CONFLICT (org_id, group_name, member) DO UPDATE SET from_claim = false`;
}

export async function removeMembers(sql: Sql, orgId: string, name: string, members: readonly string[]): Promise<void> {
  await sql`
    DELETE FROM group_members
    WHERE org_id = ${orgId} AND group_name = ${name} AND member = ANY(${sql.array([...members])}::text[])`;
}

export async function countMembers(sql: Sql, orgId: string, name: string): Promise<number> {
  const [row] = await sql`
    SELECT count(*)::int AS members FROM group_members WHERE org_id = ${orgId} AND group_name = ${name}`;
  return row?.['members'] as number;
}

/** Select the names of the groups that contain a member, directly or through other groups. */
export async function selectGroupsOf(sql: Sql, orgId: string, member: string): Promise<string[]> {
  const [row] = await sql<[{ groups: string[] }]>`SELECT groups_of(${orgId}, ${member}) AS groups`;
  return row.groups;
}

/** Find users of an organization by id or email. */
export async function selectUserIds(
  sql: Sql,
  orgId: string,
  refs: readonly string[],
): Promise<{ id: string; email: string }[]> {
  const wanted = sql.array(refs.flatMap((ref) => [ref, ref.toLowerCase()]));
  return sql<{ id: string; email: string }[]>`
    SELECT id, email FROM users
    WHERE org_id = ${orgId} AND (id = ANY(${wanted}::text[]) OR email = ANY(${wanted}::text[]))`;
}

/** Find keys of an organization by id, except those that belong to a user. */
export async function selectKeyIds(sql: Sql, orgId: string, ids: readonly string[]): Promise<string[]> {
  const rows = await sql`
    SELECT id FROM api_keys
    WHERE org_id = ${orgId} AND user_id IS NULL AND id = ANY(${sql.array([...ids])}::text[])`;
  return rows.map((row) => row['id'] as string);
}

/** Find groups of an organization by name, ignoring case. Return the stored spelling. */
export async function selectGroupNames(sql: Sql, orgId: string, names: readonly string[]): Promise<string[]> {
  const wanted = sql.array(names.map((name) => name.toLowerCase()));
  const rows = await sql`SELECT name FROM groups WHERE org_id = ${orgId} AND lower(name) = ANY(${wanted}::text[])`;
  return rows.map((row) => row['name'] as string);
}

/** Return true if the access policy of a document names this member itself. */
export async function isNamedByDocuments(sql: Sql, orgId: string, member: string): Promise<boolean> {
  const rows = await sql`
    SELECT 1 FROM documents
    WHERE org_id = ${orgId} AND access_list IS NOT NULL AND access_list @> ARRAY[${member}::text] LIMIT 1`;
  return rows.length > 0;
}

/** Copy the group memberships of a key to the key that replaces it. */
export async function copyMemberships(sql: Sql, orgId: string, from: string, to: string): Promise<void> {
  await sql`
    INSERT INTO group_members (org_id, group_name, member)
    SELECT org_id, group_name, ${to} FROM group_members WHERE org_id = ${orgId} AND member = ${from}`;
}

/**
 * Set a user's memberships from a token, unless an equally new or newer token has done so. Find groups by their claim.
 * @returns false if such a token came first
 */
export async function storeClaimedMemberships(
  tx: Sql,
  { orgId, id }: { readonly orgId: string; readonly id: string },
  { groups, issuedAtMs }: { readonly groups: readonly string[]; readonly issuedAtMs: number },
): Promise<boolean> {
  const issuedAt = new Date(issuedAtMs);
  const { count } = await tx`
    UPDATE users SET claims_issued_at = ${issuedAt}
    WHERE org_id = ${orgId} AND id = ${id} AND (claims_issued_at IS NULL OR claims_issued_at < ${issuedAt})`;
  if (count === 0) return false;
  const member = `user:${id}`;
  const named = tx`
    SELECT name FROM groups WHERE org_id = ${orgId} AND coalesce(claim, name) = ANY(${tx.array([...groups])}::text[])`;
  await tx`
    DELETE FROM group_members
    WHERE org_id = ${orgId} AND member = ${member} AND from_claim AND group_name NOT IN (${named})`;
  // A row that exists is not inserted again, since the database refuses that while the organization moves.
  await tx`
    INSERT INTO group_members (org_id, group_name, member, from_claim)
    SELECT ${orgId}, named.name, ${member}, true FROM (${named}) AS named
    WHERE NOT EXISTS (SELECT 1 FROM group_members m
                      WHERE m.org_id = ${orgId} AND m.group_name = named.name AND m.member = ${member})
    ON CONFLICT DO NOTHING`;
  return true;
}
