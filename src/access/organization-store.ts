import { withIsoTimes } from '../platform/postgres/views.ts';
import type { Sql, SqlFragment } from '../platform/postgres.ts';
import type { Plan } from './caller.ts';
import { LIST_ROWS_MAX, type Organization } from './schema.ts';

function columns(sql: Sql): SqlFragment {
  return sql`id, name, plan, suspended_at, move_state, created_at`;
}

const toOrganization = withIsoTimes<Organization>;

/** Insert an organization. Return null if the name is taken. */
export async function insertOrganization(
  sql: Sql,
  organization: { id: string; name: string; plan: Plan },
): Promise<Organization | null> {
  const [row] = await sql`
    INSERT INTO organizations (id, name, plan)
    VALUES (${organization.id}, ${organization.name}, ${organization.plan})
    ON CONFLICT (name) DO NOTHING
    RETURNING ${columns(sql)}`;
  return row ? toOrganization(row) : null;
}

export async function selectOrganization(sql: Sql, idOrName: string): Promise<Organization | null> {
  const [row] = await sql`
    SELECT ${columns(sql)} FROM organizations
    WHERE id = ${idOrName} OR name = ${idOrName}
    ORDER BY id = ${idOrName} DESC LIMIT 1`;
  return row ? toOrganization(row) : null;
}

/** Select organizations, newest first. @param page.after id of the organization that precedes the page */
export async function selectOrganizations(
  sql: Sql,
  { limit, after }: { limit: number; after?: string | undefined } = { limit: LIST_ROWS_MAX },
): Promise<Organization[]> {
  const rows = await sql`
    SELECT ${columns(sql)} FROM organizations
    ${after === undefined ? sql`` : sql`WHERE id < ${after}`}
    ORDER BY id DESC LIMIT ${limit}`;
  return rows.map(toOrganization);
}

/** Lock an organization until the transaction ends. Rows that reference it can still be inserted. */
export async function lockOrganization(sql: Sql, orgId: string): Promise<void> {
  await sql`SELECT 1 FROM organizations WHERE id = ${orgId} FOR NO KEY UPDATE`;
}

/** Advisory lock key: an arbitrary number, the same in every process and used for nothing else in the database. */
const FIRST_START_LOCK = 7_310_112_001;

/** Block every other first start until the transaction ends. */
export async function lockFirstStart(sql: Sql): Promise<void> {
  await sql`SELECT pg_advisory_xact_lock(${FIRST_START_LOCK})`;
}

/** Find the id of the first organization. It is never removed and exists in no other database. */
export async function findFirstOrganization(sql: Sql): Promise<string> {
  const [row] = await sql`SELECT id FROM organizations ORDER BY arrived_at IS NOT NULL, created_at, id LIMIT 1`;
  return row?.['id'] as string;
}

export async function hasOrganizations(sql: Sql): Promise<boolean> {
  const rows = await sql`SELECT 1 FROM organizations LIMIT 1`;
  return rows.length > 0;
}

/** Change the plan, or return null if the organization does not exist. */
export async function updatePlan(sql: Sql, orgId: string, plan: Plan): Promise<Organization | null> {
  const [row] = await sql`
    UPDATE organizations SET plan = ${plan} WHERE id = ${orgId}
    RETURNING ${columns(sql)}`;
  return row ? toOrganization(row) : null;
}

/** Suspend or resume an organization. Return null if it doesn't exist. A repeated suspension keeps the first time. */
export async function updateOrganizationSuspension(
  sql: Sql,
  orgId: string,
  suspended: boolean,
): Promise<Organization | null> {
  const [row] = await sql`
    UPDATE organizations SET suspended_at = CASE WHEN ${suspended} THEN coalesce(suspended_at, now()) END
    WHERE id = ${orgId}
    RETURNING ${columns(sql)}`;
  return row ? toOrganization(row) : null;
}

/** Return the stored check value of the secret key, after storing `mine` if there was none. */
export async function claimSecretKeyCheck(sql: Sql, mine: Buffer): Promise<Buffer> {
  await sql`INSERT INTO installation (secret_key_check) VALUES (${mine}) ON CONFLICT DO NOTHING`;
  const [row] = await sql`SELECT secret_key_check FROM installation`;
  return row?.['secret_key_check'] as Buffer;
}

/**
 * Find the check value of the secret key and the first organization in one query. Each is null before the first start.
 */
export async function selectFirstStart(
  sql: Sql,
): Promise<{ readonly secretKeyCheck: Buffer | null; readonly organizationId: string | null }> {
  const [row] = await sql<{ secret_key_check: Buffer | null; organization_id: string | null }[]>`
    SELECT (SELECT secret_key_check FROM installation),
           (SELECT id FROM organizations ORDER BY arrived_at IS NOT NULL, created_at, id LIMIT 1) AS organization_id`;
  return { secretKeyCheck: row?.secret_key_check ?? null, organizationId: row?.organization_id ?? null };
}

/** Return true if the database was set up with a secret key. */
export async function hasSecretKeyCheck(sql: Sql): Promise<boolean> {
  return (await sql`SELECT 1 FROM installation`).length > 0;
}
