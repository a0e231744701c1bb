import type { Sql } from '../platform/postgres.ts';

export async function insertAuditRow(
  sql: Sql,
  row: { orgId: string | null; actor: string; action: string; target: string | null; detailJson: string },
): Promise<void> {
  await sql`
    INSERT INTO audit_log (org_id, actor, action, target, detail)
    VALUES (${row.orgId}, ${row.actor}, ${row.action}, ${row.target}, ${row.detailJson}::text::jsonb)`;
}
