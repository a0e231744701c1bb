import type { Sql } from '../platform/postgres.ts';

export async function insertAuditRow(
  sql: Sql,
  row: { orgId: string | null; actor: string; action: string; target: string | null; detailJson: string },
): Promise<void> {
  await sql`
    INSERT INTO audit_log (org_id, actor, action, target, detail)
    VALUES (${row.orgId}, ${row.actor}, ${row.action}, ${row.target}, ${row.detailJson}::text::jsonb)`;
}

/** @param rowsJson JSON array of `{orgId, actor, action, target, detail}` */
export async function insertAuditRows(sql: Sql, rowsJson: string): Promise<void> {
  await sql`
    INSERT INTO audit_log (org_id, actor, action, target, detail)
    SELECT "orgId", actor, action, target, detail
    FROM ROWS FROM (jsonb_to_recordset(${rowsJson}::text::jsonb)
                      AS ("orgId" text, actor text, action text, target text, detail jsonb))
      WITH ORDINALITY AS entry ("orgId", actor, action, target, detail, place)
    ORDER BY place`;
}

/** Select the entries of the audit log about one target, newest first. */
export async function selectAuditRows(
  sql: Sql,
  orgId: string,
  target: string,
  rowsMax: number,
): Promise<{ at: Date; actor: string; action: string; detail: Record<string, unknown> }[]> {
  return sql<{ at: Date; actor: string; action: string; detail: Record<string, unknown> }[]>`
    SELECT at, actor, action, detail FROM audit_log
    WHERE org_id = ${orgId} AND target = ${target} ORDER BY id DESC LIMIT ${rowsMax}`;
}

/** Erase the logged old and new values of these targets. Actor, time and statement remain. */
export async function eraseAuditedValues(sql: Sql, orgId: string, targets: readonly string[]): Promise<void> {
  await sql`
    UPDATE audit_log SET detail = detail || '{"before": {}, "after": {}, "erased": true}'
    WHERE org_id = ${orgId} AND target = ANY(${sql.array([...targets])}::text[]) AND detail ? 'before'`;
}

/**
 * Delete entries older than `ageMs`, across all organizations. Return the number of deleted rows, at most `rowsMax`.
 */
export async function deleteOldAuditRows(sql: Sql, ageMs: number, rowsMax: number): Promise<number> {
  // Ids ascend with time, so finding the oldest rows needs no index on the time.
  const result = await sql`
    DELETE FROM audit_log WHERE id IN (
      SELECT id FROM (SELECT id, at FROM audit_log ORDER BY id LIMIT ${rowsMax}) AS oldest
      WHERE at < now() - ${ageMs}::double precision * interval '1 millisecond')`;
  return result.count;
}
