import type { Sql } from '../platform/postgres.ts';

export async function insertAuditRow(
  sql: Sql,
  row: { orgId: string | null; actor: string; action: string; target: string | null; detailJson: string },
): Promise<void> {
  await sql`
    INSERT INTO audit_log (org_id, actor, action, target, detail)
    VALUES (${row.orgId}, ${row.actor}, ${row.action}, ${row.target}, ${row.detailJson}::text::jsonb)`;
}

/** @param rowsJson an array of `{orgId, actor, action, target, detail}` */
export async function insertAuditRows(sql: Sql, rowsJson: string): Promise<void> {
  await sql`
    INSERT INTO audit_log (org_id, actor, action, target, detail)
    SELECT "orgId", actor, action, target, detail
    FROM ROWS FROM (jsonb_to_recordset(${rowsJson}::text::jsonb)
                      AS ("orgId" text, actor text, action text, target text, detail jsonb))
      WITH ORDINALITY AS entry ("orgId", actor, action, target, detail, place)
    ORDER BY place`;
}
