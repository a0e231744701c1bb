import type { Sql } from '../platform/postgres.ts';
import type { Plan } from './caller.ts';
import { LIST_ROWS_MAX, type Organization } from './schema.ts';

interface OrganizationRow {
  id: string;
  name: string;
  plan: Plan;
  suspended_at: Date | null;
  created_at: Date;
}

function toOrganization(row: OrganizationRow): Organization {
  return {
    ...row,
    suspended_at: row.suspended_at?.toISOString() ?? null,
    created_at: row.created_at.toISOString(),
  };
}

/** Null: there is one of this name. */
export async function insertOrganization(
  sql: Sql,
  organization: { id: string; name: string; plan: Plan },
): Promise<Organization | null> {
  const [row] = await sql<OrganizationRow[]>`
    INSERT INTO organizations (id, name, plan)
    VALUES (${organization.id}, ${organization.name}, ${organization.plan})
    ON CONFLICT (name) DO NOTHING
    RETURNING id, name, plan, suspended_at, created_at`;
  return row ? toOrganization(row) : null;
}

export async function selectOrganization(sql: Sql, idOrName: string): Promise<Organization | null> {
  const [row] = await sql<OrganizationRow[]>`
    SELECT id, name, plan, suspended_at, created_at FROM organizations
    WHERE id = ${idOrName} OR name = ${idOrName}
    ORDER BY id = ${idOrName} DESC LIMIT 1`;
  return row ? toOrganization(row) : null;
}

export async function selectOrganizations(sql: Sql): Promise<Organization[]> {
  const rows = await sql<OrganizationRow[]>`
    SELECT id, name, plan, suspended_at, created_at FROM organizations ORDER BY id DESC LIMIT ${LIST_ROWS_MAX}`;
  return rows.map(toOrganization);
}

/** Any number that nothing else in the database locks; the same in every process. */
const FIRST_START_LOCK = 7_310_112_001;

/** Hold back every other first start until the transaction ends. */
export async function lockFirstStart(sql: Sql): Promise<void> {
  await sql`SELECT pg_advisory_xact_lock(${FIRST_START_LOCK})`;
}

/** The organization of the first start: it is never removed, and no other database has it. */
export async function findFirstOrganization(sql: Sql): Promise<string> {
  const [row] = await sql`SELECT id FROM organizations ORDER BY created_at, id LIMIT 1`;
  return row?.['id'] as string;
}

export async function hasOrganizations(sql: Sql): Promise<boolean> {
  const rows = await sql`SELECT 1 FROM organizations LIMIT 1`;
  return rows.length > 0;
}

/** Null: no such organization. */
export async function updatePlan(sql: Sql, orgId: string, plan: Plan): Promise<Organization | null> {
  const [row] = await sql<OrganizationRow[]>`
    UPDATE organizations SET plan = ${plan} WHERE id = ${orgId}
    RETURNING id, name, plan, suspended_at, created_at`;
  return row ? toOrganization(row) : null;
}

/** Suspending a suspended organization keeps the first time. Null: no such organization. */
export async function updateOrganizationSuspension(
  sql: Sql,
  orgId: string,
  suspended: boolean,
): Promise<Organization | null> {
  const [row] = await sql<OrganizationRow[]>`
    UPDATE organizations SET suspended_at = CASE WHEN ${suspended} THEN coalesce(suspended_at, now()) END
    WHERE id = ${orgId}
    RETURNING id, name, plan, suspended_at, created_at`;
  return row ? toOrganization(row) : null;
}

/** The check value of the installation's secret key; `mine` where there was none. */
export async function claimSecretKeyCheck(sql: Sql, mine: Buffer): Promise<Buffer> {
  await sql`INSERT INTO installation (secret_key_check) VALUES (${mine}) ON CONFLICT DO NOTHING`;
  const [row] = await sql`SELECT secret_key_check FROM installation`;
  return row?.['secret_key_check'] as Buffer;
}
